/* SPDX-License-Identifier: Apache-2.0 */
/** @file cpu_kernels.h  The CPU kernels: the plain reference of every CUDA kernel, with OpenMP. */
#ifndef SPMM_CPU_KERNELS_H
#define SPMM_CPU_KERNELS_H

#include <omp.h>
#include <stdbool.h>

#include "sddmm_args.h"

/** Threads of a parallel region: as asked for, or as many as OpenMP likes. */
static inline int spmmi_cpu_team(int threads)
{
    return threads > 0 ? threads : omp_get_max_threads();
}

void spmmi_cpu_gather_rows(const spmm_gather_args_t *args);
void spmmi_cpu_scatter_rows(const spmm_scatter_args_t *args);
void spmmi_cpu_scatter_add_rows(const spmm_scatter_add_args_t *args);
void spmmi_cpu_store_columns(const spmm_store_args_t *args);

/** Is there a kernel for A and B of @p ab_type and C of @p c_type? */
bool spmmi_cpu_csr_mm_supports(spmm_type_t ab_type, spmm_type_t c_type);

/** The types must be supported.  FP64 data sums in FP64, all other types in FP32; C is rounded once. */
void spmmi_cpu_csr_mm(const spmm_csr_mm_args_t *args);

/** Is there a kernel for X and Y of @p type and S of @p s_type? */
bool spmmi_cpu_sddmm_supports(spmm_type_t type, spmm_type_t s_type);

/** The types must be supported.  Sums as in spmmi_cpu_csr_mm(), in an order that depends on k alone:
 *  all formats of a mask give the same bits. */
void spmmi_cpu_sddmm_tasks(const spmm_sddmm_tasks_t *mask, const spmm_sddmm_args_t *args);
void spmmi_cpu_sddmm_batches(const spmm_sddmm_batches_t *mask, const spmm_sddmm_args_t *args);
void spmmi_cpu_sddmm_tiles(const spmm_sddmm_tiles_t *mask, const spmm_sddmm_args_t *args);

void spmmi_cpu_row_softmax(const spmm_softmax_args_t *args);
void spmmi_cpu_place_values(const spmm_place_args_t *args);

/** An entry of a tensor-core format: its row in the window, its row of B, and where its value stands
 *  among those of the block. */
typedef struct {
    int32_t row, col, at;
} spmm_tc_entry_t;

enum {
    SPMM_TC_MAX_HEIGHT  = 32,  /**< rows of a window */
    SPMM_TC_MAX_ENTRIES = 512, /**< of a block */
    SPMM_TC_MAX_RUNS    = 128  /**< of a block */
};

/** A tensor-core format as CPU code walks it: windows of blocks, blocks of entries. */
typedef struct {
    int32_t        n_rows, n_windows;
    int32_t        height;    /**< rows of a window */
    const int32_t *block_ptr; /**< [n_windows + 1] */
    const void    *arrays;    /**< borrowed, of the format: what decode() reads */
    const void    *values;    /**< base of what decode() points to */
    /** The entries of a block in storage order, which is ascending in column for each row.
     *  @param[out] entry   [SPMM_TC_MAX_ENTRIES]
     *  @param[out] offset  bytes from the base to the values of the block
     *  @return their number */
    int32_t (*decode)(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset);
    int32_t n_runs; /**< of a block: a multiple of height */
    /** The same without columns, of formats whose values follow each other: in storage order, entries next to each other in their row of CSR
     *  are a run.  Run k is of row k % height and may be empty.
     *  @param[out] length  [n_runs]
     *  @return bytes from the base to the first value */
    size_t (*runs)(const void *arrays, int64_t block, uint8_t *length);
} spmm_tc_view_t;

/** A view of @p arrays, which must outlive it. */
spmm_tc_view_t spmmi_cpu_bittcf_view(const spmm_bittcf_arrays_t *arrays);
spmm_tc_view_t spmmi_cpu_hrpb_view(const spmm_hrpb_arrays_t *arrays);
/** Its values do not follow each other: of runs() only the lengths say something. */
spmm_tc_view_t spmmi_cpu_cvse_view(const spmm_cvse_arrays_t *arrays);
/** The same; windows are tile rows, blocks 16x32 tiles. */
spmm_tc_view_t spmmi_cpu_bcsr_view(const spmm_bcsr_arrays_t *arrays);

/** C = alpha * A * B + beta * C by decoding: only stored entries are multiplied, in the order of
 *  CSR.  16-bit data sum in FP32 and C is rounded once. */
void spmmi_cpu_tc_mm(const spmm_tc_view_t *A, const spmm_tc_mm_args_t *args);

/** FP32 to the nearest TF32 number, ties away from zero: cvt.rna.tf32.f32 of PTX. */
float spmmi_cpu_tf32_round(float x);

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
