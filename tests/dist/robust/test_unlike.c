/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 2 3 ENV SPMM_CHECK=0 TIMEOUT 240 SOURCES tests/dist/robust/unlike.c
 *       INCLUDE tests/dist/robust */
/** @file test_unlike.c
 *  Random walks through the public API in which one rank passes another argument than all others:
 *  set-up calls return one status on all ranks, or SPMM_ERR_COMM; an execute that returns SPMM_OK
 *  has multiplied what this rank asked for; nobody waits for longer than the timeout.
 *
 *  SPMM_TEST_CASES walks instead of 300, SPMM_TEST_FIRST the number of the first: what fails names
 *  its number.  From 1000 walks on handles that are NULL on one rank are among them, which cost the
 *  others a timeout each.
 */
#include <unistd.h>

#include "test_context.h"

#include "reference.h"
#include "unlike.h"

enum { EXECUTES = 4, PATIENCE = 150 /* s of one walk */ };

static double value_of(uint64_t seed, int64_t i, int64_t j)
{
    return spmmi_hash2(5, i, j) % 3 == 0 ? reference_value(seed, i, j, SPMM_R_64F) : 0.0;
}

/* One status on all ranks, but where communication failed. */
static bool agreed(const walk_t *w, const char *call, spmm_status_t status)
{
    int all[16], mine = (int)status;

    assert_true(spmm_test_env.size <= 16);
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, spmm_test_env.comm);
    for (int p = 0; p < spmm_test_env.size; p++) {
        if (all[p] != all[0] && all[p] != SPMM_ERR_COMM && all[0] != SPMM_ERR_COMM && !w->slow) {
            print_error("walk %lld: %s returns %d on rank %d and %d on rank 0: %s\n",
                        (long long)w->d.number, call, all[p], p, all[0], spmm_last_error(w->ctx));
            fail();
        }
    }
    for (int p = 0; p < spmm_test_env.size; p++) {
        if (all[p] != SPMM_OK) {
            if (w->stage == NOWHERE) {
                print_error("walk %lld: %s: status %d: %s\n", (long long)w->d.number, call, mine,
                            spmm_last_error(w->ctx));
            }
            assert_true(w->stage != NOWHERE); /* equal arguments are right here */
            return false;
        }
    }
    return true;
}

static bool open_walk(walk_t *w)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_status_t          status;

    o.device    = SPMM_DEVICE_CPU;
    o.timeout_s = w->stage == NOWHERE ? 100.0 : 1.0;
    o.check     = (int)draw(&w->d, 2);
    differ_context(w, &o);
    status = spmm_context_create(spmm_test_env.comm, &o, differs(w, CONTEXT, 7) ? NULL : &w->ctx);
    return agreed(w, "spmm_context_create", status);
}

static arrays_t make_arrays(walk_t *w, uint64_t seed)
{
    arrays_t a = {0};
    int64_t  first, unused, nnz = 0;

    reference_part(w->rows, &first, &a.n_rows);
    reference_part(w->cols, &unused, &a.n_cols);
    a.ptr     = spmm_test_calloc((size_t)a.n_rows + 2, sizeof *a.ptr);
    a.col     = spmm_test_calloc((size_t)(a.n_rows * w->cols) + 1, sizeof *a.col);
    w->values = spmm_test_calloc((size_t)(a.n_rows * w->cols) + 1, 2 * sizeof *w->values);
    for (int64_t i = 0; i < a.n_rows; i++) {
        for (int64_t j = 0; j < w->cols; j++) {
            if (value_of(seed, first + i, j) != 0.0) {
                a.col[nnz]       = j;
                w->values[nnz++] = value_of(seed, first + i, j);
            }
        }
        a.ptr[i + 1] = nnz;
    }
    return a;
}

static bool make_matrix(walk_t *w)
{
    arrays_t      a    = make_arrays(w, w->seed);
    spmm_type_t   type = SPMM_R_64F;
    spmm_status_t status;

    differ_matrix(w, &a, &type);
    status = spmm_matrix_create_csr(differs(w, MATRIX, 8) && w->slow ? NULL : w->ctx, a.n_rows,
                                    a.n_cols, differs(w, MATRIX, 9) ? NULL : a.ptr, a.col,
                                    w->values, type, differs(w, MATRIX, 10) ? NULL : &w->A);
    spmm_test_free(a.ptr, a.col);
    return agreed(w, "spmm_matrix_create_csr", status);
}

static bool make_plan(walk_t *w)
{
    static const char *const partitions[] = {NULL, "block", "auto"};
    spmm_plan_options_t      o            = SPMM_PLAN_OPTIONS_INIT;
    int64_t                  n            = w->n;
    spmm_status_t            status;

    o.op           = w->op;
    o.layout       = w->layout;
    o.partition    = partitions[draw(&w->d, 3)];
    o.reproducible = draw(&w->d, 4) == 0;
    if (w->mine && w->stage == PLAN) {
        differ_plan(w, &n, &o);
    }
    status = spmm_plan_create(differs(w, PLAN, 24) && w->slow ? NULL : w->A, n, &o,
                              differs(w, PLAN, 25) ? NULL : &w->plan);
    return agreed(w, "spmm_plan_create", status);
}

static double *fill(const walk_t *w, uint64_t seed, const int64_t *row, int64_t rows, int64_t n,
                    int64_t ld)
{
    double *X = spmm_test_calloc((size_t)((rows + 2) * (MOST_N + 3)), 2 * sizeof *X);

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < n; j++) {
            X[reference_place(w->layout, ld, i, j)] = reference_value(seed, row[i], j, SPMM_R_64F);
        }
    }
    return X;
}

/* C of an execute that succeeded, and the rows and columns that this rank asked for. */
static void check(const walk_t *w, const product_t *p, const double *C)
{
    const int64_t inner = w->op == SPMM_OP_N ? w->cols : w->rows;

    for (int64_t i = 0; i < p->c_rows; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const int64_t g = p->c_row[i];
            reference_t   r = {0};

            for (int64_t k = 0; k < inner; k++) {
                reference_add(&r, p->alpha *
                                      (w->op == SPMM_OP_N ? value_of(w->seed, g, k)
                                                          : value_of(w->seed, k, g)) *
                                      reference_value(p->seed, k, j, SPMM_R_64F));
            }
            reference_add(&r, p->beta * reference_value(p->seed + 1, g, j, SPMM_R_64F));
            if (!reference_near(&r, C[reference_place(w->layout, p->ldc, i, j)], 1e-12, 0.0)) {
                print_error("walk %lld: OK and a wrong C(%lld, %lld) on rank %d\n",
                            (long long)w->d.number, (long long)g, (long long)j, spmm_test_env.rank);
                fail();
            }
        }
    }
}

/* Number @p e of a plan; other rows of B each time, so that none of another execute passes. */
static void execute(walk_t *w, int e)
{
    spmm_layout_info_t b = {.struct_size = sizeof b}, c = {.struct_size = sizeof c};
    const int64_t      n    = 1 + draw(&w->d, w->n);
    const double       beta = draw(&w->d, 2) == 0 ? 0.0 : -0.5;
    const bool         col  = w->layout == SPMM_LAYOUT_COL;
    product_t          p    = {.n = n, .alpha = 1.5, .beta = beta, .seed = 100 + 10 * (uint64_t)e};
    double            *B, *C;
    spmm_status_t      status;

    spmm_assert_ok(spmm_plan_get_layout(w->plan, SPMM_OPERAND_B, &b));
    spmm_assert_ok(spmm_plan_get_layout(w->plan, SPMM_OPERAND_C, &c));
    p.b_row  = b.global_row;
    p.c_row  = c.global_row;
    p.b_rows = b.local_rows;
    p.c_rows = c.local_rows;
    p.ldb    = col ? b.local_rows + 1 : w->n + 2; /* room for other n */
    p.ldc    = col ? c.local_rows + 1 : w->n + 2;
    B = p.B = fill(w, p.seed, p.b_row, p.b_rows, MOST_N + 1, p.ldb);
    C = p.C = fill(w, p.seed + 1, p.c_row, p.c_rows, MOST_N + 1, p.ldc);
    if (w->mine && w->stage == EXECUTE && e == 1) {
        differ_execute(w, &p);
    }
    status = spmm_execute(w->plan, p.n, p.alpha, p.B, p.ldb, p.beta, p.C, p.ldc, NULL);
    if (w->stage == NOWHERE) {
        spmm_assert_ok(status);
    }
    if (status == SPMM_OK) {
        check(w, &p, p.C);
    }
    spmm_test_free(B, C);
}

/* Rows of C from the plan's ranks to the caller's. */
static bool move(walk_t *w)
{
    spmm_layout_info_t c  = {.struct_size = sizeof c};
    spmm_operand_t     of = SPMM_OPERAND_C;
    int64_t            n  = w->n, ld;
    double            *from, *to;
    spmm_status_t      status;

    spmm_assert_ok(spmm_plan_get_layout(w->plan, SPMM_OPERAND_C, &c));
    ld     = w->layout == SPMM_LAYOUT_COL ? w->rows + w->cols : MOST_N + 2;
    from   = spmm_test_calloc((size_t)((w->rows + w->cols) * (MOST_N + 3)), sizeof *from);
    to     = spmm_test_calloc((size_t)((w->rows + w->cols) * (MOST_N + 3)), sizeof *to);
    n      = differs(w, MOVE, 0) ? n + 1 : differs(w, MOVE, 1) ? 0 : n;
    of     = differs(w, MOVE, 2) ? SPMM_OPERAND_B : differs(w, MOVE, 3) ? (spmm_operand_t)9 : of;
    ld     = differs(w, MOVE, 4) ? 0 : ld;
    status = spmm_plan_gather(w->plan, of, n, differs(w, MOVE, 5) ? to : from, ld, to, ld, NULL);
    spmm_test_free(from, to);
    return agreed(w, "spmm_plan_gather", status);
}

static bool update(walk_t *w)
{
    const uint64_t seed   = w->seed + 1;
    double        *before = w->values;
    arrays_t       a      = make_arrays(w, seed);
    spmm_status_t  status;

    status = spmm_matrix_update_values(differs(w, VALUES, 0) && w->slow ? NULL : w->A,
                                       differs(w, VALUES, 1) ? NULL : w->values);
    w->seed = seed;
    spmm_test_free(a.ptr, a.col, before);
    return agreed(w, "spmm_matrix_update_values", status);
}

static void go(walk_t *w)
{
    if (!open_walk(w) || !make_matrix(w) || !make_plan(w)) {
        return;
    }
    for (int e = 0; e < EXECUTES; e++) {
        execute(w, e);
        if (e == EXECUTES / 2 && w->stage != EXECUTE && (!move(w) || !update(w))) {
            return;
        }
    }
}

static void run_walk(walk_t *w)
{
    (void)alarm(PATIENCE); /* who waits for longer dies of it */
    go(w);
    (void)spmm_plan_destroy(&w->plan);
    (void)spmm_matrix_destroy(&w->A);
    (void)spmm_context_destroy(&w->ctx);
    free(w->values);
    (void)alarm(0);
}

static void test_walks(void **state)
{
    const int64_t first = spmm_test_number("SPMM_TEST_FIRST", 0);
    const int64_t count = spmm_test_number("SPMM_TEST_CASES", 300);

    for (int64_t k = first; k < first + count; k++) {
        walk_t w = make_walk(k, count >= 1000);

        if (getenv("SPMM_TEST_LIST") != NULL && spmm_test_env.rank == 0) {
            print_message("walk %lld: stage %d, argument %d\n", (long long)k, (int)w.stage,
                          w.which);
        }
        run_walk(&w);
    }
}

/* Factors count for the rows of C of the rank that gives them, also where peers add to these. */
static void test_factors(void **state)
{
    for (int64_t k = 0; k < 40; k++) {
        walk_t w = make_walk(k, false);

        w.stage = EXECUTE;
        w.which = k % 4 == 0 ? BETA : ALPHA;
        w.op    = k % 8 == 1 ? SPMM_OP_N : SPMM_OP_T;
        run_walk(&w);
    }
}

SPMM_TESTS(test_walks, test_factors);
