/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/nodes.h"
#include "base/sort.h"
#include "partition/scale/tally.h"

/* The pairs (column, rank with an entry in it), ascending.  *key is the caller's, also after a
 * failure. */
static spmm_status_t list_needs(const spmm_scale_t *s, uint64_t **key, int64_t *n)
{
    const spmm_matrix_t *A   = s->A;
    const int64_t        nnz = spmmi_matrix_local_nnz(A);

    if (SPMM_NEW(*key, nnz) == NULL) {
        return spmmi_fail_memory(&A->env->err, nnz, sizeof **key, "columns in use");
    }
    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            (*key)[k] = (uint64_t)A->col_idx[k] * (uint64_t)s->ranks + (uint64_t)s->row_part[i];
        }
    }
    SPMM_TRY(spmmi_sort_u64(A->env, *key, nnz));
    *n = spmmi_unique_u64(*key, nnz);
    return SPMM_OK;
}

static void count_flat(spmm_scale_count_t *count, const uint64_t *key, int64_t n)
{
    const spmm_scale_t *s = count->scale;

    for (int64_t k = 0; k < n; k++) {
        const int owner = s->col_part[key[k] / (uint64_t)s->ranks];
        const int to    = (int)(key[k] % (uint64_t)s->ranks);

        if (owner != to) {
            spmmi_scale_add(count, owner, to, 1);
        }
    }
}

/* @p last [nodes] the last column that each was seen to need; @p rows [nodes^2], zeroed */
static void count_nodes(spmm_scale_count_t *count, const uint64_t *key, int64_t n, int64_t *last,
                        int64_t *rows)
{
    const spmm_scale_t *s     = count->scale;
    const spmm_nodes_t *nodes = &s->nodes;

    for (int k = 0; k < nodes->count; k++) {
        last[k] = -1;
    }
    for (int64_t k = 0; k < n; k++) {
        const int64_t column = (int64_t)(key[k] / (uint64_t)s->ranks);
        const int     from   = nodes->node[s->col_part[column]];
        const int     to     = nodes->node[key[k] % (uint64_t)s->ranks];

        rows[(int64_t)from * nodes->count + to] += last[to] != column;
        last[to] = column;
    }
    for (int from = 0; from < nodes->count; from++) {
        for (int to = 0; to < nodes->count; to++) {
            if (from != to) {
                spmmi_scale_deal(count, from, to, rows[(int64_t)from * nodes->count + to]);
            }
        }
    }
}

static spmm_status_t count_rows(spmm_scale_count_t *count, bool once_a_node)
{
    spmm_env_t   *env    = count->scale->A->env;
    const int64_t nodes  = count->scale->nodes.count;
    uint64_t     *key    = NULL;
    int64_t      *last   = NULL;
    int64_t       n      = 0;
    spmm_status_t status = list_needs(count->scale, &key, &n);

    if (status == SPMM_OK && !once_a_node) {
        count_flat(count, key, n);
    } else if (status == SPMM_OK) {
        if (SPMM_NEW_ZERO(last, nodes + nodes * nodes) == NULL) {
            status = spmmi_fail_memory(&env->err, nodes * nodes, sizeof *last, "pairs of nodes");
        } else {
            count_nodes(count, key, n, last, last + nodes);
        }
    }
    spmmi_free_all(key, last);
    return status;
}

static spmm_status_t alloc_tally(const spmm_scale_t *s, spmm_scale_tally_t *t)
{
    if (SPMM_NEW_ZERO(t->rows_in, 4 * (int64_t)s->ranks) == NULL) {
        return spmmi_fail_memory(&s->A->env->err, 4 * (int64_t)s->ranks, sizeof *t->rows_in,
                                 "counts of ranks");
    }
    t->rows_out     = t->rows_in + s->ranks;
    t->messages_in  = t->rows_out + s->ranks;
    t->messages_out = t->messages_in + s->ranks;
    return SPMM_OK;
}

spmm_status_t spmmi_scale_count(const spmm_scale_t *scale, spmm_scale_variant_t variant,
                                spmm_scale_tally_t tally[SPMM_WAYS])
{
    const int64_t      words = (2 * (int64_t)scale->ranks * scale->ranks + 63) / 64;
    spmm_scale_count_t count = {.scale = scale, .tally = tally};
    spmm_status_t      status;

    tally[SPMM_WITHIN] = tally[SPMM_BETWEEN] = (spmm_scale_tally_t){0};
    SPMM_TRY(alloc_tally(scale, &tally[SPMM_WITHIN]));
    SPMM_TRY(alloc_tally(scale, &tally[SPMM_BETWEEN]));
    if (SPMM_NEW_ZERO(count.sends, words) == NULL) {
        return spmmi_fail_memory(&scale->A->env->err, words, sizeof *count.sends, "pairs of ranks");
    }
    status = variant == SPMM_SCALE_FLAT || variant == SPMM_SCALE_NODE
                 ? count_rows(&count, variant == SPMM_SCALE_NODE)
                 : spmmi_scale_covers(&count, variant == SPMM_SCALE_COVER_NODE);
    spmmi_free(count.sends);
    return status;
}

spmm_status_t spmmi_scale_entries_max(const spmm_scale_t *scale, int64_t *most)
{
    const spmm_matrix_t *A = scale->A;
    int64_t             *entries;

    if (SPMM_NEW_ZERO(entries, scale->ranks) == NULL) {
        return spmmi_fail_memory(&A->env->err, scale->ranks, sizeof *entries, "counts of ranks");
    }
    *most = 0;
    for (int32_t i = 0; i < A->n_rows; i++) {
        int64_t *mine = &entries[scale->row_part[i]];

        *mine += A->row_ptr[i + 1] - A->row_ptr[i];
        *most = *mine > *most ? *mine : *most;
    }
    spmmi_free(entries);
    return SPMM_OK;
}

void spmmi_scale_tally_free(spmm_scale_tally_t *tally)
{
    spmmi_free(tally->rows_in); /* all are one piece */
    *tally = (spmm_scale_tally_t){0};
}
