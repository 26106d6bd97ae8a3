/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 LABEL dist NEEDS SPMM_BUILD_TOOLS SPMM_ENABLE_CUDA NCCL_FOUND
 *      INCLUDE bench/dist LINK spmm_tools spmm_internal CUDA::cudart NCCL::NCCL
 *      SOURCES bench/dist/dist_blocks.c bench/dist/dist_check.c bench/dist/dist_time.c */
/* Parts of bench_dist: the blocks of the baselines, whose two numberings of columns give the same
 * product as the original matrix, and the check of results.  Needs CUDA to build, not to run. */

#include "test_context.h"

#include "dist.h"

/* B has one column: its entry is a function of the original row. */
static double b_of(int64_t row)
{
    return spmmi_random_value(5, row, 0);
}

static void check_block(const spmm_csr_t *block, const double *B, const spmm_plan_t *plan,
                        const double *wanted)
{
    for (int32_t i = 0; i < block->n_rows; i++) {
        double sum = 0.0;

        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            assert_in_range(block->col_idx[k], 0, block->n_cols - 1);
            assert_true(k == block->row_ptr[i] || block->col_idx[k] > block->col_idx[k - 1] ||
                        block->n_cols ==
                            plan->cols.n_local + spmmi_halo_recv_rows(&plan->exchange.halo));
            sum += ((const double *)block->values)[k] * B[block->col_idx[k]];
        }
        assert_true(fabs(sum - wanted[spmmi_layout_original(&plan->rows, i)]) < 1e-12);
    }
}

/* All of A B, by original row, on every rank. */
static double *reference(const spmm_matrix_t *A, int64_t rows)
{
    double *sum = calloc((size_t)rows, sizeof *sum);

    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            sum[A->row_offset[A->env->rank] + i] +=
                ((const double *)A->values)[k] * b_of(A->col_idx[k]);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, (int)rows, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static void check(const char *spec, const char *partition)
{
    static dist_bench_t    bench = {.job = {.comm = MPI_COMM_WORLD}};
    dist_case_t            c     = {.bench = &bench};
    spmm_context_options_t co    = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_plan_options_t    po    = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t           *plan;
    dist_blocks_t          blocks;
    double                *wanted, *B;
    int64_t                at = 0;

    co.device    = SPMM_DEVICE_CPU;
    po.partition = partition;
    spmm_assert_ok(spmm_context_create(MPI_COMM_WORLD, &co, &bench.ctx));
    spmm_assert_ok(spmm_matrix_generate(bench.ctx, spec, SPMM_R_64F, 3, &c.A));
    spmm_assert_ok(spmm_plan_create(c.A, 1, &po, &plan));
    dist_blocks_create(&c, plan, &blocks);
    wanted = reference(c.A, c.A->rows);
    /* Own rows, then halo rows in the order of the graph: an exchange of original indices. */
    B = calloc((size_t)blocks.needed.n_cols + 1, sizeof *B);
    for (; at < plan->cols.n_local; at++) {
        B[at] = b_of(spmmi_layout_original(&plan->cols, at));
    }
    {
        const int      size = spmm_test_env.size;
        const int64_t  wide = blocks.stride * size;
        double        *all  = calloc((size_t)wide + 1, sizeof *all);
        double        *mine = calloc((size_t)blocks.stride + 1, sizeof *mine);
        const int64_t *off  = plan->cols.offset;

        for (int64_t k = 0; k < plan->cols.n_local; k++) {
            mine[k] = B[k];
        }
        MPI_Allgather(mine, (int)blocks.stride, MPI_DOUBLE, all, (int)blocks.stride, MPI_DOUBLE,
                      MPI_COMM_WORLD);
        if (size > 1) {
            assert_int_equal(blocks.all.n_cols, wide);
            check_block(&blocks.all, all, plan, wanted);
        }
        /* The halo columns ascend in the plan's order: look them up through `all`. */
        for (int32_t i = 0; size > 1 && i < blocks.all.n_rows; i++) {
            int64_t own = 0, other = 0;

            for (int64_t k = blocks.all.row_ptr[i]; k < blocks.all.row_ptr[i + 1]; k++) {
                own += blocks.all.col_idx[k] / blocks.stride == spmm_test_env.rank;
            }
            for (int64_t k = blocks.all.row_ptr[i]; k < blocks.all.row_ptr[i + 1]; k++) {
                if (blocks.all.col_idx[k] / blocks.stride != spmm_test_env.rank) {
                    B[blocks.needed.col_idx[blocks.needed.row_ptr[i] + own + other++]] =
                        all[blocks.all.col_idx[k]];
                }
            }
        }
        assert_true(off[size] == c.A->cols);
        spmm_test_free(all, mine);
    }
    check_block(&blocks.needed, B, plan, wanted);
    spmm_test_free(B, wanted);
    dist_blocks_free(&blocks);
    test_context_destroy(&plan, &c.A, &bench.ctx);
}

static void numberings_agree_with_the_matrix(void **state)
{
    check("rmat:scale=8,degree=6", "block");
    check("stencil9:nx=17,ny=13,shuffle=1", "block");
    check("banded:rows=3,band=1", "block");
    check("molecules:count=20,atoms=9", "block");
#ifdef SPMM_HAVE_METIS
    check("rmat:scale=8,degree=6", "metis");
    check("stencil9:nx=17,ny=13,shuffle=1", "metis");
#endif
}

/* What a program of bench/dist holds of one matrix. */
typedef struct {
    dist_bench_t bench;
    dist_case_t  c;
    spmm_plan_t *plan;
} held_t;

static void open_case(held_t *h, spmm_type_t type)
{
    spmm_context_options_t co   = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_plan_options_t    po   = SPMM_PLAN_OPTIONS_INIT;
    spmm_layout_info_t     rows = {.struct_size = sizeof rows};
    dist_case_t           *c    = &h->c;

    h->bench.job = (driver_job_t){
        .comm = MPI_COMM_WORLD, .rank = spmm_test_env.rank, .size = spmm_test_env.size};
    *c           = (dist_case_t){.bench = &h->bench, .name = "rmat", .n = 5};
    c->dense     = driver_dense(3, type);
    co.device    = SPMM_DEVICE_CPU;
    po.partition = "block";
    c->info      = (spmm_matrix_info_t){.struct_size = sizeof c->info};
    spmm_assert_ok(spmm_context_create(MPI_COMM_WORLD, &co, &h->bench.ctx));
    spmm_assert_ok(spmm_matrix_generate(h->bench.ctx, "rmat:scale=8,degree=6", type, 3, &c->A));
    spmm_assert_ok(spmm_matrix_get_info(c->A, &c->info));
    spmm_assert_ok(spmm_plan_create(c->A, c->n, &po, &h->plan));
    spmm_assert_ok(spmm_plan_get_layout(h->plan, SPMM_OPERAND_C, &rows));
    c->b_rows = c->c_rows = rows.local_rows;
    c->C                  = calloc((size_t)(c->c_rows * c->n) + 1, spmm_type_size(type));
    assert_non_null(c->C);
}

static void multiply(held_t *h)
{
    dist_case_t       *c    = &h->c;
    driver_block_t     B    = {0};
    spmm_layout_info_t rows = {.struct_size = sizeof rows};

    spmm_assert_ok(spmm_plan_get_layout(h->plan, SPMM_OPERAND_B, &rows));
    assert_int_equal(DRIVER_GOOD, driver_block_alloc(&h->bench.job, h->bench.ctx, rows.local_rows,
                                                     c->n, 0, SPMM_LAYOUT_ROW, c->info.type, &B));
    assert_int_equal(DRIVER_GOOD, driver_block_fill(&h->bench.job, h->bench.ctx, &B, &c->dense,
                                                    rows.global_row, 0.0));
    spmm_assert_ok(spmm_execute(h->plan, c->n, 1.0, B.data, c->n, 0.0, c->C, c->n, NULL));
    driver_block_free(h->bench.ctx, &B);
}

static void close_case(held_t *h)
{
    free(h->c.C);
    test_context_destroy(&h->plan, &h->c.A, &h->bench.ctx);
}

/* A right product passes; one wrong element of a row that every sample holds does not. */
static void wrong_results_are_found(void **state)
{
    static held_t      h;
    spmm_layout_info_t rows = {.struct_size = sizeof rows};
    dist_row_t         row;

    open_case(&h, SPMM_R_64F);
    multiply(&h);
    dist_check(&h.c, h.plan, &row);
    assert_true(row.passed && row.max_error < 1e-12);
    spmm_assert_ok(spmm_plan_get_layout(h.plan, SPMM_OPERAND_C, &rows));
    for (int64_t i = 0; i < rows.local_rows; i++) {
        if (rows.global_row[i] == 0) {
            ((double *)h.c.C)[i * h.c.n + 3] += 1e-3;
        }
    }
    dist_check(&h.c, h.plan, &row);
    assert_false(row.passed);
    close_case(&h);
}

/* Long rows leave the range of FP16 and are not compared: a right product does not pass by the
 * short ones alone. */
static void too_few_compared_elements_fail(void **state)
{
    static held_t h;

    open_case(&h, SPMM_R_16F);
    for (int large = 0; large < 2; large++) {
        dist_row_t row = {.variant = "auto"};

        h.c.dense.scale = large != 0 ? 0x1p13 : 1.0;
        multiply(&h);
        dist_check(&h.c, h.plan, &row);
        assert_true(row.max_error < 2e-3);
        assert_int_equal(row.passed, !large);
    }
    close_case(&h);
}

SPMM_TESTS(numberings_agree_with_the_matrix, wrong_results_are_found,
           too_few_compared_elements_fail);
