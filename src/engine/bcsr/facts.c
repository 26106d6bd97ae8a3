/* SPDX-License-Identifier: Apache-2.0 */
/** @file facts.c  What BCSR makes of a pattern, as patterns keep it and --explain prints it. */
#include "engine/bcsr/facts.h"

#include <inttypes.h>

#include "spmm_dist/context.h"

/* Types of 32 and 64 bits have no use for them. */
static void scan(const spmm_pattern_t *pattern, const spmm_csr_t *block, int threads, void *facts)
{
    if (spmm_type_size(block->type) == 2) {
        spmmi_bcsr_measure(&pattern->windows, block->n_rows, threads, facts);
    }
}

const spmm_pattern_facts_t spmmi_bcsr_pattern_facts = {
    .size = SPMM_BCSR_PANELS * sizeof(spmm_bcsr_facts_t), .scan = scan};

const spmm_bcsr_facts_t *spmmi_bcsr_facts(const spmm_pattern_t *pattern)
{
    static const spmm_bcsr_facts_t none[SPMM_BCSR_PANELS];
    const spmm_bcsr_facts_t       *facts = spmmi_pattern_facts(pattern, &spmmi_bcsr_pattern_facts);

    return facts != NULL ? facts : none;
}

void spmmi_bcsr_describe_pattern(const spmm_pattern_t *p, spmm_type_t type, FILE *out)
{
    const spmm_bcsr_facts_t *f     = spmmi_bcsr_facts(p);
    const int64_t            tiles = f->tiles + 2 * f->sp24;

    (void)type; /* others have no facts */
    if (tiles > 0) {
        (void)fprintf(out,
                      "  16x16 tiles: %" PRId64 ", density %.1f %%; 16x32 tiles: %" PRId64
                      ", of which %.1f %% are 2:4\n",
                      tiles, 100.0 * (double)p->nnz / (256.0 * (double)tiles), f->wide,
                      100.0 * (double)f->legal / (double)f->wide);
    }
}
