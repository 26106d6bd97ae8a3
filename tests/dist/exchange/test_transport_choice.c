/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 4 DEVICE cuda ENV NCCL_NVLS_ENABLE=0 */
/** @file test_transport_choice.c  Which transport a plan gets: on the CPU, or with
 *  SPMM_TEST_DEVICE=cuda on the GPUs that are visible (77, skipped, where none is). */
#include "transport_case.h"

enum { MOST_TRANSPORTS = 8 };

/** A halo and what was chosen for it. */
typedef struct {
    transport_case_t            f;
    spmm_transport_need_t       need;
    spmm_candidate_t            candidates[MOST_TRANSPORTS];
    const spmm_transport_ops_t *chosen;
} choice_t;

static void open_choice(choice_t *c)
{
    transport_case_device();
    memset(c, 0, sizeof *c);
    transport_case_prepare(&c->f, spmmi_transport_find("mpi-host"), 100, 0.5, 6, 8);
    assert_in_range(spmmi_n_transports, 3, MOST_TRANSPORTS);
    c->need = (spmm_transport_need_t){.halo = &c->f.peers, .row_bytes = 8, .picks = true};
}

static void close_choice(choice_t *c)
{
    c->f.transport->destroy(NULL);
    transport_case_close(&c->f);
}

static spmm_status_t choose(choice_t *c, const char *name)
{
    c->chosen = NULL;
    return spmmi_transport_choose(&shared, name, &c->need, c->candidates, &c->chosen);
}

static void check_refused(choice_t *c, const char *name, spmm_status_t status, const char *sentence)
{
    char kept[SPMM_WHY];

    (void)snprintf(kept, sizeof kept, "%s", sentence); /* of a candidate, which is written anew */
    spmm_assert_error(choose(c, name), status, kept);
    assert_null(c->chosen);
}

static bool is_nccl(const spmm_transport_ops_t *transport)
{
    return strncmp(transport->name, "nccl", 4) == 0;
}

/* The least predicted of those that auto may take. */
static void check_least(const choice_t *c)
{
    double least = INFINITY;

    for (int t = 0; t < spmmi_n_transports; t++) {
        const spmm_candidate_t *k = &c->candidates[t];

        if (k->usable && !k->transport->by_name) {
            least = fmin(least, k->predicted_s);
        }
    }
    assert_non_null(c->chosen);
    for (int t = 0; t < spmmi_n_transports; t++) {
        if (c->candidates[t].transport == c->chosen) {
            assert_true(c->candidates[t].predicted_s == least && !c->chosen->by_name);
        }
    }
}

static void test_candidates(void **state)
{
    char     known[256] = "";
    choice_t c;

    open_choice(&c);
    spmm_assert_ok(choose(&c, NULL));
    for (int t = 0; t < spmmi_n_transports; t++) {
        const spmm_candidate_t k = c.candidates[t];

        assert_ptr_equal(k.transport, spmmi_transports[t]);
        assert_ptr_equal(spmmi_transport_find(k.transport->name), k.transport);
        assert_int_equal(k.why[0] == '\0', k.usable);
        assert_int_equal(k.predicted_s < 1.0, k.usable);
        if (!k.usable) {
            check_refused(&c, k.transport->name, SPMM_ERR_UNSUPPORTED, k.why);
        }
        if (device.kind == SPMM_DEVICE_CPU) {
            assert_true(k.usable || strcmp(k.transport->name, "mpi-host") != 0);
            assert_false(k.usable &&
                         (is_nccl(k.transport) || strcmp(k.transport->name, "mpi-device") == 0));
        }
        if (device.kind == SPMM_DEVICE_CUDA && is_nccl(k.transport)) {
            assert_true(k.usable || strstr(k.why, " share GPU ") != NULL ||
                        strstr(k.why, "on one node") != NULL);
        }
        if (!k.transport->built && is_nccl(k.transport)) {
            assert_non_null(strstr(k.why, "is not in this build"));
        }
    }
    for (int k = 0; k < spmmi_n_transports; k++) {
        (void)snprintf(known + strlen(known), sizeof known - strlen(known), "%s, ",
                       spmmi_transports[k]->name);
    }
    (void)snprintf(known + strlen(known), sizeof known - strlen(known), "and auto");
    check_refused(&c, "pigeon", SPMM_ERR_ARGUMENT, known);
    assert_null(spmmi_transport_find("pigeon"));
    close_choice(&c);
}

/* With and without packing, for few bytes and for many. */
static void test_least(void **state)
{
    choice_t c;

    open_choice(&c);
    for (int k = 0; k < 4; k++) {
        c.need.picks     = (k & 1) != 0;
        c.need.row_bytes = (k & 2) != 0 ? 8 : (size_t)1 << 24;
        spmm_assert_ok(choose(&c, k % 2 == 0 ? NULL : "auto"));
        check_least(&c);
    }
    close_choice(&c);
}

/* Packing counts for transports that do not pack themselves, and only where rows are picked. */
static void test_packing(void **state)
{
    double   packed[MOST_TRANSPORTS];
    choice_t c;

    open_choice(&c);
    spmm_assert_ok(choose(&c, NULL));
    for (int t = 0; t < spmmi_n_transports; t++) {
        packed[t] = c.candidates[t].predicted_s;
    }
    c.need.picks = false;
    spmm_assert_ok(choose(&c, NULL));
    for (int t = 0; t < spmmi_n_transports; t++) {
        if (c.candidates[t].usable && spmm_test_env.size > 1) {
            assert_int_equal(packed[t] > c.candidates[t].predicted_s,
                             !c.candidates[t].transport->packs);
        }
    }
    close_choice(&c);
}

/* Where windows could not be had, auto takes another transport and says why. */
static void test_without_windows(void **state)
{
    const spmm_transport_ops_t *push = spmmi_transport_find("nccl-push");
    spmm_transport_shared_t     before;
    choice_t                    c;

    open_choice(&c);
    before = shared;
    (void)snprintf(shared.no_windows, sizeof shared.no_windows, "%s", "found no window in a test");
    spmm_assert_ok(choose(&c, NULL));
    check_least(&c);
    if (push->built && device.kind == SPMM_DEVICE_CUDA && spmm_test_env.size > 1) {
        assert_ptr_not_equal(c.chosen, push);
        assert_true(choose(&c, push->name) == SPMM_ERR_UNSUPPORTED);
        assert_true(strstr(spmm_test_env.err.text, "found no window in a test") != NULL ||
                    strstr(spmm_test_env.err.text, " share GPU ") != NULL);
        spmmi_error_clear(&spmm_test_env.err);
    }
    shared = before;
    close_choice(&c);
}

/* Transports that were opened by choosing them alone. */
static void test_close(void **state)
{
    transport_case_finish(0);
}

SPMM_TESTS(test_candidates, test_least, test_packing, test_without_windows, test_close);
