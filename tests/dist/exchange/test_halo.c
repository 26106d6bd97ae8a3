/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* Lists of rows that cannot be.  What good ones say is shown by the products of test_plan.c and by
 * the rows that come in test_transport.c and test_node_exchange.c. */
#include "halo_case.h"

#include "exchange/halo.h"

/* A wrong list on one rank is an error on all, and nothing is written. */
static void check_refused(const halo_case_t *c, const int64_t *need, int64_t n_need,
                          const char *sentence)
{
    spmm_halo_t         halo   = {.n_send_peers = -7};
    const int64_t       before = spmmi_alloc_get_stats().live;
    const spmm_status_t status = spmmi_halo_create(&spmm_test_env, c->offset, need, n_need, &halo);

    spmm_assert_error(status, SPMM_ERR_INTERNAL, sentence);
    assert_int_equal(halo.n_send_peers, -7);
    assert_int_equal(spmmi_alloc_get_stats().live, before);
}

static void test_wrong_needs(void **state)
{
    const int     last    = spmm_test_env.size - 1;
    const bool    faulty  = spmm_test_env.rank == last;
    const int64_t own     = 99; /* the last rank owns the last index */
    const int64_t past    = 100;
    const int64_t twice[] = {0, 0};
    halo_case_t   c       = halo_case_make(100, 0.5, 8);

    check_refused(&c, faulty ? &own : c.need, faulty ? 1 : c.n_need, "of this rank itself");
    check_refused(&c, faulty ? &past : c.need, faulty ? 1 : c.n_need, "out of range");
    if (last > 0) {
        check_refused(&c, faulty ? twice : c.need, faulty ? 2 : c.n_need, "out of order");
    }
    halo_case_free(&c);
}

/* Rank 0 believes that there is one index more and asks the last rank for it. */
static void test_unequal_distributions(void **state)
{
    halo_case_t c    = halo_case_make(100, 1.0, 9);
    const int   last = spmm_test_env.size - 1;

    if (last > 0) {
        if (spmm_test_env.rank == 0) {
            c.need[c.n_need++] = c.offset[last + 1]++;
        }
        check_refused(&c, c.need, c.n_need, "the ranks hold different distributions");
    }
    halo_case_free(&c);
}

SPMM_TESTS(test_wrong_needs, test_unequal_distributions);
