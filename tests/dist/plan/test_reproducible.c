/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 8 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_reproducible.c  Option reproducible: the bits of a product on all ranks are those of
 *  the same product on one rank, which every rank makes for itself. */
#include "plan_case.h"

enum { SEED_A = 3, NEW_A = 5, SEED_B = 11, SEED_C = 13 };

/** Rows and columns of a few entries, of more than a run of kernels on CPUs (64), and one of more
 *  than a piece of them (1024), and of GPUs (256). */
typedef struct {
    int64_t rows, cols, full_row, full_col;
} pattern_t;

typedef struct {
    spmm_type_t   type, c_type, b_type;
    spmm_op_t     op;
    spmm_layout_t layout;
    int64_t       n;
    double        alpha, beta;
} case_t;

/** How the ranks go about it: none of it may show in the bits. */
typedef struct {
    const char *partition, *transport, *schedule, *reorder;
} way_t;

static bool has(const pattern_t *p, int64_t i, int64_t j)
{
    return i == p->full_row || j == p->full_col || spmmi_hash2(7, i, j) % 23 == 0 ||
           (i % 9 == 4 && spmmi_hash2(9, i, j) % 4 == 0);
}

/** CSR rows of one caller. */
typedef struct {
    int64_t  rows, cols;
    int64_t *row_ptr, *col;
    void    *values;
} rows_t;

static void draw_values(rows_t *rows, int64_t first, uint64_t seed, spmm_type_t type)
{
    for (int64_t i = 0; i < rows->rows; i++) {
        for (int64_t k = rows->row_ptr[i]; k < rows->row_ptr[i + 1]; k++) {
            reference_set(type, rows->values, k,
                          reference_element(seed, first + i, rows->col[k], type));
        }
    }
}

/* Odd rows in descending order of columns: the order in which a caller has them is not to count. */
static rows_t make_rows(const pattern_t *p, int64_t first, int64_t count, int64_t cols,
                        spmm_type_t type)
{
    rows_t  r   = {.rows = count, .cols = cols};
    int64_t nnz = 0;

    r.row_ptr = spmm_test_calloc((size_t)count + 1, sizeof *r.row_ptr);
    r.col     = spmm_test_malloc((size_t)(count * p->cols + 1) * sizeof *r.col);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < p->cols; k++) {
            const int64_t j = (first + i) % 2 == 0 ? k : p->cols - 1 - k;

            if (has(p, first + i, j)) {
                r.col[nnz++] = j;
            }
        }
        r.row_ptr[i + 1] = nnz;
    }
    r.values = spmm_test_malloc((size_t)(nnz + 1) * sizeof(double complex));
    draw_values(&r, first, SEED_A, type);
    return r;
}

static void free_rows(rows_t *r)
{
    spmm_test_free(r->row_ptr, r->col, r->values);
}

/* Bytes of a block with wide rows, one row too many. */
static size_t block_bytes(const case_t *c, int64_t rows)
{
    return (size_t)((rows + 3) * (c->n + 3)) * sizeof(double complex);
}

/* Rows @p global_row of the operand @p seed, in memory of contexts. */
static void *draw(const case_t *c, const spmm_layout_info_t *at, uint64_t seed, spmm_type_t type,
                  int64_t *ld)
{
    const int64_t rows = at->local_rows;
    void         *data = spmm_test_calloc(block_bytes(c, rows), 1), *device;

    *ld = (c->layout == SPMM_LAYOUT_ROW ? c->n : rows > 0 ? rows : 1) + 2;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < c->n; j++) {
            reference_set(type, data, reference_place(c->layout, *ld, i, j),
                          reference_element(seed, at->global_row[i], j, type));
        }
    }
    device = to_device(data, block_bytes(c, rows));
    free(data);
    return device;
}

/** Rows of C on this rank, of a block [rows x ld] or [ld x n]. */
typedef struct {
    void   *C;
    int64_t ld, rows, *global_row;
} result_t;

static result_t execute(const case_t *c, spmm_plan_t *plan)
{
    spmm_layout_info_t b = {.struct_size = sizeof b}, at = {.struct_size = sizeof at};
    result_t           r;
    int64_t            ldb;
    void              *B, *C;

    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &b));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &at));
    B   = draw(c, &b, SEED_B, c->b_type, &ldb);
    C   = draw(c, &at, SEED_C, c->c_type, &r.ld);
    r.C = spmm_test_malloc(block_bytes(c, at.local_rows));
    spmm_assert_ok(spmm_execute(plan, c->n, c->alpha, B, ldb, c->beta, C, r.ld, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, r.C, C, block_bytes(c, at.local_rows)));
    r.rows       = at.local_rows;
    r.global_row = spmm_test_malloc((size_t)(r.rows + 1) * sizeof *r.global_row);
    if (r.rows > 0) {
        memcpy(r.global_row, at.global_row, (size_t)r.rows * sizeof *r.global_row);
    }
    spmm_assert_ok(spmm_buffer_free(ctx, &B));
    spmm_assert_ok(spmm_buffer_free(ctx, &C));
    return r;
}

static void free_result(result_t *r)
{
    spmm_test_free(r->C, r->global_row);
}

static spmm_status_t make_plan(const case_t *c, const way_t *way, int reproducible,
                               spmm_matrix_t *A, spmm_plan_t **plan)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;

    o.op           = c->op;
    o.layout       = c->layout;
    o.c_type       = c->c_type;
    o.b_type       = c->b_type;
    o.partition    = way->partition;
    o.transport    = way->transport;
    o.schedule     = way->schedule;
    o.reorder      = way->reorder;
    o.reproducible = reproducible;
    return spmm_plan_create(A, c->n + 3, &o, plan);
}

/* Elements of mine that are not those of the whole C. */
static int64_t count_differing(const case_t *c, const result_t *mine, const result_t *whole)
{
    const size_t size   = spmm_type_size(c->c_type);
    int64_t      differ = 0;

    for (int64_t i = 0; i < mine->rows; i++) {
        for (int64_t j = 0; j < c->n; j++) {
            const int64_t at = reference_place(c->layout, mine->ld, i, j);
            const int64_t to = reference_place(c->layout, whole->ld, mine->global_row[i], j);

            differ += memcmp((char *)mine->C + (size_t)at * size,
                             (char *)whole->C + (size_t)to * size, size) != 0;
        }
    }
    return differ;
}

/** A case under way: the context of this rank alone, and what it comes to there. */
typedef struct {
    case_t         c;
    pattern_t      p;
    rows_t         whole, mine;
    int64_t        first;
    spmm_matrix_t *A;       /**< on all ranks */
    result_t       want[2]; /**< with the first and with new values */
} bench_t;

static void open_bench(bench_t *b)
{
    const way_t            alone = {0};
    spmm_context_options_t o     = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_info_t    on    = {.struct_size = sizeof on};
    spmm_context_t        *self;
    spmm_matrix_t         *A;
    spmm_plan_t           *plan;
    int64_t                cols, unused;

    reference_part(b->p.rows, &b->first, &b->mine.rows);
    reference_part(b->p.cols, &unused, &cols);
    b->whole = make_rows(&b->p, 0, b->p.rows, b->p.cols, b->c.type);
    b->mine  = make_rows(&b->p, b->first, b->mine.rows, cols, b->c.type);
    spmm_assert_ok(spmm_context_get_info(ctx, &on));
    o.device      = spmm_test_on_gpu() ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;
    o.cuda_device = spmm_test_on_gpu() ? &on.device_ordinal : NULL; /* where blocks of ctx lie */
    spmm_assert_ok(spmm_context_create(MPI_COMM_SELF, &o, &self));
    spmm_assert_ok(spmm_matrix_create_csr(self, b->whole.rows, b->whole.cols, b->whole.row_ptr,
                                          b->whole.col, b->whole.values, b->c.type, &A));
    spmm_assert_ok(make_plan(&b->c, &alone, 1, A, &plan));
    b->want[0] = execute(&b->c, plan);
    draw_values(&b->whole, 0, NEW_A, b->c.type);
    spmm_assert_ok(spmm_matrix_update_values(A, b->whole.values));
    b->want[1] = execute(&b->c, plan);
    test_context_destroy(&plan, &A, &self);
    spmm_assert_ok(spmm_matrix_create_csr(ctx, b->mine.rows, b->mine.cols, b->mine.row_ptr,
                                          b->mine.col, b->mine.values, b->c.type, &b->A));
}

static void close_bench(bench_t *b)
{
    test_context_destroy(NULL, &b->A, NULL);
    free_result(&b->want[0]);
    free_result(&b->want[1]);
    free_rows(&b->whole);
    free_rows(&b->mine);
}

/* One product; @return elements that differ, of all ranks. */
static int64_t compare(const bench_t *b, spmm_plan_t *plan, int values)
{
    result_t r      = execute(&b->c, plan);
    int64_t  differ = count_differing(&b->c, &r, &b->want[values]);

    free_result(&r);
    MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return differ;
}

static int64_t run(bench_t *b, const way_t *way, int reproducible)
{
    spmm_plan_t  *plan   = NULL;
    spmm_status_t status = make_plan(&b->c, way, reproducible, b->A, &plan);
    int64_t       differ;

    if (status == SPMM_ERR_UNSUPPORTED && (way->transport != NULL || way->partition != NULL)) {
        return 0; /* a build without it */
    }
    spmm_assert_ok(status);
    differ = compare(b, plan, 0);
    draw_values(&b->mine, b->first, NEW_A, b->c.type);
    spmm_assert_ok(spmm_matrix_update_values(b->A, b->mine.values));
    differ += compare(b, plan, 1);
    draw_values(&b->mine, b->first, SEED_A, b->c.type);
    spmm_assert_ok(spmm_matrix_update_values(b->A, b->mine.values));
    test_context_destroy(&plan, NULL, NULL);
    return differ;
}

static const pattern_t wide = {61, 1300, 17, 29}, tall = {1300, 61, 29, 17},
                       square = {203, 203, 17, 29};

static const case_t cases[] = {
    {SPMM_R_64F, SPMM_R_64F, SPMM_R_64F, SPMM_OP_N, SPMM_LAYOUT_ROW, 33, 1.0, 0.0},
    {SPMM_R_32F, SPMM_R_32F, SPMM_R_32F, SPMM_OP_N, SPMM_LAYOUT_ROW, 7, 1.5, -0.3},
    {SPMM_R_32F, SPMM_R_32F, SPMM_R_32F, SPMM_OP_T, SPMM_LAYOUT_COL, 5, 1.5, -0.3},
    {SPMM_R_16F, SPMM_R_16F, SPMM_R_16F, SPMM_OP_N, SPMM_LAYOUT_COL, 9, 0.7, 0.5},
    {SPMM_R_16BF, SPMM_R_32F, SPMM_R_16BF, SPMM_OP_T, SPMM_LAYOUT_ROW, 34, 1.0, 0.0},
    {SPMM_C_64F, SPMM_C_64F, SPMM_C_64F, SPMM_OP_H, SPMM_LAYOUT_ROW, 4, 0.3, 0.7},
    {SPMM_C_32F, SPMM_C_32F, SPMM_C_32F, SPMM_OP_N, SPMM_LAYOUT_COL, 3, -1.1, 0.1},
    {SPMM_R_64F, SPMM_C_64F, SPMM_C_64F, SPMM_OP_T, SPMM_LAYOUT_ROW, 6, 1.1, 0.9},
    {SPMM_R_32F, SPMM_R_32F, SPMM_R_32F, SPMM_OP_N, SPMM_LAYOUT_COL, 1, 1.5, 1.0},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

static const way_t ways[] = {
    {NULL, NULL, NULL, NULL},         {"block", NULL, "allgather", NULL},
    {"metis", NULL, NULL, "rcm"},     {"ptscotch", NULL, "merged", NULL},
    {"auto", "mpi-host", NULL, NULL}, {NULL, "mpi-device", NULL, NULL},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

static void test_bits(void **state)
{
    const pattern_t patterns[] = {wide, tall, square};

    for (int k = 0; k < N_CASES; k++) {
        bench_t b = {.c = cases[k], .p = patterns[k % 3]};

        open_bench(&b);
        for (int w = 0; w < N_WAYS; w++) {
            const int64_t differ = run(&b, &ways[w], 1);

            if (differ != 0) {
                print_error("case %d, way %d: %lld elements differ\n", k, w, (long long)differ);
            }
            assert_int_equal(differ, 0);
        }
        close_bench(&b);
    }
}

/* The rule has an exception: without the option the bits are others. */
static void test_without(void **state)
{
    bench_t b = {.c = cases[1], .p = wide};

    open_bench(&b);
    if (spmm_test_env.size > 1) {
        assert_true(run(&b, &ways[0], 0) > 0);
    }
    close_bench(&b);
}

/* And they are right: check_plan() has an FP64 reference, and shapes without rows or entries. */
static void test_products(void **state)
{
    const shape_t shapes[] = {{61, 61, 5, 17}, {50, 23, 4, -1}, {23, 70, 4, 5},
                              {30, 30, 0, -1}, {0, 12, 0, -1},  {12, 0, 0, -1}};

    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int k = (int)s % 2; k < N_CASES; k += 2) {
            check_plan(&shapes[s], &(product_t){.type         = cases[k].type,
                                                .c_type       = cases[k].c_type,
                                                .b_type       = cases[k].b_type,
                                                .op           = cases[k].op,
                                                .layout       = cases[k].layout,
                                                .partition    = k % 3 == 0 ? NULL : "block",
                                                .n            = 6,
                                                .planned_n    = 9,
                                                .pad          = k % 3,
                                                .alpha        = cases[k].alpha,
                                                .beta         = cases[k].beta,
                                                .reproducible = true});
        }
    }
}

static void assert_refused(const way_t *way, const char *engine, const char *words)
{
    spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan = NULL;
    bench_t             b    = {.c = cases[0], .p = square};

    open_bench(&b);
    o.schedule     = way->schedule;
    o.engine       = engine;
    o.reproducible = 1;
    assert_int_equal(spmm_plan_create(b.A, 4, &o, &plan), SPMM_ERR_UNSUPPORTED);
    assert_non_null(strstr(spmm_last_error(ctx), words));
    close_bench(&b);
}

static void test_refused(void **state)
{
    void               *values;
    char               *text;
    const case_t        c = cases[2];
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan;
    bench_t             b = {.c = c, .p = square};

    assert_refused(&(way_t){.schedule = "overlap"}, NULL, "does not sum a row of C at once");
    assert_refused(&(way_t){.schedule = "merged2"}, NULL, "does not sum a row of C at once");
    assert_refused(&(way_t){0}, "dmma", "sums no row for itself");
    open_bench(&b);
    o.op           = SPMM_OP_T;
    o.reproducible = 1;
    o.layout       = SPMM_LAYOUT_COL;
    spmm_assert_ok(spmm_plan_create(b.A, 4, &o, &plan));
    values = to_device(b.mine.values, (size_t)b.mine.row_ptr[b.mine.rows] * spmm_type_size(c.type));
    text   = test_context_explain(plan);
    assert_non_null(strstr(text, ": op T, column-major, "));
    assert_non_null(strstr(text, "C from it: reproducible\n"));
    free(text);
    assert_int_equal(spmm_plan_update_values(plan, values, NULL), SPMM_ERR_UNSUPPORTED);
    assert_non_null(strstr(spmm_last_error(ctx), "keeps entries where their columns are"));
    spmm_assert_ok(spmm_buffer_free(ctx, &values));
    test_context_destroy(&plan, NULL, NULL);
    o.reproducible = spmm_test_env.rank;
    if (spmm_test_env.size > 1) {
        assert_int_equal(spmm_plan_create(b.A, 4, &o, &plan), SPMM_ERR_ARGUMENT);
        assert_non_null(strstr(spmm_last_error(ctx), "reproducible"));
    }
    close_bench(&b);
}

PLAN_TESTS(test_bits, test_without, test_products, test_refused);
