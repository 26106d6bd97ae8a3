/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.c
 *  SDDMM of the library against cuSPARSE on one GPU:
 *
 *      bench_sddmm [--iterations K] TYPE,TYPE,... K,K,... WHAT...
 *
 *  TYPE: 32f, 64f, 16f or 16bf, of X, Y and S.  WHAT: a matrix file or a generator's spec (it has a
 *  colon); the pattern is the mask.  Device time, median of K (20) products after 3, the same
 *  operands again.  cuSPARSE gets Y both ways, as the transpose of a row-major and as a
 *  column-major matrix, and the faster one counts; `-`: it refuses the type or its S is wrong, then
 *  ratio is to its FP32.  `error` is the largest |S - FP64| / (|X||Y|) over some entries, `passed`
 *  whether that is in the bound of the type.  Exit code 1: an S is wrong, of either.
 */
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "block.h"
#include "spmm_dist/spmm_dist.h"
#include "tool_common.h"

enum { MOST = 8, SAMPLES = 4096 };

typedef struct {
    spmm_type_t type[MOST];
    int64_t     width[MOST];
    int         n_types, n_widths, iterations;
} request_t;

static spmm_context_t *ctx;
static int             inaccurate; /* an error was above its bound */

static void must(spmm_status_t status)
{
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_sddmm: %s\n", spmm_last_error(ctx));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

static void must_cuda(cudaError_t code)
{
    if (code != cudaSuccess) {
        (void)fprintf(stderr, "bench_sddmm: %s\n", cudaGetErrorString(code));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

static void *host_memory(int64_t count, size_t size)
{
    void *memory = malloc((size_t)(count + 1) * size);

    if (memory == NULL) {
        (void)fprintf(stderr, "bench_sddmm: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    return memory;
}

/** Operands on the device, owned by the caller. */
typedef struct {
    int64_t     rows, cols, nnz, k;
    spmm_type_t type; /**< of X, Y and S */
    int32_t    *row_ptr, *col_idx;
    void       *X, *Y, *S; /**< [rows x k], [cols x k] row-major, [nnz] */
} operands_t;

/** A prepared product. */
typedef struct {
    cusparseHandle_t     handle;
    cusparseSpMatDescr_t mask;
    cusparseDnMatDescr_t a, b;
    cudaDataType         compute;
    cusparseOperation_t  op_b;
    void                *work;
} cusparse_t;

static const float  one_f = 1.0F, zero_f = 0.0F;
static const double one_d = 1.0, zero_d = 0.0;

static const void *one(const cusparse_t *c)
{
    return c->compute == CUDA_R_64F ? (const void *)&one_d : (const void *)&one_f;
}

static const void *zero(const cusparse_t *c)
{
    return c->compute == CUDA_R_64F ? (const void *)&zero_d : (const void *)&zero_f;
}

static cudaDataType data_type(spmm_type_t type)
{
    return type == SPMM_R_64F   ? CUDA_R_64F
           : type == SPMM_R_32F ? CUDA_R_32F
           : type == SPMM_R_16F ? CUDA_R_16F
                                : CUDA_R_16BF;
}

static cusparseStatus_t describe(const operands_t *x, int transposed, cusparse_t *c)
{
    const cudaDataType type = data_type(x->type);
    cusparseStatus_t   code = cusparseCreate(&c->handle);

    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseCreateCsr(&c->mask, x->rows, x->cols, x->nnz, x->row_ptr, x->col_idx, x->S,
                                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                 type);
    }
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseCreateDnMat(&c->a, x->rows, x->k, x->k, x->X, type, CUSPARSE_ORDER_ROW);
    }
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code =
            transposed
                ? cusparseCreateDnMat(&c->b, x->cols, x->k, x->k, x->Y, type, CUSPARSE_ORDER_ROW)
                : cusparseCreateDnMat(&c->b, x->k, x->cols, x->k, x->Y, type, CUSPARSE_ORDER_COL);
    }
    return code;
}

/* @p transposed: Y^T as the transpose of a row-major Y; else as it lies, column-major. */
static cusparseStatus_t cusparse_open(const operands_t *x, int transposed, cusparse_t *c)
{
    size_t           bytes = 0;
    cusparseStatus_t code;

    memset(c, 0, sizeof *c);
    c->compute = x->type == SPMM_R_64F ? CUDA_R_64F : CUDA_R_32F;
    c->op_b    = transposed ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    code       = describe(x, transposed, c);
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseSDDMM_bufferSize(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, c->op_b,
                                        one(c), c->a, c->b, zero(c), c->mask, c->compute,
                                        CUSPARSE_SDDMM_ALG_DEFAULT, &bytes);
    }
    if (code == CUSPARSE_STATUS_SUCCESS && cudaMalloc(&c->work, bytes + 1) != cudaSuccess) {
        code = CUSPARSE_STATUS_ALLOC_FAILED;
    }
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseSDDMM_preprocess(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, c->op_b,
                                        one(c), c->a, c->b, zero(c), c->mask, c->compute,
                                        CUSPARSE_SDDMM_ALG_DEFAULT, c->work);
    }
    return code;
}

/* Enqueue S = X Y^T at the mask on the default stream. */
static cusparseStatus_t cusparse_run(const cusparse_t *c)
{
    return cusparseSDDMM(c->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, c->op_b, one(c), c->a, c->b,
                         zero(c), c->mask, c->compute, CUSPARSE_SDDMM_ALG_DEFAULT, c->work);
}

static void cusparse_close(cusparse_t *c)
{
    /* Failures to destroy host structures leave nothing to be done. */
    if (c->mask != NULL) {
        (void)cusparseDestroySpMat(c->mask);
    }
    if (c->a != NULL) {
        (void)cusparseDestroyDnMat(c->a);
    }
    if (c->b != NULL) {
        (void)cusparseDestroyDnMat(c->b);
    }
    if (c->handle != NULL) {
        (void)cusparseDestroy(c->handle);
    }
    (void)cudaFree(c->work);
    memset(c, 0, sizeof *c);
}

/* One product of either kind. */
typedef struct {
    const operands_t  *x;
    spmm_sddmm_plan_t *plan; /**< NULL: cuSPARSE's */
    const cusparse_t  *cusparse;
} product_t;

static spmm_status_t run(void *self)
{
    const product_t *p = self;

    if (p->plan == NULL) {
        return cusparse_run(p->cusparse) == CUSPARSE_STATUS_SUCCESS ? SPMM_OK
                                                                    : SPMM_ERR_UNSUPPORTED;
    }
    must(spmm_sddmm(p->plan, p->x->k, 1.0, p->x->X, p->x->k, p->x->Y, p->x->k, 0.0, p->x->S, NULL));
    return SPMM_OK;
}

/* Median of device milliseconds; NAN: refused. */
static double measure(product_t *p, int iterations)
{
    double              seconds = (double)NAN;
    const spmm_status_t status =
        bench_block_median(&ctx->device, NULL, iterations, run, p, &seconds);

    if (status != SPMM_ERR_UNSUPPORTED) {
        must(status);
    }
    return 1e3 * seconds;
}

static double element(int which, int64_t i, int64_t j, spmm_type_t type)
{
    double rounded = 0.0;

    spmmi_value_set(type, &rounded, 0, spmmi_random_value((uint64_t)which, i, j));
    return spmmi_value_get(type, &rounded, 0);
}

/* A device copy of @p host, which is freed. */
static void *upload(void *host, size_t bytes)
{
    void *device;

    must(spmm_buffer_alloc(ctx, bytes, &device));
    must(spmm_buffer_copy(ctx, device, host, bytes));
    free(host);
    return device;
}

static void *operand(int which, int64_t rows, int64_t k, spmm_type_t type)
{
    void *host = host_memory(rows * k, spmm_type_size(type));

#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < k; j++) {
            spmmi_value_set(type, host, i * k + j, spmmi_random_value((uint64_t)which, i, j));
        }
    }
    return upload(host, (size_t)(rows * k) * spmm_type_size(type));
}

static int32_t *narrow(const int64_t *wide, int64_t count)
{
    int32_t *host = host_memory(count, sizeof *host);

    for (int64_t e = 0; e < count; e++) {
        host[e] = (int32_t)wide[e];
    }
    return upload(host, (size_t)count * sizeof *host);
}

/* Entries of rows here and there, S in the order of CSR. */
static double error_of(const operands_t *x, const int64_t *row_ptr, const int64_t *col)
{
    const int64_t step  = x->nnz / SAMPLES + 1;
    double        worst = 0.0;
    void         *S     = host_memory(x->nnz, spmm_type_size(x->type));
    int64_t       row   = 0;

    must(spmm_buffer_copy(ctx, S, x->S, (size_t)x->nnz * spmm_type_size(x->type)));
    for (int64_t e = 0; e < x->nnz; e += step) {
        tool_sum_t want = {0.0, 0.0};
        double     error;

        while (row_ptr[row + 1] <= e) {
            row++;
        }
        for (int64_t j = 0; j < x->k; j++) {
            tool_sum_add(&want, element(1, row, j, x->type) * element(2, col[e], j, x->type));
        }
        error = fabs(spmmi_value_get(x->type, S, e) - want.sum) / want.size;
        worst = isnan(error) ? (double)INFINITY : fmax(worst, error);
    }
    free(S);
    return worst;
}

/* @return whether @p error is within; else it is said and kept for the exit code */
static int is_right(const operands_t *x, const char *name, const char *who, double error)
{
    const double bound = tool_tolerance(x->type, SPMM_COMPUTE_AUTO);

    if (error <= bound) { /* not a NaN */
        return 1;
    }
    (void)fprintf(stderr, "bench_sddmm: %s, K = %lld, %s: the error of %s, %.2e, is above %.1e\n",
                  name, (long long)x->k, spmmi_type_name(x->type), who, error, bound);
    inaccurate = 1;
    return 0;
}

/* Bytes of NaN: entries that a product forgets show. */
static void poison(const operands_t *x)
{
    must_cuda(cudaMemset(x->S, 0xff, (size_t)x->nnz * spmm_type_size(x->type)));
}

/* Median milliseconds of the faster way of those with a right S; NAN: none. */
static double time_cusparse(const operands_t *x, const char *name, const int64_t *row_ptr,
                            const int64_t *col, int iterations)
{
    double best = (double)NAN;

    for (int transposed = 0; transposed < 2; transposed++) {
        cusparse_t c;

        if (cusparse_open(x, transposed, &c) == CUSPARSE_STATUS_SUCCESS) {
            double ms;

            poison(x);
            ms = measure(&(product_t){.x = x, .cusparse = &c}, iterations);
            if (!isnan(ms) && is_right(x, name, "cuSPARSE", error_of(x, row_ptr, col))) {
                best = fmin(best, ms);
            }
        }
        cusparse_close(&c);
        (void)cudaGetLastError();
    }
    return best;
}

static void print_number(int digits, double number)
{
    if (isnan(number)) {
        (void)printf("\t-");
    } else {
        (void)printf("\t%.*f", digits, number);
    }
}

/* @p fp32: cuSPARSE's time for FP32 at this width, set where that is the type. */
static void run_width(const request_t *r, const char *name, spmm_matrix_t *A, int64_t k,
                      spmm_type_t type, double *fp32)
{
    spmm_matrix_info_t info   = {.struct_size = sizeof info};
    spmm_sddmm_info_t  chosen = {.struct_size = sizeof chosen};
    spmm_sddmm_plan_t *plan;
    const int64_t     *row_ptr, *col;
    const void        *values;
    double             theirs, ours, yard, error;
    int                passed;
    operands_t         x;

    must(spmm_matrix_get_info(A, &info));
    must(spmm_matrix_get_csr(A, &row_ptr, &col, &values));
    x = (operands_t){info.rows,
                     info.cols,
                     info.nnz,
                     k,
                     type,
                     narrow(row_ptr, info.rows + 1),
                     narrow(col, info.nnz),
                     operand(1, info.rows, k, type),
                     operand(2, info.cols, k, type),
                     NULL};
    must(spmm_buffer_alloc(ctx, (size_t)x.nnz * spmm_type_size(type), &x.S));
    must(spmm_sddmm_plan_create(A, k, NULL, &plan));
    must(spmm_sddmm_plan_get_info(plan, &chosen));
    theirs = time_cusparse(&x, name, row_ptr, col, r->iterations);
    poison(&x);
    ours   = measure(&(product_t){.x = &x, .plan = plan}, r->iterations);
    error  = error_of(&x, row_ptr, col);
    passed = is_right(&x, name, chosen.kernel, error);
    *fp32  = type == SPMM_R_32F ? theirs : *fp32;
    yard   = isnan(theirs) ? *fp32 : theirs;
    (void)printf("%s\t%lld\t%lld\t%lld\t%lld\t%s\t%s\t%d\t%.6f", name, (long long)x.rows,
                 (long long)x.cols, (long long)x.nnz, (long long)k, spmmi_type_name(type),
                 chosen.kernel, chosen.vector, ours);
    print_number(6, theirs);
    print_number(4, yard / ours);
    print_number(4, *fp32 / ours);
    (void)printf("\t%.2e\t%s\n", error, passed ? "yes" : "no");
    (void)fflush(stdout);
    must(spmm_sddmm_plan_destroy(&plan));
    must(spmm_buffer_free(ctx, (void **)&x.row_ptr));
    must(spmm_buffer_free(ctx, (void **)&x.col_idx));
    must(spmm_buffer_free(ctx, &x.X));
    must(spmm_buffer_free(ctx, &x.Y));
    must(spmm_buffer_free(ctx, &x.S));
}

static void run_matrix(const request_t *r, const char *what)
{
    const char *name = bench_block_name(what);
    double      fp32[MOST];

    for (int w = 0; w < MOST; w++) {
        fp32[w] = (double)NAN;
    }
    for (int t = 0; t < r->n_types; t++) {
        spmm_matrix_t *A;

        must(strchr(what, ':') != NULL ? spmm_matrix_generate(ctx, what, r->type[t], 1, &A)
                                       : spmm_matrix_read(ctx, what, r->type[t], 1, &A));
        for (int w = 0; w < r->n_widths; w++) {
            run_width(r, name, A, r->width[w], r->type[t], &fp32[w]);
        }
        must(spmm_matrix_destroy(&A));
    }
}

static int parse_lists(const char *types, const char *widths, request_t *r)
{
    for (int t = SPMM_R_64F; t <= SPMM_R_16BF; t++) { /* FP32 before 16-bit ones, its time counts */
        const char  *name = spmmi_type_name((spmm_type_t)t);
        const size_t n    = strlen(name);

        for (const char *at = strstr(types, name); at != NULL; at = NULL) {
            if ((at == types || at[-1] == ',') && (at[n] == ',' || at[n] == '\0')) {
                r->type[r->n_types++] = (spmm_type_t)t;
            }
        }
    }
    r->n_widths = tool_read_widths(widths, 1, r->width, MOST);
    return r->n_types > 0 && r->n_widths > 0;
}

int main(int argc, char **argv)
{
    spmm_context_options_t o    = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_info_t    info = {.struct_size = sizeof info};
    request_t              r    = {.iterations = 20};
    int                    at   = 1;

    if (argc > 2 && strcmp(argv[1], "--iterations") == 0) {
        r.iterations = atoi(argv[2]);
        at           = 3;
    }
    if (argc < at + 3 || r.iterations < 1 || !parse_lists(argv[at], argv[at + 1], &r)) {
        (void)fprintf(stderr, "usage: bench_sddmm [--iterations K] TYPE,... K,... WHAT...\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    o.device = SPMM_DEVICE_CUDA;
    must(spmm_context_create(MPI_COMM_SELF, &o, &ctx));
    must(spmm_context_get_info(ctx, &info));
    (void)printf("# SDDMM on %s, device time, median of %d after %d, caches warm\n",
                 info.device_name, r.iterations, BENCH_WARMUP);
    (void)printf(
        "matrix\trows\tcols\tnnz\tK\ttype\tkernel\tV\tms\tcusparse_ms\tratio\tratio_to_32f\t"
        "error\tpassed\n");
    for (int k = at + 2; k < argc; k++) {
        run_matrix(&r, argv[k]);
    }
    must(spmm_context_destroy(&ctx));
    MPI_Finalize();
    return inaccurate;
}
