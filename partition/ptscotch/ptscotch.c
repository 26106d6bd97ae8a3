/* SPDX-License-Identifier: Apache-2.0 */
/** @file ptscotch.c
 *  k-way partition by PT-Scotch (Chevalier, Pellegrini 2008) of a graph that stays distributed: no
 *  rank holds the whole.  It minimises the entries of A that need rows of B from elsewhere.
 */
#include "partition/partitioners.h"

#ifdef SPMM_HAVE_PTSCOTCH
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h> /* ptscotch.h needs it, and stdint.h */
#include <string.h>
#include <time.h>

#include <ptscotch.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "partition/ptscotch/dist_graph.h"

static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER;

/* Longer and longer, and each rank and time differently. */
static void wait_a_little(const spmm_env_t *env, int attempt)
{
    enum { LONGEST = 64 /* ms */ };
    const int64_t   most = attempt < 6 ? INT64_C(1) << attempt : LONGEST;
    const uint64_t  h    = spmmi_hash2((uint64_t)(spmmi_now() * 1e9), env->rank, attempt);
    struct timespec t    = {.tv_nsec = (long)(spmmi_below(h, most * 1000000))};

    (void)nanosleep(&t, NULL);
}

/* All ranks hold the lock, or none: two contexts that met in another order on another rank would
 * wait for each other for ever.  Collective, agreed. */
static spmm_status_t lock(spmm_env_t *env)
{
    for (int attempt = 0;; attempt++) {
        const int     mine = pthread_mutex_trylock(&one_call) == 0;
        int           all  = mine;
        spmm_status_t status;

        status = spmmi_allreduce(env, &all, 1, MPI_INT, MPI_LAND);
        status = spmmi_agree(env, status);
        if (status == SPMM_OK && all) {
            return SPMM_OK;
        }
        if (mine) {
            (void)pthread_mutex_unlock(&one_call);
        }
        SPMM_TRY(status);
        wait_a_little(env, attempt);
    }
}

/* 64-bit numbers to the integers of PT-Scotch, in place, and the rest of their memory back.  They
 * fit. */
static spmm_status_t narrow(spmm_env_t *env, int64_t **number, int64_t count)
{
    unsigned char *to = (unsigned char *)*number;
    int64_t       *shorter;

    if (sizeof(SCOTCH_Num) == sizeof **number) {
        return SPMM_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        const SCOTCH_Num value = (SCOTCH_Num)(*number)[i];

        memcpy(to + (size_t)i * sizeof value, &value, sizeof value);
    }
    shorter = spmmi_realloc(*number, count, sizeof(SCOTCH_Num));
    if (shorter == NULL) {
        return spmmi_fail_memory(&env->err, count, sizeof(SCOTCH_Num), "the graph for PT-Scotch");
    }
    *number = shorter;
    return SPMM_OK;
}

static spmm_status_t narrow_graph(spmm_env_t *env, spmm_dist_graph_t *graph, int64_t n_edges)
{
    SPMM_TRY(narrow(env, &graph->ptr, graph->n_vertices + 1));
    SPMM_TRY(narrow(env, &graph->adj, n_edges));
    return narrow(env, &graph->weight, graph->n_vertices);
}

/* An array that has been narrowed. */
static SCOTCH_Num *narrowed(int64_t *number)
{
    return (SCOTCH_Num *)(void *)number;
}

/** What PT-Scotch makes, in the order it is made. */
typedef struct {
    SCOTCH_Dgraph  graph, bound; /**< the graph, and it with the context */
    SCOTCH_Context context;
    SCOTCH_Strat   strategy;
    int            made; /**< of these four */
} session_t;

static const char *build(session_t *s, const spmm_env_t *env, MPI_Comm comm,
                         const spmm_dist_graph_t *graph, double imbalance, uint64_t seed)
{
    const SCOTCH_Num n       = (SCOTCH_Num)graph->n_vertices;
    const SCOTCH_Num n_edges = narrowed(graph->ptr)[n];

    if (SCOTCH_dgraphInit(&s->graph, comm) != 0) {
        return "SCOTCH_dgraphInit";
    }
    s->made = 1;
    if (SCOTCH_dgraphBuild(&s->graph, 0, n, n, narrowed(graph->ptr), NULL, narrowed(graph->weight),
                           NULL, n_edges, n_edges, narrowed(graph->adj), NULL, NULL) != 0) {
        return "SCOTCH_dgraphBuild";
    }
    if (SCOTCH_contextInit(&s->context) != 0) {
        return "SCOTCH_contextInit";
    }
    s->made = 2;
    if (SCOTCH_contextOptionSetNum(&s->context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0 ||
        SCOTCH_contextRandomClone(&s->context) != 0 ||
        SCOTCH_contextThreadSpawn(&s->context, 1, NULL) != 0) {
        return "the set-up of a context";
    }
    SCOTCH_contextRandomSeed(&s->context, (SCOTCH_Num)(seed % INT32_MAX + 1)); /* 0 is 1, too */
    if (SCOTCH_contextBindDgraph(&s->context, &s->graph, &s->bound) != 0) {
        return "SCOTCH_contextBindDgraph";
    }
    s->made = 3;
    if (SCOTCH_stratInit(&s->strategy) != 0) {
        return "SCOTCH_stratInit";
    }
    s->made = 4;
    if (SCOTCH_stratDgraphMapBuild(&s->strategy, SCOTCH_STRATDEFAULT, env->size, env->size,
                                   imbalance - 1.0) != 0) {
        return "SCOTCH_stratDgraphMapBuild";
    }
    return NULL;
}

static void end(session_t *s)
{
    if (s->made >= 4) {
        SCOTCH_stratExit(&s->strategy);
    }
    if (s->made >= 3) {
        SCOTCH_dgraphExit(&s->bound);
    }
    if (s->made >= 2) {
        SCOTCH_contextExit(&s->context);
    }
    if (s->made >= 1) {
        SCOTCH_dgraphExit(&s->graph);
    }
}

/* PT-Scotch says why on stderr, through libptscotcherr, and to the program that it failed. */
static spmm_status_t check(spmm_env_t *env, const char *failed)
{
    return failed == NULL ? SPMM_OK
                          : spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                                       "PT-Scotch failed in %s, perhaps for lack of memory: use "
                                       "partition block or file",
                                       failed);
}

static spmm_status_t part_on(spmm_env_t *env, MPI_Comm comm, spmm_dist_graph_t *graph,
                             double imbalance, uint64_t seed, SCOTCH_Num *part)
{
    session_t     s = {.made = 0};
    spmm_status_t status;

    SPMM_TRY(spmmi_agree(env, narrow_graph(env, graph, graph->ptr[graph->n_vertices])));
    status = spmmi_agree(env, check(env, build(&s, env, comm, graph, imbalance, seed)));
    if (status == SPMM_OK) {
        status = spmmi_agree(
            env, check(env, SCOTCH_dgraphPart(&s.bound, env->size, &s.strategy, part) == 0
                                ? NULL
                                : "SCOTCH_dgraphPart"));
    }
    end(&s);
    return status;
}

/* Cut @p graph into env->size parts.  PT-Scotch keeps random numbers and parsers for the whole
 * process: all ranks wait until none of them is in another call.  It gets a communicator of its
 * own, since messages of plans may be under way on env->comm, one thread, and random numbers of
 * its own: the same seed gives the same parts on as many ranks.  Collective, agreed.
 * @param[in,out] graph  its arrays hold other numbers afterwards, only
 *                       spmmi_dist_graph_free() takes it
 * @param[in] imbalance  allowed max / mean weight of parts, >= 1
 * @param[out] part  [graph->n_vertices], not checked */
static spmm_status_t ptscotch_part(spmm_env_t *env, spmm_dist_graph_t *graph, double imbalance,
                                   uint64_t seed, SCOTCH_Num *part)
{
    MPI_Comm      comm = MPI_COMM_NULL;
    spmm_status_t status;

    SPMM_TRY(lock(env));
    status = spmmi_agree(env, spmmi_mpi_check(env, MPI_Comm_dup(env->comm, &comm), "MPI_Comm_dup"));
    if (status == SPMM_OK) {
        status = part_on(env, comm, graph, imbalance, seed, part);
    }
    if (comm != MPI_COMM_NULL) {
        (void)MPI_Comm_free(&comm); /* nothing is under way on it */
    }
    (void)pthread_mutex_unlock(&one_call);
    spmmi_alloc_trim();
    return status;
}

/* Several builds with integers of different lengths have libraries of one name. */
static spmm_status_t check_build(spmm_env_t *env)
{
    const int bits = 8 * SCOTCH_numSizeof(), expected = 8 * (int)sizeof(SCOTCH_Num);

    if (bits != expected) {
        return spmmi_fail(
            &env->err, SPMM_ERR_UNSUPPORTED,
            "the libptscotch found at run time has %d-bit indices and this library was "
            "built for %d: let LD_LIBRARY_PATH lead to the other one, or use partition "
            "metis or block",
            bits, expected);
    }
    return SPMM_OK;
}

static spmm_status_t check_objective(spmm_env_t *env, const char *objective)
{
    if (objective != NULL && strcmp(objective, "cut") != 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "partition ptscotch has no objective %s: leave it out or ask for cut, or "
                          "use partition metis",
                          objective);
    }
    return SPMM_OK;
}

/* PT-Scotch counts what a rank sends in int. */
static spmm_status_t check_local(spmm_env_t *env, const spmm_dist_graph_t *graph)
{
    const int64_t n_edges = graph->ptr[graph->n_vertices];

    if (graph->n_vertices > INT32_MAX || n_edges > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                          "the graph has %" PRId64 " vertices and %" PRId64
                          " edges on a rank, and PT-Scotch takes %d: use more ranks, or partition "
                          "block or file",
                          graph->n_vertices, n_edges, INT32_MAX);
    }
    return SPMM_OK;
}

/* To ranks: PT-Scotch numbers parts as it halves the graph, so that successive ones lie next to
 * each other.  They go to the ranks of one node after the other.  @p dealt [graph->n_vertices] */
static spmm_status_t check_parts(spmm_env_t *env, const spmm_dist_graph_t *graph,
                                 const spmm_nodes_t *nodes, const SCOTCH_Num *part, int32_t *dealt)
{
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        if (part[v] < 0 || part[v] >= env->size) {
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "PT-Scotch put vertex %" PRId64 " into part %" PRId64
                              ", but parts are 0 to %d",
                              graph->first + v, (int64_t)part[v], env->size - 1);
        }
        dealt[v] = nodes == NULL ? (int32_t)part[v] : nodes->rank[part[v]];
    }
    return SPMM_OK;
}

/* Collective, agreed.  @p dealt [graph->n_vertices] */
static spmm_status_t call_ptscotch(spmm_env_t *env, const spmm_partition_options_t *options,
                                   spmm_dist_graph_t *graph, int32_t *dealt)
{
    const double  start = spmmi_now();
    SCOTCH_Num   *part;
    spmm_status_t status = check_local(env, graph);

    if (SPMM_NEW(part, graph->n_vertices) == NULL) {
        status = spmmi_fail_memory(&env->err, graph->n_vertices, sizeof *part,
                                   "the parts PT-Scotch makes");
    } else {
        memset(part, 0xff, (size_t)graph->n_vertices * sizeof *part); /* -1: not set */
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = ptscotch_part(env, graph, options->imbalance, options->seed, part);
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, check_parts(env, graph, options->nodes, part, dealt));
    }
    spmmi_free(part);
    if (status == SPMM_OK && env->rank == 0) {
        spmmi_log(env,
                  "partition ptscotch: %" PRId64 " vertices, %" PRId64
                  " edges, objective cut, %.2f s",
                  graph->all_vertices, graph->all_edges / 2, spmmi_now() - start);
    }
    return status;
}

/* PT-Scotch 7.0 crashes where a rank has far more vertices of a half of the graph than the others,
 * as it has of rows in a good order, or of none on some ranks: its fold of one half onto half of
 * the ranks reads what it did not set.  Dealt out to all ranks no half is anywhere
 * more than elsewhere. */
static spmm_status_t cut_graph(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               spmm_dist_graph_t *graph, int32_t *row_part)
{
    spmm_env_t   *env   = A->env;
    spmm_deal_t   deal  = {0};
    int32_t      *dealt = NULL, *part = NULL;
    spmm_status_t status = spmmi_dist_graph_deal(env, graph, &deal);

    if (status == SPMM_OK) {
        SPMM_NEW(dealt, graph->n_vertices);
        SPMM_NEW(part, deal.n_vertices);
        if (dealt == NULL || part == NULL) {
            status = spmmi_fail_memory(&env->err, graph->n_vertices + deal.n_vertices,
                                       sizeof *dealt, "the parts PT-Scotch makes");
        }
        status = spmmi_agree(env, status);
    }
    if (status == SPMM_OK) {
        status = call_ptscotch(env, options, graph, dealt);
    }
    if (status == SPMM_OK) {
        status = spmmi_deal_collect(env, &deal, dealt, part);
    }
    if (status == SPMM_OK) { /* rows come first */
        memcpy(row_part, part, (size_t)A->n_rows * sizeof *row_part);
    }
    spmmi_free_all(dealt, part);
    spmmi_deal_free(&deal);
    return status;
}

static spmm_status_t part_rows(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               int32_t *row_part)
{
    spmm_dist_graph_t graph = {0};
    spmm_status_t     status;

    if (A->env->size == 1) {
        memset(row_part, 0, (size_t)A->n_rows * sizeof *row_part);
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_agree(A->env, check_build(A->env)));
    if (spmmi_graph_is_worth_cutting(A, A->env->size)) {
        SPMM_TRY(spmmi_dist_graph_create(A, "PT-Scotch", SCOTCH_NUMMAX, &graph));
    }
    if (graph.all_edges == 0) {
        status = spmmi_blocks_instead(A, "ptscotch", row_part);
    } else {
        status = cut_graph(A, options, &graph, row_part);
        if (status == SPMM_OK) {
            status = spmmi_balance_report(A, "ptscotch", options, row_part);
        }
    }
    spmmi_dist_graph_free(&graph);
    return status;
}

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    SPMM_TRY(spmmi_agree(A->env, check_objective(A->env, options->objective)));
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
                      "this library was built without PT-Scotch: use partition metis or block, or "
                      "build it where PT-Scotch 7 is found");
}

#endif

const spmm_partitioner_t spmmi_partitioner_ptscotch = {
    .name = "ptscotch",
    .description =
        "PT-Scotch k-way on all ranks, fewest cut entries; no rank holds the whole graph",
#ifdef SPMM_HAVE_PTSCOTCH
    .built = true,
#endif
    .run = run,
};
