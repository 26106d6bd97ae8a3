/* SPDX-License-Identifier: Apache-2.0 */
/** @file cpu_kernels.h  The CPU kernels: the plain reference of every CUDA kernel, with OpenMP. */
#ifndef SPMM_CPU_KERNELS_H
#define SPMM_CPU_KERNELS_H

#include <omp.h>

#include "kernel_args.h"

/** Threads of a parallel region: as asked for, or as many as OpenMP likes. */
static inline int spmmi_cpu_team(int threads)
{
    return threads > 0 ? threads : omp_get_max_threads();
}

/** The same for one pass over @p entries of a pattern: waking threads takes longer than one of them
 *  takes for few.  One H200's 16 cores took 1.4 ms to scan 100,000 entries, one core 0.5. */
static inline int spmmi_cpu_team_for(int threads, int64_t entries)
{
    return entries > 131072 ? spmmi_cpu_team(threads) : 1;
}

void spmmi_cpu_gather_rows(const spmm_gather_args_t *args);
void spmmi_cpu_scatter_rows(const spmm_scatter_args_t *args);
void spmmi_cpu_scatter_add_rows(const spmm_scatter_add_args_t *args);
void spmmi_cpu_round_rows(const spmm_round_args_t *args);
void spmmi_cpu_store_columns(const spmm_store_args_t *args);
void spmmi_cpu_merge_rows(const spmm_merge_args_t *args);

void spmmi_cpu_place_values(const spmm_place_args_t *args);

/** Set bits of @p x. */
static inline int32_t spmmi_cpu_popcount(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int32_t)(x * 0x0101010101010101u >> 56);
}

/** Place of the lowest set bit; @p x is not 0. */
static inline int32_t spmmi_cpu_lowest_bit(uint64_t x)
{
    return __builtin_ctzll(x);
}

#endif /* SPMM_CPU_KERNELS_H */
