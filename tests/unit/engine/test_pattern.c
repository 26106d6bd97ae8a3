/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_pattern.c
 *  Facts that engines register: kept in a pattern and its copies, found by their format, and
 *  refused where there is no room.
 */
#include "test_main.h"

#include "engine/engine.h"

typedef struct {
    int64_t rows, nnz;
} small_t;

static void scan(const spmm_pattern_t *pattern, const spmm_csr_t *block, int threads, void *facts)
{
    small_t *f = facts;

    assert_int_equal(f->rows + f->nnz, 0);
    *f = (small_t){.rows = block->n_rows, .nnz = pattern->nnz};
}

static const spmm_pattern_facts_t first  = {.size = sizeof(small_t), .scan = scan};
static const spmm_pattern_facts_t second = {.size = sizeof(small_t), .scan = scan};

static spmm_pattern_t pattern_of(spmm_csr_t *block)
{
    static int64_t row_ptr[] = {0, 2, 2, 3};
    static int32_t col[]     = {0, 4, 1};
    static double  values[]  = {1, 2, 3};
    spmm_pattern_t pattern;

    *block = (spmm_csr_t){.n_rows  = 3,
                          .n_cols  = 5,
                          .c_rows  = 3,
                          .row_ptr = row_ptr,
                          .col_idx = col,
                          .values  = values,
                          .type    = SPMM_R_64F};
    spmm_assert_ok(spmmi_pattern_measure(&spmm_test_env, block, &pattern));
    return pattern;
}

static const small_t *facts_of(const spmm_pattern_t *p, const spmm_pattern_facts_t *format)
{
    return spmmi_pattern_facts(p, format);
}

static void test_kept(void **state)
{
    spmm_csr_t     block;
    spmm_pattern_t p = pattern_of(&block), copy;

    assert_null(facts_of(&p, &first));
    assert_null(facts_of(NULL, &first));
    for (int again = 0; again < 2; again++) { /* engines share facts: they are scanned once */
        spmm_assert_ok(spmmi_pattern_add_facts(&spmm_test_env, &block, &first, &p));
    }
    spmm_assert_ok(spmmi_pattern_add_facts(&spmm_test_env, &block, &second, &p));
    spmmi_pattern_free(&p);
    copy = p;
    assert_int_equal(facts_of(&p, &first)->nnz, 3);
    assert_int_equal(facts_of(&copy, &first)->rows, 3);
    assert_int_equal(facts_of(&copy, &second)->nnz, 3);
}

static void test_no_room(void **state)
{
    static const spmm_pattern_facts_t large = {.size = sizeof(uint64_t) * SPMM_PATTERN_ROOM,
                                               .scan = scan};
    spmm_pattern_facts_t              many[SPMM_PATTERN_FORMATS + 1];
    spmm_csr_t                        block;
    spmm_pattern_t                    p = pattern_of(&block);

    for (int k = 0; k <= SPMM_PATTERN_FORMATS; k++) {
        many[k] = first;
        assert_int_equal(spmmi_pattern_add_facts(&spmm_test_env, &block, &many[k], &p),
                         k < SPMM_PATTERN_FORMATS ? SPMM_OK : SPMM_ERR_INTERNAL);
        if (k == 0) {
            assert_int_equal(spmmi_pattern_add_facts(&spmm_test_env, &block, &large, &p),
                             SPMM_ERR_INTERNAL);
        }
    }
    spmmi_pattern_free(&p);
}

SPMM_TESTS(test_kept, test_no_room);
