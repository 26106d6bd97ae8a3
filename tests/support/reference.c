/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include "test_main.h"

double reference_value(uint64_t seed, int64_t i, int64_t j, spmm_type_t type)
{
    double rounded = 0.0;

    spmmi_value_set(type, &rounded, 0, spmmi_random_value(seed, i, j));
    return spmmi_value_get(type, &rounded, 0);
}

double complex reference_element(uint64_t seed, int64_t i, int64_t j, spmm_type_t type)
{
    const spmm_type_t part = spmmi_part_type(type);

    return reference_value(seed, i, j, part) +
           (spmmi_is_complex(type) ? reference_value(~seed, i, j, part) * I : 0.0);
}

double complex reference_get(spmm_type_t type, const void *values, int64_t k)
{
    const spmm_type_t part = spmmi_part_type(type);

    return spmmi_is_complex(type)
               ? spmmi_value_get(part, values, 2 * k) + spmmi_value_get(part, values, 2 * k + 1) * I
               : spmmi_value_get(type, values, k);
}

void reference_set(spmm_type_t type, void *values, int64_t k, double complex x)
{
    spmmi_value_set(type, values, k, creal(x));
    if (spmmi_is_complex(type)) {
        spmmi_value_set(spmmi_part_type(type), values, 2 * k + 1, cimag(x));
    }
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
    return spmmi_is_64f(type)                    ? 1e-12
           : spmmi_part_type(type) == SPMM_R_32F ? 5e-6
           : type == SPMM_R_16F                  ? 2e-3
                                                 : 1.6e-2;
}
