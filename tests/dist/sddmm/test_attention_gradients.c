/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 4 AS nodes ENV SPMM_TEST_RANKS_PER_NODE=3 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_attention_gradients.c  Gradients of sparse attention, in FP64 against finite
 *  differences and in other types against those in FP64. */
#include "api/context.h"
#include "attention_case.h"

static void run_backward_on(const attention_t *a, const case_t *c, spmm_stream_t stream)
{
    const blocks_t *b = &a->b;

    spmm_assert_ok(spmm_attention_backward(a->plan, scale_of(c), b->in[Q], b->ld, b->in[K], b->ld,
                                           b->in[V], b->ld, b->O, b->in[DO], b->ld, b->lse, b->dQ,
                                           b->dK, b->dV, stream));
}

/* Forward, for what backward needs of it, and backward. */
static void run_both(const attention_t *a, const case_t *c)
{
    run_attention(a->plan, c, &a->b);
    run_backward_on(a, c, NULL);
}

/* <dO, O> over all ranks. */
static double loss(const attention_t *a, const case_t *c)
{
    const blocks_t *b = &a->b;
    double         *O, *dO, sum = 0.0;

    run_attention(a->plan, c, b);
    O  = fetch(b->O, a->m.rows * b->ld, c->type);
    dO = fetch(b->in[DO], a->m.rows * b->ld, c->type);
    for (int64_t i = 0; i < a->m.rows; i++) {
        for (int64_t j = 0; j < b->n; j++) {
            sum += O[i * b->ld + j] * dO[i * b->ld + j];
        }
    }
    spmm_test_free(O, dO);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, spmm_test_env.comm);
    return sum;
}

/* Block @p which plus @p step times a direction, FP64. */
static void *moved(int which, int64_t first, int64_t rows, const blocks_t *b, double step)
{
    double *host = spmm_test_malloc((size_t)(rows * b->ld + 1) * sizeof *host);
    void   *device;

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < b->ld; j++) {
            host[i * b->ld + j] =
                j >= b->n ? (double)NAN
                          : operand(which, first + i, j, SPMM_R_64F, 0) +
                                step * operand(DIRECTION + which, first + i, j, SPMM_R_64F, 0);
        }
    }
    device = to_device(host, (size_t)(rows * b->ld) * sizeof *host);
    free(host);
    return device;
}

/* The slope along a direction: by the gradient, and by central differences. */
static void check_slope(attention_t *a, const case_t *c, int which, const void *gradient)
{
    blocks_t     *b     = &a->b;
    const int64_t first = which == Q ? a->m.first_row : a->m.first_col;
    const int64_t rows  = which == Q ? a->m.rows : a->m.cols;
    const double  step  = 1e-5;
    double       *g = fetch(gradient, rows * b->ld, SPMM_R_64F), slope[2] = {0.0, 0.0}, value[2];
    void *const   kept = b->in[which];

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < b->n; j++) {
            const double term =
                g[i * b->ld + j] * operand(DIRECTION + which, first + i, j, SPMM_R_64F, 0);

            slope[0] += term;
            slope[1] += fabs(term);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, slope, 2, MPI_DOUBLE, MPI_SUM, spmm_test_env.comm);
    for (int k = 0; k < 2; k++) {
        b->in[which] = moved(which, first, rows, b, k == 0 ? step : -step);
        value[k]     = loss(a, c);
        spmm_assert_ok(spmm_buffer_free(ctx, &b->in[which]));
    }
    b->in[which] = kept;
    assert_true(slope[1] > 0.0);
    assert_true(fabs((value[0] - value[1]) / (2.0 * step) - slope[0]) <= 1e-7 * slope[1]);
    free(g);
}

static void test_gradients(void **state)
{
    const mask_t masks[] = {{61, 70, 1, 200, 17, 0}, {90, 75, 1, 12, 3, 0}, {9, 90, 8, 500, 3, 1}};
    const case_t c       = {SPMM_R_64F, 2, 9, 3, NULL};

    for (size_t s = 0; s < sizeof masks / sizeof masks[0]; s++) {
        attention_t a = open_attention(&masks[s], &c, 1);

        run_both(&a, &c);
        check_slope(&a, &c, Q, a.b.dQ);
        check_slope(&a, &c, K, a.b.dK);
        check_slope(&a, &c, V, a.b.dV);
        close_attention(&a);
    }
}

static void fetch_gradients(const attention_t *a, const case_t *c, double *of[3])
{
    of[0] = fetch(a->b.dQ, a->m.rows * a->b.ld, c->type);
    of[1] = fetch(a->b.dK, a->m.cols * a->b.ld, c->type);
    of[2] = fetch(a->b.dV, a->m.cols * a->b.ld, c->type);
}

/* Gradients of Q, K and V, and how many rows they have. */
static blocks_t gradients_of(const mask_t *shape, const case_t *c, double *of[3], int64_t rows[3])
{
    attention_t a = open_attention(shape, c, 1);

    run_both(&a, c);
    run_backward_on(&a, c, NULL);
    rows[0] = a.m.rows;
    rows[1] = rows[2] = a.m.cols;
    fetch_gradients(&a, c, of);
    close_attention(&a);
    return a.b;
}

/* Operands are of magnitude 1/4 to 1 in all types, and rounding them moves gradients by as much as
 * rounding anything else does. */
static void check_types(const mask_t *shape, const case_t *c)
{
    case_t   exact = *c;
    double  *got[3], *want[3];
    int64_t  rows[3];
    blocks_t b;

    exact.type   = SPMM_R_64F;
    exact.kernel = NULL;
    b            = gradients_of(shape, &exact, want, rows);
    (void)gradients_of(shape, c, got, rows);
    for (int g = 0; g < 3; g++) {
        double most = 0.0;

        for (int64_t i = 0; i < rows[g] * b.ld; i++) {
            most = fmax(most, i % b.ld < b.n ? fabs(want[g][i]) : 0.0);
        }
        for (int64_t i = 0; i < rows[g] * b.ld; i++) {
            if (i % b.ld < b.n &&
                !(fabs(got[g][i] - want[g][i]) <= 5.0 * reference_bound(c->type) * most)) {
                print_error("gradient %d, element %lld: %.9g, expected %.9g (type %d)\n", g,
                            (long long)i, got[g][i], want[g][i], (int)c->type);
                fail();
            }
        }
        spmm_test_free(got[g], want[g]);
    }
}

static void test_gradient_types(void **state)
{
    const mask_t masks[] = {
        {61, 70, 1, 200, 17, 0}, {9, 90, 8, 500, 3, 1}, {6, 130, 16, 500, 3, 1}};
    const case_t cases[] = {{SPMM_R_32F, 2, 64, 0, NULL},
                            {SPMM_R_16F, 2, 40, 8, "windows"},
                            {SPMM_R_16BF, 3, 64, 0, "windows"},
                            {SPMM_R_16F, 1, 72, 0, "windows"},
                            {SPMM_R_16BF, 1, 200, 0, "rows"}};

    for (size_t s = 0; s < sizeof masks / sizeof masks[0]; s++) {
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            check_types(&masks[s], &cases[k]);
        }
    }
}

/* The widest groups of windows, as test_wide() of test_attention_plan.c has them. */
static void test_wide(void **state)
{
    const mask_t masks[] = {{4096, 2048, 1, 30, 5, 0}, {256, 2048, 16, 100, 7, 0}};
    const case_t cases[] = {{SPMM_R_16F, 8, 64, 8, "windows"}, {SPMM_R_16BF, 8, 40, 0, "windows"}};

    if (!spmm_test_on_gpu() || getenv("SPMM_TEST_SMALL") != NULL) {
        skip();
    }
    for (int k = 0; k < 2; k++) {
        check_types(&masks[k], &cases[k]);
    }
}

/* dO with an Inf in row @p spoiled: gradients of other rows of Q, and of rows of K and V that this
 * row does not see, are as without.  @p seen: [cols] does it? */
static void check_spoiled(const masked_t *m, const blocks_t *b, int64_t spoiled, const int *seen,
                          double *const clean[3], double *const got[3], double bound)
{
    for (int g = 0; g < 3; g++) {
        const int64_t rows = g == 0 ? m->rows : m->cols;

        for (int64_t i = 0; i < rows; i++) {
            const bool touched = g == 0 ? m->first_row + i == spoiled : seen[m->first_col + i] != 0;
            bool       finite  = true;

            for (int64_t at = i * b->ld; at < i * b->ld + b->n; at++) {
                finite = finite && isfinite(got[g][at]);
                assert_true(touched || fabs(got[g][at] - clean[g][at]) <=
                                           bound * fmax(1.0, fabs(clean[g][at])));
            }
            assert_true(finite != touched);
        }
    }
}

static void test_special(void **state)
{
    const mask_t masks[] = {{61, 70, 1, 200, -1, 0}, {9, 90, 8, 500, -1, 1}};
    const case_t cases[] = {{SPMM_R_16F, 1, 64, 8, "windows"}, {SPMM_R_16BF, 1, 40, 0, "windows"}};

    for (int k = 0; k < 4; k++) {
        const case_t   *c       = &cases[k % 2];
        const int64_t   spoiled = 3;
        attention_t     a       = open_attention(&masks[k / 2], c, 1);
        const masked_t *m       = &a.m;
        int            *seen    = spmm_test_calloc((size_t)m->shape.cols, sizeof *seen);
        double         *clean[3], *got[3];

        for (int64_t e = 0; e < m->nnz; e++) {
            seen[m->col[e]] |= m->row[e] == spoiled;
        }
        MPI_Allreduce(MPI_IN_PLACE, seen, (int)m->shape.cols, MPI_INT, MPI_MAX, spmm_test_env.comm);
        run_both(&a, c);
        fetch_gradients(&a, c, clean);
        spoil(m, c, &a.b, DO, spoiled, 7, (double)INFINITY);
        run_backward_on(&a, c, NULL);
        fetch_gradients(&a, c, got);
        check_spoiled(m, &a.b, spoiled, seen, clean, got, 8.0 * reference_bound(c->type));
        for (int g = 0; g < 3; g++) {
            spmm_test_free(clean[g], got[g]);
        }
        free(seen);
        close_attention(&a);
    }
}

/* Two streams, one call behind the other without the host between them: the second waits for what
 * the plan keeps of the first. */
static void test_streams(void **state)
{
    const mask_t         mask   = {40, 300, 8, 300, 3, 1};
    const case_t         c      = {SPMM_R_32F, 2, 40, 0, NULL};
    attention_t          a[2]   = {open_attention(&mask, &c, 1)};
    const spmm_device_t *device = &ctx->device;
    spmm_stream_t        stream[2];
    double              *want[3], *got[3];

    a[1]   = a[0]; /* but for its own blocks */
    a[1].b = make_blocks(&a[0].m, &c);
    for (int k = 0; k < 2; k++) {
        spmm_assert_ok(device->ops->stream_create(device, false, &stream[k]));
        run_attention(a[k].plan, &c, &a[k].b);
    }
    run_backward_on(&a[0], &c, NULL);
    fetch_gradients(&a[0], &c, want);
    for (int round = 0; round < 10; round++) {
        for (int k = 0; k < 2; k++) {
            run_backward_on(&a[k], &c, stream[k]);
        }
    }
    for (int k = 0; k < 2; k++) {
        spmm_assert_ok(spmm_stream_synchronize(ctx, stream[k]));
        fetch_gradients(&a[k], &c, got);
        for (int g = 0; g < 3; g++) {
            const int64_t rows = g == 0 ? a[k].m.rows : a[k].m.cols, ld = a[k].b.ld;

            for (int64_t at = 0; at < rows * ld; at++) {
                assert_true(at % ld >= a[k].b.n || want[g][at] == got[g][at]);
            }
            free(got[g]);
        }
        device->ops->stream_destroy(device, stream[k]);
    }
    spmm_test_free(want[0], want[1], want[2]);
    free_blocks(&a[1].b);
    close_attention(&a[0]);
}

PLAN_TESTS(test_gradients, test_gradient_types, test_wide, test_special, test_streams);
