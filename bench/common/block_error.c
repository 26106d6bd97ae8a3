/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <math.h>

#include "base/hash.h"
#include "base/scalar.h"
#include "tool_common.h"

static const double most_checked = 5e7; /* products of the reference, about */

static double scale_of_b(const spmm_csr_t *A)
{
    double most = 0.0;

    for (int32_t i = 0; i < A->n_rows && A->type == SPMM_R_16F; i++) {
        double sum = 0.0;

        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            sum += fabs(spmmi_value_get(A->type, A->values, e));
        }
        most = fmax(most, sum);
    }
    return tool_scale_of_b(most);
}

void bench_block_random(const spmm_csr_t *A, int64_t n, void *B)
{
    const double scale = scale_of_b(A);

#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < A->n_cols; i++) {
        for (int64_t j = 0; j < n; j++) {
            spmmi_value_set(A->type, B, i * n + j, scale * spmmi_random_value(2, i, j));
        }
    }
}

static double element_error(const spmm_csr_t *A, int64_t i, int64_t j, int64_t n, const void *B,
                            double got)
{
    const int64_t terms = A->row_ptr[i + 1] - A->row_ptr[i];
    tool_sum_t    want  = {0.0, 0.0};

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        tool_sum_add(&want, spmmi_value_get(A->type, A->values, e) *
                                spmmi_value_get(A->type, B, (int64_t)A->col_idx[e] * n + j));
    }
    if (!isfinite(want.size)) {
        return (double)INFINITY;
    }
    return tool_relative_error(got, want.sum, want.size, tool_range(A->type, terms).eta);
}

double bench_block_error(const spmm_csr_t *A, int64_t n, const void *B, const void *C)
{
    const double  work  = ((double)spmmi_csr_nnz(A) + (double)A->n_rows) * (double)n;
    const int64_t step  = (int64_t)(work / most_checked) | 1; /* odd: misses no power of two */
    double        worst = 0.0;

#pragma omp parallel for schedule(dynamic, 64) reduction(max : worst)
    for (int64_t i = 0; i < A->n_rows; i++) {
        for (int64_t j = 0; j < n; j++) {
            const double got   = spmmi_value_get(A->type, C, i * n + j);
            double       error = isfinite(got) ? 0.0 : (double)INFINITY;

            if (i % step == 0 && isfinite(got)) {
                error = element_error(A, i, j, n, B, got);
            }
            worst = error > worst ? error : worst;
        }
    }
    return worst;
}
