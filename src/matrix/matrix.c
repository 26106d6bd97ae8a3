/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/matrix.h"

#include <string.h>

#include "base/alloc.h"

size_t spmmi_matrix_bytes(const spmm_matrix_t *A)
{
    const size_t entry = (A->dropped ? 0 : sizeof *A->col_idx + spmm_type_size(A->type)) +
                         (A->value_order == NULL ? 0 : sizeof *A->value_order);

    return sizeof *A + 2 * ((size_t)A->env->size + 1) * sizeof *A->row_offset +
           ((size_t)A->n_rows + 1) * sizeof *A->row_ptr + (size_t)spmmi_matrix_local_nnz(A) * entry;
}

spmm_status_t spmmi_matrix_need_entries(const spmm_matrix_t *A)
{
    return !A->dropped ? SPMM_OK
                       : spmmi_fail(&A->env->err, SPMM_ERR_ARGUMENT,
                                    "the entries of this matrix have been dropped "
                                    "(spmm_matrix_drop_entries)");
}

bool spmmi_matrix_is_square(const spmm_matrix_t *A)
{
    return A->rows == A->cols && memcmp(A->row_offset, A->col_offset,
                                        ((size_t)A->env->size + 1) * sizeof *A->row_offset) == 0;
}

spmm_status_t spmmi_matrix_new(spmm_env_t *env, spmm_type_t type, spmm_matrix_t **A)
{
    spmm_matrix_t *matrix;

    if (SPMM_NEW_ZERO(matrix, 1) == NULL) {
        return spmmi_fail_memory(&env->err, 1, sizeof *matrix, "a matrix");
    }
    matrix->env  = env;
    matrix->type = type;
    *A           = matrix;
    return SPMM_OK;
}

void spmmi_matrix_free(spmm_matrix_t *A)
{
    if (A == NULL) {
        return;
    }
    spmmi_free_all(A->row_offset, A->col_offset, A->row_ptr, A->col_idx, A->values, A->value_order,
                   A);
}

void spmmi_even_offsets(int64_t n, int size, int64_t *offset)
{
    for (int p = 0; p <= size; p++) {
        offset[p] = spmmi_even_share(n, size, p);
    }
}
