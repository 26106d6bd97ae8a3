/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep() */
#include "partition/ptscotch/call.h"

#ifdef SPMM_HAVE_PTSCOTCH
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/hash.h"

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

spmm_status_t spmmi_ptscotch_part(spmm_env_t *env, spmm_dist_graph_t *graph, double imbalance,
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
#endif
