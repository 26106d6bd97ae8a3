/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/pattern.h"

#include <math.h>

#include "cpu/cpu_kernels.h"
#include "spmm_dist/context.h"

/* Lengths of rows: their most and how they vary.  Squares of whole numbers, so that threads may add
 * them in any order. */
static void scan_lengths(const spmm_csr_t *block, int team, spmm_pattern_t *pattern)
{
    const double  mean  = (double)pattern->nnz / block->n_rows;
    const int64_t whole = (int64_t)mean;
    int64_t       most = 0, square = 0;

#pragma omp parallel for schedule(static) num_threads(team) reduction(max : most) \
    reduction(+ : square)
    for (int32_t i = 0; i < block->n_rows; i++) {
        const int64_t length = block->row_ptr[i + 1] - block->row_ptr[i];

        most = length > most ? length : most;
        square += (length - whole) * (length - whole);
    }
    pattern->max_row = most;
    pattern->row_cv =
        sqrt((double)square / block->n_rows - (mean - (double)whole) * (mean - (double)whole)) /
        mean;
}

spmm_status_t spmmi_pattern_measure(spmm_env_t *env, const spmm_csr_t *block,
                                    spmm_pattern_t *pattern)
{
    spmm_used_columns_t columns;
    spmm_status_t       status;

    *pattern = (spmm_pattern_t){.n_rows = block->n_rows,
                                .n_cols = block->n_cols,
                                .c_rows = block->c_rows,
                                .mapped = block->row_map != NULL,
                                .nnz    = spmmi_csr_nnz(block)};
    if (pattern->nnz > 0) {
        scan_lengths(block, spmmi_cpu_team_for(env->threads, pattern->nnz), pattern);
    }
    SPMM_TRY(spmmi_windows_create(env, block, SPMM_WINDOWS_TALL, env->threads, &pattern->windows));
    status = spmmi_tc_facts_of(env, block, &pattern->windows, &pattern->tc, &columns);
    if (status != SPMM_OK) {
        spmmi_pattern_free(pattern);
        return status;
    }
    pattern->used_cols = columns.used;
    pattern->near_cols = columns.near;
    return SPMM_OK;
}

/* Where the facts of a format stand, or where those of one more would. */
static uint64_t *facts_at(spmm_pattern_t *pattern, const spmm_pattern_facts_t *facts, int *format)
{
    size_t words = 0;
    int    k     = 0;

    for (; k < SPMM_PATTERN_FORMATS && pattern->formats[k] != NULL && pattern->formats[k] != facts;
         k++) {
        words += pattern->formats[k]->size / sizeof(uint64_t);
    }
    *format = k;
    return pattern->room + words;
}

spmm_status_t spmmi_pattern_add_facts(spmm_env_t *env, const spmm_csr_t *block,
                                      const spmm_pattern_facts_t *facts, spmm_pattern_t *pattern)
{
    int             k;
    uint64_t *const at = facts_at(pattern, facts, &k);

    if (k == SPMM_PATTERN_FORMATS ||
        at + facts->size / sizeof *at > pattern->room + SPMM_PATTERN_ROOM) {
        return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                          "more facts of formats than a pattern has room for; raise "
                          "SPMM_PATTERN_FORMATS or SPMM_PATTERN_ROOM");
    }
    if (pattern->formats[k] == NULL) {
        pattern->formats[k] = facts;
        if (facts->scan != NULL) {
            facts->scan(pattern, block, env->threads, at);
        }
    }
    return SPMM_OK;
}

const void *spmmi_pattern_facts(const spmm_pattern_t *pattern, const spmm_pattern_facts_t *facts)
{
    size_t words = 0;

    for (int k = 0; pattern != NULL && k < SPMM_PATTERN_FORMATS && pattern->formats[k] != NULL;
         k++) {
        if (pattern->formats[k] == facts) {
            return pattern->room + words;
        }
        words += pattern->formats[k]->size / sizeof(uint64_t);
    }
    return NULL;
}

void spmmi_pattern_free(spmm_pattern_t *pattern)
{
    spmmi_windows_free(&pattern->windows);
}

const spmm_windows_t *spmmi_pattern_windows(const spmm_pattern_t *pattern)
{
    return pattern == NULL || pattern->windows.col == NULL ? NULL : &pattern->windows;
}
