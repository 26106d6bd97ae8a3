/* SPDX-License-Identifier: Apache-2.0 */
/** @file matrix.h
 *  A, sparse and distributed by blocks of consecutive rows in rank order.  The columns of A (the
 *  rows of B) are split over the ranks in the same way, with their own block sizes.
 */
#ifndef SPMM_DIST_MATRIX_H
#define SPMM_DIST_MATRIX_H

#include "spmm_dist/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Shape and this rank's part, in the caller's (original) distribution. */
typedef struct {
    size_t      struct_size;           /**< set by the caller to sizeof(spmm_matrix_info_t) */
    int64_t     rows, cols, nnz;       /**< of the whole matrix */
    int64_t     first_row, local_rows; /**< this rank owns rows [first, first + local) */
    int64_t     first_col, local_cols; /**< and these rows of B */
    int64_t     local_nnz;             /**< entries of this rank's rows */
    spmm_type_t type;                  /**< of the values */
    uint64_t    digest; /**< of the file it was read from, equal for equal files on any number of
                             ranks: its size and content, sampled beyond 4 MiB; 0: no file */
    size_t      host_bytes; /**< held by the matrix on this rank, plans aside; nothing of it lies on
                                 a GPU */
} spmm_matrix_info_t;

/** Build A from this rank's CSR rows.  Collective; all arrays are local, lie in host or device
 *  memory, are copied, and may be freed on return.
 *  @param[in] n_rows   rows of A this rank owns, >= 0, < 2^31
 *  @param[in] n_cols   columns of A (rows of B) this rank owns, >= 0, < 2^31; for a square A
 *                      usually n_rows
 *  @param[in] row_ptr  [n_rows + 1], row_ptr[0] == 0, non-decreasing; may be NULL without rows, as
 *                      the next two without entries
 *  @param[in] col_idx  [row_ptr[n_rows]], global, from 0, in any order but no column twice in a row
 *  @param[in] values   [row_ptr[n_rows]] of @p type
 *  @return SPMM_ERR_ARGUMENT naming row and entry where an array breaks these rules */
SPMM_API spmm_status_t spmm_matrix_create_csr(spmm_context_t *ctx, int64_t n_rows, int64_t n_cols,
                                              const int64_t *row_ptr, const int64_t *col_idx,
                                              const void *values, spmm_type_t type,
                                              spmm_matrix_t **A);

/** The same from 32-bit indices, as PETSc and hypre have them where they are not built for larger
 *  ones.  Collective; arrays as for spmm_matrix_create_csr(): local, in host or device memory,
 *  copied (widened on the way), and may be freed on return.  Where a rank has 2^31 entries or more,
 *  all call spmm_matrix_create_csr().
 *  @param[in] n_rows   as in spmm_matrix_create_csr()
 *  @param[in] n_cols   likewise; over all ranks they may add up to more than 2^31 columns, of which
 *                      the first 2^31 can have entries
 *  @param[in] row_ptr  [n_rows + 1], of this rank's entries alone; otherwise as there
 *  @param[in] col_idx  [row_ptr[n_rows]], global, otherwise as there
 *  @param[in] values   [row_ptr[n_rows]] of @p type
 *  @return SPMM_ERR_ARGUMENT naming row and entry where an array breaks these rules; negative
 *          offsets and columns, which an overflow leaves, are refused like any
 *          others out of range */
SPMM_API spmm_status_t spmm_matrix_create_csr32(spmm_context_t *ctx, int64_t n_rows, int64_t n_cols,
                                                const int32_t *row_ptr, const int32_t *col_idx,
                                                const void *values, spmm_type_t type,
                                                spmm_matrix_t **A);

/** Build A from this rank's blocks of @p vector rows by @p width columns: column-vector-sparse with
 *  @p width == 1 (vectorSparse, section 4), block-sparse otherwise.  Collective; arrays as for
 *  spmm_matrix_create_csr().  All places of a block are entries of A, zeros too.  Every engine
 *  takes such a matrix; engine cvse makes windows of 8 or 16 rows of it, so vectors of 2 and 4 rows
 *  that are neighbours share the rows of B that both use.  spmm_matrix_update_values() takes new
 *  values in the order of @p values.
 *  @param[in] n_rows     rows of A this rank owns: a multiple of @p vector
 *  @param[in] n_cols     as in spmm_matrix_create_csr()
 *  @param[in] vector     2, 4, 8 or 16
 *  @param[in] width      at least 1
 *  @param[in] block_ptr  [n_rows / vector + 1] first block of each row of blocks; block_ptr[0] ==
 *                        0, non-decreasing
 *  @param[in] col_idx    [block_ptr[n_rows / vector]] first column of each block, global, from 0,
 *                        in any order; the blocks of a row of blocks do not overlap
 *  @param[in] values     [blocks * width * vector] of @p type, block after block, in each column
 *                        after column
 *  @return SPMM_ERR_ARGUMENT where an array breaks these rules, naming row and entry of A */
SPMM_API spmm_status_t spmm_matrix_create_cvse(spmm_context_t *ctx, int64_t n_rows, int64_t n_cols,
                                               int64_t vector, int64_t width,
                                               const int64_t *block_ptr, const int64_t *col_idx,
                                               const void *values, spmm_type_t type,
                                               spmm_matrix_t **A);

/** Read A from a file, told by its content: Matrix Market (`.mtx`, also gzipped), binary CSR with
 *  values or without (`.csr`), PETSc's binary format, or text of the Deep Learning Matrix
 *  Collection (`.smtx`, read by rank 0); docs/reference/files.md describes them.  Collective.  Rows
 *  are split evenly by entries.  Symmetric, skew-symmetric and Hermitian storage is expanded,
 *  duplicates are summed; the entries of a Matrix Market pattern and of a `.smtx` file are 1, those
 *  of a `.csr` file without values are drawn from @p seed.
 *  @param[in] type  storage type of the values; SPMM_TYPE_AUTO: FP64, complex where the file is
 *  @return SPMM_ERR_IO for a missing or malformed file, with the line where there is one, and where
 *          ranks see files of different size or, by samples, content: in up to 4 MiB any byte;
 *          SPMM_ERR_RANGE when a value overflows @p type or the shape overflows the index types;
 *          SPMM_ERR_ARGUMENT where the file is complex and @p type is real */
SPMM_API spmm_status_t spmm_matrix_read(spmm_context_t *ctx, const char *path, spmm_type_t type,
                                        uint64_t seed, spmm_matrix_t **A);

/** Write A for spmm_matrix_read() and others, all ranks in parallel.  Collective; every rank needs
 *  the folder of @p path.  The file appears under its name when it is whole.
 *  @param[in] format  `csr` or `petsc` (FP64, complex where A is; 64-bit numbers where 32 bits do
 *                     not do); NULL: by the end of @p path, `.csr`, `.petsc` or `.petscbin`.  FP16
 *                     and BF16 values are written to `.csr` as FP32
 *  @return SPMM_ERR_ARGUMENT for another format, SPMM_ERR_IO where the file cannot be written */
SPMM_API spmm_status_t spmm_matrix_write(const spmm_matrix_t *A, const char *path,
                                         const char *format);

/** Build A by a generator, deterministic by @p seed for any number of ranks.  Collective.
 *  @param[in] spec  `kind:key=value,...`; docs/reference/generators.md lists them
 *  @return SPMM_ERR_ARGUMENT with the offending part of @p spec */
SPMM_API spmm_status_t spmm_matrix_generate(spmm_context_t *ctx, const char *spec, spmm_type_t type,
                                            uint64_t seed, spmm_matrix_t **A);

/** New values, same pattern, in the order of the arrays given at creation (of spmm_matrix_get_csr
 *  for a matrix read or generated).  Collective.  Refills every plan made from @p A, after
 *  waiting for its executes in flight, which use the old values.  After a failure some ranks or
 *  plans hold the new values and some the old ones: call it again before the next execute.
 *  @param[in] values  local, [local_nnz] of the matrix's type, host or device memory, copied */
SPMM_API spmm_status_t spmm_matrix_update_values(spmm_matrix_t *A, const void *values);

/** Not collective. */
SPMM_API spmm_status_t spmm_matrix_get_info(const spmm_matrix_t *A, spmm_matrix_info_t *info);

/** Borrow this rank's rows (host memory, valid until @p A changes): row_ptr [local_rows + 1],
 *  col_idx [local_nnz] global and ascending in each row, values [local_nnz].  Not collective. */
SPMM_API spmm_status_t spmm_matrix_get_csr(const spmm_matrix_t *A, const int64_t **row_ptr,
                                           const int64_t **col_idx, const void **values);

/** Free the columns and values of this rank's entries, of which plans have what they need: 16 bytes
 *  an entry in FP64.  Not collective; for all ranks to call, with or without plans made from @p A.
 *  Its plans work on, spmm_plan_update_values() too; calls that need the entries (plans, masks,
 *  spmm_matrix_update_values(), _get_csr(), _write(), _scale()) are SPMM_ERR_ARGUMENT from then on.
 *  Twice is fine. */
SPMM_API spmm_status_t spmm_matrix_drop_entries(spmm_matrix_t *A);

/** Collective.  Frees *A and sets it to NULL; NULL in is success.  Plans made from it must be
 *  gone: otherwise SPMM_ERR_ARGUMENT and nothing is freed. */
SPMM_API spmm_status_t spmm_matrix_destroy(spmm_matrix_t **A);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_DIST_MATRIX_H */
