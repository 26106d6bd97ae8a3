/* SPDX-License-Identifier: Apache-2.0 */
/** @file load.c  What spmmi_tc_pieces_create() will make of a pattern, from its facts. */
#include <math.h>

#include "engine/tc/engine.h"

/* A window has at least one block, an empty one too: its rows of C are stored. */
static void add(double windows, double blocks, spmm_tc_limits_t limits, spmm_tc_load_t *load)
{
    if (blocks <= limits.team) {
        load->single += windows;
        load->longest_single = fmax(load->longest_single, blocks);
    } else {
        const double pieces = ceil(blocks / limits.cut);

        load->team += windows * pieces;
        load->longest_team = fmax(load->longest_team, blocks / pieces);
        load->parts += pieces > 1.0 ? windows * pieces : 0.0;
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
