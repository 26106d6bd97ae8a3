/* SPDX-License-Identifier: Apache-2.0 */
/** @file metis.c
 *  k-way partition by serial METIS on rank 0 (Karypis, Kumar 1998).  With the objective "vol" it
 *  minimises the rows of B that travel, with "cut" the entries of A that need them.
 */
#include "partition/partitioners.h"

#ifdef SPMM_HAVE_METIS
#include <string.h>

#include "base/alloc.h"
#include "partition/metis/call.h"
#include "partition/metis/parts.h"

/* To rank @p p its parts of rank 0.  @p piece is scratch of rank 0 [SPMM_PIECE]. */
static spmm_status_t hand_out(const spmm_matrix_t *A, int p, const idx_t *part, int32_t *piece,
                              int32_t *row_part)
{
    spmm_env_t   *env   = A->env;
    const int64_t first = A->row_offset[p], rows = A->row_offset[p + 1] - first;

    for (int64_t at = 0; at < rows; at += SPMM_PIECE) {
        const int64_t count = rows - at < SPMM_PIECE ? rows - at : SPMM_PIECE;
        const size_t  bytes = (size_t)count * sizeof *piece;
        int32_t      *to    = p == 0 ? row_part + at : piece;

        if (env->rank != 0) {
            SPMM_TRY(spmmi_recv_bytes(env, row_part + at, bytes, 0));
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            to[i] = (int32_t)part[first + at + i];
        }
        if (p != 0) {
            SPMM_TRY(spmmi_send_bytes(env, piece, bytes, p));
        }
    }
    return SPMM_OK;
}

/* The parts of all rows, one rank after the other, all of them at each turn. */
static spmm_status_t scatter(const spmm_matrix_t *A, const idx_t *part, int32_t *piece,
                             int32_t *row_part)
{
    spmm_status_t status = SPMM_OK;

    for (int p = 0; p < A->env->size; p++) {
        SPMM_TRY(spmmi_agree(A->env, status));
        if (A->env->rank == 0 || A->env->rank == p) {
            status = hand_out(A, p, part, piece, row_part);
        }
    }
    return status;
}

static spmm_status_t cut_graph(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               const spmm_metis_graph_t *graph, int32_t *row_part)
{
    spmm_env_t   *env    = A->env;
    idx_t        *part   = NULL;
    int32_t      *piece  = NULL;
    spmm_status_t status = SPMM_OK;

    if (env->rank == 0) {
        SPMM_NEW(part, graph->n_vertices);
        SPMM_NEW(piece, SPMM_PIECE);
        status = part == NULL || piece == NULL
                     ? spmmi_fail_memory(&env->err, graph->n_vertices, sizeof *part,
                                         "the parts METIS makes")
                     : spmmi_metis_parts(env, options, graph, env->size, part);
    }
    status = spmmi_agree(env, spmmi_await(env, 0, status));
    if (status == SPMM_OK) {
        status = spmmi_agree(env, scatter(A, part, piece, row_part));
    }
    spmmi_free_all(part, piece);
    return status;
}

static spmm_status_t part_rows(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               int32_t *row_part)
{
    spmm_metis_graph_t graph = {0};
    spmm_status_t      status;

    if (A->env->size == 1) { /* METIS 5.1 crashes on one part */
        memset(row_part, 0, (size_t)A->n_rows * sizeof *row_part);
        return SPMM_OK;
    }
    SPMM_TRY(
        spmmi_agree(A->env, spmmi_metis_check(&A->env->err, "partition ptscotch, block or file")));
    if (spmmi_graph_is_worth_cutting(A, A->env->size)) {
        SPMM_TRY(spmmi_metis_graph_create(A, A->env->size, spmmi_metis_max_edges(options), &graph));
    }
    if (graph.n_edges == 0) {
        status = spmmi_blocks_instead(A, "metis", row_part);
    } else {
        status = cut_graph(A, options, &graph, row_part);
        if (status == SPMM_OK) {
            status = spmmi_balance_report(A, "metis", options, row_part);
        }
    }
    spmmi_metis_graph_free(&graph);
    return status;
}

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    SPMM_TRY(spmmi_partition_alloc(A, partition));
    SPMM_TRY(part_rows(A, options, partition->row_part));
    return spmmi_partition_columns(A, partition);
}

#else

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    (void)options;
    (void)partition;
    return spmmi_fail(&A->env->err, SPMM_ERR_UNSUPPORTED,
                      "this library was built without METIS: use partition block or file, or build "
                      "it where METIS is found");
}

#endif

const spmm_partitioner_t spmmi_partitioner_metis = {
    .name        = "metis",
    .description = "METIS k-way, fewest rows of B to send (or fewest cut entries)",
#ifdef SPMM_HAVE_METIS
    .built = true,
#endif
    .run = run,
};
