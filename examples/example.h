/* SPDX-License-Identifier: Apache-2.0 */
/** @file example.h  What every example needs: a check of each call, memory, repeatable numbers. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <math.h>
#include <spmm_dist/spmm_dist.h>
#include <stdlib.h>
#include <string.h>

static spmm_context_t *ctx = NULL;

/* Collective setup calls fail on all ranks alike, spmm_execute() only where the failure was seen:
 * ending all ranks from here is right for both. */
static inline void check(spmm_status_t status)
{
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "%s\n", spmm_last_error(ctx));
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

/* The larger of two errors, where NaN is infinite: fmax() and MPI_MAX may drop it. */
static inline double larger(double a, double b)
{
    return b <= a ? a : b < HUGE_VAL ? b : HUGE_VAL;
}

/* Zeroed host memory; never NULL, also for ranks without rows. */
static inline void *allocate(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);

    if (memory == NULL) {
        (void)fprintf(stderr, "out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    return memory;
}

/* Element (row, column) of a random block in [-1, 1): the same on any number of ranks.
 * SplitMix64 (Steele, Lea, Flood 2014). */
static inline double random_element(int64_t row, int64_t column)
{
    uint64_t z = ((uint64_t)row << 16) + (uint64_t)column + UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
}

/* Over all ranks: the sum or the maximum, the same bits everywhere (MPI promises that for a
 * broadcast, not for MPI_Allreduce), so that all ranks take the same turns. */
static inline void reduce_all(double *values, int count, MPI_Op op)
{
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values, values, count, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
    MPI_Bcast(values, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

#endif /* EXAMPLE_H */
