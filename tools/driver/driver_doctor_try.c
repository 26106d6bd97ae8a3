/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "driver_doctor.h"
#include "driver_run.h"

/* Narrow blocks travel with other messages and kernels than wide ones: of the grid below 256 bytes
 * and 128 KiB from rank to rank. */
enum {
    NARROW   = 1,
    WIDE     = 512,
    TAG      = 7,
    MOST_MET = 512 /* ranks that are all met, each by a connection that is a file to TCP */
};

/** A narrow and a wide product over options->transport, compared with the reference.  Collective,
 *  agreed.
 *  @return status of the plan; *@p code: of the products; *@p right: all rows of C are */
static spmm_status_t try_transport(driver_run_t *run, driver_options_t *options, int *code,
                                   bool *right)
{
    spmm_plan_options_t plan   = SPMM_PLAN_OPTIONS_INIT;
    spmm_status_t       status = SPMM_OK;

    plan.transport = options->transport;
    plan.tuning    = "measure=no";
    plan.profile   = 1;
    status         = spmm_plan_create(run->A, WIDE, &plan, &run->plan); /* alike on all ranks */
    if (status != SPMM_OK) {
        return status;
    }
    options->columns = NARROW;
    *code            = driver_run(run);
    *right           = run->report->passed;
    if (*code == DRIVER_GOOD && *right) {
        options->columns = WIDE;
        *code            = driver_run(run);
        *right           = run->report->passed;
    }
    (void)spmm_plan_destroy(&run->plan);
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
        {"nccl-push", "docs/explanation/exchange.md says what it needs; set NCCL_NVLS_ENABLE=0 "
                      "for a program of your own, too"}};

    for (size_t k = 0; k < sizeof those / sizeof those[0]; k++) {
        if (strcmp(those[k].name, transport) == 0) {
            return those[k].advice;
        }
    }
    return "docs/how-to/cluster.md says what transports need";
}

void driver_check_transports(driver_checkup_t *x, driver_job_t *job, spmm_context_t *ctx)
{
    spmm_component_info_t info    = {.struct_size = sizeof info};
    driver_report_t       report  = {.passed = false};
    driver_options_t      options = {.type       = SPMM_R_64F,
                                     .layout     = SPMM_LAYOUT_ROW,
                                     .alpha      = 1.0,
                                     .iterations = 1,
                                     .verify     = true};
    driver_run_t          run  = {.job = job, .options = &options, .ctx = ctx, .report = &report};
    int                   code = DRIVER_GOOD;

    if (spmm_matrix_generate(ctx, "stencil9:nx=32,ny=32", SPMM_R_64F, 1, &run.A) != SPMM_OK) {
        driver_find(x, DRIVER_CHECK_PROBLEM, "matrix", "", "%s", spmm_last_error(ctx));
        return;
    }
    for (int k = 0; code == DRIVER_GOOD && spmm_transport_info(k, &info) == SPMM_OK; k++) {
        spmm_status_t status = SPMM_OK;
        bool          right  = false;

        if (!info.built) {
            continue;
        }
        options.transport = info.name;
        options.seed      = (uint64_t)k; /* another B: none finds what another left */
        status            = try_transport(&run, &options, &code, &right);
        if (status == SPMM_OK && code == DRIVER_GOOD && right) {
            driver_find(x, DRIVER_CHECK_GOOD, "transport", "", "%s: a product over it is right",
                        info.name);
        } else if (status == SPMM_ERR_UNSUPPORTED) {
            driver_find(x, DRIVER_CHECK_MISSING, "transport", advice_for(info.name), "%s",
                        spmm_last_error(ctx));
        } else {
            driver_find(x, DRIVER_CHECK_PROBLEM, "transport",
                        "SPMM_DEBUG=1 and NCCL_DEBUG=INFO say more; docs/how-to/troubleshooting.md",
                        "%s: %s", info.name,
                        status != SPMM_OK     ? spmm_last_error(ctx)
                        : code != DRIVER_GOOD ? job->text
                                              : "a product over it is wrong");
        }
        job->text[0] = '\0';
        code         = status == SPMM_OK || status == SPMM_ERR_UNSUPPORTED ? code : DRIVER_OTHER;
    }
    (void)spmm_matrix_destroy(&run.A);
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
