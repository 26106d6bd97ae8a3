/* SPDX-License-Identifier: Apache-2.0 */
#include "spmm_dist/fortran.h"

#include <errno.h>
#include <string.h>

#include "api/context.h"
#include "base/error.h"
#include "plan/plan.h"

spmm_status_t spmm_context_create_f(int comm, const spmm_context_options_t *options,
                                    spmm_context_t **ctx)
{
    MPI_Comm mine = spmmi_mpi_runs() ? MPI_Comm_f2c((MPI_Fint)comm) : MPI_COMM_NULL;

    /* Open MPI answers NULL, which no call takes, to what is no communicator; in MPICH, where they
     * are integers, 0 is none. */
    if (mine == (MPI_Comm)0) {
        mine = MPI_COMM_NULL;
    }
    return spmm_context_create(mine, options, ctx);
}

spmm_status_t spmm_plan_explain_f(const spmm_plan_t *plan, const char *path)
{
    FILE         *out;
    spmm_status_t status;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_plan_explain: plan is NULL");
    }
    spmmi_error_clear(&plan->env->err);
    if (path == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_plan_explain: path is NULL");
    }
    errno = 0;
    out   = fopen(path, "a");
    if (out == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_IO, "cannot write to '%.200s': %s", path,
                          strerror(errno));
    }
    status = spmm_plan_explain(plan, out);
    if (fclose(out) != 0 && status == SPMM_OK) {
        status = spmmi_fail(&plan->env->err, SPMM_ERR_IO, "cannot write to '%.200s': %s", path,
                            strerror(errno));
    }
    return status;
}
