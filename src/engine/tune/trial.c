/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/trial.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "base/sort.h"
#include "spmm_dist/context.h"

enum {
    N_BATCHES = 3,
    MOST_RUNS = 10, /* of a batch */
    N_WARM    = 2,  /* the first also loads and prepares */
    CHUNK     = 1 << 12,
    SHRINKS   = 2
};
static const double batch_seconds = 1e-4; /* aimed at */
static const double too_slow      = 1.5;  /* times the best, of one product */
static const double clearly_slow  = 1.15; /* of a batch */

/* A GPU waits for the host to launch what is timed: so long, in times of what launching took. */
static const double lead_factor = 1.5, lead_least = 20e-6, lead_most = 500e-6;

double spmmi_trial_seconds(double product_s)
{
    const double runs = fmin(fmax(ceil(batch_seconds / product_s), 1.0), MOST_RUNS);

    return (N_WARM + N_BATCHES * runs) * product_s + (1 + N_BATCHES) * lead_least;
}

/* A chunk of random numbers, doubled until it covers all of @p to. */
static spmm_status_t fill(const spmm_trial_t *trial, void *to, size_t bytes, const char *chunk,
                          size_t chunk_bytes)
{
    const spmm_device_t *device = trial->device;
    size_t               done   = bytes < chunk_bytes ? bytes : chunk_bytes;

    SPMM_TRY(device->ops->copy(device, to, chunk, done, trial->stream));
    while (done < bytes) {
        const size_t more = bytes - done < done ? bytes - done : done;

        SPMM_TRY(device->ops->copy(device, (char *)to + done, to, more, trial->stream));
        done += more;
    }
    return device->ops->stream_sync(device, trial->stream); /* the chunk will be overwritten */
}

static spmm_status_t fill_operands(const spmm_trial_t *trial)
{
    const size_t      row[]  = {(size_t)trial->b_rows * (size_t)trial->n,
                                (size_t)trial->c_rows * (size_t)trial->n};
    const spmm_type_t type[] = {trial->ab_type, trial->c_type};
    void *const       to[]   = {trial->B, trial->C};
    char             *chunk  = spmmi_alloc(CHUNK, 2 * sizeof(double));
    spmm_status_t     status = SPMM_OK;

    if (chunk == NULL) {
        return spmmi_fail_memory(&trial->device->env->err, CHUNK, 2 * sizeof(double),
                                 "trial values");
    }
    /* Where beta is 0 no engine reads C. */
    for (int k = 0; k < (trial->beta != 0.0 ? 2 : 1) && status == SPMM_OK; k++) {
        const size_t size = spmm_type_size(type[k]);

        for (int i = 0; i < CHUNK; i++) {
            spmmi_value_draw(type[k], chunk, i, 1, i, k);
        }
        status = fill(trial, to[k], row[k] * size, chunk, CHUNK * size);
    }
    spmmi_free(chunk);
    return status;
}

static spmm_status_t alloc_at(spmm_trial_t *trial, int64_t n)
{
    const spmm_device_t *device = trial->device;
    const size_t         b_row  = (size_t)trial->b_rows * spmm_type_size(trial->ab_type);
    const size_t  c_row  = (size_t)trial->c_rows * spmm_type_size(spmmi_accum_type(trial->c_type));
    spmm_status_t status = SPMM_OK;
    size_t        b, c;

    trial->n = n;
    if (!spmmi_size_mul(b_row, (size_t)n, &b) || !spmmi_size_mul(c_row, (size_t)n, &c)) {
        return spmmi_fail_memory(&device->env->err, n, b_row + c_row, "trial operands");
    }
    status = trial->travels ? device->ops->alloc(device, b, &trial->B)
                            : device->ops->alloc_cached(device, b, &trial->B);
    if (status == SPMM_OK) {
        status = device->ops->alloc_cached(device, c, &trial->C);
    }
    if (status != SPMM_OK) {
        device->ops->release(device, trial->B);
        trial->B = NULL;
    }
    return status;
}

/* Both operands with the planned columns, or with half or a quarter of them. */
static spmm_status_t alloc_both(spmm_trial_t *trial)
{
    const spmm_error_t before = trial->device->env->err;
    int64_t            n      = trial->planned;
    spmm_status_t      status = alloc_at(trial, n);

    for (int k = 0; k < SHRINKS && status == SPMM_ERR_MEMORY && n > 1; k++) {
        n /= 2;
        trial->device->env->err = before;
        status                  = alloc_at(trial, n);
    }
    return status;
}

static spmm_status_t open_all(spmm_trial_t *trial)
{
    const spmm_device_t *device = trial->device;

    SPMM_TRY(device->ops->stream_create(device, false, &trial->stream));
    SPMM_TRY(device->ops->event_create(device, true, &trial->from));
    SPMM_TRY(device->ops->event_create(device, true, &trial->to));
    SPMM_TRY(alloc_both(trial));
    return fill_operands(trial);
}

spmm_status_t spmmi_trial_open(const spmm_device_t *device, const spmm_csr_t *block,
                               const spmm_problem_t *problem, double beta, bool travels,
                               spmm_trial_t *trial)
{
    spmm_status_t status;

    *trial = (spmm_trial_t){.device  = device,
                            .ab_type = problem->ab_type,
                            .c_type  = problem->c_type,
                            .planned = problem->n,
                            .b_rows  = block->n_cols,
                            .c_rows  = block->c_rows,
                            .beta    = beta,
                            .travels = travels};
    status = open_all(trial);
    if (status != SPMM_OK) {
        spmmi_trial_close(trial);
    }
    return status;
}

void spmmi_trial_close(spmm_trial_t *trial)
{
    const spmm_device_t *device = trial->device;

    if (device == NULL) {
        return;
    }
    if (trial->stream != NULL) { /* what is to be freed may be in use where a launch failed */
        (void)device->ops->stream_sync(device, trial->stream);
    }
    if (!device->env->unfinished) { /* else MPI may still send from it */
        device->ops->release(device, trial->B);
    }
    device->ops->release(device, trial->C);
    device->ops->event_destroy(device, trial->from);
    device->ops->event_destroy(device, trial->to);
    device->ops->stream_destroy(device, trial->stream);
    memset(trial, 0, sizeof *trial);
}

spmm_operands_t spmmi_trial_operands(const spmm_trial_t *trial, spmm_layout_t layout)
{
    const bool      cols = layout == SPMM_LAYOUT_COL;
    spmm_operands_t x    = {.ab_type = trial->ab_type,
                            .c_type  = trial->c_type,
                            .layout  = layout,
                            .n       = trial->n,
                            .alpha   = {.re = 1.0},
                            .beta    = {.re = trial->beta},
                            .B       = trial->B,
                            .ldb     = cols ? trial->b_rows : trial->n,
                            .C       = trial->C,
                            .ldc     = layout != SPMM_LAYOUT_ROW ? trial->c_rows : trial->n,
                            .stream  = trial->stream};

    x.ldb += x.ldb == 0; /* a rank without rows */
    x.ldc += x.ldc == 0;
    return x;
}

/* What is measured, as the functions below pass it on. */
typedef struct {
    const spmm_trial_t      *trial;
    const spmm_engine_ops_t *engine;
    void                    *format;
    spmm_operands_t          x;
} product_t;

/* Seconds of one of @p runs products in a row, launched while the device waits for @p lead_s.
 * *launch_s: what launching one took the host. */
static spmm_status_t time_runs(const product_t *p, int runs, double lead_s, double *seconds,
                               double *launch_s)
{
    const spmm_trial_t  *trial  = p->trial;
    const spmm_device_t *device = trial->device;
    double               start;

    SPMM_TRY(device->ops->delay(device, lead_s, trial->stream));
    SPMM_TRY(device->ops->event_record(device, trial->from, trial->stream));
    start = spmmi_now();
    for (int k = 0; k < runs; k++) {
        SPMM_TRY(p->engine->execute(p->format, &p->x));
    }
    *launch_s = (spmmi_now() - start) / runs;
    SPMM_TRY(device->ops->event_record(device, trial->to, trial->stream));
    SPMM_TRY(device->ops->event_elapsed(device, trial->from, trial->to, seconds));
    *seconds /= runs;
    return SPMM_OK;
}

/* Seconds of a product; what is slower than the best is found out with as few as that takes. */
static spmm_status_t time_product(const product_t *p, double best, double *seconds)
{
    double took[N_BATCHES], launch = 0.0, lead = lead_least;
    int    runs;

    for (int warm = 0; warm < N_WARM; warm++) {
        SPMM_TRY(time_runs(p, 1, lead, seconds, &launch));
        lead = fmin(lead_least + lead_factor * launch, lead_most);
    }
    if (*seconds > too_slow * best) {
        return SPMM_OK;
    }
    runs = (int)fmin(fmax(ceil(batch_seconds / *seconds), 1.0), MOST_RUNS);
    lead = fmin(lead_least + lead_factor * launch * runs, lead_most);
    for (int batch = 0; batch < N_BATCHES; batch++) {
        SPMM_TRY(time_runs(p, runs, lead, &took[batch], &launch));
        if (took[batch] > clearly_slow * best) {
            *seconds = took[batch];
            return SPMM_OK;
        }
    }
    *seconds = spmmi_median(took, N_BATCHES);
    return SPMM_OK;
}

spmm_status_t spmmi_trial_measure(const spmm_trial_t *trial, const spmm_engine_ops_t *engine,
                                  void *format, spmm_layout_t layout, double best, double *seconds)
{
    const double    scale = (double)trial->planned / (double)trial->n;
    const product_t p     = {.trial  = trial,
                             .engine = engine,
                             .format = format,
                             .x      = spmmi_trial_operands(trial, layout)};
    spmm_status_t   status;

    status = time_product(&p, best / scale, seconds);
    if (status != SPMM_OK) { /* the format may be in use, and will be freed */
        (void)trial->device->ops->stream_sync(trial->device, trial->stream);
        return status;
    }
    *seconds *= scale;
    return SPMM_OK;
}
