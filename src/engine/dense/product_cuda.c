/* SPDX-License-Identifier: Apache-2.0 */
/** @file product_cuda.c
 *  The product of cuBLASLt, what its zeros have spoilt computed again, and rows of C in another
 *  order.
 */
#include "engine/dense/product_cuda.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cuda/cuda_kernels.h"
#include "cuda/dense/dense.h"
#include "engine/dense/format.h"
#include "spmm_dist/context.h"

#define NAME_OF(version)  NAME_OF_(version)
#define NAME_OF_(version) "libcublasLt.so." #version
static const char *const library = NAME_OF(CUBLAS_VER_MAJOR);

static const struct {
    const char *name;
    size_t      at; /* in the table */
} symbols[] = {
    {"cublasLtCreate", offsetof(spmm_lt_t, Create)},
    {"cublasLtDestroy", offsetof(spmm_lt_t, Destroy)},
    {"cublasLtGetStatusString", offsetof(spmm_lt_t, GetStatusString)},
    {"cublasLtMatmulDescCreate", offsetof(spmm_lt_t, MatmulDescCreate)},
    {"cublasLtMatmulDescDestroy", offsetof(spmm_lt_t, MatmulDescDestroy)},
    {"cublasLtMatmulDescSetAttribute", offsetof(spmm_lt_t, MatmulDescSetAttribute)},
    {"cublasLtMatrixLayoutCreate", offsetof(spmm_lt_t, MatrixLayoutCreate)},
    {"cublasLtMatrixLayoutDestroy", offsetof(spmm_lt_t, MatrixLayoutDestroy)},
    {"cublasLtMatmulPreferenceCreate", offsetof(spmm_lt_t, MatmulPreferenceCreate)},
    {"cublasLtMatmulPreferenceDestroy", offsetof(spmm_lt_t, MatmulPreferenceDestroy)},
    {"cublasLtMatmulPreferenceSetAttribute", offsetof(spmm_lt_t, MatmulPreferenceSetAttribute)},
    {"cublasLtMatmulAlgoGetHeuristic", offsetof(spmm_lt_t, MatmulAlgoGetHeuristic)},
    {"cublasLtMatmul", offsetof(spmm_lt_t, Matmul)},
};

/* Of the process: contexts of several threads share them. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static spmm_lt_t      table;
static char           why[256]; /* it could not be loaded; "": it was */

static void load(void)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

    if (handle == NULL) {
        const char *reason = dlerror();

        (void)snprintf(why, sizeof why, "%s", reason != NULL ? reason : library);
        return;
    }
    for (size_t k = 0; k < sizeof symbols / sizeof symbols[0]; k++) {
        void *const symbol = dlsym(handle, symbols[k].name);

        if (symbol == NULL) {
            (void)snprintf(why, sizeof why, "%s has no %s", library, symbols[k].name);
            return;
        }
        memcpy((char *)&table + symbols[k].at, &symbol, sizeof symbol);
    }
}

_Atomic(double) spmmi_lt_load_s = 0.3;

/* Load it, once in a process.
 * @return SPMM_ERR_UNSUPPORTED where it is not installed, or lacks a function */
static spmm_status_t lt_open(const spmm_device_t *device, const spmm_lt_t **lt)
{
    (void)pthread_once(&once, load); /* it fails for a wrong argument alone */
    atomic_store(&spmmi_lt_load_s, 0.0);
    if (why[0] != '\0') {
        return spmmi_fail(&device->env->err, SPMM_ERR_UNSUPPORTED,
                          "engine dense needs cuBLASLt, which cannot be loaded: %s", why);
    }
    *lt = &table;
    return SPMM_OK;
}

/* Record a failed call; SPMM_OK for success. */
static spmm_status_t lt_check(const spmm_device_t *device, const spmm_lt_t *lt, cublasStatus_t code,
                              const char *what)
{
    spmm_status_t status = SPMM_ERR_DEVICE;

    if (code == CUBLAS_STATUS_SUCCESS) {
        return SPMM_OK;
    }
    (void)cudaGetLastError();
    if (code == CUBLAS_STATUS_ALLOC_FAILED) {
        status = SPMM_ERR_MEMORY;
    } else if (code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_INVALID_VALUE) {
        status = SPMM_ERR_UNSUPPORTED;
    }
    return spmmi_fail(&device->env->err, status, "%s failed on CUDA device %d: %s", what,
                      device->ordinal, lt->GetStatusString(code));
}

/* A product as cuBLASLt understands it. */

enum { ALIGNED = 256 }; /* bytes that device memory begins at a multiple of */

static cudaDataType type_of(spmm_type_t type)
{
    switch (type) {
    case SPMM_R_64F:
        return CUDA_R_64F;
    case SPMM_R_16F:
        return CUDA_R_16F;
    case SPMM_R_16BF:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

static cublasComputeType_t compute_of(spmm_compute_t compute)
{
    return compute == SPMM_COMPUTE_64F             ? CUBLAS_COMPUTE_64F
           : compute == SPMM_COMPUTE_32F_FAST_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                   : CUBLAS_COMPUTE_32F;
}

static spmm_type_t result_type(const spmm_dense_t *f, int goal)
{
    return goal == SPMM_DENSE_TO_C ? f->problem.c_type : spmmi_accum_type(f->problem.ab_type);
}

/* The largest power of two up to 256 that divides an address: cuBLASLt knows the step of rows. */
static unsigned alignment(const void *at)
{
    const uintptr_t bits = (uintptr_t)at | ALIGNED;

    return (unsigned)(bits & (~bits + 1));
}

static void dense_forget(const spmm_dense_t *f, spmm_dense_call_t *call)
{
    /* Failures to destroy a host structure leave nothing to be done. */
    if (call->desc != NULL) {
        (void)f->lt->MatmulDescDestroy(call->desc);
    }
    if (call->first != NULL) {
        (void)f->lt->MatrixLayoutDestroy(call->first);
    }
    if (call->second != NULL) {
        (void)f->lt->MatrixLayoutDestroy(call->second);
    }
    if (call->result != NULL) {
        (void)f->lt->MatrixLayoutDestroy(call->result);
    }
    memset(call, 0, sizeof *call);
}

/* Row-major C is column-major C^T = B^T A^T. */
static cublasStatus_t describe(const spmm_dense_t *f, int goal, spmm_dense_call_t *call)
{
    const spmm_lt_t    *lt     = f->lt;
    const spmm_layout_t layout = f->problem.layout;
    const bool          by_row = layout == SPMM_LAYOUT_ROW, b_by_col = layout == SPMM_LAYOUT_COL;
    const cudaDataType  in = type_of(f->problem.ab_type), out = type_of(result_type(f, goal));
    const uint64_t      m = (uint64_t)f->A.n_rows, k = (uint64_t)f->A.n_cols;
    const uint64_t      n        = (uint64_t)call->n;
    cublasLtMatrixLayout_t *a    = by_row ? &call->second : &call->first;
    cublasLtMatrixLayout_t *b    = by_row ? &call->first : &call->second;
    const cublasOperation_t op_a = by_row ? CUBLAS_OP_N : CUBLAS_OP_T;
    const cublasOperation_t op_b = by_row || b_by_col ? CUBLAS_OP_N : CUBLAS_OP_T;
    cublasStatus_t          code =
        lt->MatmulDescCreate(&call->desc, compute_of(f->problem.compute),
                             f->problem.compute == SPMM_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F);

    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->MatmulDescSetAttribute(call->desc, CUBLASLT_MATMUL_DESC_TRANSA,
                                          by_row ? &op_b : &op_a, sizeof op_a);
    }
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->MatmulDescSetAttribute(call->desc, CUBLASLT_MATMUL_DESC_TRANSB,
                                          by_row ? &op_a : &op_b, sizeof op_a);
    }
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->MatrixLayoutCreate(a, in, k, m, f->A.ld);
    }
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->MatrixLayoutCreate(b, in, b_by_col ? k : n, b_by_col ? n : k, call->ldb);
    }
    if (code == CUBLAS_STATUS_SUCCESS) {
        code =
            lt->MatrixLayoutCreate(&call->result, out, by_row ? n : m, by_row ? m : n, call->ldc);
    }
    return code;
}

/* Sums of parts of a row are added in the type of sums, and in one order. */
static cublasStatus_t prefer(const spmm_dense_t *f, const spmm_dense_call_t *call,
                             cublasLtMatmulPreference_t preference)
{
    const uint32_t reduction =
        CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const unsigned a_align = ALIGNED;
    const bool     by_row  = f->problem.layout == SPMM_LAYOUT_ROW;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void                          *value;
        size_t                               bytes;
    } set[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &f->work_bytes, sizeof f->work_bytes},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, by_row ? &call->b_align : &a_align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, by_row ? &a_align : &call->b_align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &call->c_align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &call->c_align, 4},
    };
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;

    for (size_t k = 0; k < sizeof set / sizeof set[0] && code == CUBLAS_STATUS_SUCCESS; k++) {
        code = f->lt->MatmulPreferenceSetAttribute(preference, set[k].attribute, set[k].value,
                                                   set[k].bytes);
    }
    return code;
}

static cublasStatus_t list_algorithms(spmm_dense_t *f, const spmm_dense_call_t *call,
                                      cublasLtMatmulHeuristicResult_t *list, int most, int *found)
{
    cublasLtMatmulPreference_t preference;
    cublasStatus_t             code = f->lt->MatmulPreferenceCreate(&preference);

    if (code != CUBLAS_STATUS_SUCCESS) {
        return code;
    }
    code = prefer(f, call, preference);
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = f->lt->MatmulAlgoGetHeuristic(f->handle, call->desc, call->first, call->second,
                                             call->result, call->result, preference, most, list,
                                             found);
    }
    (void)f->lt->MatmulPreferenceDestroy(preference);
    return code == CUBLAS_STATUS_SUCCESS && *found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : code;
}

/* Describe a product, whatever was described before.
 * @param[out] list   [most] algorithms, by expected time
 * @param[out] found  at least one */
static spmm_status_t dense_prepare(spmm_dense_t *f, int goal, const spmm_operands_t *x,
                                   spmm_dense_call_t *call, cublasLtMatmulHeuristicResult_t *list,
                                   int most, int *found)
{
    cublasStatus_t code;

    dense_forget(f, call);
    call->n       = x->n;
    call->ldb     = x->ldb;
    call->ldc     = x->ldc;
    call->b_align = alignment(x->B);
    call->c_align = alignment(x->C);
    *found        = 0;
    code          = describe(f, goal, call);
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = list_algorithms(f, call, list, most, found);
    }
    if (code != CUBLAS_STATUS_SUCCESS) {
        dense_forget(f, call);
        return lt_check(f->device, f->lt, code, "cublasLtMatmulAlgoGetHeuristic");
    }
    call->algorithm  = list[0].algo;
    call->work_bytes = list[0].workspaceSize;
    return SPMM_OK;
}

/* Enqueue alpha A B + beta C by @p algorithm. */
static spmm_status_t dense_call(const spmm_dense_t *f, const spmm_dense_call_t *call,
                                const cublasLtMatmulAlgo_t *algorithm, const spmm_operands_t *x)
{
    const bool   fp64   = f->problem.compute == SPMM_COMPUTE_64F;
    const bool   by_row = f->problem.layout == SPMM_LAYOUT_ROW;
    const double d[2]   = {x->alpha.re, x->beta.re};
    const float  s[2]   = {(float)x->alpha.re, (float)x->beta.re};

    return lt_check(
        f->device, f->lt,
        f->lt->Matmul(f->handle, call->desc, fp64 ? (const void *)&d[0] : (const void *)&s[0],
                      by_row ? x->B : f->A.values, call->first, by_row ? f->A.values : x->B,
                      call->second, fp64 ? (const void *)&d[1] : (const void *)&s[1], x->C,
                      call->result, x->C, call->result, algorithm, f->work, f->work_bytes,
                      (cudaStream_t)x->stream),
        "cublasLtMatmul");
}

/* May @p x run as @p call says? */
static bool serves(const spmm_dense_call_t *call, const spmm_operands_t *x)
{
    return call->n == x->n && call->ldb == x->ldb && call->ldc == x->ldc &&
           alignment(x->B) >= call->b_align && alignment(x->C) >= call->c_align;
}

/* The same by what is described for x, or will be: a shape that was not planned may wait for its
 * kernel to be loaded. */
static spmm_status_t dense_multiply(spmm_dense_t *f, int goal, const spmm_operands_t *x)
{
    cublasLtMatmulHeuristicResult_t first;
    spmm_dense_call_t              *call = &f->planned[goal];
    int                             found;

    if (!serves(call, x)) {
        call = &f->other[goal];
    }
    if (!serves(call, x)) {
        SPMM_TRY(dense_prepare(f, goal, x, call, &first, 1, &found));
    }
    return dense_call(f, call, &call->algorithm, x);
}

/* Which algorithm of cuBLASLt's list?  The first is the one it expects to be the fastest; the
 * format measures a few of them. */

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
        const spmm_status_t status = dense_call(f, call, &list[k].algo, &trial->x);

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
                SPMM_TRY(dense_call(f, call, &list[k].algo, &trial->x));
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

    SPMM_TRY(dense_prepare(f, goal, &trial->x, call, list, measured ? MOST : 1, &found));
    if (!measured) {
        return dense_call(f, call, &call->algorithm, &trial->x);
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
    f->work       = NULL;
    f->work_bytes = 0;
    SPMM_TRY(f->device->ops->alloc_cached(f->device, need, &f->work));
    f->work_bytes = need;
    return SPMM_OK;
}

/* Choose the algorithms of the planned product, by a short measurement unless results have to be
 * the same from plan to plan, and load their kernels (tune_cuda.c). */
static spmm_status_t dense_tune(spmm_dense_t *f)
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

/* Of C, and less than that of B: above, a look at B in front of the product takes less time than
 * one at C behind it. */
static const double marked_bytes = 6e6;

static spmm_status_t upload_offsets(spmm_dense_t *f, const int64_t *row_ptr)
{
    int32_t      *narrow;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW(narrow, f->A.n_rows + 1) == NULL) {
        return spmmi_fail_memory(&f->device->env->err, f->A.n_rows + 1, sizeof *narrow,
                                 "offsets of rows");
    }
    for (int32_t i = 0; i <= f->A.n_rows; i++) {
        narrow[i] = (int32_t)row_ptr[i];
    }
    f->A.row_ptr = SPMM_UPLOAD(&f->uploads, narrow, f->A.n_rows + 1, &status);
    spmmi_free(narrow);
    return status;
}

spmm_status_t spmmi_dense_refill(void *format, const void *values)
{
    const spmm_dense_t      *f     = format;
    const spmm_device_ops_t *ops   = f->device->ops;
    const size_t             bytes = (size_t)f->nnz * spmm_type_size(f->problem.ab_type);
    void                    *packed;
    spmm_status_t            status;

    if (f->nnz == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(ops->alloc_cached(f->device, bytes, &packed));
    status = ops->stage(f->device, packed, values, bytes);
    if (status == SPMM_OK) {
        status = spmmi_cuda_check(f->device, spmmi_cuda_dense_scatter(&f->A, packed, NULL),
                                  "the kernel dense scatter");
    }
    if (status == SPMM_OK) {
        status = ops->stream_sync(f->device, NULL);
    }
    ops->release(f->device, packed);
    return status;
}

/* Marks where the planned C is large and B is smaller. */
static spmm_status_t reserve_marks(spmm_dense_t *f)
{
    const double  n      = (double)f->problem.n;
    const double  b      = (double)f->A.n_cols * n * (double)spmm_type_size(f->problem.ab_type);
    const double  c      = (double)f->A.n_rows * n * (double)spmm_type_size(f->problem.c_type);
    const int64_t groups = (f->problem.n + SPMM_DENSE_GROUP - 1) / SPMM_DENSE_GROUP;
    const size_t  bytes  = (size_t)groups * sizeof(uint32_t);
    spmm_status_t status = SPMM_OK;

    if (c < marked_bytes || b > c) {
        return SPMM_OK;
    }
    f->marks = spmmi_upload_room(&f->uploads, bytes, &status);
    SPMM_TRY(status);
    SPMM_CUDA(f->device, cudaMemsetAsync(f->marks, 0, bytes, NULL));
    return SPMM_OK;
}

static spmm_status_t make_arrays(spmm_dense_t *f, const spmm_csr_t *block)
{
    const size_t places = (size_t)(f->A.n_rows * f->A.ld) * spmm_type_size(block->type);
    const size_t sums =
        (size_t)(f->A.n_rows * f->problem.n) * spmm_type_size(spmmi_accum_type(f->problem.ab_type));
    spmm_status_t status = SPMM_OK;

    if (!spmmi_csr_row_map_is_identity(block)) {
        f->row_map = SPMM_UPLOAD(&f->uploads, block->row_map, block->n_rows, &status);
    }
    if (f->nnz == 0) {
        return status == SPMM_OK ? f->device->ops->stream_sync(f->device, NULL) : status;
    }
    f->A.col    = SPMM_UPLOAD(&f->uploads, block->col_idx, f->nnz, &status);
    f->A.values = spmmi_upload_room(&f->uploads, places, &status);
    f->sum      = spmmi_upload_room(&f->uploads, sums, &status);
    SPMM_TRY(status);
    SPMM_TRY(upload_offsets(f, block->row_ptr));
    SPMM_CUDA(f->device, cudaMemsetAsync(f->A.values, 0, places, NULL));
    SPMM_TRY(reserve_marks(f));
    SPMM_TRY(f->device->ops->alloc_cached(f->device, SPMM_DENSE_WORK, &f->work));
    f->work_bytes = SPMM_DENSE_WORK;
    return spmmi_dense_refill(f, block->values);
}

static spmm_status_t fill(spmm_dense_t *f, const spmm_csr_t *block)
{
    spmm_error_t *err = &f->device->env->err;

    SPMM_TRY(spmmi_cuda_use(f->device));
    if (f->nnz > 0 && !spmmi_dense_fits(block->n_rows, block->n_cols, f->nnz, block->type)) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "engine dense takes at most %d times the memory of CSR, and a block of "
                          "%d x %d with %lld entries would take more: use another engine",
                          SPMM_DENSE_MOST, (int)block->n_rows, (int)block->n_cols,
                          (long long)f->nnz);
    }
    if (f->nnz > 0) {
        SPMM_TRY(lt_open(f->device, &f->lt));
        SPMM_TRY(lt_check(f->device, f->lt, f->lt->Create(&f->handle), "cublasLtCreate"));
    }
    SPMM_TRY(make_arrays(f, block));
    return f->nnz > 0 ? dense_tune(f) : SPMM_OK;
}

spmm_status_t spmmi_dense_build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                                const spmm_problem_t *problem, const spmm_device_t *device,
                                void **format)
{
    spmm_status_t status;
    spmm_dense_t *f;

    (void)engine;
    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "engine dense");
    }
    f->device         = device;
    f->problem        = *problem;
    f->uploads.device = device;
    f->nnz            = spmmi_csr_nnz(block);
    f->seconds        = NAN;
    f->A.type         = block->type;
    f->A.n_rows       = block->n_rows;
    f->A.n_cols       = block->n_cols;
    f->A.ld           = spmmi_dense_ld(block->n_cols, block->type);
    status            = fill(f, block);
    if (status != SPMM_OK) {
        spmmi_dense_destroy(f);
        return status;
    }
    f->problem.pattern = NULL; /* borrowed during the call */
    *format            = f;
    return SPMM_OK;
}

spmm_status_t spmmi_dense_where(const void *format, void **values, int64_t *count, int32_t **from)
{
    const spmm_dense_t *f      = format;
    const int64_t       places = f->nnz == 0 ? 0 : f->A.n_rows * f->A.ld;
    int32_t            *row_ptr, *col;
    spmm_status_t       status = SPMM_OK;

    *values = f->A.values;
    *count  = places;
    SPMM_NEW(*from, places);
    SPMM_NEW(row_ptr, f->A.n_rows + 1);
    SPMM_NEW(col, f->nnz);
    if (*from == NULL || row_ptr == NULL || col == NULL) {
        status =
            spmmi_fail_memory(&f->device->env->err, places, sizeof **from, "the places of values");
    }
    if (status == SPMM_OK && places > 0) {
        status = f->device->ops->fetch(f->device, row_ptr, f->A.row_ptr,
                                       (size_t)(f->A.n_rows + 1) * sizeof *row_ptr);
    }
    if (status == SPMM_OK && places > 0) {
        status = f->device->ops->fetch(f->device, col, f->A.col, (size_t)f->nnz * sizeof *col);
    }
    if (status == SPMM_OK && places > 0) {
        spmmi_dense_places(f->A.n_rows, f->A.ld, row_ptr, col, f->device->threads, *from);
    }
    spmmi_free_all(row_ptr, col);
    if (status != SPMM_OK) {
        spmmi_free(*from);
    }
    return status;
}

/* alpha A B, Inf and NaN where the entries make them. */
static spmm_status_t multiply(spmm_dense_t *f, int goal, const spmm_operands_t *x)
{
    const cudaStream_t stream = (cudaStream_t)x->stream;
    spmm_dense_marks_t marks  = {.of = f->marks, .last = (x->n - 1) / SPMM_DENSE_GROUP};

    f->number += f->number == UINT32_MAX ? 2 : 1; /* 0 is what marks begin with */
    marks.number = f->number;
    if (marks.of != NULL) {
        SPMM_TRY(spmmi_cuda_check(f->device, spmmi_cuda_dense_mark(&f->A, x, marks, stream),
                                  "the kernel dense mark"));
    }
    SPMM_TRY(dense_multiply(f, goal, x));
    return spmmi_cuda_check(f->device, spmmi_cuda_dense_repair(&f->A, x, marks, stream),
                            "the kernel dense repair");
}

spmm_status_t spmmi_dense_execute(void *format, const spmm_operands_t *x)
{
    spmm_dense_t     *f       = format;
    const bool        product = f->nnz > 0, by_row = x->layout == SPMM_LAYOUT_ROW;
    const bool        merge = f->row_map != NULL || !product || !spmmi_scalar_is_zero(x->beta);
    spmm_merge_args_t rest  = {.sum      = product ? f->sum : NULL,
                               .sum_type = spmmi_accum_type(f->problem.ab_type),
                               .ld_sum   = by_row ? x->n : f->A.n_rows,
                               .row_map  = f->row_map,
                               .n_rows   = f->A.n_rows,
                               .n        = x->n,
                               .beta     = x->beta,
                               .C        = x->C,
                               .c_type   = x->c_type,
                               .ldc      = x->ldc,
                               .layout   = by_row ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL};
    spmm_operands_t   y     = *x;

    if (f->A.n_rows == 0 || x->n == 0) {
        return SPMM_OK;
    }
    if (merge) {
        y.beta   = (spmm_scalar_t){0};
        y.C      = f->sum;
        y.c_type = rest.sum_type;
        y.ldc    = rest.ld_sum;
    }
    SPMM_TRY(spmmi_cuda_use(f->device));
    if (product) {
        SPMM_TRY(multiply(f, merge ? SPMM_DENSE_TO_SUM : SPMM_DENSE_TO_C, &y));
    }
    if (merge) {
        SPMM_CUDA(f->device, spmmi_cuda_merge_rows(&rest, (cudaStream_t)x->stream));
    }
    return SPMM_OK;
}

void spmmi_dense_describe(const void *format, const spmm_pattern_t *pattern, FILE *out)
{
    const spmm_dense_t *f = format;

    (void)pattern;
    if (f->nnz == 0) {
        return;
    }
    (void)fprintf(out, "%d x %d places, %.1f for each entry", (int)f->A.n_rows, (int)f->A.n_cols,
                  (double)f->A.n_rows * (double)f->A.ld / (double)f->nnz);
    if (!isnan(f->seconds)) {
        (void)fprintf(out, "; algorithm %d of %d in cuBLASLt's list, %.1f us", f->rank + 1,
                      f->ranks, 1e6 * f->seconds);
    }
    (void)fputc('\n', out);
}

void spmmi_dense_bytes(const void *format, size_t *host, size_t *device)
{
    const spmm_dense_t *f = format;

    *host   = sizeof *f;
    *device = f->uploads.bytes + f->work_bytes;
}

void spmmi_dense_destroy(void *format)
{
    spmm_dense_t *f = format;

    if (f == NULL) {
        return;
    }
    (void)spmmi_cuda_use(f->device); /* of the handle; a failure here has been reported before */
    for (int goal = 0; goal < SPMM_DENSE_GOALS; goal++) {
        dense_forget(f, &f->planned[goal]);
        dense_forget(f, &f->other[goal]);
    }
    if (f->handle != NULL) {
        (void)f->lt->Destroy(f->handle); /* the handle is gone either way */
    }
    spmmi_uploads_free(&f->uploads);
    f->device->ops->release(f->device, f->work);
    spmmi_free(f);
}
