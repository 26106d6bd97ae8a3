/* SPDX-License-Identifier: Apache-2.0 */
/** @file facts.c  What panels make of a pattern, from a sample of its windows of 32 rows. */
#include "engine/panel/facts.h"

#include "cpu/cpu_kernels.h"
#include "engine/panel/lay_out.h"
#include "spmm_dist/context.h"

enum { TALL = 4, SAMPLE = 256 /* panels of 8 windows: 32 tall ones */ };

/* The next column of @p n windows, all of which step over it, and which of them have it; INT32_MAX
 * behind the last. */
static int32_t next_column(const spmm_windows_t *tall, int32_t first, int32_t n, int32_t at[TALL],
                           uint32_t rows[TALL])
{
    int32_t col = INT32_MAX;

    for (int32_t k = 0; k < n; k++) {
        const int32_t *list = tall->col + tall->first[first + k];

        if (at[k] < tall->count[first + k] && list[at[k]] < col) {
            col = list[at[k]];
        }
    }
    for (int32_t k = 0; k < n; k++) {
        const int64_t from = tall->first[first + k] + at[k];
        const bool    here = at[k] < tall->count[first + k] && tall->col[from] == col;

        rows[k] = here ? tall->rows[from] : 0;
        at[k] += here;
    }
    return col;
}

static void measure_panel(const spmm_windows_t *tall, int32_t first, int32_t n,
                          spmm_panel_facts_t *sum)
{
    int32_t  at[TALL] = {0}, length[2 * TALL] = {0}, longest = 0;
    uint32_t rows[TALL];

    while (next_column(tall, first, n, at, rows) < INT32_MAX) {
        bool low = false, high = false;

        for (int32_t k = 0; k < n; k++) {
            low |= k < TALL / 2 && rows[k] != 0;
            high |= k >= TALL / 2 && rows[k] != 0;
            length[2 * k] += (rows[k] & 0xffff) != 0;
            length[2 * k + 1] += rows[k] >> SPMM_PANEL_HEIGHT != 0;
        }
        sum->cols[0] += low + high;
        sum->cols[1]++;
    }
    for (int32_t k = 0; k < 2 * TALL; k++) {
        longest = length[k] > longest ? length[k] : longest;
    }
    sum->chain += longest;
}

spmm_panel_facts_t spmmi_panel_measure(const spmm_windows_t *tall, int threads)
{
    const int32_t panels = spmmi_windows_count(tall->n_windows, TALL);
    const int32_t sample = panels < SAMPLE ? panels : SAMPLE;
    int64_t       four = 0, eight = 0, chain = 0;
    double        scale;

#pragma omp parallel for schedule(dynamic, 4) num_threads(spmmi_cpu_team(threads)) \
    reduction(+ : four, eight, chain)
    for (int32_t k = 0; k < sample; k++) {
        const int32_t      first = (int32_t)((int64_t)panels * k / sample) * TALL;
        const int32_t      left  = tall->n_windows - first;
        const int32_t      n     = left < TALL ? left : TALL;
        spmm_panel_facts_t one   = {.chain = 0};

        measure_panel(tall, first, n, &one);
        four += one.cols[0];
        eight += one.cols[1];
        chain += one.chain;
    }
    scale = sample == 0 ? 0.0 : (double)panels / sample;
    return (spmm_panel_facts_t){
        .cols  = {(int64_t)(scale * (double)four), (int64_t)(scale * (double)eight)},
        .chain = (int64_t)(scale * (double)chain)};
}

/* Other types have no use for them. */
static void scan(const spmm_pattern_t *pattern, const spmm_csr_t *block, int threads, void *facts)
{
    if (block->type == SPMM_R_32F) {
        *(spmm_panel_facts_t *)facts = spmmi_panel_measure(&pattern->windows, threads);
    }
}

/* Blocks of the same rows: their columns are others. */
static void join(void *facts, const void *other)
{
    spmm_panel_facts_t       *to   = facts;
    const spmm_panel_facts_t *from = other;

    to->cols[0] += from->cols[0];
    to->cols[1] += from->cols[1];
    to->chain += from->chain;
}

const spmm_pattern_facts_t spmmi_panel_pattern_facts = {
    .size = sizeof(spmm_panel_facts_t), .scan = scan, .join = join};

spmm_panel_facts_t spmmi_panel_facts(const spmm_pattern_t *pattern)
{
    const spmm_panel_facts_t *facts = spmmi_pattern_facts(pattern, &spmmi_panel_pattern_facts);

    return facts != NULL ? *facts : (spmm_panel_facts_t){.chain = 0};
}
