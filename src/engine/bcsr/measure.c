/* SPDX-License-Identifier: Apache-2.0 */
/** @file measure.c  What a pattern comes to in panels of all heights, by one walk over the tallest:
 *  tiles are the same in all, and a step of a lower panel is one that has entries in its rows. */
#include "cpu/cpu_kernels.h"
#include "engine/bcsr/format.h"
#include "engine/bcsr/walk.h"

enum { LEAST = SPMM_BCSR_ROWS >> (SPMM_BCSR_PANELS - 1) /* tile rows of the lowest panel */ };

/** Sums of a panel. */
typedef struct {
    int64_t steps[SPMM_BCSR_PANELS], sides[SPMM_BCSR_PANELS], longest[SPMM_BCSR_PANELS];
    int64_t tiles, sp24, wide, legal;
} sums_t;

/* The step to the sums; @p mine: steps of each panel of each height in this one of the tallest. */
static void add_step(const spmm_bcsr_walk_t *w, sums_t *s,
                     int64_t mine[SPMM_BCSR_PANELS][1 << (SPMM_BCSR_PANELS - 1)])
{
    const uint32_t left  = (uint32_t)(w->step.left | w->step.sp24);
    const uint32_t right = (uint32_t)(w->step.right | w->step.sp24);

    for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
        const int      rows = LEAST << h, panels = SPMM_BCSR_ROWS / rows;
        const uint32_t mask = (uint32_t)(((uint64_t)1 << rows) - 1);

        for (int p = 0; p < panels; p++) {
            mine[h][p] += (w->any >> p * rows & mask) != 0;
            s->sides[h] += (left >> p * rows & mask) != 0;
            s->sides[h] += (right >> p * rows & mask) != 0;
        }
    }
    s->tiles += spmmi_bcsr_count(w->step.left) + spmmi_bcsr_count(w->step.right);
    s->sp24 += spmmi_bcsr_count(w->step.sp24);
    s->wide += spmmi_bcsr_count(w->any);
    s->legal += spmmi_bcsr_count(w->legal);
}

static sums_t sum_panel(const spmm_windows_t *tall, int32_t panel)
{
    sums_t           s                                                   = {.tiles = 0};
    int64_t          mine[SPMM_BCSR_PANELS][1 << (SPMM_BCSR_PANELS - 1)] = {{0}};
    spmm_bcsr_walk_t w;

    spmmi_bcsr_walk_start(&w, tall, panel, SPMM_BCSR_ROWS, true);
    while (spmmi_bcsr_walk_next(&w)) {
        add_step(&w, &s, mine);
    }
    for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
        for (int p = 0; p < 1 << (SPMM_BCSR_PANELS - 1); p++) {
            s.steps[h] += mine[h][p];
            s.longest[h] = mine[h][p] > s.longest[h] ? mine[h][p] : s.longest[h];
        }
    }
    return s;
}

void spmmi_bcsr_measure(const spmm_windows_t *tall, int32_t n_rows, int threads,
                        spmm_bcsr_facts_t facts[SPMM_BCSR_PANELS])
{
    const int32_t n_panels = spmmi_windows_count(n_rows, SPMM_BCSR_SIDE * SPMM_BCSR_ROWS);
    int64_t       steps[SPMM_BCSR_PANELS] = {0}, sides[SPMM_BCSR_PANELS] = {0};
    int64_t       longest[SPMM_BCSR_PANELS] = {0}, tiles = 0, sp24 = 0, wide = 0, legal = 0;

#pragma omp parallel for schedule(dynamic, 4) num_threads(spmmi_cpu_team(threads)) \
    reduction(+ : steps, sides, tiles, sp24, wide, legal) reduction(max : longest)
    for (int32_t p = 0; p < n_panels; p++) {
        const sums_t one = sum_panel(tall, p);

        for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
            steps[h] += one.steps[h];
            sides[h] += one.sides[h];
            longest[h] = one.longest[h] > longest[h] ? one.longest[h] : longest[h];
        }
        tiles += one.tiles;
        sp24 += one.sp24;
        wide += one.wide;
        legal += one.legal;
    }
    for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
        facts[h] = (spmm_bcsr_facts_t){.steps   = steps[h],
                                       .longest = longest[h],
                                       .sides   = sides[h],
                                       .tiles   = tiles,
                                       .sp24    = sp24,
                                       .wide    = wide,
                                       .legal   = legal};
    }
}
