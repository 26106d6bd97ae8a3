/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
#include "halo_case.h"

#include "exchange/halo.h"

/* Both halves of the halo against the needs of all ranks, one index at a time. */
static void check_graph(const halo_case_t *c, const spmm_halo_t *halo)
{
    const int rank = spmm_test_env.rank;
    int64_t   sent = 0, received = 0;
    int       s = 0, r = 0;

    for (int p = 0; p < spmm_test_env.size; p++) {
        const int64_t sent_before = sent, received_before = received;

        for (int64_t i = c->offset[rank]; i < c->offset[rank + 1]; i++) {
            if (halo_case_needs(c, p, i)) {
                assert_true(sent < spmmi_halo_send_rows(halo));
                assert_int_equal(halo->send_row[sent], i - c->offset[rank]);
                sent++;
            }
        }
        for (int64_t i = c->offset[p]; i < c->offset[p + 1]; i++) {
            received += halo_case_needs(c, rank, i);
        }
        if (sent > sent_before) {
            assert_true(s < halo->n_send_peers);
            assert_int_equal(halo->send_peer[s], p);
            assert_int_equal(halo->send_ptr[s], sent_before);
            assert_int_equal(halo->send_ptr[++s], sent);
        }
        if (received > received_before) {
            assert_true(r < halo->n_recv_peers);
            assert_int_equal(halo->recv_peer[r], p);
            assert_int_equal(halo->recv_ptr[r], received_before);
            assert_int_equal(halo->recv_ptr[++r], received);
        }
    }
    assert_int_equal(s, halo->n_send_peers);
    assert_int_equal(r, halo->n_recv_peers);
    assert_int_equal(spmmi_halo_send_rows(halo), sent);
    assert_int_equal(spmmi_halo_recv_rows(halo), received);
}

static void check_case(int64_t n, double density, uint64_t seed)
{
    halo_case_t c = halo_case_make(n, density, seed);
    spmm_halo_t halo;

    spmm_assert_ok(spmmi_halo_create(&spmm_test_env, c.offset, c.need, c.n_need, &halo));
    check_graph(&c, &halo);
    spmmi_halo_free(&halo);
    assert_null(halo.send_row);
    halo_case_free(&c);
}

/* Pseudo-random needs, of many indices and of few. */
static void test_needs(void **state)
{
    check_case(1000, 0.3, 1);
    check_case(997, 0.01, 2);
    check_case(50, 1.0, 3);
    check_case(0, 1.0, 4);
    check_case(1, 1.0, 5);
    check_case(2, 1.0, 6);
    check_case(300, 0.0, 7);
}

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

SPMM_TESTS(test_needs, test_wrong_needs, test_unequal_distributions);
