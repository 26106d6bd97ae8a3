/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 ENV SPMM_TEST_RANKS_PER_NODE=2 */
/* test: RANKS 1 2 4 DEVICE cuda ENV SPMM_TEST_RANKS_PER_NODE=2 */
/** @file test_halo_type.c  Rows of B rounded on their way: errors within the bound of the header,
 *  and beyond exact ones, and half the bytes. */
#include "plan_case.h"

enum { EACH = 23, N = 40 };

static int64_t size(void)
{
    return (int64_t)EACH * spmm_test_env.size;
}

/* Entry (i, j) of A, of which half are there, and element (j, k) of B, in the type of A. */
static double a_of(const void *what, int64_t i, int64_t j)
{
    const spmm_type_t type = *(const spmm_type_t *)what;
    const double      x    = spmmi_hash2(11, i, j) % 2 == 0 ? 0.0 : spmmi_random_value(5, i, j);

    return type == SPMM_R_32F ? (double)(float)x : x;
}

static double b_of(spmm_type_t type, int64_t j, int64_t k)
{
    const double x = spmmi_random_value(9, j, k);

    return type == SPMM_R_32F ? (double)(float)x : x;
}

static spmm_matrix_t *create(spmm_type_t type)
{
    return test_context_rule(ctx, type, spmm_test_env.rank * EACH, EACH, EACH, size(), a_of, &type);
}

/* Greatest error of this rank's rows of C, less what exact ghost rows may have.  It is relative to
 * |A| |B| of the entries whose row of B travels. */
static double error_of(spmm_type_t type, const void *C)
{
    const double slack = type == SPMM_R_32F ? 5e-6 : 1e-12;
    double       most  = 0.0;

    for (int64_t i = 0; i < EACH; i++) {
        const int64_t row = spmm_test_env.rank * EACH + i;

        for (int64_t k = 0; k < N; k++) {
            double want = 0.0, all = 0.0, away = 0.0;

            for (int64_t j = 0; j < size(); j++) {
                const double x = a_of(&type, row, j) * b_of(type, j, k);

                want += x;
                all += fabs(x);
                away += j / EACH == spmm_test_env.rank ? 0.0 : fabs(x);
            }
            want = fabs(spmmi_value_get(type, C, i * N + k) - want) - slack * all;
            most = want > 0.0 ? fmax(most, want / away) : most;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, spmm_test_env.comm);
    return most;
}

static void check(spmm_type_t type, spmm_type_t halo_type, const char *tuning, double roundoff)
{
    double            B[EACH * N], C[EACH * N]; /* of either type */
    const size_t      bytes = EACH * N * spmm_type_size(type);
    spmm_matrix_t    *A     = create(type);
    spmm_plan_t      *plan  = test_context_plan(A, N, .halo_type = halo_type, .tuning = tuning);
    spmm_plan_stats_t stats = test_context_stats(plan);
    void             *b, *c;
    double            error;

    for (int64_t k = 0; k < (int64_t)EACH * N; k++) {
        spmmi_value_set(type, B, k, b_of(type, spmm_test_env.rank * EACH + k / N, k % N));
    }
    b = to_device(B, bytes);
    c = to_device(B, bytes);
    spmm_assert_ok(spmm_execute(plan, N, 1.0, b, N, 0.0, c, N, NULL));
    spmm_assert_ok(spmm_stream_synchronize(ctx, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, C, c, bytes));
    test_context_free(ctx, &b, &c);
    error = error_of(type, C);
    assert_true(error <= roundoff);
    if (spmm_test_env.size > 1) {
        const int64_t row = N * (int64_t)spmm_type_size(type) / 2;

        assert_true(error > roundoff / 100.0); /* it was rounded */
        assert_int_equal(stats.within.bytes, stats.within.rows * row);
        assert_int_equal(stats.between.bytes, stats.between.rows * row);
        assert_true(strcmp(stats.exchange, "node") == 0 ||
                    stats.recv_bytes == (size_t)(stats.halo_rows * row));
    }
    test_context_destroy(&plan, &A, NULL);
}

static void test_products(void **state)
{
    static const char *const ways[][2] = {
        {"schedule=overlap,chunks=1,exchange=flat", "schedule=overlap,chunks=1,exchange=node"},
        {"schedule=overlap,chunks=2,exchange=flat", "schedule=overlap,chunks=2,exchange=node"},
        {"schedule=merged,exchange=flat", "schedule=merged,exchange=node"}};
    const bool four = spmm_test_env.size == 4;

    for (int k = 0; k < 3; k++) {
        check(SPMM_R_32F, SPMM_R_16F, ways[k][0], 0x1p-11);
        check(SPMM_R_32F, SPMM_R_16BF, ways[k][four], 0x1p-8);
        check(SPMM_R_64F, SPMM_R_32F, ways[k][0], 0x1p-24);
    }
}

PLAN_TESTS(test_products);
