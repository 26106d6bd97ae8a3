/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 */
/** @file test_plan_threads.c  Plans made by 1, 2, 3 and 8 threads: the same product to the last
 *  bit, also with new values, for rows that stay and rows that move, op N and T.  Sums run over the
 *  entries of a row in the order of the block, so that a block in another order would show.  An
 *  engine that needs ascending columns must come to the same product. */
#include "plan_case.h"

#include <omp.h>

/* C by @p threads with the first values, then with the second ones. */
static void *multiply(int threads, const shape_t *s, const product_t *p, size_t *bytes)
{
    spmm_matrix_t *A;
    spmm_plan_t   *plan;
    void          *C;

    omp_set_num_threads(threads);
    close_context();
    open_context();
    A = plan_case_matrix(s, p);
    spmm_assert_ok(spmm_plan_create(A, p->n, &p->o, &plan));
    C = plan_case_run(s, p, plan, bytes);
    test_context_destroy(&plan, &A, NULL);
    return C;
}

static void check(const shape_t *s, const char *partition, spmm_op_t op)
{
    static const int counts[] = {1, 2, 3, 8};
    product_t        p        = {.type  = SPMM_R_64F,
                                 .n     = 3,
                                 .alpha = 1.0,
                                 .o     = {.struct_size = sizeof p.o,
                                           .op          = op,
                                           .partition   = partition,
                                           .layout      = SPMM_LAYOUT_ROW,
                                           .engine      = "csr-cpu"}};
    size_t           bytes, n;
    void            *first = multiply(counts[0], s, &p, &bytes);

    p.unchecked = true; /* what has the same bits */
    for (int t = 1; t < 4; t++) {
        void *C = multiply(counts[t], s, &p, &n);

        assert_int_equal(n, bytes);
        assert_memory_equal(C, first, bytes);
        free(C);
    }
    p.unchecked = false;
    p.o.engine  = "dmma";
    spmm_test_free(first, multiply(2, s, &p, &n));
    omp_set_num_threads(3);
    p.o.engine = "csr-cpu";
    (void)check_plan(s, &p); /* new values */
}

static void test_thread_counts(void **state)
{
    const shape_t graph = {500, 500, 12, 17}, long_rows = {5, 9000, 10, -1}; /* threads share one */

    /* Set: the library takes the number from OpenMP even where there are fewer cores. */
    assert_non_null(getenv("OMP_NUM_THREADS"));
    check(&long_rows, "keep", SPMM_OP_N);
    check(&graph, "keep", SPMM_OP_N);
    check(&graph, "keep", SPMM_OP_T);
    check(&graph, "block", SPMM_OP_N);
#ifdef SPMM_HAVE_METIS
    check(&graph, "metis", SPMM_OP_N);
    check(&graph, "metis", SPMM_OP_T);
#endif
#ifdef SPMM_HAVE_PTSCOTCH
    check(&graph, "ptscotch", SPMM_OP_N);
#endif
}

PLAN_TESTS(test_thread_counts);
