/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/request.h"

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

/* Until all ranks have come to agree.  One whose own communication failed does not wait for ever:
 * the others may hang in what it left.  A barrier has no memory that MPI could write later. */
static spmm_status_t meet(spmm_env_t *env, spmm_status_t local)
{
    enum { LOST_AFTER = 10 /* s */ };
    const double most  = env->timeout_s > 0.0 ? env->timeout_s : LOST_AFTER;
    const double start = spmmi_now();
    MPI_Request  request;
    int          done = 0, polls = 0;

    SPMM_MPI(env, MPI_Ibarrier(env->comm, &request));
    while (!done && (local != SPMM_ERR_COMM || spmmi_now() - start <= most)) {
        SPMM_MPI(env, spmmi_test(&request, &done, MPI_STATUS_IGNORE));
        spmmi_let_run(&polls);
    }
    env->lost = env->lost || !done;
    return done ? SPMM_OK : local;
}

spmm_status_t spmmi_agree(spmm_env_t *env, spmm_status_t local)
{
    /* v[0]: lowest failing rank; v[1]: -1 when some rank succeeded. */
    int  v[2] = {local == SPMM_OK ? env->size : env->rank, local == SPMM_OK ? -1 : 0};
    int  status;
    char text[SPMM_ERROR_TEXT];

    SPMM_TRY(meet(env, local));
    SPMM_MPI(env, MPI_Allreduce(MPI_IN_PLACE, v, 2, MPI_INT, MPI_MIN, env->comm));
    if (v[0] == env->size) {
        return SPMM_OK;
    }
    status = (int)local;
    memcpy(text, env->err.text, sizeof text);
    SPMM_MPI(env, MPI_Bcast(&status, 1, MPI_INT, v[0], env->comm));
    SPMM_MPI(env, MPI_Bcast(text, (int)sizeof text, MPI_CHAR, v[0], env->comm));
    spmmi_error_clear(&env->err);
    if (v[1] == 0) {
        return spmmi_fail(&env->err, (spmm_status_t)status, "%s", text);
    }
    return spmmi_fail(&env->err, (spmm_status_t)status, "rank %d: %.480s", v[0], text);
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
