/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_context.h  Contexts of the tests of whole plans, and what plans say of themselves. */
#ifndef SPMM_TEST_CONTEXT_H
#define SPMM_TEST_CONTEXT_H

#include "test_main.h"

#include "spmm_dist/spmm_dist.h"

/** A context on all ranks: on the CPU, or with SPMM_TEST_DEVICE=cuda on GPUs; without a GPU where
 *  one is asked for the program ends as skipped (77).  SPMM_TEST_RANKS_PER_NODE makes nodes. */
void test_context_open(spmm_context_t **ctx);

/** Option tuning of plans: @p tuning (NULL is ""), and "exchange=node" where it does.  Valid until
 *  the next call. */
const char *test_context_tuning(const char *tuning);

/** A matrix of one row and @p cols columns on each rank; the row's entry is 1 in column @p col. */
spmm_status_t test_context_matrix(spmm_context_t *ctx, int64_t cols, int64_t col,
                                  spmm_matrix_t **A);

/** Rows @p first to @p first + @p n_rows of a matrix of @p cols columns, of which @p n_cols are
 *  this rank's: entries are what @p value says of @p what, but 0. */
spmm_matrix_t *test_context_rule(spmm_context_t *ctx, spmm_type_t type, int64_t first,
                                 int64_t n_rows, int64_t n_cols, int64_t cols,
                                 double (*value)(const void *what, int64_t i, int64_t j),
                                 const void *what);

/** The plan of @p A for @p n columns with the options that are named, which can be made:
 *  test_context_plan(A, 4, .op = SPMM_OP_T). */
#define test_context_plan(A, n, ...)                                                               \
    test_context_plan_of(                                                                          \
        A, n, &(spmm_plan_options_t){.struct_size = sizeof(spmm_plan_options_t), __VA_ARGS__})
spmm_plan_t *test_context_plan_of(spmm_matrix_t *A, int64_t n, const spmm_plan_options_t *o);

/** Destroy those that are not NULL, and assert that it works. */
void test_context_destroy(spmm_plan_t **plan, spmm_matrix_t **A, spmm_context_t **ctx);

/** Make plans of @p A while allocation 0, @p step, 2 @p step, ... of rank @p victim fails: they are
 *  made, or short of memory on all ranks alike, and nothing leaks.
 *  @return plans that were made all the same */
int test_context_sweep(spmm_matrix_t *A, int64_t n, const spmm_plan_options_t *o, int victim,
                       int64_t step);

/** Likewise buffers of @p ctx: test_context_free(ctx, &B, &C). */
#define test_context_free(ctx, ...) test_context_free_list(ctx, (void **[]){__VA_ARGS__, NULL})
void test_context_free_list(spmm_context_t *ctx, void ***buffer);

/** A context of @p comm on CPUs, with nodes of @p per_node ranks; 0: those there are. */
spmm_context_t *test_context_on(MPI_Comm comm, int per_node);

/** Assert @p want and @p words in the sentence of @p ctx. */
void test_context_refused(spmm_context_t *ctx, spmm_status_t status, spmm_status_t want,
                          const char *words);

/** What spmm_plan_explain() prints; to be freed. */
char *test_context_explain(const spmm_plan_t *plan);
/** Assert @p words in it. */
void test_context_explains(const spmm_plan_t *plan, const char *words);

/* What a plan says of itself. */
spmm_plan_stats_t  test_context_stats(const spmm_plan_t *plan);
spmm_layout_info_t test_context_layout(const spmm_plan_t *plan, spmm_operand_t operand);

#endif /* SPMM_TEST_CONTEXT_H */
