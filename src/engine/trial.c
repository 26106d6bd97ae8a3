/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/trial.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "spmm_dist/context.h"

enum {
    N_WARM      = 2, /* the first also loads and prepares */
    N_BATCHES   = 5,
    MOST_RUNS   = 40, /* of a batch: few enough for the lead to hide their launches */
    LEAD_BYTES  = 1 << 25,
    LEAD_COPIES = 8, /* each takes an H200 20 us, and the host 3 us to launch */
    CHUNK       = 1 << 14,
    SHRINKS     = 2
};
static const double batch_seconds = 2e-3; /* aimed at */
static const double too_slow      = 3.0;  /* times the best */

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

static spmm_status_t fill_both(const spmm_trial_t *trial, const spmm_problem_t *problem)
{
    const size_t      row[]  = {(size_t)trial->b_rows * (size_t)trial->n,
                                (size_t)trial->c_rows * (size_t)trial->n};
    const spmm_type_t type[] = {problem->ab_type, problem->c_type};
    void *const       to[]   = {trial->B, trial->C};
    char             *chunk  = spmm_alloc(CHUNK, sizeof(double));
    spmm_status_t     status = SPMM_OK;

    if (chunk == NULL) {
        return spmm_fail_memory(&trial->device->env->err, CHUNK, sizeof(double), "trial values");
    }
    for (int k = 0; k < 2 && status == SPMM_OK; k++) {
        const size_t size = spmm_type_size(type[k]);

        for (int i = 0; i < CHUNK; i++) {
            spmm_value_set(type[k], chunk, i, spmm_random_value(1, i, k));
        }
        status = fill(trial, to[k], row[k] * size, chunk, CHUNK * size);
    }
    spmm_free(chunk);
    return status;
}

static spmm_status_t alloc_at(spmm_trial_t *trial, const spmm_problem_t *problem, int64_t n)
{
    const spmm_device_t *device = trial->device;
    const size_t         b_row  = (size_t)trial->b_rows * spmm_type_size(problem->ab_type);
    const size_t         c_row  = (size_t)trial->c_rows * spmm_type_size(problem->c_type);
    spmm_status_t        status = SPMM_OK;
    size_t               b, c;

    trial->n = n;
    if (!spmm_size_mul(b_row, (size_t)n, &b) || !spmm_size_mul(c_row, (size_t)n, &c)) {
        return spmm_fail_memory(&device->env->err, n, b_row + c_row, "trial operands");
    }
    status = device->ops->alloc(device, b, &trial->B);
    if (status == SPMM_OK) {
        status = device->ops->alloc(device, c, &trial->C);
    }
    if (status != SPMM_OK) {
        device->ops->release(device, trial->B);
        trial->B = NULL;
    }
    return status;
}

/* Both operands with the planned columns, or with half or a quarter of them. */
static spmm_status_t alloc_both(spmm_trial_t *trial, const spmm_problem_t *problem)
{
    const spmm_error_t before = trial->device->env->err;
    int64_t            n      = problem->n;
    spmm_status_t      status = alloc_at(trial, problem, n);

    for (int k = 0; k < SHRINKS && status == SPMM_ERR_MEMORY && n > 1; k++) {
        n /= 2;
        trial->device->env->err = before;
        status                  = alloc_at(trial, problem, n);
    }
    return status;
}

static spmm_status_t open_all(spmm_trial_t *trial, const spmm_problem_t *problem)
{
    const spmm_device_t *device = trial->device;

    SPMM_TRY(device->ops->stream_create(device, false, &trial->stream));
    SPMM_TRY(device->ops->event_create(device, true, &trial->from));
    SPMM_TRY(device->ops->event_create(device, true, &trial->to));
    SPMM_TRY(alloc_both(trial, problem));
    for (int k = 0; k < 2 && device->kind != SPMM_DEVICE_CPU; k++) {
        SPMM_TRY(device->ops->alloc(device, LEAD_BYTES, &trial->lead[k]));
    }
    return fill_both(trial, problem);
}

spmm_status_t spmm_trial_open(const spmm_device_t *device, const spmm_csr_t *block,
                              const spmm_problem_t *problem, double beta, spmm_trial_t *trial)
{
    spmm_status_t status;

    *trial = (spmm_trial_t){.device  = device,
                            .planned = problem->n,
                            .b_rows  = block->n_cols,
                            .c_rows  = block->c_rows,
                            .beta    = beta};
    status = open_all(trial, problem);
    if (status != SPMM_OK) {
        spmm_trial_close(trial);
    }
    return status;
}

void spmm_trial_close(spmm_trial_t *trial)
{
    const spmm_device_t *device = trial->device;

    if (device == NULL) {
        return;
    }
    if (trial->stream != NULL) { /* what is to be freed may be in use where a launch failed */
        (void)device->ops->stream_sync(device, trial->stream);
    }
    device->ops->release(device, trial->B);
    device->ops->release(device, trial->C);
    device->ops->release(device, trial->lead[0]);
    device->ops->release(device, trial->lead[1]);
    device->ops->event_destroy(device, trial->from);
    device->ops->event_destroy(device, trial->to);
    device->ops->stream_destroy(device, trial->stream);
    memset(trial, 0, sizeof *trial);
}

/* What is measured, as the functions below pass it on. */
typedef struct {
    const spmm_trial_t      *trial;
    const spmm_engine_ops_t *engine;
    void                    *format;
    int64_t                  ldb, ldc;
} product_t;

static spmm_status_t run(const product_t *p)
{
    const spmm_trial_t *trial = p->trial;

    return p->engine->execute(p->format, trial->n, 1.0, trial->B, p->ldb, trial->beta, trial->C,
                              p->ldc, trial->stream);
}

/* Seconds of one of @p runs products in a row. */
static spmm_status_t time_runs(const product_t *p, int runs, double *seconds)
{
    const spmm_trial_t  *trial  = p->trial;
    const spmm_device_t *device = trial->device;

    SPMM_TRY(device->ops->event_record(device, trial->from, trial->stream));
    for (int k = 0; k < runs; k++) {
        SPMM_TRY(run(p));
    }
    SPMM_TRY(device->ops->event_record(device, trial->to, trial->stream));
    SPMM_TRY(device->ops->event_elapsed(device, trial->from, trial->to, seconds));
    *seconds /= runs;
    return SPMM_OK;
}

/* A GPU gets work ahead of the products, so that their launches are not timed, and then a product
 * untimed, which brings back to the cache what that work took from it. */
static spmm_status_t lead(const product_t *p)
{
    const spmm_trial_t  *trial  = p->trial;
    const spmm_device_t *device = trial->device;

    if (trial->lead[1] == NULL) {
        return SPMM_OK;
    }
    for (int k = 0; k < LEAD_COPIES; k++) {
        SPMM_TRY(device->ops->copy(device, trial->lead[k % 2], trial->lead[1 - k % 2], LEAD_BYTES,
                                   trial->stream));
    }
    return run(p);
}

static double median(double *values)
{
    for (int i = 1; i < N_BATCHES; i++) {
        for (int k = i; k > 0 && values[k] < values[k - 1]; k--) {
            const double larger = values[k - 1];

            values[k - 1] = values[k];
            values[k]     = larger;
        }
    }
    return values[N_BATCHES / 2];
}

spmm_status_t spmm_trial_measure(const spmm_trial_t *trial, const spmm_engine_ops_t *engine,
                                 void *format, spmm_layout_t layout, double best, double *seconds)
{
    const bool      cols  = layout == SPMM_LAYOUT_COL;
    const double    scale = (double)trial->planned / (double)trial->n;
    const product_t p     = {.trial  = trial,
                             .engine = engine,
                             .format = format,
                             .ldb    = cols ? trial->b_rows : trial->n,
                             .ldc    = cols ? trial->c_rows : trial->n};
    double          took[N_BATCHES], once = 0.0;
    int             runs;

    for (int warm = 0; warm < N_WARM; warm++) {
        SPMM_TRY(time_runs(&p, 1, &once));
    }
    *seconds = once * scale;
    if (*seconds > too_slow * best) {
        return SPMM_OK;
    }
    runs = once * MOST_RUNS <= batch_seconds ? MOST_RUNS : (int)(batch_seconds / once) + 1;
    for (int batch = 0; batch < N_BATCHES; batch++) {
        SPMM_TRY(lead(&p));
        SPMM_TRY(time_runs(&p, runs, &took[batch]));
    }
    *seconds = median(took) * scale;
    return SPMM_OK;
}
