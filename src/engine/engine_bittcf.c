/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine_bittcf.c  BitTCF (Acc-SpMM): on the CPU, decode and multiply. */
#include "base/alloc.h"
#include "engine/format_bittcf.h"
#include "engine/tc_format.h"

typedef struct {
    spmm_bittcf_t        format;
    spmm_bittcf_arrays_t arrays;  /**< of format */
    int32_t             *row_map; /**< owned, NULL: the identity */
    spmm_compute_t       compute;
    spmm_layout_t        layout;
    int                  threads;
} bittcf_t;

static void destroy(void *format)
{
    bittcf_t *f = format;

    if (f != NULL) {
        spmm_bittcf_free(&f->format);
        spmm_free(f->row_map);
        spmm_free(f);
    }
}

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    spmm_status_t status;
    bittcf_t     *f;

    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmm_fail_memory(&device->env->err, 1, sizeof *f, "engine bittcf");
    }
    f->compute = problem->compute;
    f->layout  = problem->layout;
    f->threads = device->n_sm;
    status     = spmm_tc_copy_row_map(device->env, block, &f->row_map);
    if (status == SPMM_OK) {
        status = spmm_bittcf_create(device->env, block, f->threads, &f->format);
    }
    if (status != SPMM_OK) {
        destroy(f);
        return status;
    }
    f->arrays = spmm_bittcf_arrays(&f->format);
    *format   = f;
    return SPMM_OK;
}

static spmm_status_t refill(void *format, const void *values)
{
    bittcf_t *f = format;

    spmm_bittcf_refill(&f->format, values, f->threads);
    return SPMM_OK;
}

static spmm_status_t execute(void *format, int64_t n, double alpha, const void *B, int64_t ldb,
                             double beta, void *C, int64_t ldc, spmm_stream_t stream)
{
    const bittcf_t      *f    = format;
    const spmm_tc_view_t view = spmm_cpu_bittcf_view(&f->arrays);

    (void)stream;
    spmm_cpu_tc_mm(&view, &(spmm_tc_mm_args_t){.row_map = f->row_map,
                                               .compute = f->compute,
                                               .layout  = f->layout,
                                               .n       = n,
                                               .alpha   = alpha,
                                               .beta    = beta,
                                               .B       = B,
                                               .ldb     = ldb,
                                               .C       = C,
                                               .ldc     = ldc,
                                               .threads = f->threads});
    return SPMM_OK;
}

static void bytes(const void *format, size_t *host, size_t *device)
{
    const bittcf_t *f = format;

    *host = sizeof *f + spmm_bittcf_held(&f->format) +
            (f->row_map == NULL ? 0 : (size_t)f->format.n_rows * sizeof *f->row_map);
    *device = 0;
}

const spmm_engine_ops_t spmm_engine_bittcf = {
    .name        = "bittcf",
    .description = "BitTCF: 8x8 blocks of condensed columns, bit patterns; FP32 and TF32",
    .built       = true,
    .supports    = spmm_tc_supports,
    .cost        = spmm_tc_cost,
    .build       = build,
    .refill      = refill,
    .execute     = execute,
    .bytes       = bytes,
    .destroy     = destroy,
};
