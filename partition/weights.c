/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/weights.h"

/* Rows together weigh at least this many times what columns do. */
enum { ROWS_TO_COLUMNS = 64 };

static int64_t at_least_one(int64_t weight)
{
    return weight < 1 ? 1 : weight;
}

spmm_weight_scale_t spmmi_weight_scale(int64_t nnz, int64_t n_vertices, int64_t n_cols,
                                       int64_t most)
{
    spmm_weight_scale_t scale = {.times = 1, .divisor = 1};
    /* A vertex never weighs more than all, and the sum with all the ones stays below most. */
    const int64_t limit = (most - n_vertices) / 2;

    if (n_cols > 0) {
        scale.times = ROWS_TO_COLUMNS * at_least_one(n_cols / at_least_one(nnz) + 1);
        if (scale.times > limit / at_least_one(nnz)) {
            scale.times = at_least_one(limit / at_least_one(nnz));
        }
    }
    if (nnz > limit) {
        scale.divisor = nnz / at_least_one(limit) + 1;
    }
    return scale;
}

int64_t spmmi_weight(const spmm_weight_scale_t *scale, int64_t entries)
{
    return at_least_one(entries * scale->times / scale->divisor);
}

int64_t spmmi_weight_limit(int64_t sum, int n_parts)
{
    return at_least_one(sum / n_parts + (sum % n_parts > 0));
}
