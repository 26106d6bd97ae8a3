/* SPDX-License-Identifier: Apache-2.0 */
/** @file calibrate_cuda.c
 *  A copy, and random rows out of working sets around the size of L2: what bounds a product.
 */
#include <math.h>
#include <stdio.h>

#include "cuda/cuda_kernels.h"
#include "device/calibrate.h"
#include "device/device_cuda.h"

enum { PATH_BYTES = 1024, KEY_BYTES = 160, N_RUNS = 5 };
static const size_t copied   = (size_t)1 << 28; /* bytes, of which none are left in L2 */
static const double gathered = 2e9;             /* bytes */

typedef struct {
    void        *memory; /* of the largest set */
    size_t       bytes;
    cudaStream_t stream;
    cudaEvent_t  from, to;
} bench_t;

/* Enqueue one run.  @p set: index of a working set, negative: the copy. */
static cudaError_t enqueue(const bench_t *b, int set)
{
    if (set < 0) {
        return cudaMemcpyAsync((char *)b->memory + b->bytes / 2, b->memory, b->bytes / 2,
                               cudaMemcpyDeviceToDevice, b->stream);
    }
    return spmmi_cuda_gather_probe(b->memory, (size_t)spmmi_gather_sets[set], (size_t)gathered,
                                   b->stream);
}

/* Least seconds over some runs, after one that warms up. */
static cudaError_t least_seconds(const bench_t *b, int set, double *seconds)
{
    cudaError_t code = enqueue(b, set);

    *seconds = INFINITY;
    for (int run = 0; run < N_RUNS && code == cudaSuccess; run++) {
        float ms = 0.0f;

        code     = cudaEventRecord(b->from, b->stream);
        code     = code == cudaSuccess ? enqueue(b, set) : code;
        code     = code == cudaSuccess ? cudaEventRecord(b->to, b->stream) : code;
        code     = code == cudaSuccess ? cudaEventSynchronize(b->to) : code;
        code     = code == cudaSuccess ? cudaEventElapsedTime(&ms, b->from, b->to) : code;
        *seconds = fmin(*seconds, 1e-3 * (double)ms);
    }
    return code;
}

static cudaError_t measure_with(const bench_t *b, spmm_device_t *device)
{
    double      seconds;
    cudaError_t code = least_seconds(b, -1, &seconds);

    device->copy_bw = 2.0 * (double)(b->bytes / 2) / seconds;
    for (int k = 0; k < SPMM_GATHER_SETS && code == cudaSuccess; k++) {
        code                 = least_seconds(b, k, &seconds);
        device->gather_bw[k] = gathered / seconds;
    }
    return code;
}

static cudaError_t make_bench(bench_t *b)
{
    const double most = spmmi_gather_sets[SPMM_GATHER_SETS - 1];
    cudaError_t  code;

    b->bytes = (size_t)most > 2 * copied ? (size_t)most : 2 * copied;
    code     = cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking);
    code     = code == cudaSuccess ? cudaEventCreate(&b->from) : code;
    code     = code == cudaSuccess ? cudaEventCreate(&b->to) : code;
    code     = code == cudaSuccess ? cudaMalloc(&b->memory, b->bytes) : code;
    return code == cudaSuccess ? cudaMemsetAsync(b->memory, 0, b->bytes, b->stream) : code;
}

static void drop_bench(bench_t *b)
{
    if (b->stream != NULL) {
        (void)cudaStreamSynchronize(b->stream);
        (void)cudaStreamDestroy(b->stream);
    }
    if (b->from != NULL) {
        (void)cudaEventDestroy(b->from);
    }
    if (b->to != NULL) {
        (void)cudaEventDestroy(b->to);
    }
    (void)cudaFree(b->memory);
}

/* @return false: not measured, or not believed */
static bool measure(spmm_device_t *device)
{
    bench_t       b        = {0};
    spmm_device_t measured = *device;
    cudaError_t   code     = make_bench(&b);

    if (code == cudaSuccess) {
        code = measure_with(&b, &measured);
    }
    drop_bench(&b);
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
        spmmi_log(device->env, "the rates of %s were not measured: %s", device->description,
                  cudaGetErrorString(code));
        return false;
    }
    if (!spmmi_calibrate_believed(&measured)) {
        spmmi_log(
            device->env,
            "%s copies %.3g bytes/s and gathers %.3g to %.3g beside other work; typical rates "
            "are taken",
            device->description, measured.copy_bw, measured.gather_bw[0],
            measured.gather_bw[SPMM_GATHER_SETS - 1]);
        return false;
    }
    *device = measured;
    return true;
}

void spmmi_calibrate_cuda(spmm_device_t *device, bool may_measure)
{
    char key[KEY_BYTES], path[PATH_BYTES];
    int  driver   = 0;
    bool has_path = false;

    if (!spmmi_calibrate_wanted()) {
        return;
    }
    if (cudaDriverGetVersion(&driver) == cudaSuccess) {
        (void)snprintf(key, sizeof key, "%.95s-%d-%d", device->description, device->n_sm, driver);
        has_path = spmmi_calibrate_path(key, path, sizeof path);
    }
    if ((has_path && spmmi_calibrate_load(path, device)) || !may_measure || !measure(device)) {
        return;
    }
    spmmi_log(device->env, "%s copies %.3g bytes/s and gathers %.3g to %.3g", device->description,
              device->copy_bw, device->gather_bw[0], device->gather_bw[SPMM_GATHER_SETS - 1]);
    if (has_path && !spmmi_calibrate_store(path, device)) {
        spmmi_log(device->env, "the rates of %s could not be kept in %s", device->description,
                  path);
    }
}
