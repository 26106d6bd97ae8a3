/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/scale/scale.h"

#include <string.h>

#include "base/alloc.h"
#include "base/nodes.h"
#include "base/sort.h"
#include "partition/metis/call.h"
#include "partition/metis/parts.h"
#include "partition/partitioners.h"

#ifdef SPMM_HAVE_METIS
static spmm_status_t cut_rows(spmm_scale_t *s, const spmm_partition_options_t *options)
{
    const spmm_matrix_t *A      = s->A;
    spmm_env_t          *env    = A->env;
    spmm_metis_graph_t   graph  = {0};
    idx_t               *part   = NULL;
    spmm_status_t        status = spmmi_metis_check(&env->err, "partition block");

    if (status == SPMM_OK) {
        status = spmmi_metis_graph_create(A, s->ranks, spmmi_metis_max_edges(options), &graph);
    }
    if (status == SPMM_OK && graph.n_edges == 0) {
        status = spmmi_block_rows(A, s->ranks, s->row_part);
    } else if (status == SPMM_OK) {
        status = SPMM_NEW(part, graph.n_vertices) == NULL
                     ? spmmi_fail_memory(&env->err, graph.n_vertices, sizeof *part,
                                         "the parts METIS makes")
                     : spmmi_metis_parts(env, options, &graph, s->ranks, part);
        for (int64_t i = 0; i < A->n_rows && status == SPMM_OK; i++) {
            s->row_part[i] = (int32_t)part[i];
        }
    }
    spmmi_free(part);
    spmmi_metis_graph_free(&graph);
    return status;
}
#else
static spmm_status_t cut_rows(spmm_scale_t *s, const spmm_partition_options_t *options)
{
    (void)options;
    return spmmi_fail(&s->A->env->err, SPMM_ERR_UNSUPPORTED,
                      "this library was built without METIS: use partition block");
}
#endif

static spmm_status_t part_rows(spmm_scale_t *s, const spmm_partition_options_t *options)
{
    const spmm_matrix_t *A = s->A;

    if (s->ranks == 1) { /* METIS 5.1 crashes on one part */
        memset(s->row_part, 0, (size_t)A->n_rows * sizeof *s->row_part);
        return SPMM_OK;
    }
    return strcmp(s->method, "metis") == 0 && spmmi_graph_is_worth_cutting(A, s->ranks)
               ? cut_rows(s, options)
               : spmmi_block_rows(A, s->ranks, s->row_part);
}

/* Each column to the rank whose entries use it most, the lowest of equals: columns.c.
 * @p key [entries] scratch */
static spmm_status_t part_columns(spmm_scale_t *s, uint64_t *key)
{
    const spmm_matrix_t *A     = s->A;
    const int64_t        nnz   = spmmi_matrix_local_nnz(A);
    const uint64_t       ranks = (uint64_t)s->ranks;
    int64_t              most  = 0;

    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            key[k] = (uint64_t)A->col_idx[k] * ranks + (uint64_t)s->row_part[i];
        }
    }
    SPMM_TRY(spmmi_sort_u64(A->env, key, nnz));
    memset(s->col_part, 0, (size_t)A->n_cols * sizeof *s->col_part);
    for (int64_t k = 0, from = 0; k < nnz; k++) {
        most = k == 0 || key[k] / ranks != key[k - 1] / ranks ? 0 : most;
        from = k == 0 || key[k] != key[k - 1] ? k : from;
        if (k + 1 - from > most) {
            most                        = k + 1 - from;
            s->col_part[key[k] / ranks] = (int32_t)(key[k] % ranks);
        }
    }
    return SPMM_OK;
}

static spmm_status_t follow_rows(spmm_scale_t *s)
{
    const spmm_matrix_t *A = s->A;
    uint64_t            *key;
    spmm_status_t        status;

    if (spmmi_matrix_is_square(A)) {
        memcpy(s->col_part, s->row_part, (size_t)A->n_cols * sizeof *s->col_part);
        return SPMM_OK;
    }
    if (SPMM_NEW(key, spmmi_matrix_local_nnz(A)) == NULL) {
        return spmmi_fail_memory(&A->env->err, spmmi_matrix_local_nnz(A), sizeof *key,
                                 "columns in use");
    }
    status = part_columns(s, key);
    spmmi_free(key);
    return status;
}

spmm_status_t spmmi_scale_create(const spmm_matrix_t *A, int ranks, int ranks_per_node,
                                 const char *spec, const spmm_partition_options_t *options,
                                 spmm_scale_t *scale)
{
    spmm_error_t            *err  = &A->env->err;
    spmm_partition_options_t mine = *options;

    *scale = (spmm_scale_t){.A = A, .ranks = ranks, .method = spec};
    SPMM_TRY(spmmi_partition_options(A->env, &mine));
    SPMM_TRY(
        spmmi_nodes_split(err, ranks, ranks_per_node > 0 ? ranks_per_node : ranks, &scale->nodes));
    mine.nodes = &scale->nodes;
    SPMM_NEW(scale->row_part, A->n_rows);
    SPMM_NEW(scale->col_part, A->n_cols);
    if (scale->row_part == NULL || scale->col_part == NULL) {
        return spmmi_fail_memory(err, (int64_t)A->n_rows + A->n_cols, sizeof *scale->row_part,
                                 "a partition");
    }
    SPMM_TRY(part_rows(scale, &mine));
    return follow_rows(scale);
}

void spmmi_scale_free(spmm_scale_t *scale)
{
    spmmi_nodes_free(&scale->nodes);
    spmmi_free_all(scale->row_part, scale->col_part);
}
