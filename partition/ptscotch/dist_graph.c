/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/ptscotch/dist_graph.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/hash.h"
#include "partition/partitioners.h"
#include "partition/weights.h"

/* Like cards, a stack of neighbouring vertices at a time: in each round one stack to each rank,
 * beginning with another rank each time, so that no pattern of the matrix repeats with the ranks;
 * what is left one by one.  Many stacks give each rank its share of any half of the graph, and in
 * a stack neighbours stay together.  All can tell where a vertex is, and each rank gets
 * its vertices in order. */

enum { STACKS = 256 }; /* for each rank, where there are vertices enough */

typedef struct {
    int64_t stack;  /**< vertices */
    int64_t rounds; /**< of stacks */
    int64_t dealt;  /**< vertices in stacks, all ranks */
    int64_t left;   /**< vertices behind them */
    int     size;
} dealer_t;

static dealer_t dealer(int64_t all, int size)
{
    dealer_t d = {.stack = all / STACKS / size, .size = size};

    d.stack  = d.stack < 1 ? 1 : d.stack;
    d.rounds = all / size / d.stack;
    d.dealt  = d.rounds * d.stack * size;
    d.left   = all - d.dealt;
    return d;
}

static int dealt_to(const dealer_t *d, int64_t vertex)
{
    const int64_t turn  = vertex / d->stack;
    const int64_t round = turn / d->size;

    if (vertex >= d->dealt) {
        return (int)((vertex - d->dealt) % d->size);
    }
    return (int)((turn + spmmi_below(spmmi_hash2(0, round, 0), d->size)) % d->size);
}

/* Vertices dealt to the ranks below @p p. */
static int64_t dealt_below(const dealer_t *d, int p)
{
    const int64_t more = d->left % d->size;

    return p * (d->rounds * d->stack + d->left / d->size) + (p < more ? p : more);
}

static int64_t dealt_number(const dealer_t *d, int64_t vertex)
{
    const int64_t first = dealt_below(d, dealt_to(d, vertex));

    if (vertex >= d->dealt) {
        return first + d->rounds * d->stack + (vertex - d->dealt) / d->size;
    }
    return first + vertex / d->stack / d->size * d->stack + vertex % d->stack;
}

static spmm_status_t fail_memory(spmm_env_t *env, int64_t count)
{
    return spmmi_fail_memory(&env->err, count, sizeof(int64_t), "the distributed graph");
}

/** What travels: vertices and edges in the order of the ranks they are for, or came from. */
typedef struct {
    int64_t *length, *weight;         /**< [vertices] */
    int64_t *adj;                     /**< [edges], new numbers */
    int64_t *send_count, *recv_count; /**< [size] edges */
    int64_t *at, *at_edge;            /**< [size]: scratch, where the next for a rank go */
} packed_t;

static void free_packed(packed_t *x)
{
    spmmi_free_all(x->length, x->weight, x->adj, x->send_count, x->recv_count, x->at, x->at_edge);
}

static spmm_status_t alloc_packed(spmm_env_t *env, const spmm_dist_graph_t *graph,
                                  spmm_deal_t *deal, packed_t *x)
{
    const int     size = env->size;
    const int64_t n = graph->n_vertices, n_edges = graph->ptr[n];

    SPMM_NEW_ZERO(deal->send_count, size);
    SPMM_NEW(deal->recv_count, size);
    SPMM_NEW_ZERO(x->send_count, size);
    SPMM_NEW(x->recv_count, size);
    SPMM_NEW(x->at, size);
    SPMM_NEW(x->at_edge, size);
    SPMM_NEW(x->length, n);
    SPMM_NEW(x->weight, n);
    SPMM_NEW(x->adj, n_edges);
    if (deal->send_count == NULL || deal->recv_count == NULL || x->send_count == NULL ||
        x->recv_count == NULL || x->at == NULL || x->at_edge == NULL || x->length == NULL ||
        x->weight == NULL || x->adj == NULL) {
        return fail_memory(env, n_edges);
    }
    return SPMM_OK;
}

static void starts(const int64_t *count, int size, int64_t *at)
{
    int64_t sum = 0;

    for (int p = 0; p < size; p++) {
        at[p] = sum;
        sum += count[p];
    }
}

static void pack(int size, const spmm_dist_graph_t *graph, spmm_deal_t *deal, packed_t *x)
{
    const dealer_t d = dealer(graph->all_vertices, size);

    for (int64_t v = 0; v < graph->n_vertices; v++) {
        const int p = dealt_to(&d, graph->first + v);

        deal->send_count[p]++;
        x->send_count[p] += graph->ptr[v + 1] - graph->ptr[v];
    }
    starts(deal->send_count, size, x->at);
    starts(x->send_count, size, x->at_edge);
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        const int p = dealt_to(&d, graph->first + v);

        x->length[x->at[p]]   = graph->ptr[v + 1] - graph->ptr[v];
        x->weight[x->at[p]++] = graph->weight[v];
        for (int64_t k = graph->ptr[v]; k < graph->ptr[v + 1]; k++) {
            x->adj[x->at_edge[p]++] = dealt_number(&d, graph->adj[k]);
        }
    }
}

/* Collective, agreed. */
static spmm_status_t exchange_packed(spmm_env_t *env, const packed_t *x, const spmm_deal_t *deal,
                                     spmm_dist_graph_t *graph)
{
    const dealer_t d       = dealer(graph->all_vertices, env->size);
    spmm_status_t  status  = SPMM_OK;
    int64_t        n_edges = 0;

    SPMM_TRY(spmmi_agree(
        env, spmmi_alltoall_counts(env, deal->send_count, deal->recv_count, &graph->n_vertices)));
    SPMM_TRY(spmmi_agree(env, spmmi_alltoall_counts(env, x->send_count, x->recv_count, &n_edges)));
    graph->first = dealt_below(&d, env->rank);
    SPMM_NEW(graph->ptr, graph->n_vertices + 1);
    SPMM_NEW(graph->weight, graph->n_vertices);
    SPMM_NEW(graph->adj, n_edges);
    if (graph->ptr == NULL || graph->weight == NULL || graph->adj == NULL) {
        status = fail_memory(env, n_edges);
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(spmmi_alltoallv(env, x->length, deal->send_count, graph->ptr + 1, deal->recv_count,
                             sizeof *x->length));
    SPMM_TRY(spmmi_alltoallv(env, x->weight, deal->send_count, graph->weight, deal->recv_count,
                             sizeof *x->weight));
    SPMM_TRY(
        spmmi_alltoallv(env, x->adj, x->send_count, graph->adj, x->recv_count, sizeof *x->adj));
    graph->ptr[0] = 0;
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        graph->ptr[v + 1] += graph->ptr[v];
    }
    return SPMM_OK;
}

spmm_status_t spmmi_dist_graph_deal(spmm_env_t *env, spmm_dist_graph_t *graph, spmm_deal_t *deal)
{
    packed_t      x = {0};
    spmm_status_t status;

    *deal  = (spmm_deal_t){.first        = graph->first,
                           .n_vertices   = graph->n_vertices,
                           .all_vertices = graph->all_vertices};
    status = spmmi_agree(env, alloc_packed(env, graph, deal, &x));
    if (status == SPMM_OK) {
        pack(env->size, graph, deal, &x);
        spmmi_free_all(graph->ptr, graph->adj, graph->weight);
        graph->ptr = graph->adj = graph->weight = NULL;
        status                                  = exchange_packed(env, &x, deal, graph);
    }
    free_packed(&x);
    return status;
}

spmm_status_t spmmi_deal_collect(spmm_env_t *env, const spmm_deal_t *deal, const int32_t *dealt,
                                 int32_t *part)
{
    const dealer_t d = dealer(deal->all_vertices, env->size);
    int32_t       *packed;
    int64_t       *at;
    spmm_status_t  status = SPMM_OK;

    SPMM_NEW(packed, deal->n_vertices);
    SPMM_NEW(at, env->size);
    if (packed == NULL || at == NULL) {
        status = fail_memory(env, deal->n_vertices);
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status =
            spmmi_alltoallv(env, dealt, deal->recv_count, packed, deal->send_count, sizeof *packed);
    }
    if (status == SPMM_OK) {
        starts(deal->send_count, env->size, at);
        for (int64_t v = 0; v < deal->n_vertices; v++) {
            part[v] = packed[at[dealt_to(&d, deal->first + v)]++];
        }
    }
    spmmi_free_all(packed, at);
    return status;
}

void spmmi_deal_free(spmm_deal_t *deal)
{
    spmmi_free_all(deal->send_count, deal->recv_count);
    *deal = (spmm_deal_t){0};
}

/** One entry of A on its way to the owner of its column. */
typedef struct {
    int32_t column; /**< counted from the first of its owner */
    int32_t row;    /**< counted from the first of the sender */
} entry_t;

/** The entries of this rank's columns: a transposed pattern. */
typedef struct {
    entry_t *send, *recv;
    int64_t *send_count, *recv_count; /**< [size] */
    int64_t *at;                      /**< [size]: scratch, where the next entry for a rank goes */
    int64_t  n_send, n_recv;
    int64_t *ptr; /**< [n_cols + 1] */
    int64_t *row; /**< [n_recv] numbers of vertices, ascending in each column */
} columns_t;

static void free_entries(columns_t *c)
{
    spmmi_free_all(c->send, c->recv, c->send_count, c->recv_count, c->at);
    c->send = c->recv = NULL;
    c->send_count = c->recv_count = c->at = NULL;
}

static void free_columns(columns_t *c)
{
    free_entries(c);
    spmmi_free_all(c->ptr, c->row);
}

/* Columns ascend in a row: the owner of the last one often has the next, too. */
static int owner(const spmm_matrix_t *A, int64_t column, int last)
{
    return column >= A->col_offset[last] && column < A->col_offset[last + 1]
               ? last
               : spmmi_owner(A->col_offset, A->env->size, column);
}

/* The diagonal is no edge of a square matrix. */
static bool is_edge(const spmm_matrix_t *A, int32_t i, int64_t column, bool square)
{
    return !square || A->row_offset[A->env->rank] + i != column;
}

/* Count the entries for each rank, or with @p at as the places of the first ones fill c->send. */
static void visit(const spmm_matrix_t *A, bool square, columns_t *c, int64_t *at)
{
    for (int32_t i = 0; i < A->n_rows; i++) {
        int p = A->env->rank;

        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t column = A->col_idx[k];

            if (!is_edge(A, i, column, square)) {
                continue;
            }
            p = owner(A, column, p);
            if (at == NULL) {
                c->send_count[p]++;
            } else {
                c->send[at[p]++] =
                    (entry_t){.column = (int32_t)(column - A->col_offset[p]), .row = i};
            }
        }
    }
}

static spmm_status_t list_entries(const spmm_matrix_t *A, bool square, columns_t *c)
{
    const int size = A->env->size;

    SPMM_NEW_ZERO(c->send_count, size);
    SPMM_NEW(c->recv_count, size);
    SPMM_NEW(c->at, size);
    if (c->send_count == NULL || c->recv_count == NULL || c->at == NULL) {
        return fail_memory(A->env, size);
    }
    visit(A, square, c, NULL);
    for (int p = 0; p < size; p++) {
        c->at[p] = c->n_send;
        c->n_send += c->send_count[p];
    }
    if (SPMM_NEW(c->send, c->n_send) == NULL) {
        return fail_memory(A->env, c->n_send);
    }
    visit(A, square, c, c->at);
    return SPMM_OK;
}

static spmm_status_t exchange(const spmm_matrix_t *A, columns_t *c)
{
    spmm_env_t   *env    = A->env;
    spmm_status_t status = SPMM_OK;

    SPMM_TRY(
        spmmi_agree(env, spmmi_alltoall_counts(env, c->send_count, c->recv_count, &c->n_recv)));
    SPMM_NEW(c->recv, c->n_recv);
    SPMM_NEW(c->row, c->n_recv);
    SPMM_NEW_ZERO(c->ptr, (int64_t)A->n_cols + 2);
    if (c->recv == NULL || c->row == NULL || c->ptr == NULL) {
        status = fail_memory(A->env, c->n_recv);
    }
    SPMM_TRY(spmmi_agree(env, status));
    return spmmi_alltoallv(env, c->send, c->send_count, c->recv, c->recv_count, sizeof *c->recv);
}

/* Entries come in order of their rows: counting keeps them so in each column. */
static void sort_entries(const spmm_matrix_t *A, bool square, columns_t *c)
{
    int64_t k = 0;

    for (int64_t i = 0; i < c->n_recv; i++) {
        c->ptr[(int64_t)c->recv[i].column + 2]++;
    }
    for (int64_t j = 0; j < A->n_cols; j++) {
        c->ptr[j + 2] += c->ptr[j + 1];
    }
    for (int p = 0; p < A->env->size; p++) {
        const int64_t first = A->row_offset[p] + (square ? 0 : A->col_offset[p]);
        const int64_t end   = k + c->recv_count[p];

        for (; k < end; k++) { /* ptr[j + 1] runs from the start of j to its end */
            c->row[c->ptr[(int64_t)c->recv[k].column + 1]++] = first + c->recv[k].row;
        }
    }
}

/* Collective, agreed. */
static spmm_status_t transpose(const spmm_matrix_t *A, bool square, columns_t *c)
{
    SPMM_TRY(spmmi_agree(A->env, list_entries(A, square, c)));
    SPMM_TRY(exchange(A, c));
    sort_entries(A, square, c);
    free_entries(c);
    return SPMM_OK;
}

/* Union of local row @p i and column @p i without i itself; returns its length.  @p out NULL: only
 * count. */
static int64_t merge_row(const spmm_matrix_t *A, const columns_t *c, int32_t i, int64_t *out)
{
    const int64_t self = A->row_offset[A->env->rank] + i;
    int64_t       k = A->row_ptr[i], l = c->ptr[i], count = 0;

    while (k < A->row_ptr[i + 1] || l < c->ptr[i + 1]) {
        const int64_t of_row = k < A->row_ptr[i + 1] ? A->col_idx[k] : INT64_MAX;
        const int64_t of_col = l < c->ptr[i + 1] ? c->row[l] : INT64_MAX;
        const int64_t vertex = of_row < of_col ? of_row : of_col;

        k += of_row == vertex;
        l += of_col == vertex;
        if (vertex == self) {
            continue;
        }
        if (out != NULL) {
            out[count] = vertex;
        }
        count++;
    }
    return count;
}

static spmm_status_t alloc_edges(const spmm_matrix_t *A, spmm_dist_graph_t *graph)
{
    const int64_t n_edges = graph->ptr[graph->n_vertices];

    return SPMM_NEW(graph->adj, n_edges) == NULL ? fail_memory(A->env, n_edges) : SPMM_OK;
}

static spmm_status_t symmetric_graph(const spmm_matrix_t *A, const columns_t *c,
                                     spmm_dist_graph_t *graph)
{
    for (int32_t i = 0; i < A->n_rows; i++) {
        graph->ptr[i + 1] = graph->ptr[i] + merge_row(A, c, i, NULL);
    }
    SPMM_TRY(alloc_edges(A, graph));
    for (int32_t i = 0; i < A->n_rows; i++) {
        (void)merge_row(A, c, i, graph->adj + graph->ptr[i]);
    }
    return SPMM_OK;
}

/* Column j of rank p is the vertex behind all rows of ranks up to p: row_offset[p + 1] + j. */
static spmm_status_t bipartite_graph(const spmm_matrix_t *A, const columns_t *c,
                                     spmm_dist_graph_t *graph)
{
    const int64_t nnz = spmmi_matrix_local_nnz(A);
    int           p   = A->env->rank;

    for (int32_t i = 0; i < A->n_rows; i++) {
        graph->ptr[i + 1] = A->row_ptr[i + 1];
    }
    for (int32_t j = 0; j < A->n_cols; j++) {
        graph->ptr[(int64_t)A->n_rows + j + 1] = nnz + c->ptr[j + 1];
    }
    SPMM_TRY(alloc_edges(A, graph));
    for (int64_t k = 0; k < nnz; k++) {
        p             = owner(A, A->col_idx[k], p);
        graph->adj[k] = A->row_offset[p + 1] + A->col_idx[k];
    }
    for (int64_t k = 0; k < c->n_recv; k++) {
        graph->adj[nnz + k] = c->row[k];
    }
    return SPMM_OK;
}

/* A row heavier than a part is cut to its weight, see weights.h.  Collective, agreed. */
static spmm_status_t cut_heavy(spmm_env_t *env, spmm_dist_graph_t *graph)
{
    for (int round = 0; round < SPMM_CUT_ROUNDS; round++) {
        int64_t sum = 0, limit, cut = 0;

        for (int64_t v = 0; v < graph->n_vertices; v++) {
            sum += graph->weight[v];
        }
        SPMM_TRY(spmmi_agree(env, spmmi_allreduce(env, &sum, 1, MPI_INT64_T, MPI_SUM)));
        limit = spmmi_weight_limit(sum, env->size);
        for (int64_t v = 0; v < graph->n_vertices; v++) {
            cut += graph->weight[v] > limit;
            graph->weight[v] = graph->weight[v] > limit ? limit : graph->weight[v];
        }
        SPMM_TRY(spmmi_agree(env, spmmi_allreduce(env, &cut, 1, MPI_INT64_T, MPI_SUM)));
        if (cut == 0) {
            return SPMM_OK;
        }
    }
    return SPMM_OK;
}

/* Collective, agreed. */
static spmm_status_t weigh(const spmm_matrix_t *A, int64_t most, spmm_dist_graph_t *graph)
{
    const int64_t       n_cols = graph->all_vertices - A->rows;
    spmm_weight_scale_t scale  = spmmi_weight_scale(A->nnz, graph->all_vertices, n_cols, most);

    for (int64_t v = 0; v < graph->n_vertices; v++) {
        graph->weight[v] = spmmi_weight(&scale, v < A->n_rows ? spmmi_row_weight(A, v) : 0);
    }
    return cut_heavy(A->env, graph);
}

static spmm_status_t fail_size(spmm_env_t *env, const char *partitioner, const char *what,
                               int64_t count, int64_t most)
{
    return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                      "the graph has %" PRId64 " %s, too many for this %s, which takes %" PRId64
                      ": use partition block or file%s",
                      count, what, partitioner, most,
                      most <= INT32_MAX ? ", or build with one of 64-bit indices" : "");
}

static spmm_status_t alloc_vertices(const spmm_matrix_t *A, bool square, spmm_dist_graph_t *graph)
{
    graph->first        = A->row_offset[A->env->rank] + (square ? 0 : A->col_offset[A->env->rank]);
    graph->n_vertices   = square ? A->n_rows : (int64_t)A->n_rows + A->n_cols;
    graph->all_vertices = square ? A->rows : A->rows + A->cols;
    SPMM_NEW(graph->ptr, graph->n_vertices + 1);
    SPMM_NEW(graph->weight, graph->n_vertices);
    if (graph->ptr == NULL || graph->weight == NULL) {
        return fail_memory(A->env, graph->n_vertices);
    }
    graph->ptr[0] = 0;
    return SPMM_OK;
}

/* Collective, agreed; what is allocated when it fails stays in *graph and *c. */
static spmm_status_t build(const spmm_matrix_t *A, const char *partitioner, int64_t most,
                           columns_t *c, spmm_dist_graph_t *graph)
{
    spmm_env_t *env    = A->env;
    const bool  square = spmmi_matrix_is_square(A);

    if (A->rows > most - (square ? 0 : A->cols)) {
        return spmmi_agree(env, fail_size(env, partitioner, "vertices at least",
                                          A->rows > A->cols ? A->rows : A->cols, most));
    }
    SPMM_TRY(spmmi_agree(env, alloc_vertices(A, square, graph)));
    SPMM_TRY(transpose(A, square, c));
    SPMM_TRY(
        spmmi_agree(env, square ? symmetric_graph(A, c, graph) : bipartite_graph(A, c, graph)));
    graph->all_edges = graph->ptr[graph->n_vertices];
    SPMM_TRY(spmmi_agree(env, spmmi_allreduce(env, &graph->all_edges, 1, MPI_INT64_T, MPI_SUM)));
    if (graph->all_edges > most) {
        return spmmi_agree(env, fail_size(env, partitioner, "edges", graph->all_edges, most));
    }
    return weigh(A, most, graph);
}

spmm_status_t spmmi_dist_graph_create(const spmm_matrix_t *A, const char *partitioner, int64_t most,
                                      spmm_dist_graph_t *graph)
{
    columns_t     c = {0};
    spmm_status_t status;

    *graph = (spmm_dist_graph_t){0};
    status = build(A, partitioner, most, &c, graph);
    free_columns(&c);
    if (status != SPMM_OK) {
        spmmi_dist_graph_free(graph);
    }
    return status;
}

void spmmi_dist_graph_free(spmm_dist_graph_t *graph)
{
    spmmi_free_all(graph->ptr, graph->adj, graph->weight);
    *graph = (spmm_dist_graph_t){0};
}
