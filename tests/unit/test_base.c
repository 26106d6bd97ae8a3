/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_base.c  Scalars, allocation, sorting, errors: what needs no second rank. */
#include "test_main.h"

#include <float.h>

#include "base/comm.h"
#include "base/sort.h"
#include "spmm_dist/context.h"

/* FP16 by its definition in IEEE 754, in double. */
static double half_value(unsigned h)
{
    const int    exponent = (int)(h >> 10) & 31;
    const double fraction = (h & 1023) / 1024.0;
    double       x = exponent == 0 ? ldexp(fraction, -14) : ldexp(1.0 + fraction, exponent - 15);

    if (exponent == 31) {
        x = fraction == 0.0 ? INFINITY : NAN;
    }
    return (h & 0x8000u) != 0 ? -x : x;
}

/* The nearest of all finite values of a 16-bit type, ties to even: by search, not by bits. */
static void check_nearest(spmm_type_t type, double x, uint16_t got)
{
    const double y   = spmmi_value_get(type, &got, 0);
    const double gap = fabs(y - x);
    uint16_t     up = (uint16_t)(got + 1), down = (uint16_t)(got - 1);
    const double next = fabs(spmmi_value_get(type, &up, 0) - x);
    const double last = fabs(spmmi_value_get(type, &down, 0) - x);

    assert_true(isfinite(y));
    assert_true((got & 0x7fffu) == 0 || gap < last || (gap == last && (got & 1u) == 0));
    assert_true(isnan(next) || gap < next || (gap == next && (got & 1u) == 0));
}

static void test_half_round_trip(void **state)
{
    for (unsigned h = 0; h < 65536; h++) {
        const uint16_t bits = (uint16_t)h;
        uint16_t       back;

        if (isnan(half_value(h))) {
            assert_true(isnan(spmmi_half_to_float(bits)));
            assert_true(
                isnan(spmmi_half_to_float(spmmi_half_from_float(spmmi_half_to_float(bits)))));
            continue;
        }
        assert_true((double)spmmi_half_to_float(bits) == half_value(h));
        assert_int_equal(spmmi_half_from_float(spmmi_half_to_float(bits)), bits);
        spmmi_value_set(SPMM_R_16F, &back, 0, half_value(h));
        assert_int_equal(back, bits);
    }
}

static void test_sixteen_bit_rounding(void **state)
{
    const spmm_type_t types[] = {SPMM_R_16F, SPMM_R_16BF};

    for (int t = 0; t < 2; t++) {
        for (int64_t k = 0; k < 200000; k++) {
            const uint64_t h = spmmi_hash2(1, t, k);
            const double   x = ldexp(spmmi_unit(h) * 2 - 1, (int)(h % 34) - 20);
            uint16_t       y;

            spmmi_value_set(types[t], &y, 0, x);
            check_nearest(types[t], x, y);
        }
    }
}

/* A double just above a tie in FP16 must not fall on the tie on its way through FP32. */
static void test_no_double_rounding(void **state)
{
    uint16_t h;

    spmmi_value_set(SPMM_R_16F, &h, 0, 1.0 + 0x1p-11 + 0x1p-40);
    assert_true(spmmi_half_to_float(h) == 1.0f + 0x1p-10f);
    spmmi_value_set(SPMM_R_16F, &h, 0, 1.0 + 0x1p-11);
    assert_true(spmmi_half_to_float(h) == 1.0f);
}

static void test_range(void **state)
{
    assert_true(spmmi_value_fits(SPMM_R_16F, 65519.9));
    assert_false(spmmi_value_fits(SPMM_R_16F, 65520.0));
    assert_true(spmmi_value_fits(SPMM_R_32F, FLT_MAX));
    assert_false(spmmi_value_fits(SPMM_R_32F, 1e39));
    assert_false(spmmi_value_fits(SPMM_R_16BF, 1e39));
    assert_true(spmmi_value_fits(SPMM_R_16BF, 3e38));
    assert_true(spmmi_value_fits(SPMM_R_64F, DBL_MAX));
    assert_true(spmmi_value_fits(SPMM_R_16F, INFINITY)); /* the caller's own infinity */
}

static void test_alloc(void **state)
{
    const spmm_alloc_stats_t before = spmmi_alloc_get_stats();
    double                  *x, *y;

    assert_null(spmmi_alloc(INT64_MAX, 16));
    assert_null(spmmi_alloc(-1, 1));
    assert_non_null(SPMM_NEW(x, 0));
    spmmi_free(x);
    assert_non_null(SPMM_NEW_ZERO(x, 3));
    assert_true(x[0] == 0.0 && x[2] == 0.0);
    assert_true(spmmi_alloc_get_stats().live == before.live + 1);
    spmmi_alloc_inject(1);
    assert_non_null(SPMM_NEW(y, 1));
    assert_null(spmmi_realloc(x, 100, sizeof *x));
    x = spmmi_realloc(x, 100, sizeof *x);
    assert_non_null(x);
    spmmi_free_all(x, y);
    assert_true(spmmi_alloc_get_stats().live == before.live);
}

static void test_sort(void **state)
{
    enum { N = 5000 };
    static uint64_t key[N], copy[N];
    uint64_t        sum = 0, sorted_sum = 0;

    for (int bits = 1; bits <= 64; bits += 9) {
        sum = sorted_sum = 0;
        for (int i = 0; i < N; i++) {
            key[i] = copy[i] = spmmi_hash2((uint64_t)bits, i, 0) >> (64 - bits);
            sum += spmmi_mix64(key[i]);
        }
        spmm_assert_ok(spmmi_sort_u64(&spmm_test_env, key, N));
        for (int i = 0; i < N; i++) {
            assert_true(i == 0 || key[i - 1] <= key[i]);
            sorted_sum += spmmi_mix64(key[i]);
        }
        assert_true(sum == sorted_sum);
    }
    assert_int_equal(spmmi_unique_u64((uint64_t[]){1, 1, 2, 5, 5, 5}, 6), 3);
    assert_int_equal(spmmi_unique_u64(NULL, 0), 0);
}

static void test_first_error_stands(void **state)
{
    spmm_error_t err = {0};

    assert_int_equal(spmmi_fail(&err, SPMM_ERR_IO, "line %d", 7), SPMM_ERR_IO);
    assert_int_equal(spmmi_fail(&err, SPMM_ERR_MEMORY, "later"), SPMM_ERR_MEMORY);
    assert_string_equal(err.text, "line 7");
    assert_string_equal(spmmi_error_thread_text(), "line 7");
    spmmi_error_clear(&err);
    assert_string_equal(err.text, "");
}

static void test_owner(void **state)
{
    const int64_t offset[] = {0, 0, 4, 4, 9, 9};

    assert_int_equal(spmmi_owner(offset, 5, 0), 1);
    assert_int_equal(spmmi_owner(offset, 5, 3), 1);
    assert_int_equal(spmmi_owner(offset, 5, 4), 3);
    assert_int_equal(spmmi_owner(offset, 5, 8), 3);
}

static void test_status_strings(void **state)
{
    for (int s = SPMM_ERR_INTERNAL; s <= SPMM_OK; s++) {
        assert_string_not_equal(spmm_status_string((spmm_status_t)s), "unknown status");
    }
    assert_string_equal(spmm_status_string((spmm_status_t)-999), "unknown status");
}

SPMM_TESTS(test_half_round_trip, test_sixteen_bit_rounding, test_no_double_rounding, test_range,
           test_alloc, test_sort, test_first_error_stands, test_owner, test_status_strings);
