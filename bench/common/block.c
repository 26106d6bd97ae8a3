/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "matrix/matrix.h"

/* A word, a colon: `kind:key=value`; paths with a colon have a '/' or a '.' before it. */
static bool is_spec(const char *path)
{
    const size_t word = strcspn(path, ":/.");

    return word > 0 && path[word] == ':';
}

const char *bench_block_name(const char *path)
{
    const char *slash = is_spec(path) ? NULL : strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static spmm_status_t copy(spmm_env_t *env, const spmm_matrix_t *A, spmm_csr_t *block)
{
    SPMM_TRY(spmmi_csr_alloc(env, A->n_rows, A->n_cols, A->nnz, A->type, block));
    memcpy(block->row_ptr, A->row_ptr, ((size_t)A->n_rows + 1) * sizeof *block->row_ptr);
    memcpy(block->values, A->values, (size_t)A->nnz * spmm_type_size(A->type));
    for (int64_t k = 0; k < A->nnz; k++) {
        block->col_idx[k] = (int32_t)A->col_idx[k];
    }
    return SPMM_OK;
}

spmm_status_t bench_block_read(spmm_env_t *env, const char *path, spmm_type_t type,
                               spmm_csr_t *block)
{
    spmm_matrix_t *A = NULL;
    spmm_status_t  status;

    SPMM_TRY(is_spec(path) ? spmmi_matrix_from_spec(env, path, type, 1, &A)
                           : spmmi_matrix_from_file(env, path, type, 1, &A));
    status = copy(env, A, block);
    spmmi_matrix_free(A);
    return status;
}

spmm_status_t bench_block_reorder(spmm_env_t *env, const spmm_reorderer_t *method,
                                  const spmm_csr_t *block, spmm_csr_t *permuted, double *seconds)
{
    const clock_t start = clock();
    int32_t      *order;
    spmm_status_t status;

    if (SPMM_NEW(order, block->n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof *order, "an order");
    }
    status = spmmi_reorder(env, method, block, 0, order);
    if (seconds != NULL) {
        *seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    }
    if (status == SPMM_OK) {
        status = spmmi_csr_permute(env, block, order, permuted, NULL);
    }
    spmmi_free(order);
    return status;
}
