/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include "test_main.h"

double reference_value(uint64_t seed, int64_t i, int64_t j, spmm_type_t type)
{
    double rounded = 0.0;

    spmmi_value_set(type, &rounded, 0, spmmi_random_value(seed, i, j));
    return spmmi_value_get(type, &rounded, 0);
}

int64_t reference_place(spmm_layout_t layout, int64_t ld, int64_t i, int64_t j)
{
    return layout == SPMM_LAYOUT_COL ? i + j * ld : i * ld + j;
}

void reference_part(int64_t n, int64_t *first, int64_t *count)
{
    const int size = spmm_test_env.size, rank = spmm_test_env.rank;
    const int takers = size > 2 ? size - 1 : size, place = rank > 1 ? rank - 1 : rank;

    *first = n * place / takers;
    *count = n * (place + 1) / takers - *first;
    if (size > 2 && rank == 1) {
        *first = n / takers;
        *count = 0;
    }
}

bool reference_near(const reference_t *r, double got, double bound, double slack)
{
    if (isnan(r->sum)) {
        return isnan(got);
    }
    return got == r->sum || (isfinite(r->sum) && fabs(got - r->sum) <= bound * r->size + slack);
}

double reference_bound(spmm_type_t type)
{
    return type == SPMM_R_64F   ? 1e-12
           : type == SPMM_R_32F ? 5e-6
           : type == SPMM_R_16F ? 2e-3
                                : 1.6e-2;
}
