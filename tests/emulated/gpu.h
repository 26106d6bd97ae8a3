/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu.h  Enough of a GPU on one CPU thread to run kernels whose blocks wait for each other:
 *  every thread of every block has a stack of its own and gives way where it polls, waits or draws
 *  lots, so that orders of events that a GPU shows rarely come up, the same ones in each run.
 *  Memory is sequentially consistent: a fence that is missing goes unnoticed. */
#ifndef SPMM_EMULATED_GPU_H
#define SPMM_EMULATED_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_THREADS = 256, GPU_LANES = 32, GPU_BLOCKS = 128, GPU_QUEUES = 16 };

/** A kernel: what block @p b does, called by each of its threads. */
typedef void (*gpu_kernel_t)(const void *args, int b);

void gpu_open(void);
void gpu_close(void);

/* Work of a queue, done in order. */

void gpu_copy(int queue, void *to, const void *from, size_t bytes);
void gpu_fill(int queue, void *to, int byte, size_t bytes);
void gpu_delay(int queue, int rounds);
/** @p args are copied. */
void gpu_launch(int queue, gpu_kernel_t kernel, const void *args, size_t bytes, int n_blocks);
/** Do it all. */
void gpu_wait(void);

/* What kernels call. */

int      gpu_thread(void);
uint64_t gpu_time_ns(void);
void     gpu_give_way(void);
void     gpu_perhaps_give_way(void);
/** Wait for all threads of the block that have not ended; *@p any, *@p all: of their @p p. */
void gpu_barrier(bool p, bool *any, bool *all);
/** Wait for the whole warp; the values of its lanes, until the lane waits again. */
const uint64_t *gpu_warp(uint64_t value);

#ifdef __cplusplus
}
#endif

#endif /* SPMM_EMULATED_GPU_H */
