/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/windows/tc_work.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/windows/tc.h"

static int32_t blocks_of(const int32_t *block_ptr, int32_t w)
{
    return block_ptr[w + 1] - block_ptr[w];
}

static int32_t items_of(const int32_t *block_ptr, int32_t w, int32_t cut)
{
    const int32_t n = blocks_of(block_ptr, w);

    return n <= cut ? 1 : n / cut + (n % cut != 0);
}

static spmm_status_t count(spmm_env_t *env, int32_t n_windows, const int32_t *block_ptr,
                           spmm_tc_limits_t limits, spmm_tc_items_t *p)
{
    int64_t n_items = 0, n_partial = 0, n_team = 0;

    for (int32_t w = 0; w < n_windows; w++) {
        const int32_t n = items_of(block_ptr, w, limits.cut);

        n_items += n;
        n_partial += n > 1 ? n : 0;
        n_team += n > 1 || blocks_of(block_ptr, w) > limits.team ? n : 0;
        p->n_splits += n > 1;
    }
    if (n_items > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "%" PRId64 " work items on one rank, more than 2^31 - 1; use more "
                          "ranks or another engine",
                          n_items);
    }
    p->n_items   = (int32_t)n_items;
    p->n_partial = (int32_t)n_partial;
    p->n_team    = (int32_t)n_team;
    return SPMM_OK;
}

/* The work items of window w from *at on. */
static void cut(const int32_t *block_ptr, const int32_t *start, int32_t w, int32_t n,
                spmm_tc_item_t *at)
{
    const int64_t first = block_ptr[w], blocks = block_ptr[w + 1] - first;

    for (int32_t k = 0; k < n; k++) {
        const int32_t from = (int32_t)(first + blocks * k / n);
        const int32_t to   = (int32_t)(first + blocks * (k + 1) / n);

        at[k] = (spmm_tc_item_t){.window   = w,
                                 .block    = from,
                                 .n_blocks = to - from,
                                 .start    = start == NULL ? 0 : start[from]};
    }
}

spmm_status_t spmmi_tc_items_create(spmm_env_t *env, int32_t n_windows, const int32_t *block_ptr,
                                    const int32_t *start, spmm_tc_limits_t limits,
                                    spmm_tc_items_t *items)
{
    spmm_tc_items_t p    = {0};
    int32_t         part = 0, split = 0, team, single;

    memset(items, 0, sizeof *items);
    SPMM_TRY(count(env, n_windows, block_ptr, limits, &p));
    SPMM_NEW(p.item, p.n_items);
    SPMM_NEW(p.split, p.n_splits);
    if (p.item == NULL || p.split == NULL) {
        spmmi_tc_items_free(&p);
        return spmmi_fail_memory(&env->err, (int64_t)n_windows, sizeof *p.item, "work items");
    }
    team   = p.n_partial;
    single = p.n_team;
    for (int32_t w = 0; w < n_windows; w++) {
        const int32_t n = items_of(block_ptr, w, limits.cut);

        if (n > 1) {
            p.split[split++] = (spmm_tc_split_t){.window = w, .item = part, .n_items = n};
            cut(block_ptr, start, w, n, &p.item[part]);
            part += n;
        } else {
            int32_t *at = blocks_of(block_ptr, w) > limits.team ? &team : &single;

            cut(block_ptr, start, w, 1, &p.item[(*at)++]);
        }
    }
    *items = p;
    return SPMM_OK;
}

void spmmi_tc_items_free(spmm_tc_items_t *items)
{
    spmmi_free_all(items->item, items->split);
    memset(items, 0, sizeof *items);
}

/* What spmmi_tc_items_create() will make of a pattern, from its facts. */

/* A window has at least one block, an empty one too: its rows of C are stored. */
static void add(double windows, double blocks, spmm_tc_limits_t limits, spmm_tc_load_t *load)
{
    if (blocks <= limits.team) {
        load->single += windows;
        load->longest_single = fmax(load->longest_single, blocks);
    } else {
        const double items = ceil(blocks / limits.cut);

        load->team += windows * items;
        load->longest_team = fmax(load->longest_team, blocks / items);
        load->parts += items > 1.0 ? windows * items : 0.0;
    }
}

spmm_tc_load_t spmmi_tc_load(const spmm_pattern_t *pattern, int height, int block_cols,
                             spmm_tc_limits_t limits)
{
    const spmm_tc_lengths_t *lengths = &pattern->tc.lengths[height / 16];
    const double             longest = ceil((double)lengths->longest / block_cols);
    double                   empty   = (double)spmmi_windows_count(pattern->n_rows, height);
    spmm_tc_load_t           load    = {0};

    for (int bin = 0; bin < SPMM_TC_BINS; bin++) {
        const double windows = (double)lengths->windows[bin];
        const double mean    = windows > 0.0 ? (double)lengths->pairs[bin] / windows : 0.0;

        if (windows > 0.0) {
            add(windows, fmax(1.0, mean / block_cols), limits, &load);
            empty -= windows;
        }
    }
    load.single += fmax(empty, 0.0);
    if (longest > limits.team) { /* the longest of its bin, not the mean */
        load.longest_team = fmax(load.longest_team, longest / ceil(longest / limits.cut));
    }
    return load;
}
