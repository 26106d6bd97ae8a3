/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"

#ifdef MPICH_VERSION
#include <pthread.h>

/* MPICH gives errors of requests to the handler of MPI_COMM_WORLD (up to 4.0) or MPI_COMM_SELF,
 * which ends the program unless told otherwise.  So both return errors during the call, and are
 * then as the program has them. */
int spmmi_test(MPI_Request *request, int *done, MPI_Status *status)
{
    static pthread_mutex_t lock    = PTHREAD_MUTEX_INITIALIZER; /* two threads would keep ours */
    const MPI_Comm         comm[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler         handler[2];
    int                    code;

    *done = 0;
    (void)pthread_mutex_lock(&lock);
    for (int k = 0; k < 2; k++) {
        (void)MPI_Comm_get_errhandler(comm[k], &handler[k]);
        (void)MPI_Comm_set_errhandler(comm[k], MPI_ERRORS_RETURN);
    }
    code = MPI_Test(request, done, status);
    for (int k = 0; k < 2; k++) {
        (void)MPI_Comm_set_errhandler(comm[k], handler[k]);
        (void)MPI_Errhandler_free(&handler[k]);
    }
    (void)pthread_mutex_unlock(&lock);
    return code;
}
#else
int spmmi_test(MPI_Request *request, int *done, MPI_Status *status)
{
    *done = 0;
    return MPI_Test(request, done, status);
}
#endif

void spmmi_let_run(int *polls)
{
    enum { POLLS = 1000 }; /* of 0.1 us and more */

    if (*polls < POLLS) {
        ++*polls;
    } else {
        (void)sched_yield();
    }
}

enum {
    LOST_AFTER = 10, /* s; without a timeout */
    SETUP_MORE = 5,  /* s beyond the timeout */
    ALONE_MORE = 3600
};

/* For the answers of ranks that wait, too: these come at once. */
static const double roll_s = 1.0;

spmm_status_t spmmi_mpi_check(spmm_env_t *env, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown MPI error";
    int  length                     = 0;

    if (code == MPI_SUCCESS) {
        return SPMM_OK;
    }
    (void)MPI_Error_string(code, text, &length);
    return spmmi_fail(&env->err, SPMM_ERR_COMM, "%.80s failed: %.300s", what, text);
}

/* Has a rank given up? */
static bool roll_is_called(spmm_env_t *env, MPI_Status *who)
{
    int called = 0;

    return env->comm != MPI_COMM_NULL &&
           MPI_Iprobe(MPI_ANY_SOURCE, SPMM_TAG_ROLL, env->comm, &called, who) == MPI_SUCCESS &&
           called;
}

/* A rank that gives up says so to all others, and those that wait for something give up, too: none
 * waits for a timeout of its own, and each learns who is missing.
 * @param[out] here  [size] false at first */
static void call_roll(spmm_env_t *env, bool *here)
{
    const double start = spmmi_now();
    MPI_Request  request;
    MPI_Status   who;

    for (int p = 0; p < env->size; p++) {
        if (p != env->rank &&
            MPI_Isend(NULL, 0, MPI_BYTE, p, SPMM_TAG_ROLL, env->comm, &request) == MPI_SUCCESS) {
            (void)MPI_Request_free(&request);
        }
    }
    here[env->rank] = true;
    while (spmmi_now() - start < roll_s) {
        if (roll_is_called(env, &who) && MPI_Recv(NULL, 0, MPI_BYTE, who.MPI_SOURCE, SPMM_TAG_ROLL,
                                                  env->comm, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
            here[who.MPI_SOURCE] = true;
        }
    }
}

/* "rank 2", "ranks 4, 5", or "a rank" where none is known. */
static void list_missing(const spmm_env_t *env, const bool *here, char *text, size_t size)
{
    size_t used  = 0;
    int    count = 0;

    (void)snprintf(text, size, "a rank");
    for (int p = 0; here != NULL && p < env->size && used + 24 < size; p++) {
        if (!here[p]) {
            used +=
                (size_t)snprintf(text + used, size - used, "%s %d", count > 0 ? "," : "rank", p);
            count++;
        }
    }
}

static spmm_status_t give_up(spmm_env_t *env, double waited)
{
    bool *here = NULL;
    char  missing[160];

    env->lost = true;
    if (env->comm != MPI_COMM_NULL && SPMM_NEW_ZERO(here, env->size) != NULL) {
        call_roll(env, here);
    }
    list_missing(env, here, missing, sizeof missing);
    spmmi_free(here);
    return spmmi_fail(&env->err, SPMM_ERR_COMM,
                      "%s: %s did not come within the timeout of %g s: late, gone or out of "
                      "reach%s",
                      env->stage != NULL ? env->stage : "set-up", missing, waited,
                      env->comm != MPI_COMM_NULL ? "; destroy the context" : "");
}

/* Until all ranks have come to a collective, for @p most seconds; 0: for ever. */
static spmm_status_t wait_for_all(spmm_env_t *env, MPI_Request *request, double most)
{
    const double start = spmmi_now();
    MPI_Status   who;
    int          done = 0, polls = 0;

    for (;;) {
        SPMM_MPI(env, spmmi_test(request, &done, MPI_STATUS_IGNORE));
        if (done) {
            return SPMM_OK;
        }
        if (most > 0.0 && spmmi_now() - start > most) {
            return give_up(env, most);
        }
        if (most > 0.0 && roll_is_called(env, &who)) {
            return give_up(env, env->timeout_s + SETUP_MORE);
        }
        spmmi_let_run(&polls);
    }
}

spmm_status_t spmmi_wait_request(spmm_env_t *env, MPI_Request *request)
{
    return wait_for_all(env, request, env->timeout_s > 0.0 ? env->timeout_s + SETUP_MORE : 0.0);
}

static spmm_status_t fail_lost(spmm_env_t *env)
{
    return spmmi_fail(&env->err, SPMM_ERR_COMM,
                      "ranks did not come to an earlier call of this context: destroy it");
}

static spmm_status_t meet_within(spmm_env_t *env, double most)
{
    MPI_Request request;

    if (env->lost) {
        return fail_lost(env);
    }
    SPMM_MPI(env, MPI_Ibarrier(env->comm, &request));
    return wait_for_all(env, &request, most);
}

spmm_status_t spmmi_await(spmm_env_t *env, int worker, spmm_status_t local)
{
    const double  more  = env->rank == worker ? SETUP_MORE : ALONE_MORE;
    const double  most  = env->timeout_s + more;
    spmm_status_t other = env->timeout_s > 0.0 ? meet_within(env, most) : SPMM_OK;

    return local != SPMM_OK ? local : other;
}

typedef struct {
    enum { ALLREDUCE, BCAST, EXSCAN, ALLGATHER, ALLTOALL, BARRIER } kind;
    const void  *from; /* NULL: `to` is both */
    void        *to;
    size_t       from_bytes, to_bytes;
    int          count;
    MPI_Datatype type;
    MPI_Op       op;
    int          root;
} collective_t;

/* Blocking without a request. */
static int begin(MPI_Comm comm, const collective_t *c, const void *from, void *to, MPI_Request *r)
{
    const int          n = c->count;
    const MPI_Datatype t = c->type;

    switch (c->kind) {
    case ALLREDUCE:
        return r == NULL ? MPI_Allreduce(MPI_IN_PLACE, to, n, t, c->op, comm)
                         : MPI_Iallreduce(MPI_IN_PLACE, to, n, t, c->op, comm, r);
    case BCAST:
        return r == NULL ? MPI_Bcast(to, n, t, c->root, comm)
                         : MPI_Ibcast(to, n, t, c->root, comm, r);
    case EXSCAN:
        return r == NULL ? MPI_Exscan(MPI_IN_PLACE, to, n, t, c->op, comm)
                         : MPI_Iexscan(MPI_IN_PLACE, to, n, t, c->op, comm, r);
    case ALLGATHER:
        return r == NULL ? MPI_Allgather(from, n, t, to, n, t, comm)
                         : MPI_Iallgather(from, n, t, to, n, t, comm, r);
    case ALLTOALL:
        return r == NULL ? MPI_Alltoall(from, n, t, to, n, t, comm)
                         : MPI_Ialltoall(from, n, t, to, n, t, comm, r);
    case BARRIER:
        return r == NULL ? MPI_Barrier(comm) : MPI_Ibarrier(comm, r);
    }
    return MPI_ERR_OTHER;
}

static const char *name_of(const collective_t *c)
{
    static const char *const names[] = {"MPI_Allreduce", "MPI_Bcast",    "MPI_Exscan",
                                        "MPI_Allgather", "MPI_Alltoall", "MPI_Barrier"};

    return names[c->kind];
}

/* On memory of its own, which MPI may come back to after the rank has given up and the caller's is
 * gone; on the caller's where there is none to be had. */
static spmm_status_t run_boxed(spmm_env_t *env, const collective_t *c)
{
    const size_t  bytes = c->from_bytes + c->to_bytes;
    MPI_Request   request;
    char         *box;
    const void   *from = c->from;
    void         *to   = c->to;
    spmm_status_t status;

    if (SPMM_NEW(box, (int64_t)bytes) != NULL && bytes > 0) {
        to   = box;
        from = box + c->to_bytes;
        memcpy(to, c->to, c->to_bytes);
        if (c->from != NULL) {
            memcpy(box + c->to_bytes, c->from, c->from_bytes);
        }
    }
    status = spmmi_mpi_check(env, begin(env->comm, c, from, to, &request), name_of(c));
    if (status == SPMM_OK) {
        status = spmmi_wait_request(env, &request);
    }
    if (status != SPMM_OK) {
        env->lost = true; /* what others began waits for this rank */
        spmmi_alloc_keep(to, box != NULL ? bytes : c->to_bytes);
    } else if (to != c->to) {
        memcpy(c->to, to, c->to_bytes);
    }
    spmmi_free(box);
    return status;
}

static spmm_status_t run(spmm_env_t *env, const collective_t *c)
{
    if (env->lost) {
        return fail_lost(env);
    }
    return env->timeout_s > 0.0
               ? run_boxed(env, c)
               : spmmi_mpi_check(env, begin(env->comm, c, c->from, c->to, NULL), name_of(c));
}

spmm_status_t spmmi_allreduce(spmm_env_t *env, void *data, int count, MPI_Datatype type, MPI_Op op)
{
    int size = 0;

    SPMM_MPI(env, MPI_Type_size(type, &size));
    return run(env, &(collective_t){.kind     = ALLREDUCE,
                                    .to       = data,
                                    .to_bytes = (size_t)count * (size_t)size,
                                    .count    = count,
                                    .type     = type,
                                    .op       = op});
}

spmm_status_t spmmi_bcast(spmm_env_t *env, void *data, size_t bytes, int root)
{
    return run(env, &(collective_t){.kind     = BCAST,
                                    .to       = data,
                                    .to_bytes = bytes,
                                    .count    = (int)bytes,
                                    .type     = MPI_BYTE,
                                    .root     = root});
}

spmm_status_t spmmi_exscan(spmm_env_t *env, int64_t *data, int count)
{
    SPMM_TRY(run(env, &(collective_t){.kind     = EXSCAN,
                                      .to       = data,
                                      .to_bytes = (size_t)count * sizeof *data,
                                      .count    = count,
                                      .type     = MPI_INT64_T,
                                      .op       = MPI_SUM}));
    if (env->rank == 0) { /* MPI leaves it undefined */
        memset(data, 0, (size_t)count * sizeof *data);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_allgather(spmm_env_t *env, const void *mine, void *all, size_t bytes)
{
    return run(env, &(collective_t){.kind       = ALLGATHER,
                                    .from       = mine,
                                    .to         = all,
                                    .from_bytes = bytes,
                                    .to_bytes   = (size_t)env->size * bytes,
                                    .count      = (int)bytes,
                                    .type       = MPI_BYTE});
}

spmm_status_t spmmi_alltoall(spmm_env_t *env, const void *send, void *recv, size_t bytes)
{
    return run(env, &(collective_t){.kind       = ALLTOALL,
                                    .from       = send,
                                    .to         = recv,
                                    .from_bytes = (size_t)env->size * bytes,
                                    .to_bytes   = (size_t)env->size * bytes,
                                    .count      = (int)bytes,
                                    .type       = MPI_BYTE});
}

spmm_status_t spmmi_barrier(spmm_env_t *env)
{
    return run(env, &(collective_t){.kind = BARRIER});
}

/* Of env->vote, in which [0] is the lowest failing rank, and [1] -1 where some rank succeeded.  A
 * rank whose own communication failed does not wait for ever: others may hang in what it left. */
static spmm_status_t vote(spmm_env_t *env, bool waits)
{
    const double  less  = env->timeout_s > 0.0 ? env->timeout_s : LOST_AFTER;
    const double  whole = env->timeout_s > 0.0 ? env->timeout_s + SETUP_MORE : 0.0;
    MPI_Request   request;
    spmm_status_t status;

    if (env->lost) {
        return fail_lost(env);
    }
    status = spmmi_mpi_check(
        env, MPI_Iallreduce(MPI_IN_PLACE, env->vote, 2, MPI_INT, MPI_MIN, env->comm, &request),
        "MPI_Iallreduce");
    if (status == SPMM_OK) {
        status = wait_for_all(env, &request, waits ? whole : less);
    }
    if (status != SPMM_OK) {
        env->lost = true; /* what others began waits for this rank */
    }
    return status;
}

spmm_status_t spmmi_agree(spmm_env_t *env, spmm_status_t local)
{
    int           status;
    char          text[SPMM_ERROR_TEXT];
    spmm_status_t met;

    env->vote[0] = local == SPMM_OK ? env->size : env->rank;
    env->vote[1] = local == SPMM_OK ? -1 : 0;
    met          = vote(env, local != SPMM_ERR_COMM);
    if (met != SPMM_OK) {
        return local == SPMM_OK ? met : local;
    }
    if (env->vote[0] == env->size) {
        return SPMM_OK;
    }
    status = (int)local;
    memcpy(text, env->err.text, sizeof text);
    SPMM_TRY(spmmi_bcast(env, &status, sizeof status, env->vote[0]));
    SPMM_TRY(spmmi_bcast(env, text, sizeof text, env->vote[0]));
    spmmi_error_clear(&env->err);
    if (env->vote[1] == 0) {
        return spmmi_fail(&env->err, (spmm_status_t)status, "%s", text);
    }
    return spmmi_fail(&env->err, (spmm_status_t)status, "rank %d: %.480s", env->vote[0], text);
}

void spmmi_log(const spmm_env_t *env, const char *format, ...)
{
    char    line[SPMM_ERROR_TEXT];
    va_list args;

    if (env->log == NULL && !env->debug) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (env->log != NULL) {
        env->log(env->log_user, line);
    }
    if (env->debug) {
        (void)fprintf(stderr, "spmm_dist[%d]: %s\n", env->rank, line);
    }
}

double spmmi_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

spmm_status_t spmmi_enter(spmm_env_t *env, const char *call)
{
    int finalised = 0; /* that MPI was initialised, the context proves */

    spmmi_error_clear(&env->err);
    env->stage = call;
    (void)MPI_Finalized(&finalised);
    return finalised ? spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                                  "%s is called before MPI_Finalize(), not after it", call)
                     : SPMM_OK;
}
