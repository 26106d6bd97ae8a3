/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "driver_run.h"

/** Over the ranks that measured; NaN when none did. */
static driver_spread_t spread(const driver_job_t *job, double value)
{
    const bool known  = isfinite(value);
    double     sum[2] = {known ? value : 0.0, known ? 1.0 : 0.0};
    double     top[2] = {known ? -value : -INFINITY, known ? value : -INFINITY};

    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, job->comm);
    MPI_Allreduce(MPI_IN_PLACE, top, 2, MPI_DOUBLE, MPI_MAX, job->comm);
    if (sum[1] == 0.0) {
        return (driver_spread_t){NAN, NAN, NAN};
    }
    return (driver_spread_t){-top[0], sum[0] / sum[1], top[1]};
}

/** (Tcomm + Twork - Tboth) / min(Tcomm, Twork) of this rank; NaN where nothing could overlap.  The
 *  last of @p chunks chunks is multiplied (op T: the first one made) while nothing travels. */
static double overlap_of(const double s[DRIVER_PHASES], double planned_total_s, int chunks)
{
    const double comm    = s[DRIVER_PACK] + s[DRIVER_EXCHANGE];
    const double bare    = s[DRIVER_HALO] / (chunks > 1 ? chunks : 1);
    const double work    = s[DRIVER_LOCAL] + s[DRIVER_HALO] - bare;
    const double both    = planned_total_s - bare;
    const double shorter = comm < work ? comm : work;

    return shorter > 0.0 ? (comm + work - both) / shorter : NAN;
}

/** The name that all ranks with one (not NULL) agree on, "mixed", or "" when no rank has one. */
static void common_name(const driver_job_t *job, const char *mine, char name[DRIVER_NAME])
{
    int first = mine != NULL ? job->rank : job->size;
    int differs;

    name[0] = '\0';
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, job->comm);
    if (first == job->size) {
        return;
    }
    if (first == job->rank) {
        (void)snprintf(name, DRIVER_NAME, "%s", mine);
    }
    MPI_Bcast(name, DRIVER_NAME, MPI_CHAR, first, job->comm);
    differs = mine != NULL && strncmp(mine, name, DRIVER_NAME - 1) != 0;
    MPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, job->comm);
    if (differs) {
        (void)snprintf(name, DRIVER_NAME, "mixed");
    }
}

int driver_collect(driver_run_t *run, const double median_s[DRIVER_PHASES], double planned_total_s)
{
    driver_job_t    *job    = run->job;
    driver_report_t *report = run->report;
    int64_t          most[2], received;
    int              code;

    report->stats.struct_size   = sizeof report->stats;
    report->matrix.struct_size  = sizeof report->matrix;
    report->context.struct_size = sizeof report->context;
    code =
        driver_check(job, run->ctx, spmm_plan_get_stats(run->plan, &report->stats), DRIVER_OTHER);
    if (code == DRIVER_GOOD) {
        code = driver_check(job, run->ctx, spmm_matrix_get_info(run->A, &report->matrix),
                            DRIVER_OTHER);
    }
    if (code == DRIVER_GOOD) {
        code = driver_check(job, run->ctx, spmm_context_get_info(run->ctx, &report->context),
                            DRIVER_OTHER);
    }
    code = driver_agree(job, code);
    if (code != DRIVER_GOOD) {
        return code;
    }
    for (int k = 0; k < DRIVER_PHASES; k++) {
        report->phase[k] = spread(job, median_s[k]);
    }
    report->overlap = spread(job, overlap_of(median_s, planned_total_s, report->stats.chunks)).avg;
    common_name(job, report->stats.engine, report->engine);
    common_name(job, report->stats.halo_engine, report->halo_engine);
    most[0]  = (int64_t)report->stats.host_bytes;
    most[1]  = (int64_t)report->stats.device_bytes;
    received = (int64_t)report->stats.recv_bytes;
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT64_T, MPI_MAX, job->comm);
    MPI_Allreduce(MPI_IN_PLACE, &received, 1, MPI_INT64_T, MPI_SUM, job->comm);
    report->host_bytes_max   = (size_t)most[0];
    report->device_bytes_max = (size_t)most[1];
    report->recv_bytes_total = received;
    report->flops            = spmmi_is_complex(run->options->type) ? 8.0 : 2.0;
    report->gflops           = 1e-9 * report->flops * (double)report->matrix.nnz *
                     (double)run->options->columns / report->total_s;
    return DRIVER_GOOD;
}
