/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/metis/graph.h"

#ifdef SPMM_HAVE_METIS
#include <inttypes.h>

#include "base/alloc.h"
#include "partition/partitioners.h"
#include "partition/weights.h"

static void cut_heavy(idx_t n, int n_parts, idx_t *vwgt)
{
    for (int round = 0; round < SPMM_CUT_ROUNDS; round++) {
        int64_t sum = 0, limit;
        bool    cut = false;

        for (idx_t v = 0; v < n; v++) {
            sum += vwgt[v];
        }
        limit = spmmi_weight_limit(sum, n_parts);
        for (idx_t v = 0; v < n; v++) {
            if (vwgt[v] > limit) {
                vwgt[v] = (idx_t)limit;
                cut     = true;
            }
        }
        if (!cut) {
            return;
        }
    }
}

static int64_t weight_of(const spmm_metis_pattern_t *pattern, idx_t v)
{
    return v >= pattern->rows ? 0 : pattern->row_ptr[v + 1] - pattern->row_ptr[v];
}

/* Vertex weights for METIS from the lengths of rows; see weights.h.
 * @param[out] vwgt [n_vertices]; rows come first, then columns if n_vertices > rows */
static void metis_weights(const spmm_metis_pattern_t *pattern, idx_t n_vertices, int n_parts,
                          idx_t *vwgt)
{
    spmm_weight_scale_t scale;
    int64_t             all = 0;

    for (idx_t v = 0; v < n_vertices; v++) {
        all += weight_of(pattern, v);
    }
    scale = spmmi_weight_scale(all, n_vertices, n_vertices - pattern->rows, IDX_MAX);
    for (idx_t v = 0; v < n_vertices; v++) {
        vwgt[v] = (idx_t)spmmi_weight(&scale, weight_of(pattern, v));
    }
    cut_heavy(n_vertices, n_parts, vwgt);
}

static spmm_status_t fail_size(spmm_env_t *env, const char *what, int64_t count)
{
    return spmmi_fail(
        &env->err, SPMM_ERR_UNSUPPORTED,
        "the graph has %" PRId64
        " %s, too many for METIS built with %d-bit indices: use partition ptscotch, block or "
        "file%s",
        count, what, IDXTYPEWIDTH, IDXTYPEWIDTH == 32 ? ", or a METIS with 64-bit idx_t" : "");
}

/* What can be told before the pattern is in one place; the same on all ranks. */
static spmm_status_t check_size(const spmm_matrix_t *A, int64_t max_edges)
{
    const bool    square   = spmmi_matrix_is_square(A);
    const int64_t vertices = square ? A->rows : A->rows + A->cols;
    const int64_t edges    = square ? A->nnz - A->rows : 2 * A->nnz; /* at least, exactly */

    if (A->rows >= IDX_MAX || A->cols >= IDX_MAX || vertices >= IDX_MAX) {
        return fail_size(A->env, "vertices", vertices);
    }
    if (A->nnz > INT64_MAX / 2 || edges > max_edges) {
        return fail_size(A->env, square ? "edges at least" : "edges", edges);
    }
    return SPMM_OK;
}

static void free_pattern(spmm_metis_pattern_t *pattern)
{
    spmmi_free_all(pattern->row_ptr, pattern->col);
    *pattern = (spmm_metis_pattern_t){0};
}

/* Rank 0: all of it.  Other ranks: what they send from, and @p piece. */
static spmm_status_t alloc_pattern(const spmm_matrix_t *A, spmm_metis_pattern_t *pattern,
                                   idx_t **piece)
{
    const bool root = A->env->rank == 0;

    pattern->rows = A->rows;
    pattern->cols = A->cols;
    SPMM_NEW(pattern->row_ptr, root ? A->rows + 1 : (int64_t)A->n_rows + 1);
    SPMM_NEW(pattern->col, root ? A->nnz : 0);
    SPMM_NEW(*piece, root ? 0 : SPMM_PIECE);
    if (pattern->row_ptr == NULL || pattern->col == NULL || *piece == NULL) {
        return spmmi_fail_memory(&A->env->err, root ? A->nnz : SPMM_PIECE, sizeof(idx_t),
                                 "the graph for METIS");
    }
    return SPMM_OK;
}

/* Another rank: row lengths, then columns, to rank 0. */
static spmm_status_t send_rows(const spmm_matrix_t *A, int64_t *length, idx_t *piece)
{
    const int64_t nnz = spmmi_matrix_local_nnz(A);

    for (int32_t i = 0; i < A->n_rows; i++) {
        length[i] = A->row_ptr[i + 1] - A->row_ptr[i];
    }
    SPMM_TRY(spmmi_send_bytes(A->env, length, (size_t)A->n_rows * sizeof *length, 0));
    for (int64_t at = 0; at < nnz; at += SPMM_PIECE) {
        const int64_t count = nnz - at < SPMM_PIECE ? nnz - at : SPMM_PIECE;

        for (int64_t k = 0; k < count; k++) {
            piece[k] = (idx_t)A->col_idx[at + k];
        }
        SPMM_TRY(spmmi_send_bytes(A->env, piece, (size_t)count * sizeof *piece, 0));
    }
    return SPMM_OK;
}

/* Rank 0: the rows of rank @p p behind those of the ranks below. */
static spmm_status_t receive_rows(const spmm_matrix_t *A, int p, spmm_metis_pattern_t *pattern)
{
    const int64_t first = A->row_offset[p], last = A->row_offset[p + 1];
    int64_t      *row_ptr = pattern->row_ptr, nnz;

    SPMM_TRY(
        spmmi_recv_bytes(A->env, row_ptr + first + 1, (size_t)(last - first) * sizeof *row_ptr, p));
    for (int64_t i = first; i < last; i++) {
        row_ptr[i + 1] += row_ptr[i];
    }
    nnz = row_ptr[last] - row_ptr[first];
    for (int64_t at = 0; at < nnz; at += SPMM_PIECE) {
        const int64_t count = nnz - at < SPMM_PIECE ? nnz - at : SPMM_PIECE;

        SPMM_TRY(spmmi_recv_bytes(A->env, pattern->col + row_ptr[first] + at,
                                  (size_t)count * sizeof *pattern->col, p));
    }
    return SPMM_OK;
}

/* One rank after the other, all of them at each turn: the last ones wait as long as it takes. */
static spmm_status_t gather_pattern(const spmm_matrix_t *A, spmm_metis_pattern_t *pattern,
                                    idx_t *piece)
{
    spmm_env_t   *env    = A->env;
    spmm_status_t status = SPMM_OK;

    for (int32_t i = 0; env->rank == 0 && i <= A->n_rows; i++) {
        pattern->row_ptr[i] = A->row_ptr[i];
    }
    for (int64_t k = 0; env->rank == 0 && k < spmmi_matrix_local_nnz(A); k++) {
        pattern->col[k] = (idx_t)A->col_idx[k];
    }
    for (int p = 1; p < env->size; p++) {
        SPMM_TRY(spmmi_agree(env, status));
        if (env->rank == 0) {
            status = receive_rows(A, p, pattern);
        } else if (env->rank == p) {
            status = send_rows(A, pattern->row_ptr, piece);
        }
    }
    return status;
}

/* Counting transposition: rows of @p out are columns of @p in, ascending. */
static spmm_status_t transpose(spmm_env_t *env, const spmm_metis_pattern_t *in,
                               spmm_metis_pattern_t *out)
{
    const int64_t nnz = in->row_ptr[in->rows];

    *out = (spmm_metis_pattern_t){.rows = in->cols, .cols = in->rows};
    SPMM_NEW_ZERO(out->row_ptr, in->cols + 2);
    SPMM_NEW(out->col, nnz);
    if (out->row_ptr == NULL || out->col == NULL) {
        free_pattern(out);
        return spmmi_fail_memory(&env->err, nnz, sizeof *out->col, "the graph for METIS");
    }
    for (int64_t k = 0; k < nnz; k++) {
        out->row_ptr[(int64_t)in->col[k] + 2]++;
    }
    for (int64_t j = 0; j < in->cols; j++) {
        out->row_ptr[j + 2] += out->row_ptr[j + 1];
    }
    for (int64_t i = 0; i < in->rows;
         i++) { /* row_ptr[j + 1] runs from the start of j to its end */
        for (int64_t k = in->row_ptr[i]; k < in->row_ptr[i + 1]; k++) {
            out->col[out->row_ptr[(int64_t)in->col[k] + 1]++] = (idx_t)i;
        }
    }
    return SPMM_OK;
}

/* Union of row @p i of two patterns without @p i itself; returns its length.  @p out NULL: only
 * count. */
static int64_t merge_row(const spmm_metis_pattern_t *a, const spmm_metis_pattern_t *b, int64_t i,
                         idx_t *out)
{
    int64_t k = a->row_ptr[i], l = b->row_ptr[i], count = 0;

    while (k < a->row_ptr[i + 1] || l < b->row_ptr[i + 1]) {
        const idx_t from_a = k < a->row_ptr[i + 1] ? a->col[k] : IDX_MAX;
        const idx_t from_b = l < b->row_ptr[i + 1] ? b->col[l] : IDX_MAX;
        const idx_t column = from_a < from_b ? from_a : from_b;

        k += from_a == column;
        l += from_b == column;
        if (column == i) {
            continue;
        }
        if (out != NULL) {
            out[count] = column;
        }
        count++;
    }
    return count;
}

static spmm_status_t alloc_graph(spmm_env_t *env, int64_t n_vertices, int64_t n_edges,
                                 spmm_metis_graph_t *graph)
{
    graph->n_vertices = (idx_t)n_vertices;
    graph->n_edges    = (idx_t)n_edges;
    SPMM_NEW(graph->xadj, n_vertices + 1);
    SPMM_NEW(graph->adjncy, n_edges);
    SPMM_NEW(graph->vwgt, n_vertices);
    if (graph->xadj == NULL || graph->adjncy == NULL || graph->vwgt == NULL) {
        return spmmi_fail_memory(&env->err, n_edges, sizeof *graph->adjncy, "the graph for METIS");
    }
    graph->xadj[0] = 0;
    return SPMM_OK;
}

/* A + A^T from A and its transpose. */
static spmm_status_t symmetric_graph(spmm_env_t *env, const spmm_metis_pattern_t *a,
                                     const spmm_metis_pattern_t *t, int64_t max_edges,
                                     spmm_metis_graph_t *graph)
{
    int64_t n_edges = 0;

    for (int64_t i = 0; i < a->rows; i++) {
        n_edges += merge_row(a, t, i, NULL);
    }
    if (n_edges > max_edges) {
        return fail_size(env, "edges", n_edges);
    }
    SPMM_TRY(alloc_graph(env, a->rows, n_edges, graph));
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t start = graph->xadj[i];

        graph->xadj[i + 1] = (idx_t)(start + merge_row(a, t, i, graph->adjncy + start));
    }
    return SPMM_OK;
}

/* Rows, then columns.  Only columns stand for rows of B, so only they have a size. */
static spmm_status_t bipartite_graph(spmm_env_t *env, const spmm_metis_pattern_t *a,
                                     const spmm_metis_pattern_t *t, spmm_metis_graph_t *graph)
{
    const int64_t nnz = a->row_ptr[a->rows];

    SPMM_TRY(alloc_graph(env, a->rows + a->cols, 2 * nnz, graph));
    if (SPMM_NEW(graph->vsize, graph->n_vertices) == NULL) {
        return spmmi_fail_memory(&env->err, graph->n_vertices, sizeof *graph->vsize,
                                 "the graph for METIS");
    }
    for (int64_t i = 0; i < a->rows; i++) {
        graph->xadj[i + 1] = (idx_t)a->row_ptr[i + 1];
        graph->vsize[i]    = 0;
    }
    for (int64_t j = 0; j < a->cols; j++) {
        graph->xadj[a->rows + j + 1] = (idx_t)(nnz + t->row_ptr[j + 1]);
        graph->vsize[a->rows + j]    = 1;
    }
    for (int64_t k = 0; k < nnz; k++) {
        graph->adjncy[k]       = (idx_t)(a->rows + a->col[k]);
        graph->adjncy[nnz + k] = t->col[k];
    }
    return SPMM_OK;
}

static spmm_status_t build(const spmm_matrix_t *A, const spmm_metis_pattern_t *pattern, int n_parts,
                           int64_t max_edges, spmm_metis_graph_t *graph)
{
    spmm_metis_pattern_t transposed;
    spmm_status_t        status;

    if (A->env->rank != 0) {
        return SPMM_OK;
    }
    SPMM_TRY(transpose(A->env, pattern, &transposed));
    status = spmmi_matrix_is_square(A)
                 ? symmetric_graph(A->env, pattern, &transposed, max_edges, graph)
                 : bipartite_graph(A->env, pattern, &transposed, graph);
    free_pattern(&transposed);
    if (status == SPMM_OK) {
        metis_weights(pattern, graph->n_vertices, n_parts, graph->vwgt);
    }
    return status;
}

spmm_status_t spmmi_metis_graph_create(const spmm_matrix_t *A, int n_parts, int64_t max_edges,
                                       spmm_metis_graph_t *graph)
{
    spmm_env_t          *env     = A->env;
    spmm_metis_pattern_t pattern = {0};
    idx_t               *piece   = NULL;
    spmm_status_t        status;

    *graph = (spmm_metis_graph_t){0};
    SPMM_TRY(spmmi_agree(env, check_size(A, max_edges)));
    status = spmmi_agree(env, alloc_pattern(A, &pattern, &piece));
    if (status == SPMM_OK) {
        status = gather_pattern(A, &pattern, piece);
        if (status == SPMM_OK) {
            status = build(A, &pattern, n_parts, max_edges, graph);
        }
        status = spmmi_agree(env, spmmi_await(env, 0, status));
    }
    if (status == SPMM_OK) {
        status = spmmi_bcast(env, &graph->n_edges, sizeof graph->n_edges, 0);
    }
    free_pattern(&pattern);
    spmmi_free(piece);
    if (status != SPMM_OK) {
        spmmi_metis_graph_free(graph);
    }
    return status;
}

void spmmi_metis_graph_free(spmm_metis_graph_t *graph)
{
    spmmi_free_all(graph->xadj, graph->adjncy, graph->vwgt, graph->vsize);
    *graph = (spmm_metis_graph_t){0};
}
#endif
