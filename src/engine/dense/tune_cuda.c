/* SPDX-License-Identifier: Apache-2.0 */
/** @file tune_cuda.c
 *  Which algorithm of cuBLASLt's list?  The first is the one it expects to be the fastest; the
 *  format measures a few of them.
 */
#include <math.h>

#include "base/scalar.h"
#include "engine/dense/product_cuda.h"
#include "spmm_dist/context.h"

enum { RUNS = 5, MOST = SPMM_DENSE_ALGORITHMS };
static const double   too_slow     = 1.3;  /* times the best */
static const double   lead_s       = 1e-5; /* for each launch: the device waits for the host */
static const unsigned scratch_byte = 0x3c; /* repeated, a small positive number in every type */

/* Scratch B, events and stream of a measurement. */
typedef struct {
    spmm_operands_t x;
    void           *B;
    spmm_event_t   *from[MOST], *to[MOST]; /* of each algorithm */
} trial_t;

static void close_trial(const spmm_dense_t *f, trial_t *trial)
{
    const spmm_device_ops_t *ops = f->device->ops;

    ops->release(f->device, trial->B);
    for (int k = 0; k < MOST; k++) {
        ops->event_destroy(f->device, trial->from[k]);
        ops->event_destroy(f->device, trial->to[k]);
    }
    ops->stream_destroy(f->device, trial->x.stream);
}

/* The planned product, tight and aligned; the sums are C. */
static spmm_status_t open_trial(const spmm_dense_t *f, trial_t *trial)
{
    const spmm_device_t     *device = f->device;
    const spmm_device_ops_t *ops    = device->ops;
    const bool               by_row = f->problem.layout == SPMM_LAYOUT_ROW;
    const bool               b_cols = f->problem.layout == SPMM_LAYOUT_COL;
    const size_t             bytes  = (size_t)f->A.n_cols * (size_t)f->problem.n *
                         spmm_type_size(f->problem.ab_type); /* as B of the caller */

    *trial   = (trial_t){.B = NULL};
    trial->x = (spmm_operands_t){.layout = f->problem.layout,
                                 .n      = f->problem.n,
                                 .alpha  = {.re = 1.0},
                                 .ldb    = b_cols ? f->A.n_cols : f->problem.n,
                                 .C      = f->sum,
                                 .ldc    = by_row ? f->problem.n : f->A.n_rows};
    SPMM_TRY(ops->stream_create(device, false, &trial->x.stream));
    for (int k = 0; k < MOST; k++) {
        SPMM_TRY(ops->event_create(device, true, &trial->from[k]));
        SPMM_TRY(ops->event_create(device, true, &trial->to[k]));
    }
    SPMM_TRY(ops->alloc_cached(device, bytes, &trial->B));
    trial->x.B = trial->B;
    SPMM_CUDA(device,
              cudaMemsetAsync(trial->B, (int)scratch_byte, bytes, (cudaStream_t)trial->x.stream));
    return SPMM_OK;
}

/* One product by each algorithm, which loads its kernel.  @p seconds: [found] 0, or INFINITY where
 * cuBLASLt refuses it after all. */
static spmm_status_t load_all(const spmm_dense_t *f, const trial_t *trial,
                              const spmm_dense_call_t               *call,
                              const cublasLtMatmulHeuristicResult_t *list, int found,
                              double *seconds)
{
    const spmm_error_t before = f->device->env->err;

    for (int k = 0; k < found; k++) {
        const spmm_status_t status = spmmi_dense_call(f, call, &list[k].algo, &trial->x);

        seconds[k] = 0.0;
        if (spmmi_is_refusal(status)) {
            f->device->env->err = before;
            seconds[k]          = INFINITY;
        } else {
            SPMM_TRY(status);
        }
    }
    return SPMM_OK;
}

/* How many are not INFINITY. */
static int count_left(const double *seconds, int found)
{
    int left = 0;

    for (int k = 0; k < found; k++) {
        left += seconds[k] < INFINITY;
    }
    return left;
}

/* Seconds of @p runs products of each algorithm left, all enqueued before the first is waited
 * for. */
static spmm_status_t time_all(const spmm_dense_t *f, const trial_t *trial,
                              const spmm_dense_call_t               *call,
                              const cublasLtMatmulHeuristicResult_t *list, int found, int runs,
                              double *seconds)
{
    const spmm_device_ops_t *ops = f->device->ops;

    SPMM_TRY(
        ops->delay(f->device, lead_s * (runs * count_left(seconds, found) + 1), trial->x.stream));
    for (int k = 0; k < found; k++) {
        if (seconds[k] < INFINITY) {
            SPMM_TRY(ops->event_record(f->device, trial->from[k], trial->x.stream));
            for (int run = 0; run < runs; run++) {
                SPMM_TRY(spmmi_dense_call(f, call, &list[k].algo, &trial->x));
            }
            SPMM_TRY(ops->event_record(f->device, trial->to[k], trial->x.stream));
        }
    }
    for (int k = 0; k < found; k++) {
        if (seconds[k] < INFINITY) {
            SPMM_TRY(ops->event_elapsed(f->device, trial->from[k], trial->to[k], &seconds[k]));
            seconds[k] /= runs;
        }
    }
    return SPMM_OK;
}

static int fastest(const double *seconds, int found)
{
    int best = 0;

    for (int k = 1; k < found; k++) {
        best = seconds[k] < seconds[best] ? k : best;
    }
    return best;
}

/* Those far behind after one product are not measured further. */
static spmm_status_t measure_all(const spmm_dense_t *f, const trial_t *trial,
                                 const spmm_dense_call_t               *call,
                                 const cublasLtMatmulHeuristicResult_t *list, int found,
                                 double *seconds)
{
    double most;

    SPMM_TRY(load_all(f, trial, call, list, found, seconds));
    SPMM_TRY(time_all(f, trial, call, list, found, 1, seconds));
    most = too_slow * seconds[fastest(seconds, found)];
    for (int k = 0; k < found; k++) {
        seconds[k] = seconds[k] > most ? (double)INFINITY : seconds[k];
    }
    return count_left(seconds, found) < 2 ? SPMM_OK
                                          : time_all(f, trial, call, list, found, RUNS, seconds);
}

/* The planned product of a goal; measured, or by the first algorithm of the list. */
static spmm_status_t choose(spmm_dense_t *f, const trial_t *trial, int goal, bool measured)
{
    cublasLtMatmulHeuristicResult_t list[MOST];
    spmm_dense_call_t              *call = &f->planned[goal];
    double                          seconds[MOST];
    int                             found;

    SPMM_TRY(spmmi_dense_prepare(f, goal, &trial->x, call, list, measured ? MOST : 1, &found));
    if (!measured) {
        return spmmi_dense_call(f, call, &call->algorithm, &trial->x);
    }
    SPMM_TRY(measure_all(f, trial, call, list, found, seconds));
    f->rank          = fastest(seconds, found);
    f->ranks         = found;
    f->seconds       = seconds[f->rank];
    call->algorithm  = list[f->rank].algo;
    call->work_bytes = list[f->rank].workspaceSize;
    return f->seconds < INFINITY
               ? SPMM_OK
               : spmmi_fail(&f->device->env->err, SPMM_ERR_UNSUPPORTED,
                            "cuBLASLt multiplies this block of %d x %d by none of %d "
                            "algorithms: use another engine",
                            (int)f->A.n_rows, (int)f->A.n_cols, found);
}

static spmm_status_t choose_all(spmm_dense_t *f, const trial_t *trial)
{
    const int usual = f->row_map == NULL ? SPMM_DENSE_TO_C : SPMM_DENSE_TO_SUM;

    SPMM_TRY(choose(f, trial, usual, !f->problem.deterministic));
    if (usual != SPMM_DENSE_TO_SUM) { /* beta that is not 0 */
        SPMM_TRY(choose(f, trial, SPMM_DENSE_TO_SUM, false));
    }
    return f->device->ops->stream_sync(f->device, trial->x.stream);
}

/* Workspace of what was chosen, instead of all that was allowed. */
static spmm_status_t shrink(spmm_dense_t *f)
{
    size_t need = 0;

    for (int goal = 0; goal < SPMM_DENSE_GOALS; goal++) {
        need = f->planned[goal].work_bytes > need ? f->planned[goal].work_bytes : need;
    }
    f->device->ops->release(f->device, f->work);
    f->work = NULL;
    f->device_bytes -= f->work_bytes;
    f->work_bytes = 0;
    SPMM_TRY(f->device->ops->alloc_cached(f->device, need, &f->work));
    f->work_bytes = need;
    f->device_bytes += need;
    return SPMM_OK;
}

spmm_status_t spmmi_dense_tune(spmm_dense_t *f)
{
    const spmm_error_t before = f->device->env->err;
    trial_t            trial;
    spmm_status_t      status = open_trial(f, &trial);

    if (status == SPMM_ERR_MEMORY) { /* no room to measure: the first execute asks for its own */
        f->device->env->err = before;
        close_trial(f, &trial);
        return SPMM_OK;
    }
    if (status == SPMM_OK) {
        status = choose_all(f, &trial);
    }
    close_trial(f, &trial);
    return status == SPMM_OK ? shrink(f) : status;
}
