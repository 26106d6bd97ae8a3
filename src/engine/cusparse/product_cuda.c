/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cusparse/product_cuda.h"

#include "base/alloc.h"
#include "base/scalar.h"
#include "cuda/cuda_kernels.h"
#include "spmm_dist/context.h"

/* The format of engine cusparse: built, refilled, destroyed. */

enum { STAGING = 1 << 20 }; /* elements converted at a time */

/* Device memory of @p count elements, counted in the format. */
static spmm_status_t reserve(spmm_cusparse_t *f, int64_t count, size_t size, void **ptr)
{
    size_t bytes;

    if (!spmmi_size_mul((size_t)count, size, &bytes)) {
        return spmmi_fail_memory(&f->device->env->err, count, size, "engine cusparse");
    }
    SPMM_TRY(f->device->ops->alloc_cached(f->device, bytes, ptr));
    f->device_bytes += bytes;
    return SPMM_OK;
}

/* There once the default stream is. */
static spmm_status_t fill(const spmm_cusparse_t *f, void *to, const void *from, size_t bytes)
{
    return f->device->ops->stage(f->device, to, from, bytes);
}

/* Offsets or indices in the width of the format, converted part by part where the host's differs.
 * Exactly one of from64 and from32 is not NULL. */
static spmm_status_t upload_index(spmm_cusparse_t *f, const int64_t *from64, const int32_t *from32,
                                  int64_t count, void **ptr)
{
    const size_t  size   = f->wide ? sizeof(int64_t) : sizeof(int32_t);
    spmm_status_t status = reserve(f, count, size, ptr);
    void         *part;

    if (status != SPMM_OK) {
        return status;
    }
    if (f->wide == (from64 != NULL)) {
        return fill(f, *ptr, f->wide ? (const void *)from64 : (const void *)from32,
                    (size_t)count * size);
    }
    part = spmmi_alloc(count < STAGING ? count : STAGING, size);
    if (part == NULL) {
        return spmmi_fail_memory(&f->device->env->err, STAGING, size, "converted indices");
    }
    for (int64_t first = 0; first < count && status == SPMM_OK; first += STAGING) {
        const int64_t width = count - first < STAGING ? count - first : STAGING;

        for (int64_t k = 0; k < width; k++) {
            if (f->wide) {
                ((int64_t *)part)[k] = from32[first + k];
            } else {
                ((int32_t *)part)[k] = (int32_t)from64[first + k];
            }
        }
        status = fill(f, (char *)*ptr + (size_t)first * size, part, (size_t)width * size);
    }
    spmmi_free(part);
    return status;
}

static spmm_status_t upload(spmm_cusparse_t *f, const spmm_csr_t *block)
{
    const size_t elem = spmm_type_size(f->problem.ab_type);

    SPMM_TRY(upload_index(f, block->row_ptr, NULL, (int64_t)f->n_rows + 1, &f->row_ptr));
    SPMM_TRY(upload_index(f, NULL, block->col_idx, f->nnz, &f->col_idx));
    SPMM_TRY(reserve(f, f->nnz, elem, &f->values));
    SPMM_TRY(fill(f, f->values, block->values, (size_t)f->nnz * elem));
    if (spmmi_csr_row_map_is_identity(block)) {
        return SPMM_OK;
    }
    SPMM_TRY(reserve(f, f->n_rows, sizeof(int32_t), &f->row_map));
    SPMM_TRY(fill(f, f->row_map, block->row_map, (size_t)f->n_rows * sizeof(int32_t)));
    if (f->nnz == 0) {
        return SPMM_OK;
    }
    return reserve(f, f->n_rows * f->problem.n,
                   spmm_type_size(spmmi_accum_type(f->problem.ab_type)), &f->sum);
}

/* Arrays and handle of its own. */
static spmm_status_t make_arrays(spmm_cusparse_t *f, const spmm_csr_t *block)
{
    if (SPMM_NEW_ZERO(f->common, 1) == NULL) {
        return spmmi_fail_memory(&f->device->env->err, 1, sizeof *f->common, "engine cusparse");
    }
    f->common->users = 1;
    SPMM_TRY(spmmi_cusparse_check(f->device, cusparseCreate(&f->handle), "cusparseCreate"));
    SPMM_TRY(upload(f, block));
    return f->device->ops->stream_sync(f->device, NULL);
}

/* Those of another format of the same block, which run one after the other. */
static void share_arrays(spmm_cusparse_t *f, const spmm_cusparse_t *of)
{
    f->common       = of->common;
    f->handle       = of->handle;
    f->row_ptr      = of->row_ptr;
    f->col_idx      = of->col_idx;
    f->values       = of->values;
    f->row_map      = of->row_map;
    f->sum          = of->sum;
    f->device_bytes = of->device_bytes;
    f->shares       = true;
    f->common->users++;
}

spmm_status_t spmmi_cusparse_build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                                   const spmm_problem_t *problem, const spmm_device_t *device,
                                   void **format)
{
    spmm_status_t    status = spmmi_cuda_use(device);
    spmm_cusparse_t *f;

    (void)engine;
    if (status != SPMM_OK) {
        return status;
    }
    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "engine cusparse");
    }
    f->device  = device;
    f->problem = *problem;
    f->n_rows  = block->n_rows;
    f->n_cols  = block->n_cols;
    f->nnz     = spmmi_csr_nnz(block);
    f->wide    = f->nnz > INT32_MAX;
    if (problem->sibling != NULL) {
        share_arrays(f, problem->sibling);
    } else {
        status = make_arrays(f, block);
    }
    f->problem.sibling = NULL; /* borrowed during the call */
    if (status == SPMM_OK && f->nnz > 0) {
        status = spmmi_cusparse_tune(f);
    }
    if (status != SPMM_OK) {
        spmmi_cusparse_destroy(f);
        return status;
    }
    *format = f;
    return SPMM_OK;
}

spmm_status_t spmmi_cusparse_places(const void *format, void **values, int64_t *count,
                                    int32_t **from)
{
    const spmm_cusparse_t *f = format;

    *values = f->values;
    *count  = f->nnz;
    *from   = NULL;
    return SPMM_OK;
}

void spmmi_cusparse_bytes(const void *format, size_t *host, size_t *device)
{
    const spmm_cusparse_t *f = format;

    *host   = sizeof *f;
    *device = f->work_bytes + (f->shares && f->common->users > 1 ? 0 : f->device_bytes);
}

void spmmi_cusparse_destroy(void *format)
{
    spmm_cusparse_t *f = format;

    if (f == NULL) {
        return;
    }
    (void)spmmi_cuda_use(f->device); /* of the handle; a failure here has been reported before */
    spmmi_cusparse_unbind(f);
    f->device->ops->release(f->device, f->work);
    if (f->common != NULL && --f->common->users == 0) {
        if (f->handle != NULL) {
            (void)cusparseDestroy(f->handle); /* the handle is gone either way */
        }
        f->device->ops->release(f->device, f->row_ptr);
        f->device->ops->release(f->device, f->col_idx);
        f->device->ops->release(f->device, f->values);
        f->device->ops->release(f->device, f->row_map);
        f->device->ops->release(f->device, f->sum);
        spmmi_free(f->common);
    }
    spmmi_free(f);
}

spmm_status_t spmmi_cusparse_check(const spmm_device_t *device, cusparseStatus_t code,
                                   const char *what)
{
    spmm_status_t status = SPMM_ERR_DEVICE;

    if (code == CUSPARSE_STATUS_SUCCESS) {
        return SPMM_OK;
    }
    (void)cudaGetLastError();
    if (code == CUSPARSE_STATUS_ALLOC_FAILED || code == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES) {
        status = SPMM_ERR_MEMORY;
    } else if (code == CUSPARSE_STATUS_NOT_SUPPORTED || code == CUSPARSE_STATUS_ARCH_MISMATCH) {
        status = SPMM_ERR_UNSUPPORTED;
    }
    return spmmi_fail(&device->env->err, status, "%s failed on CUDA device %d: %s", what,
                      device->ordinal, cusparseGetErrorString(code));
}

/* Its name of a type. */
static cudaDataType cusparse_type(spmm_type_t type)
{
    switch (type) {
    case SPMM_R_64F:
        return CUDA_R_64F;
    case SPMM_R_16F:
        return CUDA_R_16F;
    case SPMM_R_16BF:
        return CUDA_R_16BF;
    case SPMM_C_64F:
        return CUDA_C_64F;
    case SPMM_C_32F:
        return CUDA_C_32F;
    case SPMM_R_32F:
    case SPMM_TYPE_AUTO:
        break;
    }
    return CUDA_R_32F;
}

spmm_type_t spmmi_cusparse_product_type(const spmm_cusparse_t *f)
{
    return f->row_map != NULL ? spmmi_accum_type(f->problem.ab_type) : f->problem.c_type;
}

/* Leading dimension of what cuSPARSE writes. */
static int64_t tight_ld(const spmm_cusparse_t *f, int64_t rows, int64_t n)
{
    return f->problem.layout == SPMM_LAYOUT_COL ? rows : n;
}

void spmmi_cusparse_unbind(spmm_cusparse_t *f)
{
    /* Failures to destroy a host structure leave nothing to be done. */
    if (f->A != NULL) {
        (void)cusparseDestroySpMat(f->A);
    }
    if (f->B != NULL) {
        (void)cusparseDestroyDnMat(f->B);
    }
    if (f->C != NULL) {
        (void)cusparseDestroyDnMat(f->C);
    }
    if (f->b != NULL) {
        (void)cusparseDestroyDnVec(f->b);
    }
    if (f->c != NULL) {
        (void)cusparseDestroyDnVec(f->c);
    }
    f->A = NULL;
    f->B = NULL;
    f->C = NULL;
    f->b = NULL;
    f->c = NULL;
    f->n = 0;
}

static bool is_vector(cusparseSpMMAlg_t algorithm)
{
    return (int)algorithm >= SPMM_CUSPARSE_VECTOR;
}

static cusparseSpMVAlg_t vector_of(cusparseSpMMAlg_t algorithm)
{
    return (cusparseSpMVAlg_t)((int)algorithm - SPMM_CUSPARSE_VECTOR);
}

/* Are B and C single columns without gaps, as cusparseSpMV() takes them? */
static bool are_vectors(const spmm_cusparse_t *f, const spmm_operands_t *x)
{
    return x->n == 1 && (f->problem.layout == SPMM_LAYOUT_COL || (x->ldb == 1 && x->ldc == 1));
}

static cusparseStatus_t bind_dense(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                                   const spmm_operands_t *x)
{
    const cudaDataType    ab = cusparse_type(f->problem.ab_type);
    const cudaDataType    to = cusparse_type(spmmi_cusparse_product_type(f));
    const cusparseOrder_t order =
        f->problem.layout == SPMM_LAYOUT_COL ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW;
    /* B is only read, but one kind of descriptor serves both. */
    void            *b = (void *)(uintptr_t)x->B;
    cusparseStatus_t code;

    if (is_vector(algorithm)) {
        code = cusparseCreateDnVec(&f->b, f->n_cols, b, ab);
        return code != CUSPARSE_STATUS_SUCCESS ? code
                                               : cusparseCreateDnVec(&f->c, f->n_rows, x->C, to);
    }
    code = cusparseCreateDnMat(&f->B, f->n_cols, x->n, x->ldb, b, ab, order);
    return code != CUSPARSE_STATUS_SUCCESS
               ? code
               : cusparseCreateDnMat(&f->C, f->n_rows, x->n, x->ldc, x->C, to, order);
}

/* Fresh descriptors.  That of A is fresh too: it remembers which workspace holds state. */
static cusparseStatus_t bind(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                             const spmm_operands_t *x)
{
    const cusparseIndexType_t index = f->wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
    const cudaDataType        ab    = cusparse_type(f->problem.ab_type);
    cusparseStatus_t          code;

    spmmi_cusparse_unbind(f);
    code = cusparseCreateCsr(&f->A, f->n_rows, f->n_cols, f->nnz, f->row_ptr, f->col_idx, f->values,
                             index, index, CUSPARSE_INDEX_BASE_ZERO, ab);
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = bind_dense(f, algorithm, x);
    }
    if (code != CUSPARSE_STATUS_SUCCESS) {
        spmmi_cusparse_unbind(f);
    }
    return code;
}

/* alpha and beta in the compute type, each as a complex number, which begins with its real part. */
typedef struct {
    double       d[2][2];
    float        s[2][2];
    const void  *alpha, *beta;
    cudaDataType type;
} scalars_t;

static void set_scalars(const spmm_cusparse_t *f, const spmm_operands_t *x, scalars_t *to)
{
    const bool          fp64  = spmmi_is_64f(f->problem.ab_type);
    const spmm_scalar_t of[2] = {x->alpha, x->beta};

    for (int k = 0; k < 2; k++) {
        to->d[k][0] = of[k].re;
        to->d[k][1] = of[k].im;
        to->s[k][0] = (float)of[k].re;
        to->s[k][1] = (float)of[k].im;
    }
    to->alpha = fp64 ? (const void *)to->d[0] : (const void *)to->s[0];
    to->beta  = fp64 ? (const void *)to->d[1] : (const void *)to->s[1];
    to->type  = cusparse_type(spmmi_accum_type(f->problem.ab_type));
}

static cusparseStatus_t query(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                              const scalars_t *scalars, size_t *bytes)
{
    if (is_vector(algorithm)) {
        return cusparseSpMV_bufferSize(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, scalars->alpha,
                                       f->A, f->b, scalars->beta, f->c, scalars->type,
                                       vector_of(algorithm), bytes);
    }
    return cusparseSpMM_bufferSize(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                   CUSPARSE_OPERATION_NON_TRANSPOSE, scalars->alpha, f->A, f->B,
                                   scalars->beta, f->C, scalars->type, algorithm, bytes);
}

cusparseStatus_t spmmi_cusparse_work_size(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                                          int64_t n, int64_t pad, size_t *bytes)
{
    /* The size needs dense sizes, not data: any device address does. */
    const spmm_operands_t x = {.n     = n,
                               .alpha = {.re = 1.0},
                               .B     = f->values,
                               .ldb   = tight_ld(f, f->n_cols, n) + pad,
                               .C     = f->values,
                               .ldc   = tight_ld(f, f->n_rows, n) + pad};
    scalars_t             scalars;
    cusparseStatus_t      code;

    set_scalars(f, &x, &scalars);
    code = bind(f, algorithm, &x);
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = query(f, algorithm, &scalars, bytes);
    }
    spmmi_cusparse_unbind(f);
    return code;
}

/* ALG3 of cuSPARSE 12.6 (CUDA 13.0) loads and stores row-major blocks by the widest access, up
 * to 16 bytes, that divides n elements, whatever the leading dimension: a stride that this
 * access does not divide ends in "misaligned address". */
static bool misaligns(const spmm_cusparse_t *f, const spmm_operands_t *x)
{
    const size_t b    = spmm_type_size(f->problem.ab_type);
    const size_t c    = spmm_type_size(spmmi_cusparse_product_type(f));
    const size_t wide = (size_t)x->n * (b < c ? b : c) | 16;
    const size_t step = wide & (~wide + 1); /* the lowest bit: a power of two, 16 at most */

    return f->problem.layout == SPMM_LAYOUT_ROW &&
           (((uintptr_t)x->B | (uintptr_t)x->C | (size_t)x->ldb * b | (size_t)x->ldc * c) &
            (step - 1)) != 0;
}

/* Sums of 16 bits are added to C by twos (measured with cuSPARSE 12.6, algorithms but ALG3): the
 * element before a row that begins between two of a word gets a zero added, which another NaN or a
 * zero of the other sign does not survive.  It is C's own where its rows leave no gap. */
static bool adds_beside(const spmm_cusparse_t *f, const spmm_operands_t *x)
{
    const size_t size = spmm_type_size(spmmi_cusparse_product_type(f));
    const size_t step = x->ldc == x->n ? 0 : (size_t)x->ldc * size;

    return size == 2 && f->problem.layout == SPMM_LAYOUT_ROW && (((uintptr_t)x->C | step) & 3) != 0;
}

/* Reads the pattern once, for products that follow. */
static cusparseStatus_t preprocess(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                                   const scalars_t *scalars)
{
    if (is_vector(algorithm)) {
#if CUSPARSE_VERSION >= 12500
        return cusparseSpMV_preprocess(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, scalars->alpha,
                                       f->A, f->b, scalars->beta, f->c, scalars->type,
                                       vector_of(algorithm), f->work);
#else
        return CUSPARSE_STATUS_SUCCESS;
#endif
    }
    return cusparseSpMM_preprocess(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                   CUSPARSE_OPERATION_NON_TRANSPOSE, scalars->alpha, f->A, f->B,
                                   scalars->beta, f->C, scalars->type, algorithm, f->work);
}

/* New dense: descriptors, workspace check, preprocessed state. */
static cusparseStatus_t redescribe(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                                   const spmm_operands_t *x, const scalars_t *scalars)
{
    cusparseStatus_t code = bind(f, algorithm, x);

    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = query(f, algorithm, scalars, &f->work_need);
    }
    if (code == CUSPARSE_STATUS_SUCCESS && f->work_need > f->work_bytes) {
        code = CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
    }
    /* ALG3 gives the same bits from run to run, but not once it is preprocessed (measured with
     * CUDA 13.0: 0 and 99 of 99 runs differ from the first on a matrix with a long row). */
    if (code == CUSPARSE_STATUS_SUCCESS && !f->problem.deterministic && !adds_beside(f, x)) {
        code = preprocess(f, algorithm, scalars);
    }
    if (code != CUSPARSE_STATUS_SUCCESS) {
        spmmi_cusparse_unbind(f);
        return code;
    }
    f->bound = algorithm;
    f->n     = x->n;
    f->ldb   = x->ldb;
    f->ldc   = x->ldc;
    return code;
}

static cusparseStatus_t set_dense(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                                  const spmm_operands_t *x)
{
    void            *b = (void *)(uintptr_t)x->B;
    cusparseStatus_t code;

    if (is_vector(algorithm)) {
        code = cusparseDnVecSetValues(f->b, b);
        return code != CUSPARSE_STATUS_SUCCESS ? code : cusparseDnVecSetValues(f->c, x->C);
    }
    code = cusparseDnMatSetValues(f->B, b);
    return code != CUSPARSE_STATUS_SUCCESS ? code : cusparseDnMatSetValues(f->C, x->C);
}

static cusparseStatus_t multiply_by(spmm_cusparse_t *f, cusparseSpMMAlg_t algorithm,
                                    const spmm_operands_t *x)
{
    const bool bound =
        f->bound == algorithm && f->n == x->n && f->ldb == x->ldb && f->ldc == x->ldc;
    scalars_t        scalars;
    cusparseStatus_t code;

    set_scalars(f, x, &scalars);
    if (!bound) {
        code = redescribe(f, algorithm, x, &scalars);
    } else {
        code = set_dense(f, algorithm, x);
    }
    if (code != CUSPARSE_STATUS_SUCCESS) {
        return code;
    }
    if (is_vector(algorithm)) {
        return cusparseSpMV(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, scalars.alpha, f->A, f->b,
                            scalars.beta, f->c, scalars.type, vector_of(algorithm), f->work);
    }
    return cusparseSpMM(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                        CUSPARSE_OPERATION_NON_TRANSPOSE, scalars.alpha, f->A, f->B, scalars.beta,
                        f->C, scalars.type, algorithm, f->work);
}

cusparseStatus_t spmmi_cusparse_multiply(spmm_cusparse_t *f, const spmm_operands_t *x)
{
    const size_t      last_b = (size_t)(x->n - 1) * spmm_type_size(f->problem.ab_type);
    const size_t      last_c = (size_t)(x->n - 1) * spmm_type_size(spmmi_cusparse_product_type(f));
    cusparseSpMMAlg_t algorithm = f->algorithm;
    spmm_operands_t   part;
    cusparseStatus_t  code = cusparseSetStream(f->handle, (cudaStream_t)x->stream);

    if (code != CUSPARSE_STATUS_SUCCESS) {
        return code;
    }
    if (adds_beside(f, x)) {
        algorithm = CUSPARSE_SPMM_CSR_ALG3;
    } else if ((algorithm == CUSPARSE_SPMM_CSR_ALG3 && misaligns(f, x)) ||
               (is_vector(algorithm) && !are_vectors(f, x))) {
        algorithm = f->careful;
    }
    if (algorithm != CUSPARSE_SPMM_CSR_ALG3 || !misaligns(f, x)) {
        return multiply_by(f, algorithm, x);
    }
    /* No other algorithm will do: an odd number of columns is read element by element. */
    part   = *x;
    part.n = x->n - 1;
    code   = multiply_by(f, algorithm, &part);
    if (code != CUSPARSE_STATUS_SUCCESS) {
        return code;
    }
    part.n = 1;
    part.B = (const char *)x->B + last_b;
    part.C = (char *)x->C + last_c;
    return multiply_by(f, algorithm, &part);
}

spmm_status_t spmmi_cusparse_execute(void *format, const spmm_operands_t *x)
{
    spmm_cusparse_t  *f       = format;
    const bool        product = f->nnz > 0;
    const bool        merge   = f->row_map != NULL || !product;
    spmm_merge_args_t rest    = {.sum      = product ? f->sum : NULL,
                                 .sum_type = spmmi_accum_type(f->problem.ab_type),
                                 .ld_sum   = tight_ld(f, f->n_rows, x->n),
                                 .row_map  = f->row_map,
                                 .n_rows   = f->n_rows,
                                 .n        = x->n,
                                 .beta     = x->beta,
                                 .C        = x->C,
                                 .c_type   = x->c_type,
                                 .ldc      = x->ldc,
                                 .layout   = x->layout};
    spmm_operands_t   y       = *x;

    if (merge) {
        y.beta = (spmm_scalar_t){0};
        y.C    = f->sum;
        y.ldc  = rest.ld_sum;
    }
    if (f->n_rows == 0 || x->n == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_cuda_use(f->device));
    if (product) {
        const cusparseStatus_t code = spmmi_cusparse_multiply(f, &y);

        if (code == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES && f->work_need > f->work_bytes) {
            return spmmi_fail(&f->device->env->err, SPMM_ERR_INTERNAL,
                              "cuSPARSE asks for %zu bytes of workspace at n = %lld and the plan "
                              "holds %zu: plan for this n",
                              f->work_need, (long long)x->n, f->work_bytes);
        }
        SPMM_TRY(spmmi_cusparse_check(f->device, code, "cusparseSpMM"));
    }
    if (merge) {
        SPMM_CUDA(f->device, spmmi_cuda_merge_rows(&rest, (cudaStream_t)x->stream));
    }
    return SPMM_OK;
}
