/* SPDX-License-Identifier: Apache-2.0 */
/** @file facts.c  What panels make of a pattern, from a sample of them. */
#include "engine/panel/facts.h"

#include "cpu/cpu_kernels.h"
#include "engine/panel/lay_out.h"
#include "spmm_dist/context.h"

enum { SAMPLE = 512 /* panels */ };

static spmm_panel_facts_t measure_panel(const spmm_windows_t *tall, int32_t panel)
{
    int32_t             at[SPMM_PANEL_TALL] = {0}, length[SPMM_PANEL_WINDOWS] = {0};
    spmm_panel_facts_t  sum = {.cols = 0};
    spmm_panel_column_t next;

    for (; spmmi_panel_next(tall, panel, at, &next); sum.cols++) {
        for (int32_t k = 0; k < SPMM_PANEL_TALL; k++) {
            length[2 * k] += (next.rows[k] & 0xffff) != 0;
            length[2 * k + 1] += next.rows[k] >> SPMM_PANEL_HEIGHT != 0;
        }
    }
    for (int32_t k = 0; k < SPMM_PANEL_WINDOWS; k++) {
        sum.chain = length[k] > sum.chain ? length[k] : sum.chain;
        sum.pairs += length[k];
    }
    return sum;
}

spmm_panel_facts_t spmmi_panel_measure(const spmm_windows_t *tall, int threads)
{
    const int32_t panels = spmmi_windows_count(tall->n_windows, SPMM_PANEL_TALL);
    const int32_t sample = panels < SAMPLE ? panels : SAMPLE;
    const double  scale  = sample == 0 ? 0.0 : (double)panels / sample;
    int64_t       cols = 0, chain = 0, pairs = 0;

#pragma omp parallel for schedule(dynamic, 4) num_threads(spmmi_cpu_team(threads)) \
    reduction(+ : cols, chain, pairs)
    for (int32_t k = 0; k < sample; k++) {
        const spmm_panel_facts_t one = measure_panel(tall, (int32_t)((int64_t)panels * k / sample));

        cols += one.cols;
        chain += one.chain;
        pairs += one.pairs;
    }
    return (spmm_panel_facts_t){.cols  = (int64_t)(scale * (double)cols),
                                .chain = (int64_t)(scale * (double)chain),
                                .pairs = (int64_t)(scale * (double)pairs)};
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

    to->cols += from->cols;
    to->chain += from->chain;
    to->pairs += from->pairs;
}

const spmm_pattern_facts_t spmmi_panel_pattern_facts = {
    .size = sizeof(spmm_panel_facts_t), .scan = scan, .join = join};

spmm_panel_facts_t spmmi_panel_facts(const spmm_pattern_t *pattern)
{
    const spmm_panel_facts_t *facts = spmmi_pattern_facts(pattern, &spmmi_panel_pattern_facts);

    return facts != NULL ? *facts : (spmm_panel_facts_t){.chain = 0};
}
