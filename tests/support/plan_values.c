/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_values.h"

#include <float.h>

/* Of A and B where terms cancel; a sum of 30 terms is about 200,000, the largest term 16,384. */
enum { SCALE = 128, EQUAL = 64, EQUAL_C = 36864 };

/* Magnitude 2^-span .. 2^span, either sign. */
static double wide(uint64_t seed, int64_t i, int64_t j, spmm_type_t type)
{
    const int      span = type == SPMM_R_64F ? 200 : type == SPMM_R_16F ? 5 : 25;
    const uint64_t h    = spmmi_hash2(seed, i, j);
    const int      e    = (int)spmmi_below(spmmi_mix64(h), 2 * span + 1) - span;
    double         rounded;

    spmmi_value_set(type, &rounded, 0, ldexp((h & 1) != 0 ? 1.0 + spmmi_unit(h) : -1.25, e));
    return spmmi_value_get(type, &rounded, 0);
}

/* Below the smallest normal number of the type. */
static double denormal(uint64_t seed, int64_t i, int64_t j, spmm_type_t type)
{
    const double unit = type == SPMM_R_64F   ? 0x1p-1074
                        : type == SPMM_R_16F ? 0x1p-24
                                             : (type == SPMM_R_32F ? 0x1p-149 : 0x1p-133);

    return unit * (double)(1 + spmmi_hash2(seed, i, j) % 60);
}

/* The index that a symmetric block repeats. */
static int64_t fold(int64_t i, int64_t n)
{
    return i < n - 1 - i ? i : n - 1 - i;
}

static bool has_entry(const shape_t *s, const product_t *p, int64_t i, int64_t j)
{
    const uint64_t hash = spmmi_hash2(7, i, j);

    if (s->one_in == 0 || (p->values >= VALUES_WIDE && i % 11 == 3)) {
        return false;
    }
    if (i == s->dense_row || j + 1 == p->dense_col) {
        return true;
    }
    if (p->kind != SHAPE_EVEN && i % 7 == 3) {
        return false;
    }
    return p->kind == SHAPE_EVEN     ? hash % (uint64_t)s->one_in == 0
           : p->kind == SHAPE_UNEVEN ? hash % (2 * i < s->rows ? 60 : 2) == 0
                                     : i * 9 / s->rows == j * 9 / s->cols && hash % 2 == 0;
}

double complex plan_entry(const shape_t *s, const product_t *p, uint64_t seed, int64_t i, int64_t j)
{
    if (p->values == VALUES_CANCEL) {
        i = fold(i, s->rows);
        j = fold(j, s->cols);
    }
    if (!has_entry(s, p, i, j)) {
        return 0.0;
    }
    switch (p->values) {
    case VALUES_DRAWN:
        return reference_element(seed, i, j, p->type);
    case VALUES_CANCEL:
        return SCALE * fabs(reference_value(seed, i, j, p->type));
    case VALUES_EQUAL:
        return EQUAL;
    default:
        return p->values == VALUES_DENORMAL && (i + j) % 3 == 0 ? denormal(seed, i, j, p->type)
                                                                : wide(seed, i, j, p->type);
    }
}

bool plan_no_beta(const product_t *p)
{
    return p->beta == 0.0 ||
           (!spmmi_is_complex(p->type) && p->type != SPMM_R_64F && (float)creal(p->beta) == 0.0f);
}

int64_t plan_inner(const shape_t *s, const product_t *p)
{
    return p->o.op == SPMM_OP_N ? s->cols : s->rows;
}

double complex plan_element(const shape_t *s, const product_t *p, uint64_t seed, int64_t i,
                            int64_t j)
{
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    const spmm_type_t   type  = seed == SEED_B ? p->o.b_type : p->o.c_type;
    double              x;

    if (p->values == VALUES_DRAWN) {
        return reference_element(seed, i, j, type);
    }
    if (p->values == VALUES_EQUAL) {
        return seed == SEED_B ? EQUAL : EQUAL_C;
    }
    if (p->values >= VALUES_WIDE) {
        if (seed == SEED_B && p->values == VALUES_SPOILED && spmmi_hash2(9, i, j) % 40 == 0) {
            return bad[spmmi_hash2(10, i, j) % 3];
        }
        return seed == SEED_B && p->values == VALUES_DENORMAL && (i * 5 + j) % 3 == 0
                   ? denormal(seed, i, j, type)
                   : wide(seed, i, j, type);
    }
    if (seed == SEED_C) {
        return EQUAL * reference_value(seed, i, j, type);
    }
    x = SCALE * fabs(reference_value(seed, fold(i, plan_inner(s, p)), j, type));
    return i == 0 ? 2.0 * x : i < plan_inner(s, p) / 2 ? x : -x;
}

/* Bounds are relative to the magnitudes of complex terms. */
static void add_term(reference_t part[2], bool is_complex, double complex a, double complex b)
{
    const double complex term = is_complex ? a * b : creal(a) * creal(b);

    part[0].sum += creal(term);
    part[1].sum += cimag(term);
    part[0].size += fabs(creal(term)) + fabs(cimag(term));
    part[1].size = part[0].size;
}

int64_t plan_sum_row(const shape_t *s, const product_t *p, uint64_t seed, int64_t g,
                     const double complex *B, reference_t (*sum)[2])
{
    const bool is_complex = spmmi_is_complex(p->o.c_type);
    int64_t    terms      = 2;

    memset(sum, 0, (size_t)p->n * sizeof *sum);
    for (int64_t k = 0; k < plan_inner(s, p); k++) {
        const double complex x =
            p->o.op == SPMM_OP_N ? plan_entry(s, p, seed, g, k) : plan_entry(s, p, seed, k, g);
        const double complex a = p->alpha * (p->o.op == SPMM_OP_H ? conj(x) : x);

        for (int64_t j = 0; j < p->n && x != 0.0; j++) {
            add_term(sum[j], is_complex, a, B[k * p->n + j]);
        }
        terms += x != 0.0;
    }
    for (int64_t j = 0; j < p->n && !plan_no_beta(p); j++) {
        add_term(sum[j], is_complex, p->beta, plan_element(s, p, SEED_C, g, j));
    }
    return terms;
}

/* Half of the last place of C, and what FP32 loses on the way to it; denormal terms and results may
 * be flushed, and on tensor cores denormal operands. */
bool plan_is_near(const product_t *p, const reference_t *want, double got, int64_t terms)
{
    const double half  = p->o.c_type == SPMM_R_16F    ? 0x1p-11
                         : p->o.c_type == SPMM_R_16BF ? 0x1p-8
                                                      : 0.0;
    double       least = p->type == SPMM_R_64F   ? DBL_MIN
                         : p->type == SPMM_R_16F ? 0x1p-24
                                                 : (double)FLT_MIN;

    if (p->values == VALUES_CANCEL || p->values == VALUES_EQUAL) {
        return reference_near(want, got, reference_bound(SPMM_R_32F), half * fabs(want->sum));
    }
    if (p->values == VALUES_DENORMAL && spmm_test_on_gpu()) {
        least = ldexp(least, p->type == SPMM_R_64F ? 200 : p->type == SPMM_R_16F ? 5 : 25);
    }
    return reference_near(want, got, p->bound,
                          p->values >= VALUES_WIDE ? least * (double)terms : 0.0);
}
