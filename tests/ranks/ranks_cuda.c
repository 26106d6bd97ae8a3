/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranks_cuda.c  Ranks of one GPU: the kernels of the library, one for each rank on a stream
 *  of its own, which the GPU runs side by side; and all ranks' blocks in one cooperative grid,
 *  which tools that run one kernel at a time bear, too. */
#include <cuda_runtime_api.h>

#include "cuda/cuda_kernels.h"
#include "gpu_test.h"
#include "ranks_grid.h"
#include "ranks_machine.h"

static spmm_device_t    *device;
static cudaStream_t      stream[SPMM_PEER_RANKS];
static spmm_push_args_t *push_copy; /* device, [SPMM_PEER_RANKS] */

static void check(cudaError_t code)
{
    if (code != cudaSuccess) {
        fail_msg("%s: %s", cudaGetErrorName(code), cudaGetErrorString(code));
    }
}

static void copy_on(cudaStream_t on, void *to, const void *from, size_t bytes)
{
    if (bytes > 0) {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, on));
    }
}

static void copy(int rank, void *to, const void *from, size_t bytes)
{
    copy_on(stream[rank], to, from, bytes);
}

static void fill(int rank, void *to, int byte, size_t bytes)
{
    if (bytes > 0) {
        check(cudaMemsetAsync(to, byte, bytes, stream[rank]));
    }
}

static void delay(int rank, double seconds)
{
    check(spmmi_cuda_delay(seconds, stream[rank]));
}

static void push(const spmm_push_args_t *args, int n)
{
    for (int k = 0; k < n; k++) {
        check(spmmi_cuda_push(&args[k], stream[args[k].rank]));
    }
}

static void wait(void)
{
    check(cudaDeviceSynchronize());
}

static void copy_in_grid(int rank, void *to, const void *from, size_t bytes)
{
    copy_on(stream[0], to, from, bytes);
}

static void fill_in_grid(int rank, void *to, int byte, size_t bytes)
{
    fill(0, to, byte, bytes);
}

static void no_delay(int rank, double seconds) {}

static void push_in_grid(const spmm_push_args_t *args, int n)
{
    check(ranks_grid_push(args, n, push_copy, stream[0]));
}

static ranks_machine_t streams = {.name  = "a stream for each rank",
                                  .copy  = copy,
                                  .fill  = fill,
                                  .delay = delay,
                                  .push  = push,
                                  .wait  = wait};
static ranks_machine_t grid    = {.name  = "a grid of all ranks",
                                  .copy  = copy_in_grid,
                                  .fill  = fill_in_grid,
                                  .delay = no_delay,
                                  .push  = push_in_grid,
                                  .wait  = wait};

const ranks_machine_t *ranks_machines[] = {&grid, &streams, NULL};

void ranks_machines_open(spmm_device_t *opened, ranks_scale_t *scale)
{
    const bool small  = getenv("SPMM_TEST_SMALL") != NULL;
    int        blocks = 0;

    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1); /* no two streams in one queue */
    gpu_test_open(opened);
    device = opened;
    for (int r = 0; r < SPMM_PEER_RANKS; r++) {
        check(cudaStreamCreateWithFlags(&stream[r], cudaStreamNonBlocking));
    }
    check(cudaMalloc((void **)&push_copy, SPMM_PEER_RANKS * sizeof *push_copy));
    check(ranks_grid_blocks(&blocks));
    /* A first use may wait for all work of the device: now, before kernels wait for each other. */
    check(spmmi_cuda_delay(1e-6, stream[0]));
    fill(0, push_copy, 0, SPMM_PEER_RANKS * sizeof *push_copy);
    copy(0, push_copy, push_copy + 1, sizeof *push_copy);
    wait();
    streams.blocks = grid.blocks = blocks;
    streams.timeout_s = grid.timeout_s = small ? 60.0 : 5.0;
    streams.one_of = 1, grid.one_of = small ? 1 : 4;
    *scale = (ranks_scale_t){.n_sizes     = 5,
                             .size        = {2, 3, 4, 8, 16},
                             .rounds      = 32,
                             .long_rounds = 208,
                             .bytes       = 256 * 1024,
                             .wide_bytes  = 2 * 1024 * 1024,
                             .wide_rounds = 12};
    if (small) { /* compute-sanitizer: kernels may run one at a time, and fewer blocks fit */
        ranks_machines[1] = NULL;
        grid.blocks       = blocks < 100 ? blocks : 100;
        scale->n_sizes = 3, scale->rounds = 3, scale->long_rounds = 8;
        scale->bytes = 32 * 1024, scale->wide_bytes = 256 * 1024, scale->wide_rounds = 4;
    }
}

void ranks_machines_close(spmm_device_t *opened)
{
    for (int r = 0; r < SPMM_PEER_RANKS; r++) {
        check(cudaStreamDestroy(stream[r]));
    }
    check(cudaFree(push_copy));
    spmmi_device_close(opened);
}
