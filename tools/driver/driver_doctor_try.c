/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver_doctor.h"

/* Narrow blocks travel with other messages and kernels than wide ones: of the grid below 256 bytes
 * and 128 KiB from rank to rank. */
enum {
    NARROW   = 1,
    WIDE     = 512,
    TAG      = 7,
    MOST_MET = 512 /* ranks that are all met, each by a connection that is a file to TCP */
};

/** One product. */
typedef struct {
    spmm_context_t     *ctx;
    spmm_matrix_t      *A;
    const driver_job_t *job;
    const char         *transport;
    int     seed; /**< other values of B for each transport: none finds what another left */
    int64_t n;
} trial_t;

/* Of global row @p row: no two rows that travel between the same ranks are alike. */
static double operand(const trial_t *t, int64_t row, int64_t j)
{
    return 1.0 + (double)((row * 31 + j * 7 + t->seed * 11) % 8191);
}

/* Is every row of C, n columns of this rank, what its row of A says? */
static bool is_right(const trial_t *t, const double *C)
{
    spmm_matrix_info_t my = {.struct_size = sizeof my};
    const int64_t     *row_ptr, *col_idx;
    const void        *values;
    bool               right = spmm_matrix_get_info(t->A, &my) == SPMM_OK &&
                 spmm_matrix_get_csr(t->A, &row_ptr, &col_idx, &values) == SPMM_OK;

    for (int64_t i = 0; right && i < my.local_rows; i++) {
        for (int64_t j = 0; j < t->n; j++) {
            double sum = 0.0, size = 0.0;

            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
                const double term = ((const double *)values)[k] * operand(t, col_idx[k], j);

                sum += term;
                size += fabs(term);
            }
            right = right && fabs(C[i * t->n + j] - sum) <= 1e-12 * size;
        }
    }
    return right;
}

/* C = A B in memory of the context; *@p right on all ranks.  Collective, agreed. */
static spmm_status_t multiply(const trial_t *t, spmm_plan_t *plan, const spmm_matrix_info_t *my,
                              double *host, bool *right)
{
    const size_t  bytes = (size_t)(my->local_rows * t->n) * sizeof *host;
    void         *B = NULL, *C = NULL;
    int           bad;
    spmm_status_t status;

    for (int64_t i = 0; host != NULL && i < my->local_rows * t->n; i++) {
        host[i] = operand(t, my->first_row + i / t->n, i % t->n);
    }
    bad = host == NULL || spmm_buffer_alloc(t->ctx, bytes, &B) != SPMM_OK ||
          spmm_buffer_alloc(t->ctx, bytes, &C) != SPMM_OK ||
          spmm_buffer_copy(t->ctx, B, host, bytes) != SPMM_OK;
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, t->job->comm);
    status = bad ? SPMM_ERR_MEMORY : spmm_execute(plan, t->n, 1.0, B, t->n, 0.0, C, t->n, NULL);
    if (status == SPMM_OK) {
        status = spmm_stream_synchronize(t->ctx, NULL);
    }
    bad = status != SPMM_OK || spmm_buffer_copy(t->ctx, host, C, bytes) != SPMM_OK ||
          !is_right(t, host);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, t->job->comm);
    *right = !bad;
    (void)spmm_buffer_free(t->ctx, &B);
    (void)spmm_buffer_free(t->ctx, &C);
    return status;
}

/** A narrow and a wide product over a transport.  Collective, agreed.
 *  @return status of the plan or product; *@p right: all rows of C are */
static spmm_status_t try_transport(trial_t t, bool *right)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t  my      = {.struct_size = sizeof my};
    spmm_plan_t        *plan    = NULL;
    spmm_status_t       status  = spmm_matrix_get_info(t.A, &my);
    double             *host;

    *right              = false;
    options.transport   = t.transport;
    options.no_autotune = 1;
    if (status == SPMM_OK) {
        status = spmm_plan_create(t.A, WIDE, &options, &plan); /* alike on all ranks */
    }
    if (status != SPMM_OK) {
        return status;
    }
    host   = driver_alloc(my.local_rows * WIDE, sizeof *host);
    t.n    = NARROW;
    status = multiply(&t, plan, &my, host, right);
    if (status == SPMM_OK && *right) {
        t.n    = WIDE;
        status = multiply(&t, plan, &my, host, right);
    }
    free(host);
    (void)spmm_plan_destroy(&plan);
    return status;
}

/** What a transport that is refused needs. */
static const char *advice_for(const char *transport)
{
    static const struct {
        const char *name, *advice;
    } those[] = {
        {"mpi-device", "load a CUDA-aware MPI, or build one with scripts/build_openmpi_cuda.sh"},
        {"nccl", "start one rank for each GPU; NCCL refuses two on one"},
        {"nccl-push", "docs/explanation/nccl_push.md says what it needs; set NCCL_NVLS_ENABLE=0 "
                      "for a program of your own, too"}};

    for (size_t k = 0; k < sizeof those / sizeof those[0]; k++) {
        if (strcmp(those[k].name, transport) == 0) {
            return those[k].advice;
        }
    }
    return "docs/how-to/cluster.md says what transports need";
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
        status = try_transport(
            (trial_t){.ctx = ctx, .A = A, .job = job, .transport = info.name, .seed = k}, &right);
        if (status == SPMM_OK && right) {
            driver_find(x, DRIVER_CHECK_GOOD, "transport", "", "%s: a product over it is right",
                        info.name);
        } else if (status == SPMM_ERR_UNSUPPORTED) {
            driver_find(x, DRIVER_CHECK_MISSING, "transport", advice_for(info.name), "%s",
                        spmm_last_error(ctx));
        } else {
            driver_find(x, DRIVER_CHECK_PROBLEM, "transport",
                        "SPMM_DEBUG=1 and NCCL_DEBUG=INFO say more; docs/how-to/troubleshooting.md",
                        "%s: %s", info.name,
                        status == SPMM_OK ? "a product over it is wrong" : spmm_last_error(ctx));
        }
        broken = status == SPMM_ERR_DEVICE || status == SPMM_ERR_COMM;
        MPI_Allreduce(MPI_IN_PLACE, &broken, 1, MPI_INT, MPI_MAX, job->comm);
    }
    (void)spmm_matrix_destroy(&A);
}

/** "ranks 6, 7": those whose request is not done; "": none. */
static void list_unheard(int size, MPI_Request request[], char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (int p = 0; p < size; p++) {
        int done;

        MPI_Test(&request[p], &done, MPI_STATUS_IGNORE);
        if (!done && used < room) {
            used +=
                (size_t)snprintf(text + used, room - used, "%s %d", used > 0 ? "," : "ranks", p);
        }
    }
}

void driver_check_reach(driver_job_t *job, double timeout_s)
{
    static MPI_Request request[MOST_MET];
    const int          size  = job->size <= MOST_MET ? job->size : 0;
    const double       start = MPI_Wtime();
    char               unheard[DRIVER_TEXT / 2], name[MPI_MAX_PROCESSOR_NAME];
    int                length, done = size == 0;

    for (int p = 0; p < size; p++) {
        MPI_Request sent;

        MPI_Irecv(NULL, 0, MPI_BYTE, p, TAG, job->comm, &request[p]);
        MPI_Isend(NULL, 0, MPI_BYTE, p, TAG, job->comm, &sent);
        MPI_Request_free(&sent); /* who waits for it in vain says so */
    }
    while (!done && MPI_Wtime() - start < timeout_s) {
        MPI_Testall(size, request, &done, MPI_STATUSES_IGNORE);
    }
    list_unheard(size, request, unheard, sizeof unheard);
    if (unheard[0] != '\0') {
        MPI_Get_processor_name(name, &length);
        (void)driver_fail(job, DRIVER_OTHER,
                          "on %s no message came from %s within %g s: late, gone, or out of "
                          "reach of this node (firewall, routes, the interface that MPI takes)",
                          name, unheard, timeout_s);
        driver_lost(job);
    }
}
