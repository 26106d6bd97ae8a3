/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 5 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_reproducible.c
 *  Option reproducible: the bits of a product on the first 1, 2, ... ranks, each with 1 to 3
 *  threads, are those of the same product by one thread, which every rank makes for itself.  All
 *  else is drawn: pattern, types, op, layout, widths, factors, partition, schedule, orders.
 *
 *  SPMM_TEST_CASES plans instead of 40, SPMM_TEST_FIRST the number of the first: what fails names
 *  its number.
 */
#include "plan_case.h"

#include <omp.h>

enum { SEED_A = 3, NEW_A = 5, SEED_B = 11, SEED_C = 13 };
enum { WIDTHS = 4, MOST_N = 130, MOST_RANKS = 8 };

/** Where entries are. */
typedef struct {
    int64_t rows, cols;
    int64_t full_row, full_col; /**< -1: none.  A row of A, and of its transpose, of more entries
                                     than a run of kernels on CPUs (64), and one of more than a
                                     piece of them (1024), and of GPUs (256) */
    enum { UNEVEN, EVEN, BLOCKS } kind;
    uint64_t one_in;
} pattern_t;

/** A product, and how the ranks go about it. */
typedef struct {
    int64_t        number;
    uint64_t       drawn; /**< so many draws */
    pattern_t      p;
    spmm_type_t    type, c_type, b_type;
    spmm_op_t      op;
    spmm_layout_t  layout;
    int64_t        n[WIDTHS];
    double complex alpha, beta;
    const char    *partition, *transport, *tuning;
} case_t;

/** A context on some ranks. */
typedef struct {
    spmm_context_t *ctx;
    int             rank, size;
} group_t;

static uint64_t draw(case_t *c, uint64_t below)
{
    return spmmi_hash2((uint64_t)c->number, (int64_t)c->drawn++, 31) % below;
}

/* One of the names, more often none. */
#define NAME(c, ...) name_of((c), (const char *const[]){__VA_ARGS__, NULL})

static const char *name_of(case_t *c, const char *const *name)
{
    uint64_t count = 0;

    while (name[count] != NULL) {
        count++;
    }
    return draw(c, 3) > 0 ? NULL : name[draw(c, count)];
}

/* Every sixth has a row of more entries than a piece of kernels. */
static pattern_t draw_pattern(case_t *c)
{
    static const pattern_t long_ones[] = {{61, 1300, 17, 29, EVEN, 23},
                                          {1300, 61, 29, 17, EVEN, 23}};
    static const uint64_t  one_in[]    = {2, 4, 12, 60};
    pattern_t              p;

    if (draw(c, 6) == 0) {
        return long_ones[draw(c, 2)];
    }
    p.rows = p.cols = draw(c, 3) == 0 ? 1 + (int64_t)draw(c, 40) : 120 + (int64_t)draw(c, 120);
    if (draw(c, 3) == 0) {
        p.cols = 1 + (int64_t)draw(c, 240);
    }
    p.full_row = draw(c, 2) == 0 ? -1 : (int64_t)draw(c, (uint64_t)p.rows);
    p.full_col = draw(c, 2) == 0 ? -1 : (int64_t)draw(c, (uint64_t)p.cols);
    p.kind     = draw(c, 4) % 3;
    p.one_in   = one_in[draw(c, 4)];
    return p;
}

/* Numbers that follow each other have all types. */
static void draw_types(case_t *c)
{
    static const spmm_type_t of[][3] = {
        {SPMM_R_64F, SPMM_R_64F, SPMM_R_64F},    {SPMM_C_64F, SPMM_C_64F, SPMM_C_64F},
        {SPMM_R_32F, SPMM_R_32F, SPMM_R_32F},    {SPMM_C_32F, SPMM_C_32F, SPMM_C_32F},
        {SPMM_R_16F, SPMM_R_16F, SPMM_R_16F},    {SPMM_R_16F, SPMM_R_32F, SPMM_R_16F},
        {SPMM_R_16BF, SPMM_R_16BF, SPMM_R_16BF}, {SPMM_R_16BF, SPMM_R_32F, SPMM_R_16BF},
        {SPMM_R_64F, SPMM_C_64F, SPMM_C_64F},    {SPMM_R_32F, SPMM_C_32F, SPMM_C_32F}};
    const spmm_type_t *types = of[c->number % (int64_t)(sizeof of / sizeof of[0])];

    c->type   = types[0];
    c->c_type = types[1];
    c->b_type = types[2];
    c->op     = (spmm_op_t)draw(c, 3);
    c->layout = c->b_type == c->type && draw(c, 2) == 0 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
}

static case_t draw_case(int64_t number)
{
    static const double factors[] = {0.7, 1.0, -1.1, 0.3};
    case_t              c         = {.number = number};

    c.p = draw_pattern(&c);
    draw_types(&c);
    c.n[0] = 1;
    for (int w = 1; w < WIDTHS; w++) {
        c.n[w] = 1 + (int64_t)draw(&c, w == 1 ? 9 : MOST_N);
    }
    c.alpha = factors[draw(&c, 4)];
    c.beta  = draw(&c, 3) == 0 ? 0.0 : factors[draw(&c, 4)];
    if (spmmi_is_complex(c.type)) {
        c.alpha += draw(&c, 4) == 0 ? 0.0 : -0.6 * I;
        c.beta += draw(&c, 2) == 0 ? 0.0 : 0.2 * I;
    }
    c.partition = NAME(&c, "block", "metis", "ptscotch", "auto", "one");
    c.transport =
        spmm_test_on_gpu() ? NAME(&c, "mpi-host", "mpi-device", "nccl", "nccl-push") : NULL;
    c.tuning = NAME(&c, "schedule=merged", "order=affinity", "order=sorted",
                    "schedule=merged,order=affinity", "order=sorted,schedule=merged");
    return c;
}

/* Every seventh row has no entry but in the full column. */
static bool has(const pattern_t *p, int64_t i, int64_t j)
{
    const uint64_t hash = spmmi_hash2(7, i, j);

    if (i == p->full_row || j == p->full_col) {
        return true;
    }
    if (i % 7 == 3) {
        return false;
    }
    return p->kind == EVEN     ? hash % p->one_in == 0
           : p->kind == UNEVEN ? hash % (2 * i < p->rows ? 60 : 2) == 0
                               : i * 9 / p->rows == j * 9 / p->cols && hash % 2 == 0;
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
static rows_t make_rows(const case_t *c, int64_t first, int64_t count, int64_t cols)
{
    rows_t  r   = {.rows = count, .cols = cols};
    int64_t nnz = 0;

    r.row_ptr = spmm_test_calloc((size_t)count + 1, sizeof *r.row_ptr);
    r.col     = spmm_test_malloc((size_t)(count * c->p.cols + 1) * sizeof *r.col);
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < c->p.cols; k++) {
            const int64_t j = (first + i) % 2 == 0 ? k : c->p.cols - 1 - k;

            if (has(&c->p, first + i, j)) {
                r.col[nnz++] = j;
            }
        }
        r.row_ptr[i + 1] = nnz;
    }
    r.values = spmm_test_malloc((size_t)(nnz + 1) * sizeof(double complex));
    draw_values(&r, first, SEED_A, c->type);
    return r;
}

/* Rank 1 of three and more owns nothing. */
static void part(const group_t *g, int64_t n, int64_t *first, int64_t *count)
{
    const int64_t end = n * (g->rank + 1 + (g->size > 2 && g->rank == 0)) / g->size;

    *first = g->size > 2 && g->rank == 1 ? end : n * g->rank / g->size;
    *count = end - *first;
}

/* Bytes of a block with wide rows, one row too many. */
static size_t block_bytes(int64_t rows, int64_t n)
{
    return (size_t)((rows + 3) * (n + 3)) * sizeof(double complex);
}

/* Rows @p global_row of the operand @p seed, in memory of the group's context. */
static void *make_block(const case_t *c, const group_t *g, int64_t n, const spmm_layout_info_t *at,
                        uint64_t seed, spmm_type_t type, int64_t *ld)
{
    const int64_t rows  = at->local_rows;
    const size_t  bytes = block_bytes(rows, n);
    void         *data  = spmm_test_calloc(bytes, 1), *device;

    *ld = (c->layout == SPMM_LAYOUT_ROW ? n : rows > 0 ? rows : 1) + (int64_t)(seed % 3);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < n; j++) {
            reference_set(type, data, reference_place(c->layout, *ld, i, j),
                          reference_element(seed, at->global_row[i], j, type));
        }
    }
    spmm_assert_ok(spmm_buffer_alloc(g->ctx, bytes, &device));
    spmm_assert_ok(spmm_buffer_copy(g->ctx, device, data, bytes));
    free(data);
    return device;
}

/** Rows of C on this rank, of a block [rows x ld] or [ld x n]. */
typedef struct {
    void   *C;
    int64_t n, ld, rows, *global_row;
} result_t;

static result_t execute(const case_t *c, const group_t *g, spmm_plan_t *plan, int64_t n)
{
    spmm_layout_info_t b = {.struct_size = sizeof b}, at = {.struct_size = sizeof at};
    const spmm_type_t  type = spmmi_accum_type(c->type);
    double complex     alpha, beta;
    result_t           r = {.n = n};
    int64_t            ldb;
    void              *B, *C;

    reference_set(type, &alpha, 0, c->alpha);
    reference_set(type, &beta, 0, c->beta);
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &b));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &at));
    B   = make_block(c, g, n, &b, SEED_B, c->b_type, &ldb);
    C   = make_block(c, g, n, &at, SEED_C, c->c_type, &r.ld);
    r.C = spmm_test_malloc(block_bytes(at.local_rows, n));
    spmm_assert_ok(spmm_execute_scaled(plan, n, &alpha, B, ldb, &beta, C, r.ld, NULL));
    spmm_assert_ok(spmm_buffer_copy(g->ctx, r.C, C, block_bytes(at.local_rows, n)));
    r.rows       = at.local_rows;
    r.global_row = spmm_test_malloc((size_t)(r.rows + 1) * sizeof *r.global_row);
    if (r.rows > 0) {
        memcpy(r.global_row, at.global_row, (size_t)r.rows * sizeof *r.global_row);
    }
    test_context_free(g->ctx, &B, &C);
    return r;
}

static spmm_status_t make_plan(const case_t *c, int reproducible, spmm_matrix_t *A,
                               spmm_plan_t **plan)
{
    spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
    int64_t             most = 0;

    for (int w = 0; w < WIDTHS; w++) {
        most = c->n[w] > most ? c->n[w] : most;
    }
    o.op           = c->op;
    o.layout       = c->layout;
    o.c_type       = c->c_type;
    o.b_type       = c->b_type;
    o.partition    = c->partition;
    o.transport    = c->transport;
    o.tuning       = c->tuning;
    o.reproducible = reproducible;
    return spmm_plan_create(A, most, &o, plan);
}

/* Elements of mine that are not those of the whole C. */
static int64_t count_differing(const case_t *c, const result_t *mine, const result_t *whole)
{
    const size_t size   = spmm_type_size(c->c_type);
    int64_t      differ = 0;

    for (int64_t i = 0; i < mine->rows; i++) {
        for (int64_t j = 0; j < mine->n; j++) {
            const int64_t at = reference_place(c->layout, mine->ld, i, j);
            const int64_t to = reference_place(c->layout, whole->ld, mine->global_row[i], j);

            differ += memcmp((char *)mine->C + (size_t)at * size,
                             (char *)whole->C + (size_t)to * size, size) != 0;
        }
    }
    return differ;
}

/** What all widths come to, the last with new values. */
typedef struct {
    result_t of[WIDTHS + 1];
} results_t;

/* @return SPMM_ERR_UNSUPPORTED where the plan is refused, and nothing then */
static spmm_status_t run(const case_t *c, const group_t *g, int reproducible, results_t *results)
{
    spmm_matrix_t *A    = NULL;
    spmm_plan_t   *plan = NULL;
    int64_t        first, rows, cols, unused;
    rows_t         mine;
    spmm_status_t  status;

    part(g, c->p.cols, &unused, &cols);
    part(g, c->p.rows, &first, &rows);
    mine = make_rows(c, first, rows, cols);
    spmm_assert_ok(spmm_matrix_create_csr(g->ctx, rows, cols, mine.row_ptr, mine.col, mine.values,
                                          c->type, &A));
    status = make_plan(c, reproducible, A, &plan);
    if (status != SPMM_ERR_UNSUPPORTED) {
        spmm_assert_ok(status);
        for (int w = 0; w < WIDTHS; w++) {
            results->of[w] = execute(c, g, plan, c->n[w]);
        }
        draw_values(&mine, first, NEW_A, c->type);
        spmm_assert_ok(spmm_matrix_update_values(A, mine.values));
        results->of[WIDTHS] = execute(c, g, plan, c->n[WIDTHS - 1]);
    }
    test_context_destroy(&plan, &A, NULL);
    spmm_test_free(mine.row_ptr, mine.col, mine.values);
    return status;
}

static void free_results(results_t *results)
{
    for (int w = 0; w <= WIDTHS; w++) {
        spmm_test_free(results->of[w].C, results->of[w].global_row);
    }
}

/* Elements that differ, of this rank in @p g; -1: the plan was refused, as ones that a build or
 * some ranks cannot make are. */
static int64_t compare(const case_t *c, const group_t *g, int reproducible, const results_t *want)
{
    results_t got;
    int64_t   differ = 0;

    if (run(c, g, reproducible, &got) == SPMM_ERR_UNSUPPORTED) {
        return -1;
    }
    for (int w = 0; w <= WIDTHS; w++) {
        const int64_t count = count_differing(c, &got.of[w], &want->of[w]);

        if (count != 0 && reproducible != 0) {
            print_error("case %lld, rank %d of %d, n %lld: %lld elements differ\n",
                        (long long)c->number, g->rank, g->size, (long long)got.of[w].n,
                        (long long)count);
        }
        differ += count;
    }
    free_results(&got);
    return differ;
}

/* Contexts of the first @p size ranks, or of each rank alone. */
static group_t open_group(int size, int threads)
{
    spmm_context_options_t o  = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_info_t    on = {.struct_size = sizeof on};
    group_t  g = {.rank = size == 0 ? 0 : spmm_test_env.rank, .size = size == 0 ? 1 : size};
    MPI_Comm comm;

    spmm_assert_ok(spmm_context_get_info(ctx, &on));
    o.device      = spmm_test_on_gpu() ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;
    o.cuda_device = spmm_test_on_gpu() ? &on.device_ordinal : NULL; /* where blocks of ctx lie */
    omp_set_num_threads(threads);
    MPI_Comm_split(MPI_COMM_WORLD, size == 0 ? spmm_test_env.rank : g.rank < size, 0, &comm);
    if (g.rank < g.size) {
        spmm_assert_ok(spmm_context_create(comm, &o, &g.ctx));
    }
    MPI_Comm_free(&comm);
    return g;
}

static void test_bits(void **state)
{
    const int64_t from = spmm_test_number("SPMM_TEST_FIRST", 0);
    const int64_t many = spmm_test_number("SPMM_TEST_CASES", 40);
    const int     size = spmm_test_env.size, threads = omp_get_max_threads();
    int64_t       refused = 0, failed = 0;
    group_t       group[MOST_RANKS + 1]; /* 0: each rank alone */

    assert_true(size <= MOST_RANKS);
    for (int p = 0; p <= size; p++) {
        group[p] = open_group(p, p % 3 + 1);
    }
    for (int64_t number = from; number < from + many; number++) {
        const case_t c     = draw_case(number);
        case_t       plain = c;
        results_t    want;
        int64_t      differ = 0;

        plain.partition = plain.transport = plain.tuning = NULL;
        spmm_assert_ok(run(&plain, &group[0], 1, &want));
        for (int p = 1; p <= size; p++) {
            const int64_t count = group[p].ctx == NULL ? 0 : compare(&c, &group[p], 1, &want);

            refused += count < 0;
            differ += count > 0;
        }
        MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
        failed += differ;
        free_results(&want);
    }
    assert_int_equal(failed, 0);
    assert_true(spmm_test_env.rank > 0 || refused <= size * many / 2); /* over one GPU no NCCL */
    for (int p = 0; p <= size; p++) {
        test_context_destroy(NULL, NULL, &group[p].ctx);
    }
    omp_set_num_threads(threads);
}

/* The rule has an exception: without the option the bits are others. */
static void test_without(void **state)
{
    const case_t  c   = {.type   = SPMM_R_32F,
                         .c_type = SPMM_R_32F,
                         .b_type = SPMM_R_32F,
                         .op     = SPMM_OP_N,
                         .layout = SPMM_LAYOUT_ROW,
                         .p      = {61, 1300, 17, 29, EVEN, 23},
                         .n      = {1, 4, 7, 33},
                         .alpha  = 1.5,
                         .beta   = -0.3};
    const group_t all = {.ctx = ctx, .rank = spmm_test_env.rank, .size = spmm_test_env.size};
    group_t       one = open_group(0, 1);
    results_t     want;
    int64_t       differ;

    spmm_assert_ok(run(&c, &one, 1, &want));
    differ = compare(&c, &all, 0, &want);
    MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    assert_true(spmm_test_env.size == 1 || differ > 0);
    free_results(&want);
    test_context_destroy(NULL, NULL, &one.ctx);
}

PLAN_TESTS(test_bits, test_without);
