/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity() */
/** @file device_cpu.c  The CPU as a device: everything is done when the call returns. */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "device/device.h"

/* How many threads fall to a rank. */

int spmmi_device_share(int n_cores, const int *mine, const int *ranks_on)
{
    double share = 1e-9; /* three thirds are one */

    for (int c = 0; c < n_cores; c++) {
        if (mine[c] != 0 && ranks_on[c] > 0) {
            share += 1.0 / ranks_on[c];
        }
    }
    return share > 1.0 ? (int)share : 1;
}

/* 1 for each core that this rank may run on. */
static void find_cores(int mine[SPMM_DEVICE_CORES])
{
    cpu_set_t set;

    memset(mine, 0, SPMM_DEVICE_CORES * sizeof *mine);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (size_t c = 0; c < SPMM_DEVICE_CORES && c < CPU_SETSIZE; c++) {
            mine[c] = CPU_ISSET(c, &set) != 0;
        }
        return;
    }
    /* More than CPU_SETSIZE cores: as if all ranks had the same ones. */
    for (int c = 0; c < SPMM_DEVICE_CORES && c < omp_get_num_procs(); c++) {
        mine[c] = 1;
    }
}

spmm_status_t spmmi_device_count_threads(spmm_env_t *env, int *threads)
{
    const int     most = omp_get_max_threads();
    int           mine[SPMM_DEVICE_CORES], ranks_on[SPMM_DEVICE_CORES], code;
    MPI_Comm      node = MPI_COMM_NULL;
    spmm_status_t status;

    code   = MPI_Comm_split_type(env->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    status = spmmi_agree(env, spmmi_mpi_check(env, code, "MPI_Comm_split_type"));
    if (status == SPMM_OK) {
        find_cores(mine);
        code   = MPI_Allreduce(mine, ranks_on, SPMM_DEVICE_CORES, MPI_INT, MPI_SUM, node);
        status = spmmi_mpi_check(env, code, "MPI_Allreduce");
    }
    if (node != MPI_COMM_NULL) {
        const spmm_status_t freed = spmmi_mpi_check(env, MPI_Comm_free(&node), "MPI_Comm_free");

        status = status == SPMM_OK ? freed : status;
    }
    SPMM_TRY(status);
    if (most > SPMM_DEVICE_THREADS) {
        return spmmi_fail(
            &env->err, SPMM_ERR_ARGUMENT,
            "this rank has %d OpenMP threads, and may have %d: set OMP_NUM_THREADS to "
            "its number of cores",
            most, (int)SPMM_DEVICE_THREADS);
    }
    *threads = most;
    if (getenv("OMP_NUM_THREADS") == NULL) {
        const int share = spmmi_device_share(SPMM_DEVICE_CORES, mine, ranks_on);

        *threads = share < most ? share : most;
    }
    return SPMM_OK;
}

struct spmm_event {
    double when; /**< spmmi_now() of the last record */
};

static spmm_status_t cpu_open(spmm_device_t *device, const int *ordinal)
{
    (void)ordinal;
    SPMM_TRY(spmmi_device_count_threads(device->env, &device->threads));
    device->n_sm = device->threads;
    /* Orders of magnitude of a server core; they rank candidates, nothing depends on them. */
    device->mem_bw    = 8e9 * device->n_sm;
    device->fp32_peak = 3e10 * device->n_sm;
    (void)snprintf(device->description, sizeof device->description, "CPU, %d thread%s",
                   device->n_sm, device->n_sm == 1 ? "" : "s");
    return SPMM_OK;
}

static void cpu_close(spmm_device_t *device)
{
    (void)device;
}

enum { PAGE = 4096, LARGE = 1 << 20 };

/* Each thread touches a share in the order of threads first, so that the memory is near the one
 * that multiplies about these rows. */
static void touch(const spmm_device_t *device, char *memory, size_t bytes)
{
#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(device->n_sm))
    for (size_t k = 0; k < bytes; k += PAGE) {
        memory[k] = 0;
    }
}

static spmm_status_t cpu_alloc(const spmm_device_t *device, size_t bytes, void **ptr)
{
    void *memory = spmmi_alloc((int64_t)bytes, 1);

    if (memory == NULL) {
        return spmmi_fail_bytes(&device->env->err, bytes, "a buffer");
    }
    if (bytes >= LARGE && device->n_sm > 1) {
        touch(device, memory, bytes);
    }
    *ptr = memory;
    return SPMM_OK;
}

static void cpu_release(const spmm_device_t *device, void *ptr)
{
    (void)device;
    spmmi_free(ptr);
}

static void cpu_count_kept(const spmm_device_t *device, size_t *pinned, size_t *cached)
{
    (void)device;
    *pinned = *cached = 0;
}

static spmm_status_t cpu_copy(const spmm_device_t *device, void *dst, const void *src, size_t bytes,
                              spmm_stream_t stream)
{
    (void)device;
    (void)stream;
    if (bytes > 0) {
        memmove(dst, src, bytes);
    }
    return SPMM_OK;
}

static spmm_status_t cpu_stage(const spmm_device_t *device, void *to, const void *host,
                               size_t bytes)
{
    return cpu_copy(device, to, host, bytes, NULL);
}

static spmm_status_t cpu_delay(const spmm_device_t *device, double seconds, spmm_stream_t stream)
{
    (void)device;
    (void)seconds;
    (void)stream;
    return SPMM_OK;
}

static bool cpu_is_usable(const spmm_device_t *device, const void *ptr)
{
    (void)device;
    return ptr != NULL;
}

static spmm_status_t cpu_fetch(const spmm_device_t *device, void *host, const void *any,
                               size_t bytes)
{
    return cpu_copy(device, host, any, bytes, NULL);
}

static spmm_status_t cpu_stream_create(const spmm_device_t *device, bool high_priority,
                                       spmm_stream_t *stream)
{
    (void)device;
    (void)high_priority;
    *stream = NULL;
    return SPMM_OK;
}

static void cpu_stream_destroy(const spmm_device_t *device, spmm_stream_t stream)
{
    (void)device;
    (void)stream;
}

static spmm_status_t cpu_stream_sync(const spmm_device_t *device, spmm_stream_t stream)
{
    (void)device;
    (void)stream;
    return SPMM_OK;
}

/* Everything runs at once: all streams are one. */
static bool cpu_stream_id(const spmm_device_t *device, spmm_stream_t stream, uint64_t *id)
{
    (void)device;
    (void)stream;
    *id = 1;
    return true;
}

static bool cpu_is_captured(const spmm_device_t *device, spmm_stream_t stream)
{
    (void)device;
    (void)stream;
    return false;
}

static spmm_status_t cpu_event_create(const spmm_device_t *device, bool timed, spmm_event_t **event)
{
    (void)timed;
    if (SPMM_NEW_ZERO(*event, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof **event, "an event");
    }
    return SPMM_OK;
}

static void cpu_event_destroy(const spmm_device_t *device, spmm_event_t *event)
{
    (void)device;
    spmmi_free(event);
}

static spmm_status_t cpu_event_record(const spmm_device_t *device, spmm_event_t *event,
                                      spmm_stream_t stream)
{
    (void)device;
    (void)stream;
    event->when = spmmi_now();
    return SPMM_OK;
}

static spmm_status_t cpu_stream_wait(const spmm_device_t *device, spmm_stream_t stream,
                                     const spmm_event_t *event)
{
    (void)device;
    (void)stream;
    (void)event;
    return SPMM_OK;
}

static spmm_status_t cpu_event_query(const spmm_device_t *device, const spmm_event_t *event,
                                     bool *done)
{
    (void)device;
    (void)event;
    *done = true;
    return SPMM_OK;
}

static spmm_status_t cpu_event_elapsed(const spmm_device_t *device, spmm_event_t *from,
                                       spmm_event_t *to, double *seconds)
{
    (void)device;
    *seconds = to->when - from->when;
    return SPMM_OK;
}

/* A kernel of kernels/cpu, on the threads of the device. */
#define ROWS(name, args_t)                                                                         \
    static spmm_status_t cpu_##name(const spmm_device_t *device, const args_t *args,               \
                                    spmm_stream_t stream)                                          \
    {                                                                                              \
        args_t mine = *args;                                                                       \
                                                                                                   \
        (void)stream;                                                                              \
        mine.threads = device->n_sm;                                                               \
        spmmi_cpu_##name(&mine);                                                                   \
        return SPMM_OK;                                                                            \
    }

ROWS(gather_rows, spmm_gather_args_t)
ROWS(scatter_rows, spmm_scatter_args_t)
ROWS(scatter_add_rows, spmm_scatter_add_args_t)
ROWS(store_columns, spmm_store_args_t)
ROWS(merge_rows, spmm_merge_args_t)
ROWS(round_rows, spmm_round_args_t)

const spmm_device_ops_t spmmi_device_cpu = {
    .name             = "cpu",
    .open             = cpu_open,
    .close            = cpu_close,
    .alloc            = cpu_alloc,
    .alloc_cached     = cpu_alloc,
    .stage            = cpu_stage,
    .delay            = cpu_delay,
    .release          = cpu_release,
    .alloc_pinned     = cpu_alloc,
    .release_pinned   = cpu_release,
    .count_kept       = cpu_count_kept,
    .copy             = cpu_copy,
    .is_usable        = cpu_is_usable,
    .fetch            = cpu_fetch,
    .stream_create    = cpu_stream_create,
    .stream_destroy   = cpu_stream_destroy,
    .stream_sync      = cpu_stream_sync,
    .stream_id        = cpu_stream_id,
    .is_captured      = cpu_is_captured,
    .event_create     = cpu_event_create,
    .event_destroy    = cpu_event_destroy,
    .event_record     = cpu_event_record,
    .stream_wait      = cpu_stream_wait,
    .event_query      = cpu_event_query,
    .event_elapsed    = cpu_event_elapsed,
    .gather_rows      = cpu_gather_rows,
    .scatter_rows     = cpu_scatter_rows,
    .scatter_add_rows = cpu_scatter_add_rows,
    .store_columns    = cpu_store_columns,
    .merge_rows       = cpu_merge_rows,
    .round_rows       = cpu_round_rows,
};
