/* SPDX-License-Identifier: Apache-2.0 */
/** @file cores.c  How many threads fall to a rank. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

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
