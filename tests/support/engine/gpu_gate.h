/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu_gate.h  Contexts on GPUs, and streams that wait until a test lets them go on. */
#ifndef SPMM_GPU_GATE_H
#define SPMM_GPU_GATE_H

#include <cuda_runtime.h>
#include <stdatomic.h>
#include <time.h>

#include "gpu_test.h"
#include "test_context.h"

/** A context of all ranks; where no GPU is visible the program ends as skipped. */
static inline spmm_context_t *gpu_context(void)
{
    spmm_context_t *ctx;
    spmm_device_t   device;

    gpu_test_open(&device);
    spmmi_device_close(&device);
    spmm_assert_ok(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    return ctx;
}

static atomic_int gpu_gate_is_open;

static inline void gpu_sleep_ms(long ms)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Not for ever: a call that waits for the stream must fail, not hang. */
static inline void CUDART_CB gpu_gate_wait(void *unused)
{
    const double start = spmmi_now();

    (void)unused;
    while (atomic_load(&gpu_gate_is_open) == 0 && spmmi_now() - start < 30.0) {
        gpu_sleep_ms(1);
    }
}

/** Holds up what comes on @p stream from now on. */
static inline void gpu_gate_close(cudaStream_t stream)
{
    atomic_store(&gpu_gate_is_open, 0);
    assert_int_equal(cudaLaunchHostFunc(stream, gpu_gate_wait, NULL), cudaSuccess);
}

static inline void gpu_gate_open(void)
{
    atomic_store(&gpu_gate_is_open, 1);
}

static inline cudaStream_t gpu_new_stream(void)
{
    cudaStream_t stream;

    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
}

#endif /* SPMM_GPU_GATE_H */
