/* SPDX-License-Identifier: Apache-2.0 */
/** @file assemble_rows.h  The local half of assembly: entries of this rank's rows to CSR. */
#ifndef SPMM_MATRIX_ASSEMBLE_ROWS_H
#define SPMM_MATRIX_ASSEMBLE_ROWS_H

#include "matrix/assemble.h"

/** Fill row_ptr, col_idx and values of @p A, whose type, offsets and n_rows are set.  Local; the
 *  result depends on the order of @p bag among equal positions only.
 *  @param[in,out] bag  entries of this rank's rows, in any order; freed on the way */
spmm_status_t spmmi_assemble_rows(spmm_matrix_t *A, spmm_bag_t *bag, spmm_duplicates_t duplicates,
                                  uint64_t seed);

#endif /* SPMM_MATRIX_ASSEMBLE_ROWS_H */
