/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/sddmm/sddmm.h"

#include <inttypes.h>
#include <string.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "cpu/sddmm/sddmm.h"
#include "engine/sddmm/upload.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/cuda_kernels.h"
#include "cuda/sddmm/sddmm.h"
#include "device/device_cuda.h"
#endif

spmm_status_t spmmi_sampler_check(const spmm_device_t *device, const spmm_sampling_t *what)
{
    spmm_error_t *err   = &device->env->err;
    const bool    named = !spmmi_candidate_is_auto(what->kernel);
    const bool    tiles = spmmi_asks_for(what, "cvse");
    const bool    half = spmm_type_size(what->type) == 2, dense = spmmi_asks_for(what, "dense");
    const bool    mma = tiles || dense;

    if (spmmi_is_complex(what->type)) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "SDDMM is of real matrices: this mask has type %s",
                          spmmi_type_name(what->type));
    }
    if (!spmmi_cpu_sddmm_supports(what->type, what->s_type)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "S must have the type of X and Y, or 32f where they are 16f or 16bf");
    }
    if (named && !spmmi_asks_for(what, "csr") && !spmmi_asks_for(what, "rectangles") && !tiles &&
        !dense) {
        return spmmi_fail(
            err, SPMM_ERR_ARGUMENT,
            "there is no SDDMM kernel \"%.40s\": csr, rectangles, cvse, dense or auto",
            what->kernel);
    }
    if (tiles && what->type == SPMM_R_64F) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "the SDDMM kernel cvse needs X and Y of type 32f, 16f or 16bf, not %s",
                          spmmi_type_name(what->type));
    }
    if (dense && !half) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "the SDDMM kernel dense needs X and Y of type 16f or 16bf, not %s",
                          spmmi_type_name(what->type));
    }
    if (mma && device->kind == SPMM_DEVICE_CUDA && device->cc < 80) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "the SDDMM kernel %s needs a GPU of compute capability 8.0 or later",
                          what->kernel);
    }
    return SPMM_OK;
}

const char *spmmi_sampler_kernel(const spmm_sampler_t *sampler)
{
    static const char *const name[] = {[SPMM_SAMPLER_CSR]        = "csr",
                                       [SPMM_SAMPLER_RECTANGLES] = "rectangles",
                                       [SPMM_SAMPLER_CVSE]       = "cvse",
                                       [SPMM_SAMPLER_DENSE]      = "dense"};

    return name[sampler->format];
}

spmm_status_t spmmi_sampler_create(const spmm_device_t *device, const spmm_csr_t *block,
                                   const int64_t *place, const spmm_sampling_t *what,
                                   spmm_sampler_t *sampler)
{
    spmm_sampler_t made = {.device = device, .nnz = spmmi_csr_nnz(block)};
    spmm_status_t  status;

    if (made.nnz > INT32_MAX) {
        return spmmi_fail(&device->env->err, SPMM_ERR_RANGE,
                          "a mask with %" PRId64
                          " entries on rank %d: an SDDMM takes up to 2^31 - 1 "
                          "on each; use more ranks",
                          made.nnz, device->env->rank);
    }
    status = spmmi_sampler_make_format(&made, block, place, what);
    if (status == SPMM_OK) {
        status = device->ops->stream_sync(device, NULL);
    }
    if (status != SPMM_OK) {
        spmmi_sampler_free(&made);
        return status;
    }
    *sampler = made;
    return SPMM_OK;
}

void spmmi_sampler_free(spmm_sampler_t *sampler)
{
    for (int k = 0; k < sampler->n_uploads; k++) {
        sampler->device->ops->release(sampler->device, sampler->upload[k]);
    }
    memset(sampler, 0, sizeof *sampler);
}

#ifdef SPMM_HAVE_CUDA
static cudaError_t run_cuda(const spmm_sampler_t *s, const spmm_sddmm_args_t *args,
                            cudaStream_t stream)
{
    switch (s->format) {
    case SPMM_SAMPLER_CSR:
        return spmmi_cuda_sddmm_tasks(&s->tasks, args, stream);
    case SPMM_SAMPLER_RECTANGLES:
        return spmmi_cuda_sddmm_rectangles(&s->rectangles, args, stream);
    case SPMM_SAMPLER_DENSE:
        return spmmi_cuda_sddmm_squares(&s->squares, args, stream);
    case SPMM_SAMPLER_CVSE:
        break;
    }
    return spmmi_cuda_sddmm_tiles(&s->tiles, args, stream);
}
#endif

/* Formats that were not made have no work. */
static void run_cpu(const spmm_sampler_t *s, const spmm_sddmm_args_t *args)
{
    spmmi_cpu_sddmm_tiles(&s->tiles, args);
    spmmi_cpu_sddmm_rectangles(&s->rectangles, args);
    spmmi_cpu_sddmm_tasks(&s->tasks, args);
    spmmi_cpu_sddmm_squares(&s->squares, args);
}

spmm_status_t spmmi_sampler_run(const spmm_sampler_t *sampler, const spmm_sddmm_args_t *args,
                                spmm_stream_t stream)
{
    const spmm_device_t *device = sampler->device;
    spmm_sddmm_args_t    mine   = *args;
    bool                 no_map = false;

    mine.no_map  = &no_map;
    mine.n_sm    = device->n_sm;
    mine.cc      = device->cc;
    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU) {
        run_cpu(sampler, &mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmmi_cuda_use(device));
        SPMM_TRY(spmmi_cuda_check(device, run_cuda(sampler, &mine, (cudaStream_t)stream),
                                  "the kernel sddmm"));
    }
#else
    (void)stream;
#endif
    if (no_map) {
        spmmi_log(device->env, "SDDMM: the driver makes no tensor map of X or Y: the kernel that "
                               "does without is slower");
    }
    return SPMM_OK;
}

spmm_status_t spmmi_row_softmax(const spmm_device_t *device, const spmm_softmax_args_t *args,
                                spmm_stream_t stream)
{
    spmm_softmax_args_t mine = *args;

    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU) {
        spmmi_cpu_row_softmax(&mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmmi_cuda_use(device));
        return spmmi_cuda_check(device, spmmi_cuda_row_softmax(&mine, (cudaStream_t)stream),
                                "the kernel row_softmax");
    }
#else
    (void)stream;
#endif
    return SPMM_OK;
}

spmm_status_t spmmi_place_values(const spmm_device_t *device, const spmm_place_args_t *args,
                                 spmm_stream_t stream)
{
    spmm_place_args_t mine = *args;

    mine.threads = device->threads;
    if (device->kind == SPMM_DEVICE_CPU) {
        spmmi_cpu_place_values(&mine);
    }
#ifdef SPMM_HAVE_CUDA
    if (device->kind == SPMM_DEVICE_CUDA) {
        SPMM_TRY(spmmi_cuda_use(device));
        return spmmi_cuda_check(device, spmmi_cuda_place_values(&mine, (cudaStream_t)stream),
                                "the kernel place_values");
    }
#else
    (void)stream;
#endif
    return SPMM_OK;
}
