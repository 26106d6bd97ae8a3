/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranks_emulated.c  Ranks on the emulated GPU: the very code of the kernels, without a
 *  GPU. */
#include "device_test.h"
#include "emulated/gpu.h"
#include "ranks_machine.h"

/* Of push_emulated.cpp. */
void emulated_push(const void *args, int b);

_Static_assert((int)SPMM_PUSH_THREADS == (int)GPU_THREADS, "blocks of the emulated GPU");

static void delay(int rank, double seconds)
{
    gpu_delay(rank, (int)(seconds * 1e6));
}

static void push(const spmm_push_args_t *args, int n)
{
    for (int k = 0; k < n; k++) {
        gpu_launch(args[k].rank, emulated_push, &args[k], sizeof args[k], args[k].n_blocks);
    }
}

static const ranks_machine_t emulated = {.name      = "emulated",
                                         .blocks    = GPU_BLOCKS,
                                         .copy      = gpu_copy,
                                         .fill      = gpu_fill,
                                         .delay     = delay,
                                         .push      = push,
                                         .wait      = gpu_wait,
                                         .timeout_s = 0.06,
                                         .one_of    = 1};

const ranks_machine_t *ranks_machines[] = {&emulated, NULL};

void ranks_machines_open(spmm_device_t *device, ranks_scale_t *scale)
{
    spmm_assert_ok(spmmi_device_open(&spmm_test_env, SPMM_DEVICE_CPU, NULL, device));
    gpu_open();
    *scale = (ranks_scale_t){.n_sizes     = 3,
                             .size        = {2, 3, 8},
                             .rounds      = 4,
                             .long_rounds = 24,
                             .bytes       = 32 * 1024,
                             .wide_bytes  = 400 * 1024,
                             .wide_rounds = 8};
}

void ranks_machines_close(spmm_device_t *device)
{
    gpu_close();
    spmmi_device_close(device);
}
