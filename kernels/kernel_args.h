/* SPDX-License-Identifier: Apache-2.0 */
/** @file kernel_args.h
 *  Arguments that kernels share, CPU and CUDA: plain structs over borrowed memory of one device.  The
 *  arrays of each format are in engine/NAME/args.h.
 *  Kernels see this file, those and types.h, never MPI.  Offsets and leading dimensions count elements.
 */
#ifndef SPMM_KERNEL_ARGS_H
#define SPMM_KERNEL_ARGS_H

#include "operands.h"
#include "spmm_dist/types.h"

#ifdef __CUDACC__
#define SPMM_BOTH __host__ __device__
#else
#define SPMM_BOTH
#endif

/** dst[i, j] = src[row[i], j], i < n_rows, j < n: pack rows for peers. */
typedef struct {
    const void    *src;
    int64_t        ld_src;
    spmm_layout_t  src_layout; /**< ROW or COL */
    const int32_t *row;        /**< [n_rows], NULL: the identity (a plain transpose for COL) */
    int64_t        n_rows, n;
    size_t         elem_size; /**< 2, 4 or 8 */
    void          *dst;       /**< [n_rows x n], row-major, ld = n */
    int            threads;   /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_gather_args_t;

/** dst[row[i], j] = src[i, j]: the way back; no row twice. */
typedef struct {
    const void    *src; /**< [n_rows x n], row-major, ld = n */
    const int32_t *row; /**< [n_rows], NULL: the identity */
    int64_t        n_rows, n;
    size_t         elem_size;
    void          *dst;
    int64_t        ld_dst;
    spmm_layout_t  dst_layout;
    int            threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_scatter_args_t;

/** dst[row[u], j] += sum of src[pos[k], j] over k in [ptr[u], ptr[u + 1]), in the order of k: adds
 *  the partial rows that peers send back for op T.  Deterministic. */
typedef struct {
    const void    *src;      /**< [* x n], row-major, ld = n, of src_type */
    spmm_type_t    src_type; /**< 64F or 32F: the accumulator type */
    const int32_t *row;      /**< [n_rows], no row twice */
    const int32_t *ptr;      /**< [n_rows + 1] */
    const int32_t *pos;      /**< [ptr[n_rows]] */
    int64_t        n_rows, n;
    void          *dst;
    spmm_type_t    dst_type;
    int64_t        ld_dst;
    spmm_layout_t  dst_layout;
    int            threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_scatter_add_args_t;

/** dst[i, j] = src[i, j] + beta * dst[i, j]: a row-major product into column-major C; beta == 0
 *  does not read dst.  Sums are in the accumulator's type and rounded once. */
typedef struct {
    const void *src; /**< [n_rows x n], row-major, ld = n */
    int64_t     n_rows, n;
    double      beta;
    void       *dst; /**< [n_rows x n], column-major */
    int64_t     ld_dst;
    spmm_type_t type;    /**< of src and dst */
    int         threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_store_args_t;

/** C = alpha * A * B + beta * C, A in CSR. */
typedef struct {
    int64_t         n_rows;
    const int64_t  *row_ptr; /**< [n_rows + 1] */
    const int32_t  *col_idx;
    const void     *values;  /**< of x.ab_type */
    const int32_t  *row_map; /**< [n_rows] row of C of each row of A, NULL: the identity */
    spmm_operands_t x;
    int             threads; /**< OpenMP threads, 0: as many as OpenMP likes */
} spmm_csr_mm_args_t;

/* Tensor-core formats: flat arrays, offsets of 32 bits.  docs/formats.md draws them. */
enum {
    SPMM_TC_NO_COLUMN = -1, /**< pads lists of columns: no row of B belongs to it */
    SPMM_TC_PAD       = 4,  /**< blocks that kernels may read behind the last one */
    SPMM_TC_FEW       = 4   /**< pieces for each multiprocessor that leave it idle */
};

/** A piece of the work of a CUDA kernel: consecutive blocks of one window.  A window of few blocks
 *  is one piece, empty windows too; a long one is several, so that no row keeps one warp busy
 *  while the others have finished. */
typedef struct {
    int32_t window;
    int32_t block, n_blocks; /**< first block, and how many */
    int32_t start; /**< where its values start: value_ptr or size_ptr of the first block, if any */
} spmm_tc_piece_t;

/** A window that is several pieces. */
typedef struct {
    int32_t window, piece, n_pieces;
} spmm_tc_split_t;

/** All pieces, the longest first.  Those of split windows: piece p of them leaves its sums in
 *  partial [p, height, n], and a second kernel adds them up in the order of the pieces, so that
 *  results do not depend on timing.  Then whole windows that all warps of a thread block share.  Then
 *  whole windows for one warp each. */
typedef struct {
    int32_t                n_pieces, n_partial; /**< all, and those of split windows */
    int32_t                n_team;              /**< n_partial and those for a thread block */
    int32_t                n_splits;
    int32_t                n_sm;  /**< multiprocessors of the device */
    const spmm_tc_piece_t *piece; /**< [n_pieces], 16-byte aligned */
    const spmm_tc_split_t *split; /**< [n_splits] */
    void *partial;                /**< [n_partial * height * n] of FP64 for FP64 data, else FP32 */
} spmm_tc_work_t;

/** The dense side of a product with a tensor-core format. */
typedef struct {
    spmm_operands_t x;       /**< row-major */
    const int32_t  *row_map; /**< [n_rows] row of C of each row of A, NULL: the identity */
    spmm_compute_t  compute; /**< 64F, 32F or 32F_FAST_TF32 */
    int             threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_tc_mm_args_t;

/** to[i] = from[source[i]]: new values to where a format keeps them. */
typedef struct {
    const void    *from;
    const int32_t *source; /**< [count]; -1: to[i] stays as it is */
    int64_t        count;
    size_t         elem_size; /**< 2, 4 or 8 */
    void          *to;        /**< at a multiple of 32 bytes, source of 16 */
    int            threads;   /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_place_args_t;

#endif /* SPMM_KERNEL_ARGS_H */
