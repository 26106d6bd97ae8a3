/* SPDX-License-Identifier: Apache-2.0 */
/* spmm_dist: read or generate a sparse matrix, plan its distributed product with a dense block,
 * time it, check it.  A client of the public API alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver_doctor.h"
#include "driver_report.h"
#include "driver_scale.h"
#include "tool_common.h"

/** Exit code of a failed read: what the file is to blame for is input. */
static int input_code(spmm_status_t status)
{
    return status == SPMM_ERR_IO || status == SPMM_ERR_RANGE || status == SPMM_ERR_ARGUMENT
               ? DRIVER_INPUT
               : DRIVER_OTHER;
}

/** Exit code of a failed plan: arguments are the command line's, files the partition's. */
static int plan_code(spmm_status_t status)
{
    if (status == SPMM_ERR_ARGUMENT) {
        return DRIVER_USAGE;
    }
    return status == SPMM_ERR_IO || status == SPMM_ERR_RANGE ? DRIVER_INPUT : DRIVER_OTHER;
}

/** What the library says meanwhile. */
static void log_line(void *run, const char *line)
{
    driver_progress(run, line);
}

static int open_context(driver_run_t *run)
{
    spmm_context_options_t options = SPMM_CONTEXT_OPTIONS_INIT;

    options.device    = run->options->device;
    options.timeout_s = run->options->timeout_s;
    options.nccl_ctas = (int)run->options->nccl_ctas;
    options.log       = log_line;
    options.log_user  = run;

    options.ranks_per_node = (int)run->options->ranks_per_node;
    return driver_check(run->job, NULL, spmm_context_create(run->job->comm, &options, &run->ctx),
                        DRIVER_OTHER);
}

static int open_matrix(driver_run_t *run)
{
    const driver_options_t *o     = run->options;
    const double            start = MPI_Wtime();
    spmm_status_t           status;
    char                    text[160];

    (void)snprintf(text, sizeof text, "%s %s", o->matrix != NULL ? "reading" : "generating",
                   o->matrix != NULL ? o->matrix : o->generate);
    driver_progress(run, text);
    if (o->matrix != NULL) {
        status = spmm_matrix_read(run->ctx, o->matrix, o->type, o->seed, &run->A);
    } else {
        status = spmm_matrix_generate(run->ctx, o->generate, o->type, o->seed, &run->A);
    }
    run->report->input_s = MPI_Wtime() - start;
    return driver_check(run->job, run->ctx, status, input_code(status));
}

static int open_plan(driver_run_t *run)
{
    const driver_options_t *o       = run->options;
    spmm_plan_options_t     options = SPMM_PLAN_OPTIONS_INIT;
    spmm_status_t           status;

    options.op              = o->op;
    options.layout          = o->layout;
    options.compute         = o->compute;
    options.partition       = o->partition;
    options.imbalance       = o->imbalance;
    options.engine          = o->engine;
    options.transport       = o->transport;
    options.deterministic   = o->deterministic;
    options.reproducible    = o->reproducible;
    options.exact_nonfinite = o->exact_nonfinite;
    options.profile         = o->graph ? 0 : 1; /* phases within a graph cannot be timed */
    options.graph           = o->graph ? 1 : 0;
    options.executes        = o->executes;
    options.tuning          = o->tuning;
    options.halo_type       = o->halo_type;
    driver_progress(run, "partitioning and building the plan");
    status = spmm_plan_create(run->A, o->columns, &options, &run->plan);
    if (status == SPMM_OK && o->write_partition != NULL) {
        return driver_check(run->job, run->ctx,
                            spmm_plan_write_partition(run->plan, o->write_partition), DRIVER_OTHER);
    }
    return driver_check(run->job, run->ctx, status, plan_code(status));
}

/** What rank 0 prints and writes; a failed verification is the last thing said. */
static int report(driver_run_t *run, const driver_picture_t *picture)
{
    const driver_options_t *o = run->options;
    const driver_report_t  *r = run->report;

    driver_print_report(stdout, o, r);
    if (o->explain) {
        (void)fputc('\n', stdout);
        if (spmm_plan_explain(run->plan, stdout) != SPMM_OK) {
            return driver_fail(run->job, DRIVER_OTHER, "%s", spmm_last_error(run->ctx));
        }
    }
    if (o->json != NULL && driver_write_json(run->job, o, r, picture) != DRIVER_GOOD) {
        return DRIVER_OTHER;
    }
    if (r->verified && r->spoiled > 0) {
        return driver_fail(run->job, DRIVER_UNVERIFIED,
                           "verification failed: %lld elements of C's padding were overwritten",
                           (long long)r->spoiled);
    }
    if (r->verified && !r->passed) {
        return driver_fail(run->job, DRIVER_UNVERIFIED,
                           "verification failed: C(%lld, %lld) = %.17g, the reference is %.17g",
                           (long long)r->verdict.row, (long long)r->verdict.col, r->verdict.got,
                           r->verdict.want);
    }
    return DRIVER_GOOD;
}

/** Plan, multiply and report.  Collective, agreed. */
static int multiply(driver_run_t *run)
{
    const driver_options_t *options = run->options;
    driver_job_t           *job     = run->job;
    driver_picture_t        picture = {0};
    int                     code    = driver_agree(job, open_plan(run));

    if (code == DRIVER_GOOD) {
        driver_progress(run, options->verify ? "multiplying and verifying" : "multiplying");
        code = driver_run(run);
    }
    if (code == DRIVER_GOOD && options->json != NULL) {
        code = driver_picture_collect(run, &picture);
    }
    if (code == DRIVER_GOOD) {
        code = driver_agree(job, job->rank == 0 ? report(run, &picture) : DRIVER_GOOD);
    }
    driver_picture_free(&picture);
    return code;
}

/** From one file to another.  Collective, agreed. */
static int convert(driver_run_t *run)
{
    const char *const  *convert = run->options->convert;
    const spmm_status_t status  = spmm_matrix_write(run->A, convert[1], NULL);
    spmm_matrix_info_t  info    = {.struct_size = sizeof info};
    int                 code;

    code = driver_agree(run->job,
                        driver_check(run->job, run->ctx, status,
                                     status == SPMM_ERR_ARGUMENT ? DRIVER_USAGE : DRIVER_OTHER));
    if (code == DRIVER_GOOD && run->job->rank == 0) {
        (void)spmm_matrix_get_info(run->A, &info);
        (void)printf("%s: %lld x %lld, %lld entries of type %s, from %s\n", convert[1],
                     (long long)info.rows, (long long)info.cols, (long long)info.nnz,
                     driver_type_name(info.type), convert[0]);
    }
    return code;
}

/** Open context and matrix, @p work with them, and close them.  Collective, agreed. */
static int run_with(driver_job_t *job, const driver_options_t *options,
                    int (*work)(driver_run_t *run))
{
    driver_report_t result = {0};
    driver_run_t    run    = {.job = job, .options = options, .report = &result};
    int             code   = driver_check_outputs(job, options);
    if (code == DRIVER_GOOD) {
        code = driver_agree(job, open_context(&run));
    }
    if (code == DRIVER_GOOD) {
        code = driver_agree(job, open_matrix(&run));
    }
    if (code == DRIVER_GOOD) {
        code = work(&run);
    }
    (void)spmm_plan_destroy(&run.plan);
    (void)spmm_matrix_destroy(&run.A);
    (void)spmm_context_destroy(&run.ctx);
    return code;
}

/** What needs no matrix; rank 0 alone prints. */
static void print_about(driver_action_t action)
{
    switch (action) {
    case DRIVER_HELP:
        driver_print_help(stdout);
        break;
    case DRIVER_VERSION:
        (void)printf("spmm_dist %s\n", spmm_version());
        break;
    case DRIVER_LIST_ENGINES:
        driver_print_components(stdout, spmm_engine_info);
        break;
    case DRIVER_LIST_TRANSPORTS:
        driver_print_components(stdout, spmm_transport_info);
        break;
    case DRIVER_LIST_PARTITIONERS:
        driver_print_components(stdout, spmm_partitioner_info);
        break;
    case DRIVER_RUN:
    case DRIVER_CONVERT:
    case DRIVER_DOCTOR:
        break;
    }
}

/** A report that could not be written (a full disk, a closed pipe) is a failure too. */
static int flush_stdout(driver_job_t *job)
{
    const char *lost = tool_flush_output();

    return lost == NULL
               ? DRIVER_GOOD
               : driver_fail(job, DRIVER_OTHER, "cannot write to the standard output: %s", lost);
}

int main(int argc, char **argv)
{
    driver_job_t     job = {.comm = MPI_COMM_WORLD};
    driver_options_t options;
    int              provided;
    int              code;

    tool_hold_streams();
    /* This program needs no multicast of NCCL, so that auto may take transport nccl-push. */
    (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(job.comm, &job.rank);
    MPI_Comm_size(job.comm, &job.size);
    code          = driver_options_parse(&job, argc, argv, &options);
    job.timeout_s = code == DRIVER_GOOD ? options.timeout_s : 0.0;
    if (code == DRIVER_GOOD && options.action == DRIVER_RUN) {
        code = run_with(&job, &options, options.scale.n > 0 ? driver_scale : multiply);
    } else if (code == DRIVER_GOOD && options.action == DRIVER_CONVERT) {
        code = run_with(&job, &options, convert);
    } else if (code == DRIVER_GOOD && options.action == DRIVER_DOCTOR) {
        code = driver_doctor(&job, &options);
    } else if (code == DRIVER_GOOD && job.rank == 0) {
        print_about(options.action);
    }
    if (code == DRIVER_GOOD) {
        code = driver_agree(&job, flush_stdout(&job));
    }
    if (code != DRIVER_GOOD && job.rank == 0) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "spmm_dist: %s\n", job.text);
    }
    if (job.timeout_s > 0.0) {
        driver_leave_within(job.timeout_s + DRIVER_GRACE);
    }
    MPI_Finalize();
    return code;
}
