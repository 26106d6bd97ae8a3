/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 SANITIZED SPMM_TEST_SMALL=1 LINK OpenMP::OpenMP_C */
/* test: RANKS 1 DEVICE cuda */
/** @file test_limits.c
 *  Sizes at the ends of what the library takes: rows of 10^7 entries, 10^5 empty rows, 4096
 *  columns, no rows, no columns, more ranks than rows, indices and counts beyond 32 bits.
 *
 *      SPMM_TEST_DEVICE=cuda  on GPUs
 *      SPMM_TEST_LARGE=1      also rows of 10^7 entries by all engines, a message of more than
 *                             INT_MAX bytes (9 GiB for two ranks) and on several GPUs more than
 *                             2^31 entries in all (45 GiB of host memory a rank)
 *      SPMM_TEST_HUGE=1       more than 2^31 entries in one block, or on CPUs in all (90 GiB)
 *      SPMM_TEST_SMALL=1      rows of 10^5 entries
 */
#include "plan_case.h"

#include <limits.h>

#include "base/comm.h"
#include "partition/partitioners.h"

static bool is_set(const char *name)
{
    return getenv(name) != NULL && strcmp(getenv(name), "1") == 0;
}

/** This rank's rows of a matrix whose row i has entries 1 in columns start(i) .. start(i) +
 *  length(i), and its product with B(i, j) = 1 + i % 3 + j % 2. */
typedef struct {
    int64_t rows, cols; /* of the whole */
    int64_t (*start)(int64_t i);
    int64_t (*length)(int64_t i);
    int64_t     n;
    const char *engine;
} band_t;

static int64_t part_of(int64_t all, int p)
{
    return all / spmm_test_env.size * p + all % spmm_test_env.size * p / spmm_test_env.size;
}

static double b_of(int64_t i, int64_t j)
{
    return 1.0 + (double)(i % 3) + (double)(j % 2);
}

/* Sum of 1 + i % 3 + c for i below @p end. */
static double sum_below(int64_t end, double c)
{
    return (double)(end / 3) * 3.0 + (double)(end % 3 == 2) + (double)end * (1.0 + c);
}

static spmm_status_t make_band(const band_t *b, spmm_matrix_t **A)
{
    const int     rank  = spmm_test_env.rank;
    const int64_t first = part_of(b->rows, rank), rows = part_of(b->rows, rank + 1) - first;
    const int64_t cols    = part_of(b->cols, rank + 1) - part_of(b->cols, rank);
    int64_t      *row_ptr = spmm_test_malloc(((size_t)rows + 1) * sizeof *row_ptr), *col;
    float        *values;
    spmm_status_t status;

    row_ptr[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        row_ptr[i + 1] = row_ptr[i] + b->length(first + i);
    }
    col    = spmm_test_malloc((size_t)row_ptr[rows] * sizeof *col + 1);
    values = spmm_test_malloc((size_t)row_ptr[rows] * sizeof *values + 1);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            col[k]    = b->start(first + i) + k - row_ptr[i];
            values[k] = 1.0f;
        }
    }
    status = spmm_matrix_create_csr(ctx, rows, cols, row_ptr, col, values, SPMM_R_32F, A);
    spmm_test_free(row_ptr, col, values);
    return status;
}

/* The sums on GPUs run over thousands of entries in FP32, at times rounded towards zero. */
static void check_band_c(const band_t *b, const spmm_layout_info_t *rows, const float *C)
{
    const double bound = spmm_test_on_gpu() ? 1e-3 : 5e-6;
    double       worst = 0.0;

#pragma omp parallel for schedule(static) reduction(max : worst)
    for (int64_t i = 0; i < rows->local_rows; i++) {
        const int64_t from = b->start(rows->global_row[i]);
        const int64_t end  = from + b->length(rows->global_row[i]);

        for (int64_t j = 0; j < b->n; j++) {
            const double c    = (double)(j % 2);
            const double want = end > from ? sum_below(end, c) - sum_below(from, c) : 0.0;
            const double got  = (double)C[i * b->n + j];

            const double error =
                want == 0.0 ? (got == 0.0 ? 0.0 : INFINITY) : fabs(got - want) / want;

            worst = error >= 0.0 && error <= worst ? worst : isnan(error) ? INFINITY : error;
        }
    }
    if (worst > 1e-6) {
        print_message("%s: relative error %.2g\n", b->engine, worst);
    }
    assert_true(worst <= bound);
}

/* False: the engine refuses it, with a reason. */
static bool check_band(const band_t *b)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_layout_info_t  x = {.struct_size = sizeof x}, y = {.struct_size = sizeof y};
    spmm_matrix_t      *A;
    spmm_plan_t        *plan = NULL;
    spmm_status_t       status;
    void               *B, *C;
    float              *host;
    int64_t             room;

    o.engine = b->engine;
    o.tuning = "order=none,measure=no";
    spmm_assert_ok(make_band(b, &A));
    status = spmm_plan_create(A, b->n, &o, &plan);
    if (status == SPMM_ERR_UNSUPPORTED) {
        assert_true(spmm_last_error(ctx)[0] != '\0');
        spmm_assert_ok(spmm_matrix_destroy(&A));
        return false;
    }
    spmm_assert_ok(status);
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &x));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &y));
    room = x.local_rows > y.local_rows ? x.local_rows : y.local_rows;
    host = spmm_test_malloc((size_t)(room * b->n) * sizeof *host + 1);
    for (int64_t k = 0; k < x.local_rows * b->n; k++) {
        host[k] = (float)b_of(x.global_row[k / b->n], k % b->n);
    }
    B = to_device(host, (size_t)(x.local_rows * b->n) * sizeof *host);
    memset(host, 0xff, (size_t)(y.local_rows * b->n) * sizeof *host); /* NaN */
    C = to_device(host, (size_t)(y.local_rows * b->n) * sizeof *host);
    spmm_assert_ok(spmm_execute(plan, b->n, 1.0, B, b->n, 0.0, C, b->n, NULL));
    spmm_assert_ok(spmm_stream_synchronize(ctx, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, host, C, (size_t)(y.local_rows * b->n) * sizeof *host));
    check_band_c(b, &y, host);
    free(host);
    test_context_free(ctx, &B, &C);
    test_context_destroy(&plan, &A, NULL);
    return true;
}

/* By every engine that takes FP32. */
static void check_engines(band_t b)
{
    spmm_component_info_t info  = {.struct_size = sizeof info};
    int                   found = 0;

    for (int e = 0; spmm_engine_info(e, &info) == SPMM_OK; e++) {
        b.engine = info.name;
        found += info.built && check_band(&b);
    }
    assert_true(found > 0);
}

static int64_t from_zero(int64_t i)
{
    return 0;
}

static int64_t long_row(int64_t i)
{
    return i != 1 ? i % 3 : is_set("SPMM_TEST_SMALL") ? 100000 : 1000000;
}

static int64_t longest_row(int64_t i)
{
    return i != 1 ? i % 3 : 10000000;
}

static int64_t few_rows(int64_t i)
{
    return i % 50000 == 7 ? 5 : 0;
}

static int64_t near(int64_t i)
{
    return i / 2;
}

static int64_t six(int64_t i)
{
    return 6;
}

static void test_long_row(void **state)
{
    check_engines((band_t){3, long_row(1), from_zero, long_row, 1, NULL});
    if (is_set("SPMM_TEST_LARGE")) {
        check_engines((band_t){3, longest_row(1), from_zero, longest_row, 1, NULL});
    } else if (!is_set("SPMM_TEST_SMALL")) {
        assert_true(check_band(&(band_t){3, longest_row(1), from_zero, longest_row, 1,
                                         spmm_test_on_gpu() ? "csr-gpu" : "csr-cpu"}));
    }
}

static void test_empty_rows(void **state)
{
    check_engines((band_t){100008, 40, from_zero, few_rows, 3, NULL});
}

static void test_many_columns(void **state)
{
    check_engines((band_t){50, 40, near, six, 4096, NULL});
    check_engines((band_t){50, 40, near, six, 4095, NULL});
}

/* Local counts end at 2^31 - 1; global ones do not. */
static void test_index_range(void **state)
{
    const int64_t      most = INT32_MAX, row_ptr[] = {0, 1}, last = most * spmm_test_env.size - 1;
    const double       one = 1.0;
    spmm_matrix_t     *A   = NULL;
    const int64_t     *ptr, *col;
    const void        *values;
    spmm_matrix_info_t info = {.struct_size = sizeof info};

    assert_int_equal(spmm_matrix_create_csr(ctx, 1, most + 1, row_ptr, &last, &one, SPMM_R_64F, &A),
                     SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_matrix_create_csr(ctx, most + 1, 1, row_ptr, &last, &one, SPMM_R_64F, &A),
                     SPMM_ERR_ARGUMENT);
    assert_int_equal(
        spmm_matrix_create_csr(ctx, INT64_MAX, INT64_MIN, row_ptr, &last, &one, SPMM_R_64F, &A),
        SPMM_ERR_ARGUMENT);
    spmm_assert_ok(spmm_matrix_create_csr(ctx, 1, most, row_ptr, &last, &one, SPMM_R_64F, &A));
    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    assert_true(info.cols == most * spmm_test_env.size);
    spmm_assert_ok(spmm_matrix_get_csr(A, &ptr, &col, &values));
    assert_true(col[0] == last);
    spmm_assert_ok(spmm_matrix_destroy(&A));
    assert_int_equal(spmm_plan_create(NULL, 1, NULL, NULL), SPMM_ERR_ARGUMENT);
}

/* Offsets and balanced blocks with more than 2^31 entries on one rank and 2^40 in all: of the
 * entries themselves nothing is looked at. */
static void test_counts_beyond_32_bits(void **state)
{
    enum { R = 6 };
    const int     size = spmm_test_env.size, rank = spmm_test_env.rank;
    const int64_t each     = ((int64_t)1 << 38) + 1;
    int64_t row_ptr[R + 1] = {0}, *offset = spmm_test_calloc((size_t)size + 1, sizeof *offset);
    int32_t part[R];
    spmm_matrix_t A = {.env = &spmm_test_env, .rows = (int64_t)R * size, .cols = 1, .n_rows = R};

    for (int i = 0; i < R; i++) {
        row_ptr[i + 1] = row_ptr[i] + each;
    }
    A.row_ptr = row_ptr;
    A.nnz     = each * R * size;
    spmm_assert_ok(spmmi_allgather_offsets(&spmm_test_env, row_ptr[R], offset));
    assert_true(offset[size] == A.nnz && offset[rank] == each * R * rank);
    assert_int_equal(spmmi_owner(offset, size, offset[rank] + each), rank);
    spmm_assert_ok(spmmi_block_rows(&A, A.env->size, part));
    for (int i = 0; i < R; i++) {
        assert_int_equal(part[i], rank); /* equal rows: every rank keeps its own */
    }
    assert_int_equal(spmmi_message_count(&spmm_test_env, (size_t)1 << 40),
                     ((int64_t)1 << 40) / (int64_t)spmmi_message_limit(&spmm_test_env));
    free(offset);
}

/* More than INT_MAX bytes between two ranks, by the exchange of setup. */
static void test_long_message(void **state)
{
    const int64_t count = ((int64_t)INT_MAX + 4097) / 8 + 1, peer = 1 - spmm_test_env.rank;
    int64_t       send[2] = {0}, recv[2] = {0};
    uint64_t     *out, *in;

    if (!is_set("SPMM_TEST_LARGE") || spmm_test_env.size != 2) {
        return;
    }
    send[peer] = recv[peer] = count;
    out                     = spmm_test_malloc((size_t)count * sizeof *out);
    in                      = spmm_test_calloc((size_t)count, sizeof *in);
    for (int64_t k = 0; k < count; k++) {
        out[k] = (uint64_t)k * 3 + (uint64_t)spmm_test_env.rank;
    }
    assert_true(spmmi_message_count(&spmm_test_env, (size_t)count * sizeof *out) > 1);
    spmm_assert_ok(spmmi_alltoallv(&spmm_test_env, out, send, in, recv, sizeof *in));
    for (int64_t k = 0; k < count; k++) {
        assert_true(in[k] == (uint64_t)k * 3 + (uint64_t)peer);
    }
    spmm_test_free(out, in);
}

enum { WIDE = 64 }; /* entries of a row */

static int64_t wide_start(int64_t i)
{
    return i > WIDE ? i - WIDE : 0; /* reaches into the rank below */
}

static int64_t wide(int64_t i)
{
    return WIDE;
}

static void test_entries_beyond_32_bits(void **state)
{
    const int64_t rows = ((int64_t)INT_MAX / WIDE / spmm_test_env.size + 1000) * spmm_test_env.size;

    if (!is_set(spmm_test_on_gpu() && spmm_test_env.size > 1 ? "SPMM_TEST_LARGE"
                                                             : "SPMM_TEST_HUGE")) {
        return;
    }
    assert_true(rows * WIDE > (int64_t)INT_MAX);
    assert_true(check_band(
        &(band_t){rows, rows, wide_start, wide, 4, spmm_test_on_gpu() ? "csr-gpu" : "csr-cpu"}));
    if (spmm_test_on_gpu() && spmm_test_env.size > 1) { /* cuSPARSE may refuse them in a block */
        assert_true(check_band(&(band_t){rows, rows, wide_start, wide, 4, "cusparse"}));
    }
}

PLAN_TESTS(test_long_row, test_empty_rows, test_many_columns, test_index_range,
           test_counts_beyond_32_bits, test_long_message, test_entries_beyond_32_bits);
