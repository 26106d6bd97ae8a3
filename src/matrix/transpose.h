/* SPDX-License-Identifier: Apache-2.0 */
/** @file transpose.h  The transpose of a distributed matrix. */
#ifndef SPMM_MATRIX_TRANSPOSE_H
#define SPMM_MATRIX_TRANSPOSE_H

#include "matrix/matrix.h"

/** A^T, or A^H, whose rows live where the columns of @p A live and the other way round.
 *  Collective, agreed.  Release with spmmi_matrix_free(). */
spmm_status_t spmmi_matrix_transpose(const spmm_matrix_t *A, bool conjugate,
                                     spmm_matrix_t **flipped);

#endif /* SPMM_MATRIX_TRANSPOSE_H */
