/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver_doctor.h"

/** C = A * ones on a small grid over @p transport.  Collective, agreed.
 *  @return status of the plan or product; *@p right: every row of C is the sum of its row of A */
static spmm_status_t try_transport(spmm_context_t *ctx, spmm_matrix_t *A, const char *transport,
                                   const driver_job_t *job, bool *right)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t  my      = {.struct_size = sizeof my};
    spmm_plan_t        *plan    = NULL;
    const int64_t      *row_ptr, *col_idx;
    const void         *values;
    void               *B = NULL, *C = NULL;
    double             *host   = NULL;
    spmm_status_t       status = spmm_matrix_get_info(A, &my);
    int                 bad    = 0;
    size_t              bytes  = 0;

    options.transport   = transport;
    options.no_autotune = 1;
    if (status == SPMM_OK) {
        status = spmm_plan_create(A, 1, &options, &plan); /* alike on all ranks */
    }
    if (status == SPMM_OK) {
        bytes = (size_t)my.local_rows * sizeof *host;
        host  = driver_alloc(my.local_rows, sizeof *host);
        for (int64_t i = 0; host != NULL && i < my.local_rows; i++) {
            host[i] = 1.0;
        }
        bad = host == NULL || spmm_buffer_alloc(ctx, bytes, &B) != SPMM_OK ||
              spmm_buffer_alloc(ctx, bytes, &C) != SPMM_OK ||
              spmm_buffer_copy(ctx, B, host, bytes) != SPMM_OK;
        MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, job->comm);
        status = bad ? SPMM_ERR_MEMORY : spmm_execute(plan, 1, 1.0, B, 1, 0.0, C, 1, NULL);
    }
    if (status == SPMM_OK) {
        status = spmm_stream_synchronize(ctx, NULL);
    }
    if (status == SPMM_OK && spmm_buffer_copy(ctx, host, C, bytes) == SPMM_OK &&
        spmm_matrix_get_csr(A, &row_ptr, &col_idx, &values) == SPMM_OK) {
        for (int64_t i = 0; i < my.local_rows; i++) {
            double sum = 0.0;

            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
                sum += ((const double *)values)[k];
            }
            bad = bad || !(fabs(host[i] - sum) < 1e-12);
        }
    } else {
        bad = 1;
    }
    if (plan != NULL) {
        MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, job->comm);
    }
    *right = !bad;
    free(host);
    (void)spmm_buffer_free(ctx, &B);
    (void)spmm_buffer_free(ctx, &C);
    (void)spmm_plan_destroy(&plan);
    return status;
}

/** Collective, agreed. */
void driver_check_transports(driver_checkup_t *x, const driver_job_t *job, spmm_context_t *ctx)
{
    spmm_component_info_t info   = {.struct_size = sizeof info};
    spmm_matrix_t        *A      = NULL;
    int                   broken = 0; /* the context, on any rank */

    if (spmm_matrix_generate(ctx, "stencil9:nx=32,ny=32", SPMM_R_64F, 1, &A) != SPMM_OK) {
        driver_find(x, DRIVER_CHECK_PROBLEM, "matrix", "", "%s", spmm_last_error(ctx));
        return;
    }
    for (int k = 0; !broken && spmm_transport_info(k, &info) == SPMM_OK; k++) {
        bool          right  = false;
        spmm_status_t status = SPMM_ERR_UNSUPPORTED;

        if (!info.built) {
            continue;
        }
        status = try_transport(ctx, A, info.name, job, &right);
        if (status == SPMM_OK && right) {
            driver_find(x, DRIVER_CHECK_GOOD, "transport", "", "%s: a product over it is right",
                        info.name);
        } else if (status == SPMM_ERR_UNSUPPORTED) {
            driver_find(x, DRIVER_CHECK_MISSING, "transport", "", "%s", spmm_last_error(ctx));
        } else {
            driver_find(x, DRIVER_CHECK_PROBLEM, "transport",
                        "SPMM_DEBUG=1 and NCCL_DEBUG=INFO say more; docs/troubleshooting.md",
                        "%s: %s", info.name,
                        status == SPMM_OK ? "a product over it is wrong" : spmm_last_error(ctx));
        }
        broken = status == SPMM_ERR_DEVICE || status == SPMM_ERR_COMM;
        MPI_Allreduce(MPI_IN_PLACE, &broken, 1, MPI_INT, MPI_MAX, job->comm);
    }
    (void)spmm_matrix_destroy(&A);
}
