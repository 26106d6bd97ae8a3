/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_run.h"

#include <math.h>
#include <stdlib.h>

#include "tool_common.h"

/* B and C0 are different random matrices of one seed. */
static const uint64_t seed_of_b = 0xb0b0b0b0b0b0b0b0u;
static const uint64_t seed_of_c = 0xc0c0c0c0c0c0c0c0u;

/** The dense operands of this rank. */
typedef struct {
    driver_block_t     B, C;
    spmm_layout_info_t b_layout, c_layout;
    driver_product_t   product;
    driver_rows_t      rows; /**< of op(A), where the reference or the scale of B needs them */
} operands_t;

void driver_progress(const driver_run_t *run, const char *text)
{
    if (run->job->rank == 0 && run->options->progress) {
        (void)fprintf(stderr, "spmm_dist: %s\n", text);
    }
}

/** C as it stands before a product: random where beta reads it, else NaN that must not survive. */
static int reset_c(const driver_run_t *run, operands_t *x)
{
    return driver_block_fill(run->job, run->ctx, &x->C,
                             run->options->beta != 0.0 ? &x->product.C0 : NULL,
                             x->c_layout.global_row, DRIVER_PADDING);
}

/** Collective, agreed. */
static int operands_create(const driver_run_t *run, operands_t *x)
{
    const driver_options_t *o    = run->options;
    driver_job_t           *job  = run->job;
    int                     code = DRIVER_GOOD;

    x->b_layout.struct_size = sizeof x->b_layout;
    x->c_layout.struct_size = sizeof x->c_layout;
    x->product    = (driver_product_t){.rows = &x->rows, .alpha = o->alpha, .beta = o->beta};
    x->product.B  = driver_dense(o->seed ^ seed_of_b, o->type);
    x->product.C0 = driver_dense(o->seed ^ seed_of_c, o->type);
    if (o->verify || o->type == SPMM_R_16F) {
        code = driver_rows_create(job, run->ctx, run->A, o->op, &x->rows);
        if (code != DRIVER_GOOD) {
            return code;
        }
    }
    if (o->type == SPMM_R_16F) {
        x->product.B.scale =
            tool_scale_of_b(fabs(run->options->alpha) * driver_rows_max_sum(run->job, &x->rows));
    }
    code = driver_check(
        job, run->ctx, spmm_plan_get_layout(run->plan, SPMM_OPERAND_B, &x->b_layout), DRIVER_OTHER);
    if (code == DRIVER_GOOD) {
        code = driver_check(job, run->ctx,
                            spmm_plan_get_layout(run->plan, SPMM_OPERAND_C, &x->c_layout),
                            DRIVER_OTHER);
    }
    code = driver_agree(job, code);
    if (code == DRIVER_GOOD) {
        code = driver_block_alloc(job, run->ctx, x->b_layout.local_rows, o->columns, o->pad,
                                  o->layout, o->type, &x->B);
    }
    if (code == DRIVER_GOOD) {
        code = driver_block_alloc(job, run->ctx, x->c_layout.local_rows, o->columns, o->pad,
                                  o->layout, o->type, &x->C);
    }
    if (code == DRIVER_GOOD) { /* NaN in the padding of B shows in C when it is read */
        code = driver_block_fill(job, run->ctx, &x->B, &x->product.B, x->b_layout.global_row,
                                 (double)NAN);
    }
    if (code == DRIVER_GOOD) {
        code = reset_c(run, x);
    }
    return driver_agree(job, code);
}

/** One product, waited for, agreed.
 *  @param[out] wall_s  from a common start to the end on this rank */
static int execute_once(const driver_run_t *run, const operands_t *x, double *wall_s)
{
    const driver_options_t *o = run->options;
    double                  start;
    spmm_status_t           status;
    int                     code;

    (void)driver_agree(run->job, DRIVER_GOOD); /* a common start */
    start  = MPI_Wtime();
    status = spmm_execute(run->plan, x->B.columns, o->alpha, x->B.data, x->B.ld, o->beta, x->C.data,
                          x->C.ld, NULL);
    if (status == SPMM_OK) {
        status = spmm_stream_synchronize(run->ctx, NULL);
    }
    code    = driver_check(run->job, run->ctx, status, DRIVER_OTHER);
    *wall_s = MPI_Wtime() - start;
    if (status == SPMM_ERR_COMM) {
        driver_lost(run->job);
    }
    return driver_agree(run->job, code);
}

/** Phases of the last execute into column @p k of sample [DRIVER_PHASES + 1][n]. */
static int sample_phases(const driver_run_t *run, double *sample, int64_t n, int64_t k)
{
    spmm_plan_stats_t stats = {.struct_size = sizeof stats};
    const int         code =
        driver_check(run->job, run->ctx, spmm_plan_get_stats(run->plan, &stats), DRIVER_OTHER);

    if (code == DRIVER_GOOD) {
        sample[DRIVER_PACK * n + k]     = stats.pack_s;
        sample[DRIVER_EXCHANGE * n + k] = stats.exchange_s;
        sample[DRIVER_LOCAL * n + k]    = stats.local_s;
        sample[DRIVER_HALO * n + k]     = stats.halo_s;
        sample[DRIVER_PHASES * n + k]   = stats.total_s;
    }
    return code;
}

/** Warm up, then time.  The plan profiles during the timed products too: its events cost little and
 *  a second plan would cost much.  Collective, agreed. */
static int time_product(driver_run_t *run, const operands_t *x)
{
    const int64_t n      = run->options->iterations;
    double       *sample = driver_alloc((DRIVER_PHASES + 2) * n, sizeof *sample);
    double       *slowest;
    double        median_s[DRIVER_PHASES + 1];
    int           code = DRIVER_GOOD;

    if (sample == NULL) {
        code = driver_fail_memory(run->job, (DRIVER_PHASES + 2) * n, sizeof *sample, "timing");
    }
    code = driver_agree(run->job, code);
    for (int64_t k = -run->options->warmup; k < n && code == DRIVER_GOOD; k++) {
        double wall_s;

        code = execute_once(run, x, &wall_s);
        if (code == DRIVER_GOOD && k >= 0) {
            sample[DRIVER_TOTAL * n + k] = wall_s;
            /* A rank that fails here alone is found by the agreement that follows. */
            code = driver_agree(run->job, sample_phases(run, sample, n, k));
        }
    }
    if (code == DRIVER_GOOD) {
        slowest = sample + (DRIVER_PHASES + 1) * n;
        MPI_Allreduce(sample + DRIVER_TOTAL * n, slowest, (int)n, MPI_DOUBLE, MPI_MAX,
                      run->job->comm);
        run->report->total_s = tool_median(slowest, n);
        for (int p = 0; p <= DRIVER_PHASES; p++) {
            median_s[p] = tool_median(sample + p * n, n);
        }
        code = driver_collect(run, median_s, median_s[DRIVER_PHASES]);
    }
    free(sample);
    return code;
}

/** Bring C home to the original distribution, on the host.  Collective, agreed. */
static int fetch_original(const driver_run_t *run, const operands_t *x, driver_block_t *home,
                          void **host)
{
    const driver_options_t *o = run->options;
    void                   *planned;
    int                     code;

    code = driver_block_fetch(run->job, run->ctx, &x->C, &planned);
    if (code == DRIVER_GOOD) {
        run->report->spoiled = driver_block_spoiled(&x->C, planned, DRIVER_PADDING);
        free(planned);
        code = driver_block_alloc(run->job, run->ctx, x->c_layout.original_rows, o->columns, o->pad,
                                  o->layout, o->type, home);
    }
    if (code == DRIVER_GOOD) {
        code = driver_block_fill(run->job, run->ctx, home, NULL, NULL, DRIVER_PADDING);
    }
    code = driver_agree(run->job, code);
    if (code == DRIVER_GOOD) {
        code = driver_check(run->job, run->ctx,
                            spmm_plan_gather(run->plan, SPMM_OPERAND_C, o->columns, x->C.data,
                                             x->C.ld, home->data, home->ld, NULL),
                            DRIVER_OTHER);
        if (code == DRIVER_GOOD) {
            code = driver_block_fetch(run->job, run->ctx, home, host);
        }
        if (code == DRIVER_GOOD) {
            run->report->spoiled += driver_block_spoiled(home, *host, DRIVER_PADDING);
        }
        code = driver_agree(run->job, code);
    }
    return code;
}

/** Iterations have changed C where beta reads it: start it anew, multiply once and compare.
 *  Collective, agreed. */
static int verify_product(driver_run_t *run, operands_t *x)
{
    driver_report_t *report = run->report;
    driver_block_t   home   = {0};
    void            *host   = NULL;
    double           unused;
    int              code;

    code = driver_agree(run->job, reset_c(run, x));
    if (code == DRIVER_GOOD) {
        code = execute_once(run, x, &unused);
    }
    if (code == DRIVER_GOOD) {
        code = fetch_original(run, x, &home, &host);
    }
    if (code == DRIVER_GOOD) {
        x->product.block = &home;
        x->product.C     = host;
        report->verdict  = driver_compare(&x->product);
        report->verdict  = driver_verdict_reduce(run->job, &report->verdict);
        MPI_Allreduce(MPI_IN_PLACE, &report->spoiled, 1, MPI_INT64_T, MPI_SUM, run->job->comm);
        report->tolerance =
            tool_tolerance(run->options->type, driver_compute_resolve(run->options)) +
            tool_roundoff(run->options->halo_type);
        report->verified = true;
        report->passed   = report->verdict.max_error <= report->tolerance && report->spoiled == 0;
        if (report->verdict.compared == 0 && report->verdict.out_of_range > 0) {
            code = driver_fail(run->job, DRIVER_INPUT,
                               "no element of the result can be verified: all may leave the range "
                               "of %s; use a wider --type",
                               driver_type_name(run->options->type));
        }
    }
    free(host);
    driver_block_free(run->ctx, &home);
    return code;
}

int driver_run(driver_run_t *run)
{
    operands_t x = {0};
    int        code;

    code = operands_create(run, &x);
    if (code == DRIVER_GOOD) {
        code = time_product(run, &x);
    }
    if (code == DRIVER_GOOD && run->options->verify) {
        code = verify_product(run, &x);
    }
    driver_block_free(run->ctx, &x.B);
    driver_block_free(run->ctx, &x.C);
    driver_rows_free(&x.rows);
    return code;
}
