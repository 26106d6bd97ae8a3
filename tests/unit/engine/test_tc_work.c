/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_tc_work.c
 *  The work items that blocks are cut into: every block in exactly one work item, none above the
 *  limit, split windows first, all in order.
 */
#include "test_main.h"

#include <limits.h>

#include "engine/windows/tc_work.h"

enum { MOST_WINDOWS = 400 };

/* Blocks of each window, and an arbitrary start of each block. */
typedef struct {
    int32_t  n_windows;
    int32_t  block_ptr[MOST_WINDOWS + 1];
    int32_t *start;
} windows_t;

static void make_windows(int32_t n_windows, uint64_t seed, int64_t most, windows_t *w)
{
    int32_t n_blocks;

    assert_in_range(n_windows, 0, MOST_WINDOWS);
    w->n_windows    = n_windows;
    w->block_ptr[0] = 0;
    for (int32_t i = 0; i < n_windows; i++) {
        const uint64_t hash = spmmi_hash2(seed, i, 0);
        int64_t        n    = hash % 4 == 0 ? 0 : spmmi_below(spmmi_mix64(hash), most);

        if (hash % 29 == 3) {
            n *= 40;
        }
        w->block_ptr[i + 1] = w->block_ptr[i] + (int32_t)n;
    }
    n_blocks = w->block_ptr[n_windows];
    assert_non_null(SPMM_NEW(w->start, (int64_t)n_blocks + 1));
    for (int32_t b = 0; b <= n_blocks; b++) {
        w->start[b] = (int32_t)(spmmi_hash2(seed + 1, b, 1) >> 33);
    }
}

static void check_item(const windows_t *w, const spmm_tc_item_t *item, int32_t window,
                       int32_t block, int32_t limit)
{
    assert_int_equal(item->window, window);
    assert_int_equal(item->block, block);
    assert_in_range(item->n_blocks, 0, limit);
    assert_int_equal(item->start, w->start[block]);
}

/* Split s is all of window i, in as few work items as the limit allows, of nearly equal size.
 * @return the number of work items */
static int32_t check_split(const windows_t *w, const spmm_tc_items_t *p, int32_t s, int32_t i,
                           int32_t limit)
{
    const spmm_tc_split_t *split  = &p->split[s];
    const int32_t          blocks = w->block_ptr[i + 1] - w->block_ptr[i];
    int32_t                at = w->block_ptr[i], least = INT_MAX, most = 0;

    assert_int_equal(split->window, i);
    assert_true(split->n_items >= 2);
    assert_true((int64_t)split->n_items * limit >= blocks);
    assert_true((int64_t)(split->n_items - 1) * limit < blocks);
    for (int32_t k = 0; k < split->n_items; k++) {
        const spmm_tc_item_t *item = &p->item[split->item + k];

        check_item(w, item, i, at, limit);
        at += item->n_blocks;
        least = item->n_blocks < least ? item->n_blocks : least;
        most  = item->n_blocks > most ? item->n_blocks : most;
    }
    assert_int_equal(at, w->block_ptr[i + 1]);
    assert_true(most - least <= 1);
    return split->n_items;
}

static void check_teams(const windows_t *w, int32_t team, int32_t limit)
{
    const spmm_tc_limits_t limits = {.team = team, .cut = limit};
    int32_t                split = 0, part = 0, shared, whole;
    spmm_tc_items_t        p;

    spmm_assert_ok(
        spmmi_tc_items_create(&spmm_test_env, w->n_windows, w->block_ptr, w->start, limits, &p));
    shared = p.n_partial;
    whole  = p.n_team;
    for (int32_t i = 0; i < w->n_windows; i++) {
        const int32_t blocks = w->block_ptr[i + 1] - w->block_ptr[i];

        if (blocks > limit) {
            assert_true(split < p.n_splits);
            assert_int_equal(p.split[split].item, part);
            part += check_split(w, &p, split++, i, limit);
        } else {
            int32_t *at = blocks > team ? &shared : &whole;

            assert_true(*at < p.n_items);
            check_item(w, &p.item[*at], i, w->block_ptr[i], limit);
            assert_int_equal(p.item[(*at)++].n_blocks, blocks);
        }
    }
    assert_int_equal(split, p.n_splits);
    assert_int_equal(part, p.n_partial);
    assert_int_equal(shared, p.n_team);
    assert_int_equal(whole, p.n_items);
    spmmi_tc_items_free(&p);
    assert_null(p.item);
}

static void check(const windows_t *w, int32_t limit)
{
    check_teams(w, limit, limit);
    check_teams(w, limit / 2, limit);
    check_teams(w, 0, limit);
}

static void test_cover(void **state)
{
    static const int32_t n_windows[] = {0, 1, 2, 17, 400};
    static const int32_t limits[]    = {1, 2, 3, 7, 32, 1000, INT32_MAX};
    const int64_t        live        = spmmi_alloc_get_stats().live;

    for (int k = 0; k < 5 * 7 * 4; k++) {
        windows_t w;

        make_windows(n_windows[k % 5], (uint64_t)k, k % 4 == 0 ? 1 : 3 * (k % 4) * (k % 4), &w);
        check(&w, limits[k / 5 % 7]);
        spmmi_free(w.start);
    }
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

/* Sizes at, just below and just above multiples of the limit. */
static void test_limits(void **state)
{
    const int32_t sizes[] = {0, 31, 32, 33, 63, 64, 65, 0, 0, 96, 97, 6400, 1, 0};
    windows_t     w;

    make_windows(14, 1, 1, &w);
    spmmi_free(w.start);
    assert_non_null(SPMM_NEW(w.start, 7001));
    for (int32_t i = 0; i < 14; i++) {
        w.block_ptr[i + 1] = w.block_ptr[i] + sizes[i];
    }
    assert_in_range(w.block_ptr[14], 6800, 7000);
    for (int32_t b = 0; b <= 7000; b++) {
        w.start[b] = 3 * b + 1;
    }
    check(&w, 32);
    check(&w, 31);
    check(&w, 6399);
    check(&w, 6400);
    spmmi_free(w.start);
}

/* More work items than 32 bits count are refused before any is made. */
static void test_too_many(void **state)
{
    const int32_t   block_ptr[] = {0, INT32_MAX, INT32_MAX};
    const int64_t   live        = spmmi_alloc_get_stats().live;
    spmm_tc_items_t p;

    spmm_assert_error(
        spmmi_tc_items_create(&spmm_test_env, 2, block_ptr, NULL, (spmm_tc_limits_t){1, 1}, &p),
        SPMM_ERR_RANGE, NULL);
    assert_null(p.item);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

static spmm_status_t create(void *what)
{
    const windows_t    *w = what;
    spmm_tc_items_t     p;
    const spmm_status_t status = spmmi_tc_items_create(&spmm_test_env, w->n_windows, w->block_ptr,
                                                       w->start, (spmm_tc_limits_t){2, 4}, &p);

    assert_int_equal(p.item == NULL, status != SPMM_OK);
    spmmi_tc_items_free(&p);
    return status;
}

static void test_memory(void **state)
{
    windows_t w;

    make_windows(50, 3, 20, &w);
    assert_true(spmm_test_sweep(create, &w, -1, SPMM_OK) > 1);
    spmmi_free(w.start);
}

SPMM_TESTS(test_cover, test_limits, test_too_many, test_memory);
