/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/** @file test_groups.c  Plans with column groups: products against the dense FP64 product, new
 *  values, layouts, and rows that travel as they were predicted. */
#include "test_context.h"

enum { MOST = 64 }; /* rows and columns */
static const uint64_t seed = 11;

/* A matrix, the same on all ranks. */
typedef struct {
    int64_t rows, cols;
    double  a[MOST][MOST];
} dense_t;

/* Values of version @p v: another has the same pattern. */
static void draw(dense_t *d, int64_t rows, int64_t cols, int v)
{
    memset(d, 0, sizeof *d);
    d->rows = rows;
    d->cols = cols;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            if (i == 3 || spmmi_hash2(seed, i, j) % 7 == 0) {
                d->a[i][j] = 0.5 + spmmi_unit(spmmi_hash2(seed + (uint64_t)v, i, j));
            }
        }
    }
}

/* Uneven: rank 1 has twice as many as rank 0 and so on. */
static int64_t first_of(int64_t n, int rank)
{
    const int size = spmm_test_env.size;

    return n * rank * (rank + 1) / (size * (size + 1));
}

/* This rank's rows; arrays are freed by the caller. */
static int64_t take_rows(const dense_t *d, int64_t **ptr, int64_t **col, double **value)
{
    const int64_t first = first_of(d->rows, spmm_test_env.rank);
    const int64_t end   = first_of(d->rows, spmm_test_env.rank + 1);
    int64_t       n     = 0;

    *ptr   = malloc((size_t)(end - first + 1) * sizeof **ptr);
    *col   = malloc((size_t)((end - first) * d->cols + 1) * sizeof **col);
    *value = malloc((size_t)((end - first) * d->cols + 1) * sizeof **value);
    for (int64_t i = first; i < end; i++) {
        (*ptr)[i - first] = n;
        for (int64_t j = 0; j < d->cols; j++) {
            if (d->a[i][j] != 0.0) {
                (*col)[n]     = j;
                (*value)[n++] = d->a[i][j];
            }
        }
    }
    (*ptr)[end - first] = n;
    return end - first;
}

typedef struct {
    spmm_op_t     op;
    spmm_layout_t layout;
    int           groups;
    const char   *partition;
    int64_t       n, planned_n;
} case_t;

static double b_at(int64_t i, int64_t j)
{
    return spmmi_unit(spmmi_hash2(seed + 5, i, j)) - 0.5;
}

static double c_at(int64_t i, int64_t j)
{
    return spmmi_unit(spmmi_hash2(seed + 6, i, j)) - 0.5;
}

/* 2 op(A) B - C at (i, j) */
static double want_at(const dense_t *d, spmm_op_t op, int64_t i, int64_t j)
{
    double sum = 0.0;

    for (int64_t k = 0; k < (op == SPMM_OP_N ? d->cols : d->rows); k++) {
        sum += (op == SPMM_OP_N ? d->a[i][k] : d->a[k][i]) * b_at(k, j);
    }
    return 2.0 * sum - c_at(i, j);
}

/* A block of the caller: rows [first, first + rows), leading dimension of the layout. */
static double *caller_block(const case_t *c, int64_t first, int64_t rows,
                            double (*at)(int64_t, int64_t), int64_t *ld)
{
    const bool is_row = c->layout == SPMM_LAYOUT_ROW;
    double    *block  = malloc((size_t)((rows + 2) * (c->n + 3)) * sizeof *block);

    *ld = is_row ? c->n + 2 : rows + 1;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < c->n; j++) {
            block[is_row ? i * *ld + j : j * *ld + i] = at(first + i, j);
        }
    }
    return block;
}

/** A plan and its blocks. */
typedef struct {
    spmm_context_t    *ctx;
    spmm_plan_t       *plan;
    const case_t      *c;
    spmm_layout_info_t layout[2];
    int64_t            columns; /* of this group */
    void              *block[2];
    double            *caller[2];
    int64_t            ld[2], ld_caller[2];
} run_t;

static void open_blocks(run_t *r)
{
    for (int o = 0; o < 2; o++) {
        spmm_layout_info_t *l = &r->layout[o];

        *l = (spmm_layout_info_t){.struct_size = sizeof *l};
        spmm_assert_ok(spmm_plan_get_layout(r->plan, (spmm_operand_t)o, l));
        r->columns =
            r->c->n / r->c->groups +
            (spmm_test_env.rank / (spmm_test_env.size / r->c->groups) < r->c->n % r->c->groups);
        r->ld[o] = r->c->layout == SPMM_LAYOUT_ROW ? r->columns + 1 : l->local_rows + 1;
        spmm_assert_ok(spmm_buffer_alloc(
            r->ctx, (size_t)((l->local_rows + 1) * (r->columns + 1) * 8), &r->block[o]));
        r->caller[o] = caller_block(r->c, l->original_first, l->original_rows,
                                    o == SPMM_OPERAND_B ? b_at : c_at, &r->ld_caller[o]);
    }
}

/* Scatter, multiply, gather, compare. */
static void check_product(run_t *r, const dense_t *d)
{
    const bool           is_row = r->c->layout == SPMM_LAYOUT_ROW;
    const spmm_operand_t C      = SPMM_OPERAND_C;

    for (int o = 0; o < 2; o++) {
        spmm_assert_ok(spmm_plan_scatter(r->plan, (spmm_operand_t)o, r->c->n, r->caller[o],
                                         r->ld_caller[o], r->block[o], r->ld[o], NULL));
    }
    if (r->columns > 0) {
        spmm_assert_ok(spmm_execute(r->plan, r->columns, 2.0, r->block[0], r->ld[0], -1.0,
                                    r->block[1], r->ld[1], NULL));
    }
    spmm_assert_ok(spmm_stream_synchronize(r->ctx, NULL));
    spmm_assert_ok(spmm_plan_gather(r->plan, C, r->c->n, r->block[1], r->ld[1], r->caller[1],
                                    r->ld_caller[1], NULL));
    for (int64_t i = 0; i < r->layout[1].original_rows; i++) {
        for (int64_t j = 0; j < r->c->n; j++) {
            const double got =
                r->caller[1][is_row ? i * r->ld_caller[1] + j : j * r->ld_caller[1] + i];

            assert_true(fabs(got - want_at(d, r->c->op, r->layout[1].original_first + i, j)) <
                        1e-12);
        }
    }
}

static void check_case(const case_t *c, int64_t rows, int64_t cols)
{
    static dense_t         d;
    spmm_plan_options_t    options = SPMM_PLAN_OPTIONS_INIT;
    spmm_context_options_t o       = SPMM_CONTEXT_OPTIONS_INIT;
    const int              rank    = spmm_test_env.rank;
    run_t                  r       = {.c = c};
    spmm_matrix_t         *A;
    int64_t               *ptr, *col, n_rows;
    double                *value;

    draw(&d, rows, cols, 0);
    o.device         = SPMM_DEVICE_CPU;
    o.ranks_per_node = 2;
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &r.ctx));
    n_rows = take_rows(&d, &ptr, &col, &value);
    spmm_assert_ok(spmm_matrix_create_csr(r.ctx, n_rows,
                                          first_of(cols, rank + 1) - first_of(cols, rank), ptr, col,
                                          value, SPMM_R_64F, &A));
    options.op            = c->op;
    options.layout        = c->layout;
    options.partition     = c->partition;
    options.column_groups = c->groups;
    options.reproducible  = c->op == SPMM_OP_T && c->n < c->planned_n; /* the plan flips A then */
    spmm_assert_ok(spmm_plan_create(A, c->planned_n, &options, &r.plan));
    open_blocks(&r);
    assert_true(r.layout[0].columns >= r.columns);
    check_product(&r, &d);
    spmm_test_free(r.caller[1]);
    r.caller[1] = caller_block(c, r.layout[1].original_first, r.layout[1].original_rows, c_at,
                               &r.ld_caller[1]);
    draw(&d, rows, cols, 1);
    spmm_test_free(ptr, col, value);
    (void)take_rows(&d, &ptr, &col, &value);
    spmm_assert_ok(spmm_matrix_update_values(A, value));
    check_product(&r, &d);
    test_context_free(r.ctx, &r.block[0], &r.block[1]);
    spmm_test_free(ptr, col, value, r.caller[0], r.caller[1]);
    test_context_destroy(&r.plan, &A, &r.ctx);
}

enum { PLANNED = 9 }; /* columns: no more groups */

static void test_products(void **state)
{
    static const char *const partitions[] = {"keep", "block", "metis"};

    for (int groups = 1; groups <= spmm_test_env.size && groups <= PLANNED; groups++) {
        for (int k = 0; k < 3 && spmm_test_env.size % groups == 0; k++) {
            for (int op = 0; op < 2; op++) {
                const spmm_layout_t layout = k == 1 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
                const case_t        c      = {op == 0 ? SPMM_OP_N : SPMM_OP_T,
                                  layout,
                                  groups,
                                  partitions[k],
                                  k == 0 ? 7 : PLANNED,
                                  PLANNED};

                check_case(&c, 61, 61);
                check_case(&c, 40, 23);
            }
        }
    }
}

/* Fewer columns than groups: some multiply nothing. */
static void test_few_columns(void **state)
{
    const case_t c = {SPMM_OP_N, SPMM_LAYOUT_ROW, spmm_test_env.size, "keep", 1, 5};

    check_case(&c, 50, 50);
}

/* Rows travel within a group; where a group fits a node none is between nodes. */
static void test_traffic(void **state)
{
    const char            *spec = "rmat:scale=9,degree=6";
    const int              size = spmm_test_env.size;
    spmm_context_options_t o    = SPMM_CONTEXT_OPTIONS_INIT;
    int64_t               *from = malloc((size_t)size * sizeof *from);
    spmm_context_t        *ctx;
    spmm_matrix_t         *A;

    o.device         = SPMM_DEVICE_CPU;
    o.ranks_per_node = size == 3 ? 3 : 2;
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &ctx));
    spmm_assert_ok(spmm_matrix_generate(ctx, spec, SPMM_R_32F, 5, &A));
    for (int groups = 1; groups <= size; groups++) {
        spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
        spmm_plan_stats_t   stats   = {.struct_size = sizeof stats};
        int64_t             sum     = 0;
        spmm_plan_t        *plan;

        if (size % groups != 0) {
            continue;
        }
        options.partition     = "metis";
        options.levels        = "flat";
        options.cover         = "rows";
        options.column_groups = groups;
        spmm_assert_ok(spmm_plan_create(A, 12, &options, &plan));
        spmm_assert_ok(spmm_plan_get_stats(plan, &stats));
        assert_true(size / groups > o.ranks_per_node || stats.between.rows == 0);
        spmm_assert_ok(spmm_plan_get_traffic(plan, from));
        for (int p = 0; p < size; p++) {
            assert_true(from[p] == 0 ||
                        p / (size / groups) == spmm_test_env.rank / (size / groups));
            sum += from[p];
        }
        assert_int_equal(sum, stats.halo_rows);
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
    free(from);
    test_context_destroy(NULL, &A, &ctx);
}

static int64_t groups_of(spmm_matrix_t *A, int64_t n, spmm_plan_stats_t *stats)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_layout_info_t  B       = {.struct_size = sizeof B};
    spmm_plan_t        *plan;

    options.column_groups = SPMM_COLUMN_GROUPS_AUTO;
    *stats                = (spmm_plan_stats_t){.struct_size = sizeof *stats};
    spmm_assert_ok(spmm_plan_create(A, n, &options, &plan));
    spmm_assert_ok(spmm_plan_get_stats(plan, stats));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &B));
    assert_true(B.columns >= n / stats->column_groups);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    return stats->column_groups;
}

/* The fewest groups for which nothing is between nodes; of few columns fewer. */
static void test_auto(void **state)
{
    const int size = spmm_test_env.size;

    for (int per_node = 1; per_node <= 4; per_node++) {
        spmm_context_options_t o    = SPMM_CONTEXT_OPTIONS_INIT;
        const bool             even = size % per_node == 0;
        const int              want = size <= per_node ? 1 : even ? size / per_node : size;
        spmm_plan_stats_t      stats;
        spmm_context_t        *ctx;
        spmm_matrix_t         *A;

        o.device         = SPMM_DEVICE_CPU;
        o.ranks_per_node = per_node;
        spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &ctx));
        spmm_assert_ok(spmm_matrix_generate(ctx, "rmat:scale=9,degree=6", SPMM_R_32F, 5, &A));
        assert_int_equal(groups_of(A, 32, &stats), want);
        assert_int_equal(stats.between.rows, 0);
        assert_int_equal(groups_of(A, 15, &stats), 1);
        assert_true(want == 1 || stats.between.rows > 0);
        test_context_destroy(NULL, &A, &ctx);
    }
}

static void expect_refused(spmm_matrix_t *A, int64_t n, int groups, const char *words)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan    = NULL;

    options.column_groups = groups;
    assert_int_equal(spmm_plan_create(A, n, &options, &plan), SPMM_ERR_ARGUMENT);
    assert_null(plan);
    assert_non_null(strstr(spmmi_error_thread_text(), words));
}

static void test_refused(void **state)
{
    spmm_plan_options_t options      = SPMM_PLAN_OPTIONS_INIT;
    const double        values[MOST] = {0.0};
    spmm_context_t     *ctx;
    spmm_matrix_t      *A;
    spmm_plan_t        *plan;

    test_context_open(&ctx);
    spmm_assert_ok(spmm_matrix_generate(ctx, "banded:rows=40,band=1", SPMM_R_64F, 0, &A));
    expect_refused(A, 9, spmm_test_env.size + 1, "must divide the number of ranks");
    expect_refused(A, 9, -2, "column_groups is -2");
    if (spmm_test_env.size > 1) {
        expect_refused(A, 1, spmm_test_env.size, "a group would have none");
    }
    options.column_groups = spmm_test_env.size;
    spmm_assert_ok(spmm_plan_create(A, 8, &options, &plan));
    assert_int_equal(spmm_plan_update_values(plan, values, NULL), SPMM_ERR_UNSUPPORTED);
    /* A failure of the group is the context's last one, too. */
    assert_non_null(strstr(spmm_last_error(ctx), "copies of A of its column groups"));
    assert_int_equal(spmm_matrix_destroy(&A), SPMM_ERR_ARGUMENT);
    test_context_destroy(&plan, &A, &ctx);
}

/* The k-th allocation of the last rank fails while the plan is made: on all ranks, and nothing is
 * left behind. */
static void test_without_memory(void **state)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_status_t       status  = SPMM_ERR_MEMORY;
    spmm_context_t     *ctx;
    spmm_matrix_t      *A;

    test_context_open(&ctx);
    spmm_assert_ok(spmm_matrix_generate(ctx, "banded:rows=40,band=1", SPMM_R_64F, 0, &A));
    options.column_groups = spmm_test_env.size;
    for (int k = 0; status != SPMM_OK; k += 3) {
        const int64_t live = spmmi_alloc_get_stats().live;
        spmm_plan_t  *plan = NULL;

        assert_true(k < 3000);
        spmmi_alloc_inject(spmm_test_env.rank == spmm_test_env.size - 1 ? k : -1);
        status = spmm_plan_create(A, 8, &options, &plan);
        spmmi_alloc_inject(-1);
        assert_true(status == SPMM_OK || status == SPMM_ERR_MEMORY);
        spmm_assert_ok(spmm_plan_destroy(&plan));
        assert_int_equal(spmmi_alloc_get_stats().live, live);
    }
    test_context_destroy(NULL, &A, &ctx);
}

SPMM_TESTS(test_products, test_few_columns, test_traffic, test_auto, test_refused,
           test_without_memory);
