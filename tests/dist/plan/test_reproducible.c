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
#include "draw.h"
#include "plan_case.h"

#include <omp.h>

enum { WIDTHS = 4, MOST_N = 130, MOST_RANKS = 8 };

/** A product, and how the ranks go about it. */
typedef struct {
    draw_t    d;
    shape_t   shape;
    product_t p;
    int64_t   n[WIDTHS];
} case_t;

/** A context on some ranks. */
typedef struct {
    spmm_context_t *ctx;
    spmm_env_t      env; /**< what spmm_test_env is to be */
} group_t;

/* Full rows, of A and of its transpose, have more entries than a run of kernels on CPUs (64), and
 * of every sixth case more than a piece of them (1024), and of GPUs (256). */
static shape_t draw_shape(case_t *c)
{
    static const shape_t long_ones[] = {{61, 1300, 23, 17}, {1300, 61, 23, 29}};
    static const int     one_in[]    = {2, 4, 12, 60};
    shape_t              s;

    if (draw(&c->d, 6) == 0) {
        const int64_t which = draw(&c->d, 2);

        c->p.dense_col = which == 0 ? 30 : 18;
        return long_ones[which];
    }
    s.rows = s.cols = draw(&c->d, 3) == 0 ? 1 + draw(&c->d, 40) : 120 + draw(&c->d, 120);
    if (draw(&c->d, 3) == 0) {
        s.cols = 1 + draw(&c->d, 240);
    }
    s.dense_row    = draw(&c->d, 2) == 0 ? -1 : draw(&c->d, s.rows);
    c->p.dense_col = draw(&c->d, 2) == 0 ? 0 : 1 + draw(&c->d, s.cols);
    c->p.kind      = (unsigned)draw(&c->d, 4) % 3;
    s.one_in       = one_in[draw(&c->d, 4)];
    return s;
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
    const spmm_type_t *types = of[c->d.number % (int64_t)(sizeof of / sizeof of[0])];

    c->p.type     = types[0];
    c->p.o.c_type = types[1];
    c->p.o.b_type = types[2];
    c->p.o.op     = (spmm_op_t)draw(&c->d, 3);
    c->p.o.layout = types[2] == types[0] && draw(&c->d, 2) == 0 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
}

static case_t draw_case(int64_t number)
{
    static const double factors[] = {0.7, 1.0, -1.1, 0.3};
    case_t              c         = {.d = {.salt = 31, .number = number}, .p = {.unchecked = true}};

    c.shape = draw_shape(&c);
    draw_types(&c);
    c.n[0] = 1;
    for (int w = 1; w < WIDTHS; w++) {
        c.n[w] = 1 + draw(&c.d, w == 1 ? 9 : MOST_N);
    }
    c.p.pad   = draw(&c.d, 3);
    c.p.alpha = factors[draw(&c.d, 4)];
    c.p.beta  = draw(&c.d, 3) == 0 ? 0.0 : factors[draw(&c.d, 4)];
    if (spmmi_is_complex(c.p.type)) {
        c.p.alpha += draw(&c.d, 4) == 0 ? 0.0 : -0.6 * I;
        c.p.beta += draw(&c.d, 2) == 0 ? 0.0 : 0.2 * I;
    }
    c.p.o.partition = draw_name(&c.d, "block", "metis", "ptscotch", "auto", "one");
    c.p.o.transport =
        spmm_test_on_gpu() ? draw_name(&c.d, "mpi-host", "mpi-device", "nccl", "nccl-push") : NULL;
    c.p.o.tuning = draw_name(&c.d, "schedule=merged", "order=affinity", "order=sorted",
                             "schedule=merged,order=affinity", "order=sorted,schedule=merged");
    return c;
}

/** Rows of C on this rank, of a block [rows x ld] or [ld x n]. */
typedef struct {
    char   *C;
    int64_t n, ld, rows, *global_row;
} result_t;

static result_t execute(const case_t *c, spmm_plan_t *plan, int64_t n)
{
    const spmm_layout_info_t at = test_context_layout(plan, SPMM_OPERAND_C);
    product_t                p  = c->p;
    result_t                 r  = {.n = n, .rows = at.local_rows};
    size_t                   bytes;

    p.n          = n;
    r.C          = plan_case_run(&c->shape, &p, plan, &bytes);
    r.ld         = (p.o.layout == SPMM_LAYOUT_ROW ? n : r.rows > 0 ? r.rows : 1) + p.pad;
    r.global_row = spmm_test_malloc((size_t)(r.rows + 1) * sizeof *r.global_row);
    if (r.rows > 0) {
        memcpy(r.global_row, at.global_row, (size_t)r.rows * sizeof *r.global_row);
    }
    return r;
}

/* Elements of mine that are not those of the whole C. */
static int64_t count_differing(const case_t *c, const result_t *mine, const result_t *whole)
{
    const size_t size   = spmm_type_size(c->p.o.c_type);
    int64_t      differ = 0;

    for (int64_t i = 0; i < mine->rows; i++) {
        for (int64_t j = 0; j < mine->n; j++) {
            const int64_t at = reference_place(c->p.o.layout, mine->ld, i, j);
            const int64_t to = reference_place(c->p.o.layout, whole->ld, mine->global_row[i], j);

            differ += memcmp(mine->C + (size_t)at * size, whole->C + (size_t)to * size, size) != 0;
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
    const spmm_env_t    env  = spmm_test_env;
    spmm_context_t     *kept = ctx;
    spmm_plan_options_t o    = c->p.o;
    spmm_plan_t        *plan = NULL;
    int64_t             most = 0;
    spmm_matrix_t      *A;
    spmm_status_t       status;

    spmm_test_env  = g->env; /* of which plan_case.c takes this rank's part */
    ctx            = g->ctx;
    o.struct_size  = sizeof o;
    o.reproducible = reproducible;
    for (int w = 0; w < WIDTHS; w++) {
        most = c->n[w] > most ? c->n[w] : most;
    }
    A      = plan_case_matrix(&c->shape, &c->p);
    status = spmm_plan_create(A, most, &o, &plan);
    if (status != SPMM_ERR_UNSUPPORTED) {
        spmm_assert_ok(status);
        for (int w = 0; w <= WIDTHS; w++) {
            if (w == WIDTHS) {
                plan_case_update(&c->shape, &c->p, A);
            }
            results->of[w] = execute(c, plan, c->n[w < WIDTHS ? w : WIDTHS - 1]);
        }
    }
    test_context_destroy(&plan, &A, NULL);
    spmm_test_env = env;
    ctx           = kept;
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
                        (long long)c->d.number, g->env.rank, g->env.size, (long long)got.of[w].n,
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
    group_t                g  = {.env = spmm_test_env};
    MPI_Comm               comm;

    g.env.rank = size == 0 ? 0 : spmm_test_env.rank;
    g.env.size = size == 0 ? 1 : size;
    spmm_assert_ok(spmm_context_get_info(ctx, &on));
    o.device      = spmm_test_on_gpu() ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;
    o.cuda_device = spmm_test_on_gpu() ? &on.device_ordinal : NULL; /* where blocks of ctx lie */
    omp_set_num_threads(threads);
    MPI_Comm_split(MPI_COMM_WORLD, size == 0 ? spmm_test_env.rank : g.env.rank < size, 0, &comm);
    if (g.env.rank < g.env.size) {
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

        plain.p.o.partition = plain.p.o.transport = plain.p.o.tuning = NULL;
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
    const case_t  c   = {.shape = {61, 1300, 23, 17},
                         .p     = {.type      = SPMM_R_32F,
                                   .alpha     = 1.5,
                                   .beta      = -0.3,
                                   .unchecked = true,
                                   .dense_col = 30,
                                   .o         = {.c_type = SPMM_R_32F, .layout = SPMM_LAYOUT_ROW}},
                         .n     = {1, 4, 7, 33}};
    const group_t all = {.ctx = ctx, .env = spmm_test_env};
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
