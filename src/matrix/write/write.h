/* SPDX-License-Identifier: Apache-2.0 */
/** @file write.h  The maker behind spmm_matrix_write(). */
#ifndef SPMM_MATRIX_WRITE_H
#define SPMM_MATRIX_WRITE_H

#include "matrix/matrix.h"

/** As spmm_matrix_write().  Collective, agreed. */
spmm_status_t spmmi_matrix_write(const spmm_matrix_t *A, const char *path, const char *format);

#endif /* SPMM_MATRIX_WRITE_H */
