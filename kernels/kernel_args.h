/* SPDX-License-Identifier: Apache-2.0 */
/** @file kernel_args.h
 *  Arguments of the kernels that are no engine's, CPU and CUDA: plain structs over borrowed memory
 *  of one device.  Those of engines are in engine/NAME/args.h.  Kernels see this file, those,
 *  operands.h and types.h, never MPI.  Offsets and leading dimensions count elements.
 */
#ifndef SPMM_KERNEL_ARGS_H
#define SPMM_KERNEL_ARGS_H

#include "operands.h"

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
    size_t         elem_size; /**< 2, 4, 8 or 16 */
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

/** dst[i] = src[i], rounded to nearest even: FP64 and FP32, or FP32 and a 16-bit type, either way.
 *  Complex elements are two. */
typedef struct {
    const void *src;
    void       *dst;
    spmm_type_t src_type, dst_type; /**< real */
    int64_t     count;
    int         threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_round_args_t;

/** dst[row[u], j] += alpha * sum of src[pos[k], j] over k in [ptr[u], ptr[u + 1]), in the order of
 *  k: adds the partial rows that peers send back for op T.  Deterministic. */
typedef struct {
    const void    *src;      /**< [* x n], row-major, ld = n, of src_type */
    spmm_type_t    src_type; /**< 64F or 32F, real or complex: the accumulator type */
    const int32_t *row;      /**< [n_rows], no row twice */
    const int32_t *ptr;      /**< [n_rows + 1] */
    const int32_t *pos;      /**< [ptr[n_rows]] */
    int64_t        n_rows, n;
    spmm_scalar_t  alpha;
    void          *dst;
    spmm_type_t    dst_type;
    int64_t        ld_dst;
    spmm_layout_t  dst_layout;
    int            threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_scatter_add_args_t;

/** C[row_map[i], j] = sum[i, j] + beta * C[row_map[i], j], i < n_rows, j < n; beta == 0 does not
 *  read C.  Rounded once. */
typedef struct {
    const void    *sum;      /**< [n_rows x n] of sum_type in the layout of C; NULL: zeros */
    spmm_type_t    sum_type; /**< 64F or 32F, real or complex: the accumulator type of c_type */
    int64_t        ld_sum;
    const int32_t *row_map; /**< [n_rows], no row twice; NULL: the identity */
    int64_t        n_rows, n;
    spmm_scalar_t  beta;
    void          *C;
    spmm_type_t    c_type;
    int64_t        ldc;
    spmm_layout_t  layout;  /**< ROW or COL, of C and sum */
    int            threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_merge_args_t;

/** dst[i, j] = src[i, j] + beta * dst[i, j]: a row-major product into column-major C; beta == 0
 *  does not read dst.  Rounded once. */
typedef struct {
    const void   *src; /**< [n_rows x n], row-major, ld = n, of the accumulator type of dst */
    int64_t       n_rows, n;
    spmm_scalar_t beta;
    void         *dst; /**< [n_rows x n], column-major */
    int64_t       ld_dst;
    spmm_type_t   type;    /**< of dst */
    int           threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_store_args_t;

/** to[i] = from[source[i]], or its conjugate: new values to where a format keeps them. */
typedef struct {
    const void    *from;
    const int32_t *source; /**< [count]; -1: to[i] stays as it is */
    int64_t        count;
    size_t         elem_size; /**< 2, 4, 8 or 16 */
    int            conjugate; /**< nonzero: elements are complex, the imaginary part changes sign */
    void          *to;        /**< at a multiple of 64 bytes, source of 16 */
    int            threads;   /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_place_args_t;

#endif /* SPMM_KERNEL_ARGS_H */
