/* SPDX-License-Identifier: Apache-2.0 */
/** @file env.h  What every layer needs of the context: communicator, error, log, agreement. */
#ifndef SPMM_BASE_ENV_H
#define SPMM_BASE_ENV_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { SPMM_HOST = 64 }; /**< bytes of a host's name in sentences */

/** Tags of messages at set-up, on env->comm; those of products begin at 1024. */
enum {
    SPMM_TAG_ALLTOALL = 11,
    SPMM_TAG_ROLL, /**< a rank gives up: env.c */
    SPMM_TAG_RING,
    SPMM_TAG_ENTRIES,
    SPMM_TAG_BYTES
};

/** What lies between two ranks. */
typedef enum {
    SPMM_WITHIN,  /**< they share a node */
    SPMM_BETWEEN, /**< the network is between them */
    SPMM_WAYS
} spmm_way_t;

/** Nodes of the ranks of a communicator, numbered in the order of their lowest ranks: nodes.h.  The
 *  arrays are one piece of memory. */
typedef struct {
    int  count; /**< nodes */
    int  most;  /**< ranks of the largest */
    int *node;  /**< [size] the node of each rank; NULL: not known, all is one node */
    int *index; /**< [size] place of each rank among those of its node, from 0 */
    int *rank;  /**< [size] ranks by node, ascending within each */
    int *first; /**< [count + 1] node k has rank[first[k]] to rank[first[k + 1] - 1] */
} spmm_nodes_t;

typedef struct {
    MPI_Comm comm; /**< the library's own duplicate, errors returned */
    int      rank, size;
    char (*hosts)[SPMM_HOST]; /**< [size], owned by the context; NULL: not known */
    spmm_nodes_t nodes;       /**< owned by the context */
    int          threads;     /**< OpenMP threads of this rank, of its device; 0: not yet known */
    spmm_error_t err;
    double       timeout_s;     /**< 0: none */
    const char  *stage;         /**< of set-up, for sentences; static storage */
    size_t       message_limit; /**< 0: that of comm.h; tests lower it to see messages
                                                    split; the same on all ranks */
    bool         lost;          /**< ranks did not come: comm is never freed, since
                                                    MPI still works on what they left open, and
                                                    collectives are SPMM_ERR_COMM at once */
    int          vote[2];       /**< of spmmi_agree(): MPI may write it after a rank gave up */
    bool         unfinished;    /**< MPI also works on memory of messages that were
                                                    given up: rows of plans are never freed */
    void (*log)(void *user, const char *line); /**< may be NULL */
    void *log_user;
    bool  measures_on_cpu; /**< tests alone: plans on CPUs measure engines and chunks; equal
                                 on all ranks */
    bool  debug;           /**< SPMM_DEBUG=1: log lines go to stderr as well */
    bool  check;           /**< collective calls compare their arguments over ranks: see same.h;
                                 equal on all ranks, false on one */
} spmm_env_t;

/** Collective.  Every rank gets the status and the sentence of the lowest failing rank, SPMM_OK
 *  when none failed.  The sentence names the rank unless all failed.  A rank that fails with
 *  SPMM_ERR_COMM waits for the others for timeout_s, without one for 10 s, and keeps its own
 *  sentence when they do not come. */
spmm_status_t spmmi_agree(spmm_env_t *env, spmm_status_t local);

/** What the library calls instead of MPI's collectives, on env->comm.  With a timeout no rank waits
 *  for another longer than that and 5 s, since ranks keep less in step at set-up than in executes:
 *  then it is SPMM_ERR_COMM on all that wait, at about the same time, with a sentence that names
 *  env->stage and the ranks that did not come.  Collective, not agreed: where a rank may have
 *  failed before, agree first.
 *  @param[in,out] data  [count] */
spmm_status_t spmmi_allreduce(spmm_env_t *env, void *data, int count, MPI_Datatype type, MPI_Op op);
spmm_status_t spmmi_bcast(spmm_env_t *env, void *data, size_t bytes, int root);
/** data[k] = sum of data[k] of the ranks below, 0 on rank 0. */
spmm_status_t spmmi_exscan(spmm_env_t *env, int64_t *data, int count);
/** @p bytes from each rank; all [size * bytes]. */
spmm_status_t spmmi_allgather(spmm_env_t *env, const void *mine, void *all, size_t bytes);
/** @p bytes from each rank to each rank; both [size * bytes]. */
spmm_status_t spmmi_alltoall(spmm_env_t *env, const void *send, void *recv, size_t bytes);
spmm_status_t spmmi_barrier(spmm_env_t *env);

/** The same wait for what the caller has begun on all ranks; as long as env->comm is MPI_COMM_NULL,
 *  no rank is named.  After SPMM_ERR_COMM MPI may come back to its memory: spmmi_alloc_keep(). */
spmm_status_t spmmi_wait_request(spmm_env_t *env, MPI_Request *request);

/** Before the agreement on what rank @p worker alone has done, such as METIS: with a timeout the
 *  others wait for it an hour longer.  @return @p local, or SPMM_ERR_COMM */
spmm_status_t spmmi_await(spmm_env_t *env, int worker, spmm_status_t local);

/** Record a failed MPI call of @p what; SPMM_OK for MPI_SUCCESS. */
spmm_status_t spmmi_mpi_check(spmm_env_t *env, int code, const char *what);

/** Return from the enclosing function when an MPI call fails.  See SPMM_TRY. */
#define SPMM_MPI(env, call) SPMM_TRY(spmmi_mpi_check((env), (call), #call))

/** One line to the log; formats nothing when nobody listens. */
void spmmi_log(const spmm_env_t *env, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Monotonic seconds. */
double spmmi_now(void);

/* Requests of MPI, polled: their errors come back, and others run meanwhile. */

/** MPI_Test(), but errors come back in every MPI, not only where the communicator of the request
 *  decides on them.  @param[out] done  0 where it fails */
int spmmi_test(MPI_Request *request, int *done, MPI_Status *status);

/** Between two polls: who has polled for 0.1 ms lets others run on this core, since more ranks than
 *  cores would wait for those that wait.  @param[in,out] polls  from 0 on, of this wait */
void spmmi_let_run(int *polls);

/** What public calls that communicate begin with: the last failure is forgotten.  SPMM_ERR_ARGUMENT
 *  after MPI_Finalize(), where MPI would end the program.  Local. */
spmm_status_t spmmi_enter(spmm_env_t *env, const char *call);

#endif /* SPMM_BASE_ENV_H */
