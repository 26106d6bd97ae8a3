/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/dense/format.h"

#include "spmm_dist/context.h"

int64_t spmmi_dense_ld(int32_t n_cols, spmm_type_t type)
{
    const int64_t step = SPMM_DENSE_ALIGN / (int64_t)spmm_type_size(type);

    return (n_cols + step - 1) / step * step;
}

bool spmmi_dense_fits(int32_t n_rows, int32_t n_cols, int64_t nnz, spmm_type_t type)
{
    const double size   = (double)spmm_type_size(type);
    const double places = (double)n_rows * (double)spmmi_dense_ld(n_cols, type);

    return nnz <= INT32_MAX &&
           places * size <= SPMM_DENSE_MOST * (double)nnz * (size + sizeof(int32_t));
}

void spmmi_dense_places(int32_t n_rows, int64_t ld, const int32_t *row_ptr, const int32_t *col,
                        int threads, int32_t *from)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int32_t i = 0; i < n_rows; i++) {
        int32_t *row = from + i * ld;

        for (int64_t j = 0; j < ld; j++) {
            row[j] = -1;
        }
        for (int32_t e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
            row[col[e]] = e;
        }
    }
}
