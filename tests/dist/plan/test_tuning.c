/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 */
/** @file test_tuning.c  Option tuning: what is read and refused, and what ranks must agree on. */
#include "test_context.h"

#include "partition/reorder/reorder.h"
#include "plan/create/tuning_options.h"
#include "plan/plan.h"

static spmm_context_t *ctx;
static spmm_matrix_t  *A;

void spmm_test_set_up(void)
{
    test_context_open(&ctx);
    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil5:nx=6,ny=5", SPMM_R_64F, 1, &A));
}

void spmm_test_tear_down(void)
{
    test_context_destroy(NULL, &A, &ctx);
}

/* Keys may stand in any order; what is as without them is left to the plan. */
static void test_read(void **state)
{
    static const char *const alike[][2] = {{"chunks=2,order=none", "order=none,chunks=2"},
                                           {"chunks=auto,order=auto,seed=auto,measure=auto", ""},
                                           {"seed=0,measure=yes", NULL},
                                           {"exchange=flat,schedule=merged,objective=vol",
                                            "objective=vol,exchange=flat,"
                                            "schedule=merged"}};
    const char *const     all = "measure=no,seed=18446744073709551615,objective=cut,exchange=node,"
                                "chunks=4,schedule=overlap,order=affinity";
    char                  why[SPMM_TUNING_WHY];
    spmm_tuning_options_t t[2];

    for (size_t k = 0; k < sizeof alike / sizeof alike[0]; k++) {
        for (int side = 0; side < 2; side++) {
            assert_true(spmmi_tuning_options_read(alike[k][side], SPMM_TUNING_PLAN, &t[side], why));
        }
        assert_memory_equal(&t[0], &t[1], sizeof t[0]);
    }
    assert_true(spmmi_tuning_options_read(all, SPMM_TUNING_PLAN, &t[0], why));
    assert_string_equal(t[0].measure, "no");
    assert_true(t[0].seed == UINT64_MAX && spmmi_tuning_options_chunks(&t[0]) == 4);
    assert_string_equal(t[0].objective, "cut");
    assert_string_equal(t[0].exchange, "node");
    assert_string_equal(t[0].schedule, "overlap");
    assert_string_equal(t[0].order, "affinity");
}

/* A plan says what is wrong, where, and what there is. */
static void test_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"order=amd", "tuning \"order=amd\": order takes auto, none, affinity, sorted, "
                      "not \"amd\""},
        {"chunks=2,schedule=overlapped", "schedule takes auto, overlap, merged, "
                                         "not \"overlapped\""},
        {"chunks=3", "chunks takes auto, 1, 2, 4, not \"3\""},
        {"chunks=", "chunks takes auto, 1, 2, 4, not \"\""},
        {"exchange=both", "exchange takes auto, flat, node, not \"both\""},
        {"objective=most", "objective takes auto, vol, cut, not \"most\""},
        {"measure=1", "measure takes auto, yes, no, not \"1\""},
        {"seed=-1", "seed takes a whole number below 2^64, not \"-1\""},
        {"seed=18446744073709551616", "seed takes a whole number"},
        {"seed=", "seed takes a whole number"},
        {"level=node", "there is no key \"level\" here; there is order schedule chunks "
                       "exchange objective seed measure"},
        {" chunks=2", "there is no key \" chunks\" here"},
        {"chunks=2,chunks=2", "chunks stands twice: leave one out"},
        {"seed=auto,order=none,seed=1", "seed stands twice: leave one out"},
        {"merged", "write key=value with commas between"},
    };

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
        spmm_plan_t        *plan = NULL;

        o.tuning = cases[k].text;
        assert_int_equal(spmm_plan_create(A, 2, &o, &plan), SPMM_ERR_ARGUMENT);
        assert_non_null(strstr(spmm_last_error(ctx), cases[k].sentence));
        assert_null(plan);
    }
}

/* A text of any length is cut in the sentence. */
static void test_long(void **state)
{
    char                  text[2000], why[SPMM_TUNING_WHY];
    spmm_tuning_options_t tuning;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(spmmi_tuning_options_read(text, SPMM_TUNING_PLAN, &tuning, why));
    assert_non_null(strstr(why, "xxx\": it is too long"));
    text[300] = '\0';
    text[200] = '=';
    assert_false(spmmi_tuning_options_read(text, SPMM_TUNING_PLAN, &tuning, why));
    assert_non_null(strstr(why, "there is no key \"xxxx"));
    assert_non_null(strstr(why, "measure"));
}

/* The words of the table are the names of what there is. */
static void test_words(void **state)
{
    for (int k = 0; k < spmmi_n_reorderers; k++) {
        char                  text[80], why[SPMM_TUNING_WHY] = "";
        spmm_tuning_options_t tuning;

        (void)snprintf(text, sizeof text, "order=%s", spmmi_reorderers[k]->name);
        assert_true(spmmi_tuning_options_read(text, SPMM_TUNING_PLAN, &tuning, why));
        assert_ptr_equal(spmmi_reorderer_find(tuning.order), spmmi_reorderers[k]);
    }
    assert_string_equal(spmmi_schedule_find("overlap")->name, "overlap");
    assert_string_equal(spmmi_schedule_find("merged")->name, "merged");
}

/* Ranks may write the keys in another order, but not other values: all are told which. */
static void test_equal(void **state)
{
    const bool          last = spmm_test_env.rank == spmm_test_env.size - 1;
    spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan = NULL;

    o.tuning = last ? "chunks=2,order=none" : "order=none,chunks=2,seed=0";
    spmm_assert_ok(spmm_plan_create(A, 4, &o, &plan));
    test_context_destroy(&plan, NULL, NULL);
    if (spmm_test_env.size > 1) {
        o.tuning = last ? "measure=no,order=sorted" : "order=sorted";
        assert_int_equal(spmm_plan_create(A, 4, &o, &plan), SPMM_ERR_ARGUMENT);
        assert_non_null(
            strstr(spmm_last_error(ctx), "has measure = \"no\" and rank 0 measure = \"\""));
        assert_null(plan);
    }
}

/* Plans of SDDMM and attention heed one key, and refuse what they would ignore. */
static void test_exchange_alone(void **state)
{
    spmm_sddmm_options_t     s        = SPMM_SDDMM_OPTIONS_INIT;
    spmm_attention_options_t a        = SPMM_ATTENTION_OPTIONS_INIT;
    spmm_sddmm_plan_t       *samples  = NULL;
    spmm_attention_plan_t   *attends  = NULL;
    const char *const        sentence = "there is no key \"chunks\" here; there is exchange";

    s.tuning = a.tuning = "chunks=2";
    assert_int_equal(spmm_sddmm_plan_create(A, 2, &s, &samples), SPMM_ERR_ARGUMENT);
    assert_non_null(strstr(spmm_last_error(ctx), sentence));
    assert_int_equal(spmm_attention_plan_create(A, 1, 2, &a, &attends), SPMM_ERR_ARGUMENT);
    assert_non_null(strstr(spmm_last_error(ctx), sentence));
    s.tuning = a.tuning = "exchange=flat";
    spmm_assert_ok(spmm_sddmm_plan_create(A, 2, &s, &samples));
    spmm_assert_ok(spmm_attention_plan_create(A, 1, 2, &a, &attends));
    spmm_assert_ok(spmm_sddmm_plan_destroy(&samples));
    spmm_assert_ok(spmm_attention_plan_destroy(&attends));
}

SPMM_TESTS(test_read, test_refused, test_long, test_words, test_equal, test_exchange_alone);
