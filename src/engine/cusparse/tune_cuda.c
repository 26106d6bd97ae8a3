/* SPDX-License-Identifier: Apache-2.0 */
/** @file tune_cuda.c
 *  Which of cuSPARSE's CSR algorithms?  Its documentation recommends ALG1 for column-major and
 *  ALG2 for row-major blocks and promises bitwise equal results from run to run for ALG3 alone;
 *  which is fastest depends on the matrix, so the format measures them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "engine/cusparse/product_cuda.h"
#include "spmm_dist/context.h"

enum {
    N_ALGORITHMS = SPMM_CUSPARSE_ALGORITHMS,
    N_VECTOR     = 2,
    N_BATCHES    = 2,
    MOST_RUNS    = 5,
    LD_PAD       = 3,
    WORK_ROOM    = 4096
};
enum { GRID = 128 /* entries of 2^31 from which some versions refuse */, WIDE = 32 };
static const double   batch_seconds = 2e-4; /* aimed at, per batch */
static const double   too_slow      = 1.5;  /* times the best */
static const double   lead_seconds  = 2e-5; /* for each launch: the device waits for the host */
static const double   trial_bytes   = 2e9;  /* most memory of B and C to measure with */
static const unsigned trial_byte    = 0x3c; /* repeated, a small positive number in every type */

/* Scratch B and C of a measurement. */
typedef struct {
    int64_t          n;
    void            *B, *C;
    spmm_stream_t    stream;
    spmm_event_t    *from, *to;
    cusparseStatus_t refusal; /**< the last one, of a product */
} trial_t;

/* What a version of cuSPARSE has no product for: CUDA 13.4 left out some of mixed types. */
static bool is_refused(cusparseStatus_t code)
{
    return code == CUSPARSE_STATUS_NOT_SUPPORTED || code == CUSPARSE_STATUS_ARCH_MISMATCH ||
           code == CUSPARSE_STATUS_INVALID_VALUE;
}

static spmm_status_t refuse(const spmm_cusparse_t *f, cusparseStatus_t code, const char *what)
{
    const spmm_problem_t *p       = &f->problem;
    int                   version = 0;

    (void)cusparseGetVersion(f->handle, &version);
    (void)cudaGetLastError();
    return spmmi_fail(
        &f->device->env->err, SPMM_ERR_UNSUPPORTED,
        "cuSPARSE %d does not multiply this block of %" PRId64
        " entries, with A and B in %s and C in %s (%s: %s); use more ranks or another "
        "engine",
        version, f->nnz, spmmi_type_name(p->ab_type),
        spmmi_type_name(spmmi_cusparse_product_type(f)), what, cusparseGetErrorString(code));
}

static int candidates(const spmm_problem_t *problem, cusparseSpMMAlg_t list[N_ALGORITHMS])
{
    const bool by_column = problem->layout == SPMM_LAYOUT_COL;

    if (problem->deterministic) {
        list[0] = CUSPARSE_SPMM_CSR_ALG3;
        return 1;
    }
    list[0] = by_column ? CUSPARSE_SPMM_CSR_ALG1 : CUSPARSE_SPMM_CSR_ALG2;
    list[1] = CUSPARSE_SPMM_CSR_ALG3;
    list[2] = by_column ? CUSPARSE_SPMM_CSR_ALG2 : CUSPARSE_SPMM_CSR_ALG1;
    if (problem->n > 1) {
        return N_ALGORITHMS - N_VECTOR;
    }
    list[3] = (cusparseSpMMAlg_t)(SPMM_CUSPARSE_VECTOR + CUSPARSE_SPMV_CSR_ALG1);
    list[4] = (cusparseSpMMAlg_t)(SPMM_CUSPARSE_VECTOR + CUSPARSE_SPMV_CSR_ALG2);
    return N_ALGORITHMS;
}

/* Workspace for every n up to the planned one: execute must not allocate, and cuSPARSE does not
 * document how the size depends on n and ld (one column with a stride takes another kernel than one
 * without), so a ladder of widths is asked for, tight and strided, and some room added. */
static cusparseStatus_t ask_ladder(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm, size_t *largest)
{
    const int64_t planned = f->problem.n;

    *largest = 0;
    for (int64_t n = 1; n > 0; n = n == planned ? 0 : n < planned / 2 ? 2 * n : planned) {
        for (int64_t odd = n > 1 ? n - 1 : n; odd <= n; odd++) {
            for (int64_t pad = 0; pad <= LD_PAD; pad += LD_PAD) {
                size_t                 bytes = 0;
                const cusparseStatus_t code =
                    spmmi_cusparse_work_size(f, algorithm, odd, pad, &bytes);

                if (code != CUSPARSE_STATUS_SUCCESS) {
                    return code;
                }
                *largest = bytes > *largest ? bytes : *largest;
            }
        }
    }
    *largest += WORK_ROOM;
    return CUSPARSE_STATUS_SUCCESS;
}

/* The same, asked once for all formats of a block. */
static cusparseStatus_t largest_work(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                                     size_t *largest)
{
    spmm_cusparse_common_t *common = f->common;
    cusparseStatus_t        code;

    for (int k = 0; k < common->sized; k++) {
        if (common->algorithm[k] == algorithm) {
            *largest = common->work[k];
            return CUSPARSE_STATUS_SUCCESS;
        }
    }
    code = ask_ladder(f, algorithm, largest);
    if (code == CUSPARSE_STATUS_SUCCESS && common->sized < SPMM_CUSPARSE_ALGORITHMS) {
        common->algorithm[common->sized] = algorithm;
        common->work[common->sized++]    = *largest;
    }
    return code;
}

static void release_work(spmm_cusparse_t *f)
{
    spmmi_cusparse_unbind(f);
    f->device->ops->release(f->device, f->work);
    f->work       = NULL;
    f->work_bytes = 0;
}

/* With room for ALG3 where C has 16 bits: its rows may begin so that no other algorithm will do. */
static spmm_status_t set_algorithm(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm, size_t bytes)
{
    size_t alone = 0;

    if (spmm_type_size(f->problem.c_type) == 2 && f->sum == NULL &&
        f->problem.layout == SPMM_LAYOUT_ROW &&
        largest_work(f, CUSPARSE_SPMM_CSR_ALG3, &alone) == CUSPARSE_STATUS_SUCCESS &&
        alone > bytes) {
        bytes = alone;
    }
    f->algorithm = algorithm;
    f->careful   = algorithm;
    SPMM_TRY(f->device->ops->alloc_cached(f->device, bytes, &f->work));
    f->work_bytes = bytes;
    return SPMM_OK;
}

static void trial_close(const spmm_cusparse_t *f, trial_t *trial)
{
    const spmm_device_t *device = f->device;

    device->ops->release(device, trial->B);
    if (trial->C != f->sum) {
        device->ops->release(device, trial->C);
    }
    device->ops->event_destroy(device, trial->from);
    device->ops->event_destroy(device, trial->to);
    device->ops->stream_destroy(device, trial->stream);
    memset(trial, 0, sizeof *trial);
}

static spmm_status_t trial_open(const spmm_cusparse_t *f, trial_t *trial)
{
    const spmm_device_t *device = f->device;
    const size_t         b_row  = (size_t)f->n_cols * spmm_type_size(f->problem.ab_type);
    const size_t         c_row  = (size_t)f->n_rows * spmm_type_size(f->problem.c_type);
    const double         most   = floor(trial_bytes / (double)(b_row + c_row));

    memset(trial, 0, sizeof *trial);
    trial->n = f->problem.n;
    if ((double)trial->n > most) {
        trial->n = most < 1.0 ? 1 : (int64_t)most;
    }
    trial->C = f->sum;
    SPMM_TRY(device->ops->stream_create(device, false, &trial->stream));
    SPMM_TRY(device->ops->event_create(device, true, &trial->from));
    SPMM_TRY(device->ops->event_create(device, true, &trial->to));
    SPMM_TRY(device->ops->alloc_cached(device, b_row * (size_t)trial->n, &trial->B));
    if (trial->C == NULL) {
        SPMM_TRY(device->ops->alloc_cached(device, c_row * (size_t)trial->n, &trial->C));
    }
    SPMM_CUDA(device, cudaMemsetAsync(trial->B, (int)trial_byte, b_row * (size_t)trial->n,
                                      (cudaStream_t)trial->stream));
    return SPMM_OK;
}

/* What a product of the trial multiplies. */
static spmm_operands_t operands_of(const spmm_cusparse_t *f, const trial_t *trial, double beta)
{
    const bool cols = f->problem.layout == SPMM_LAYOUT_COL;

    return (spmm_operands_t){.n      = trial->n,
                             .alpha  = {.re = 1.0},
                             .B      = trial->B,
                             .ldb    = cols ? f->n_cols : trial->n,
                             .beta   = {.re = beta},
                             .C      = trial->C,
                             .ldc    = cols ? f->n_rows : trial->n,
                             .stream = trial->stream};
}

/* Seconds of @p runs products.  *code tells whether cuSPARSE took them. */
static spmm_status_t time_runs(spmm_cusparse_t *f, const trial_t *trial, int runs, double *seconds,
                               cusparseStatus_t *code)
{
    const spmm_device_t  *device = f->device;
    const spmm_operands_t x      = operands_of(f, trial, 0.0);

    SPMM_TRY(device->ops->delay(device, lead_seconds * (runs + 1), trial->stream));
    SPMM_TRY(device->ops->event_record(device, trial->from, trial->stream));
    for (int k = 0; k < runs; k++) {
        *code = spmmi_cusparse_multiply(f, &x);
        if (*code != CUSPARSE_STATUS_SUCCESS) {
            (void)cudaGetLastError();
            return device->ops->stream_sync(device, trial->stream);
        }
    }
    SPMM_TRY(device->ops->event_record(device, trial->to, trial->stream));
    return device->ops->event_elapsed(device, trial->from, trial->to, seconds);
}

/* Products without and with C, which make cuSPARSE load their code: the driver loads it at the
 * first launch and may wait for all work of the device, and execute must not wait.  What cuSPARSE
 * refuses here it would refuse in execute, so that the engine cannot serve; without room nothing is
 * loaded. */
static spmm_status_t load_code(spmm_cusparse_t *f)
{
    const spmm_error_t before = f->device->env->err;
    trial_t            trial;
    spmm_status_t      status = trial_open(f, &trial);

    for (int beta = 0; beta < 2 && status == SPMM_OK; beta++) {
        const spmm_operands_t  x    = operands_of(f, &trial, beta);
        const cusparseStatus_t code = spmmi_cusparse_multiply(f, &x);

        if (is_refused(code)) {
            status = refuse(f, code, "cusparseSpMM");
        } else if (code != CUSPARSE_STATUS_SUCCESS) {
            (void)cudaGetLastError();
        }
    }
    if (status == SPMM_OK) {
        status = f->device->ops->stream_sync(f->device, trial.stream);
    }
    trial_close(f, &trial);
    if (status == SPMM_ERR_MEMORY) {
        f->device->env->err = before;
        return SPMM_OK;
    }
    return status;
}

/* Least seconds per product over some batches, INFINITY when cuSPARSE refuses; of the warm-up alone
 * where that is far behind @p best. */
static spmm_status_t measure(spmm_cusparse_t *f, trial_t *trial, double best, double *seconds)
{
    cusparseStatus_t code = CUSPARSE_STATUS_SUCCESS;
    double           took = 0.0;
    int              runs;

    *seconds = INFINITY;
    for (int warm = 0; warm < 2; warm++) { /* the first one also preprocesses */
        SPMM_TRY(time_runs(f, trial, 1, &took, &code));
        if (code != CUSPARSE_STATUS_SUCCESS) {
            trial->refusal = code;
            return SPMM_OK;
        }
    }
    if (took > too_slow * best) {
        *seconds = took;
        return SPMM_OK;
    }
    runs = took * MOST_RUNS <= batch_seconds ? MOST_RUNS : (int)(batch_seconds / took) + 1;
    for (int batch = 0; batch < N_BATCHES; batch++) {
        SPMM_TRY(time_runs(f, trial, runs, &took, &code));
        if (code != CUSPARSE_STATUS_SUCCESS) {
            trial->refusal = code;
            return SPMM_OK;
        }
        *seconds = fmin(*seconds, took / runs);
    }
    return SPMM_OK;
}

/* Measure one algorithm with a workspace of its own. */
static spmm_status_t try_algorithm(spmm_cusparse_t *f, trial_t *trial, cusparseSpMMAlg_t algorithm,
                                   size_t bytes, double best, double *seconds)
{
    spmm_status_t status = set_algorithm(f, algorithm, bytes);

    if (status == SPMM_OK) {
        status = measure(f, trial, best, seconds);
    }
    release_work(f);
    return status;
}

/* Candidates that cuSPARSE takes, with their workspaces; fails when there is none. */
static spmm_status_t list_usable(spmm_cusparse_t *f, cusparseSpMMAlg_t list[N_ALGORITHMS],
                                 size_t bytes[N_ALGORITHMS], int *usable)
{
    const int        n_list = candidates(&f->problem, list);
    cusparseStatus_t code   = CUSPARSE_STATUS_NOT_SUPPORTED;

    *usable = 0;
    for (int k = 0; k < n_list; k++) {
        const cusparseStatus_t now = largest_work(f, list[k], &bytes[*usable]);

        if (now == CUSPARSE_STATUS_SUCCESS) {
            list[(*usable)++] = list[k];
        } else {
            code = now;
        }
    }
    if (*usable == 0 && is_refused(code)) {
        return refuse(f, code, "cusparseSpMM_bufferSize");
    }
    return *usable > 0 ? SPMM_OK : spmmi_cusparse_check(f->device, code, "cusparseSpMM_bufferSize");
}

/* Seconds of every candidate.  Without room to measure all stay INFINITY, so that the one
 * documented as best, the first, is taken.  Fails where cuSPARSE multiplies by none, as some
 * versions with 2^31 - 127 entries or more. */
static spmm_status_t measure_all(spmm_cusparse_t *f, const cusparseSpMMAlg_t *list,
                                 const size_t *bytes, int usable, double *seconds)
{
    const spmm_error_t before = f->device->env->err;
    double             best   = INFINITY;
    trial_t            trial;
    spmm_status_t      status = trial_open(f, &trial);

    for (int k = 0; k < usable && status == SPMM_OK; k++) {
        status = try_algorithm(f, &trial, list[k], bytes[k], best, &seconds[k]);
        best   = fmin(best, seconds[k]);
    }
    trial_close(f, &trial);
    if (status == SPMM_ERR_MEMORY) {
        f->device->env->err = before;
        return SPMM_OK;
    }
    if (status == SPMM_OK && best == INFINITY) {
        return refuse(f, trial.refusal, "cusparseSpMM");
    }
    return status;
}

/* The last algorithm, ALG1, took at least twice what the fastest did in 46 row-major cases with 32
 * columns and more on one H100. */
int spmmi_cusparse_variants(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                            const spmm_device_t *device)
{
    const bool hopeless = problem->layout == SPMM_LAYOUT_ROW && problem->n >= WIDE &&
                          !problem->deterministic && !spmmi_is_complex(problem->ab_type);
    cusparseSpMMAlg_t list[N_ALGORITHMS];

    (void)pattern;
    (void)device;
    return 1 + candidates(problem, list) - hopeless;
}

/* The algorithm of a variant, unmeasured, and the first of the list where it would read out of
 * alignment.  What cuSPARSE says against it concerns this algorithm alone. */
static spmm_status_t take_variant(spmm_cusparse_t *f)
{
    cusparseSpMMAlg_t list[N_ALGORITHMS];
    const int         n     = candidates(&f->problem, list);
    const int         k     = f->problem.variant <= n ? f->problem.variant - 1 : 0;
    size_t            bytes = 0, careful = 0;
    cusparseStatus_t  code = largest_work(f, list[k], &bytes);
    const bool        both = largest_work(f, list[0], &careful) == CUSPARSE_STATUS_SUCCESS;

    if (code != CUSPARSE_STATUS_SUCCESS) {
        (void)cudaGetLastError();
        return spmmi_fail(&f->device->env->err, SPMM_ERR_UNSUPPORTED,
                          "cuSPARSE does not take its algorithm %d here: %s", (int)list[k],
                          cusparseGetErrorString(code));
    }
    SPMM_TRY(set_algorithm(f, list[k], both && careful > bytes ? careful : bytes));
    f->careful = both ? list[0] : list[k];
    return load_code(f);
}

spmm_status_t spmmi_cusparse_tune(spmm_cusparse_t *f)
{
    cusparseSpMMAlg_t list[N_ALGORITHMS];
    size_t            bytes[N_ALGORITHMS];
    double            seconds[N_ALGORITHMS] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    int               usable, best = 0, careful = -1;

    if (f->problem.variant > 0) {
        return take_variant(f);
    }
    SPMM_TRY(list_usable(f, list, bytes, &usable));
    if (usable > 1 || f->nnz > INT32_MAX - GRID) {
        SPMM_TRY(measure_all(f, list, bytes, usable, seconds));
    }
    for (int k = 0; k < usable; k++) {
        best = seconds[k] < seconds[best] ? k : best;
    }
    for (int k = 0; k < usable; k++) { /* where any are measured, none that was refused */
        if (list[k] != CUSPARSE_SPMM_CSR_ALG3 && (int)list[k] < SPMM_CUSPARSE_VECTOR &&
            (seconds[k] < INFINITY || seconds[best] == INFINITY) &&
            (careful < 0 || seconds[k] < seconds[careful])) {
            careful = k;
        }
    }
    careful = careful < 0 ? best : careful;
    spmmi_log(f->device->env, "cusparse: algorithm %d of %d candidates, %.3g s", (int)list[best],
              usable, seconds[best]);
    SPMM_TRY(
        set_algorithm(f, list[best], bytes[best] > bytes[careful] ? bytes[best] : bytes[careful]));
    f->careful = list[careful];
    return load_code(f);
}
