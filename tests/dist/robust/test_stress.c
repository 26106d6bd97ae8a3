/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 8 */
/* test: RANKS 1 2 4 DEVICE cuda */
/* test: RANKS 1 DEVICE cuda AS graph ENV SPMM_TEST_GRAPH=1 */
/* Many executes in a row with a B that changes every time, without a host wait in between: the sum
 * of every result is compared.  All numbers are small integers, so that any order of summation and
 * TF32 give the same bits.
 *
 *   SPMM_TEST_DEVICE=cuda      on GPUs
 *   SPMM_TEST_TRANSPORT=NAME   default: what the plan chooses
 *   SPMM_TEST_TUNING=TEXT      likewise
 *   SPMM_TEST_GRAPH=1          with option graph: nearly all executes are launches of a graph
 *   SPMM_TEST_EXECUTES=K       of each op, default 50 */

#include "plan_case.h"

#include "api/context.h"
#include "plan/plan.h"

enum {
    ROWS   = 1500,
    DEGREE = 9, /* entries of a row: most near the diagonal, some anywhere */
    NEAR   = 40,
    BLOCKS = 4,  /* different B */
    WIDE   = 24, /* planned columns */
    WIDTHS = 3,
    ALPHAS = 3,
    SAME   = 20, /* executes of one width in a row */
    BATCH  = 25  /* executes between two host waits */
};

static const int64_t width[WIDTHS] = {WIDE, 1, 7};
static const double  alpha[ALPHAS] = {1.0, -2.0, 0.5}; /* all of B is even */

/* Entry k of row i: its column; two entries of one row may name one column, which then counts
 * once. */
static int64_t column_of(int64_t i, int k)
{
    const uint64_t h = spmmi_hash2(17, i, k);

    return k < DEGREE - 2 ? (i + (int64_t)(h % NEAR) + ROWS - NEAR / 2) % ROWS
                          : (int64_t)(h % ROWS);
}

static int64_t value_of(int64_t i, int64_t col)
{
    const int64_t x = (int64_t)(spmmi_hash2(19, i, col) % 3) + 1;

    return spmmi_hash2(23, i, col) % 2 == 0 ? x : -x;
}

static int64_t b_of(int block, int64_t row, int64_t j)
{
    return 2 * ((int64_t)(spmmi_hash2((uint64_t)(31 + block), row, j) % 7) - 3);
}

/* Entry (i, j) of A, 0 for most. */
static double a_of(const void *what, int64_t i, int64_t j)
{
    bool is_entry = false;

    for (int k = 0; k < DEGREE; k++) {
        is_entry = is_entry || column_of(i, k) == j;
    }
    return is_entry ? (double)value_of(i, j) : 0.0;
}

/** A product of the test: which B, alpha and width. */
typedef struct {
    int block, alpha, width;
} pick_t;

static pick_t pick(int k)
{
    const uint64_t h = spmmi_hash2(41, k, 0);

    /* B is another one than before, every time. */
    return (pick_t){k % BLOCKS, (int)(h % ALPHAS), k / SAME % WIDTHS};
}

/** A plan with its operands on this rank. */
typedef struct {
    spmm_op_t          op;
    spmm_plan_t       *plan;
    spmm_layout_info_t b, c;
    void    *source[BLOCKS]; /**< device [b rows x WIDE] for each width: n columns tight */
    void    *B, *C;
    void    *result; /**< device [BATCH][c rows x WIDE] */
    size_t   b_bytes, c_bytes;
    float   *host;
    int64_t *expected; /**< [BLOCKS * ALPHAS * WIDTHS] */
} stress_t;

static int64_t weight(int64_t row, int64_t j)
{
    return (int64_t)(spmmi_hash2(43, row, j) & 0xffff) + 1;
}

/* Sum over the rows of C of this rank, by an exact product; *rows_of op(A) is found by scanning. */
static void expect(stress_t *s)
{
    double *sum = spmm_test_calloc((size_t)ROWS * BLOCKS * WIDE, sizeof *sum);

    for (int64_t e = 0; e < (int64_t)ROWS * ROWS; e++) {
        const int64_t to = s->op == SPMM_OP_N ? e / ROWS : e % ROWS;
        const int64_t of = s->op == SPMM_OP_N ? e % ROWS : e / ROWS;
        const double  a  = a_of(NULL, e / ROWS, e % ROWS);

        for (int64_t k = 0; k < BLOCKS * WIDE && a != 0.0; k++) {
            sum[to * BLOCKS * WIDE + k] += a * (double)b_of((int)(k / WIDE), of, k % WIDE);
        }
    }
    for (int k = 0; k < BLOCKS * ALPHAS * WIDTHS; k++) {
        const int64_t n = width[k % WIDTHS];

        for (int64_t r = 0; r < s->c.local_rows; r++) {
            const int64_t row = s->c.global_row[r];

            for (int64_t j = 0; j < n; j++) {
                const double x = alpha[k / WIDTHS % ALPHAS] *
                                 sum[(row * BLOCKS + k / WIDTHS / ALPHAS) * WIDE + j];

                s->expected[k] += weight(row, j) * (int64_t)x;
            }
        }
    }
    free(sum);
}

static spmm_matrix_t *make_matrix(void)
{
    const int64_t size = spmm_test_env.size, rank = spmm_test_env.rank;
    const int64_t first = ROWS * rank / size, rows = ROWS * (rank + 1) / size - first;

    return test_context_rule(ctx, SPMM_R_32F, first, rows, rows, ROWS, a_of, NULL);
}

/* False: the schedule asked for is for op N alone. */
static bool open_stress(spmm_matrix_t *A, spmm_op_t op, stress_t *s)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_status_t       status;

    *s          = (stress_t){.op = op};
    o.op        = op;
    o.transport = getenv("SPMM_TEST_TRANSPORT");
    o.tuning    = getenv("SPMM_TEST_TUNING");
    o.graph     = getenv("SPMM_TEST_GRAPH") != NULL;
    o.partition = "block";
    status      = spmm_plan_create(A, WIDE, &o, &s->plan);
    if (status == SPMM_ERR_UNSUPPORTED && op == SPMM_OP_T && o.tuning != NULL) {
        (void)printf("op T: %s\n", spmm_last_error(ctx));
        return false;
    }
    if (status == SPMM_ERR_UNSUPPORTED) {
        spmm_test_skip(spmm_last_error(ctx));
    }
    spmm_assert_ok(status);
    s->b        = test_context_layout(s->plan, SPMM_OPERAND_B);
    s->c        = test_context_layout(s->plan, SPMM_OPERAND_C);
    s->b_bytes  = (size_t)s->b.local_rows * WIDE * sizeof(float);
    s->c_bytes  = (size_t)s->c.local_rows * WIDE * sizeof(float);
    s->host     = spmm_test_malloc(BATCH * s->c_bytes + s->b_bytes + 1);
    s->expected = spmm_test_calloc(BLOCKS * ALPHAS * WIDTHS, sizeof *s->expected);
    for (int b = 0; b < BLOCKS; b++) {
        for (int64_t r = 0; r < s->b.local_rows; r++) {
            for (int64_t j = 0; j < WIDE; j++) {
                s->host[r * WIDE + j] = (float)b_of(b, s->b.global_row[r], j);
            }
        }
        s->source[b] = to_device(s->host, s->b_bytes);
    }
    spmm_assert_ok(spmm_buffer_alloc(ctx, s->b_bytes, &s->B));
    spmm_assert_ok(spmm_buffer_alloc(ctx, s->c_bytes, &s->C));
    spmm_assert_ok(spmm_buffer_alloc(ctx, BATCH * s->c_bytes, &s->result));
    expect(s);
    return true;
}

static void close_stress(stress_t *s)
{
    spmm_assert_ok(spmm_plan_destroy(&s->plan));
    for (int b = 0; b < BLOCKS; b++) {
        spmm_assert_ok(spmm_buffer_free(ctx, &s->source[b]));
    }
    test_context_free(ctx, &s->B, &s->C, &s->result);
    spmm_test_free(s->host, s->expected);
}

/* B is overwritten in stream order right before the product, and C taken away right after it. */
static void enqueue(const stress_t *s, int k, spmm_stream_t stream)
{
    const spmm_device_t *device = &ctx->device;
    const pick_t         p      = pick(k);

    spmm_assert_ok(device->ops->copy(device, s->B, s->source[p.block], s->b_bytes, stream));
    spmm_assert_ok(
        spmm_execute(s->plan, width[p.width], alpha[p.alpha], s->B, WIDE, 0.0, s->C, WIDE, stream));
    spmm_assert_ok(device->ops->copy(device, (char *)s->result + (size_t)(k % BATCH) * s->c_bytes,
                                     s->C, s->c_bytes, stream));
}

static void check(const stress_t *s, int k)
{
    const pick_t  p    = pick(k);
    const float  *C    = s->host + (size_t)(k % BATCH) * (s->c_bytes / sizeof(float));
    const int64_t want = s->expected[(p.block * ALPHAS + p.alpha) * WIDTHS + p.width];
    int64_t       sum  = 0;

    for (int64_t r = 0; r < s->c.local_rows; r++) {
        for (int64_t j = 0; j < width[p.width]; j++) {
            const float x = C[r * WIDE + j];

            assert_true(fabsf(x) < 1e6f);
            sum += weight(s->c.global_row[r], j) * (int64_t)x;
        }
    }
    if (sum != want) {
        print_error("execute %d, op %d, B %d, alpha %g, n %lld: sum %lld, expected %lld\n", k,
                    (int)s->op, p.block, alpha[p.alpha], (long long)width[p.width], (long long)sum,
                    (long long)want);
        fail();
    }
}

/* Of SAME calls of one width, the first with each alpha is none. */
static void check_graphs(const spmm_plan_t *plan, int count)
{
    int64_t captured, launched;

    spmmi_plan_count_captures(plan, &captured, &launched);
    if (getenv("SPMM_TEST_GRAPH") == NULL) {
        assert_int_equal(launched, 0);
    } else {
        assert_true(captured > 0 || count < SAME);
        assert_true(launched >= (int64_t)(count / SAME) * (SAME - ALPHAS));
    }
}

static void stress(spmm_op_t op)
{
    const int      count = (int)spmm_test_number("SPMM_TEST_EXECUTES", 50);
    spmm_matrix_t *A     = make_matrix();
    spmm_stream_t  stream;
    stress_t       s;

    if (!open_stress(A, op, &s)) {
        spmm_assert_ok(spmm_matrix_destroy(&A));
        return;
    }
    spmm_assert_ok(ctx->device.ops->stream_create(&ctx->device, false, &stream));
    for (int first = 0; first < count; first += BATCH) {
        const int last = first + BATCH < count ? first + BATCH : count;

        for (int k = first; k < last; k++) {
            enqueue(&s, k, stream);
        }
        spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
        spmm_assert_ok(spmm_buffer_copy(ctx, s.host, s.result, BATCH * s.c_bytes));
        for (int k = first; k < last; k++) {
            check(&s, k);
        }
    }
    ctx->device.ops->stream_destroy(&ctx->device, stream);
    check_graphs(s.plan, count);
    close_stress(&s);
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

static void test_products(void **state)
{
    stress(SPMM_OP_N);
    stress(SPMM_OP_T);
}

PLAN_TESTS(test_products);
