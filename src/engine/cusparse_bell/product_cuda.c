/* SPDX-License-Identifier: Apache-2.0 */
/** @file product_cuda.c
 *  cuSPARSE wants whole blocks: B with as many rows as A has columns of blocks times their size, C
 *  likewise.  Where the operands of a product are not so, or lie or step where tensor-core kernels
 *  do not load 16 bytes, copies that are take their place.
 */
#include "engine/cusparse_bell/product_cuda.h"

#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cuda/cuda_kernels.h"
#include "engine/cusparse/product_cuda.h"
#include "engine/cusparse_bell/format.h"
#include "spmm_dist/context.h"

enum { STEP = 8 }; /* columns that copies are a multiple of: 16 bytes */

/* The operands of a call to cuSPARSE, in whole blocks. */
typedef struct {
    int64_t n, ldb, ldc;
    bool    copies_b, copies_c;
} dense_t;

typedef struct {
    const spmm_device_t *device; /* borrowed */
    spmm_problem_t       problem;
    spmm_bell_t          bell;
    int64_t              b_rows, c_rows; /* in whole blocks */
    void                *col, *values;   /* of bell, device, owned, as all below */
    void                *row_map;        /* [n_rows] int32, NULL: the identity */
    void                *B;              /* [b_rows x n up to STEP] of ab_type */
    void                *C;              /* [c_rows x n up to STEP] float */
    void                *work;           /* of cuSPARSE */
    size_t               work_bytes, device_bytes;
    cusparseHandle_t     handle;
    cusparseSpMatDescr_t A;
    cusparseDnMatDescr_t b, c;  /* for dense */
    dense_t              dense; /* n == 0: none yet */
} bell_t;

static int64_t up_to(int64_t value, int64_t step)
{
    return (value + step - 1) / step * step;
}

static spmm_type_t product_type(const bell_t *f, const dense_t *dense)
{
    return dense->copies_c ? SPMM_R_32F : f->problem.c_type;
}

static void unbind(bell_t *f)
{
    /* Failures to destroy a host structure leave nothing to be done. */
    if (f->b != NULL) {
        (void)cusparseDestroyDnMat(f->b);
    }
    if (f->c != NULL) {
        (void)cusparseDestroyDnMat(f->c);
    }
    f->b     = NULL;
    f->c     = NULL;
    f->dense = (dense_t){.n = 0};
}

static cusparseStatus_t bind(bell_t *f, const dense_t *dense, const void *B, void *C)
{
    const cudaDataType ab = spmmi_cusparse_type(f->problem.ab_type);
    /* B is only read, but one kind of descriptor serves both. */
    void            *b = (void *)(uintptr_t)B;
    cusparseStatus_t code;

    unbind(f);
    code = cusparseCreateDnMat(&f->b, f->b_rows, dense->n, dense->ldb, b, ab, CUSPARSE_ORDER_ROW);
    if (code == CUSPARSE_STATUS_SUCCESS) {
        code = cusparseCreateDnMat(&f->c, f->c_rows, dense->n, dense->ldc, C,
                                   spmmi_cusparse_type(product_type(f, dense)), CUSPARSE_ORDER_ROW);
    }
    if (code == CUSPARSE_STATUS_SUCCESS) {
        f->dense = *dense;
    } else {
        unbind(f);
    }
    return code;
}

static cusparseStatus_t work_size(const bell_t *f, size_t *bytes)
{
    const float alpha = 1.0f, beta = 0.0f;

    return cusparseSpMM_bufferSize(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                   CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, f->A, f->b, &beta,
                                   f->c, CUDA_R_32F, CUSPARSE_SPMM_BLOCKED_ELL_ALG1, bytes);
}

static bool is_aligned(const void *ptr, int64_t ld, spmm_type_t type)
{
    return (((uintptr_t)ptr | (size_t)ld * spmm_type_size(type)) & 15) == 0;
}

static dense_t width_of(const bell_t *f, const spmm_operands_t *x)
{
    const bool    whole   = x->n % STEP == 0;
    const int64_t columns = up_to(x->n, STEP);
    dense_t       dense   = {.n = columns};

    dense.copies_b = !whole || f->b_rows != f->bell.n_cols || !is_aligned(x->B, x->ldb, x->ab_type);
    dense.copies_c = !whole || f->c_rows != f->bell.n_rows || f->row_map != NULL ||
                     !is_aligned(x->C, x->ldc, x->c_type);
    dense.ldb = dense.copies_b ? columns : x->ldb;
    dense.ldc = dense.copies_c ? columns : x->ldc;
    return dense;
}

/* Rows of the copy that B does not have are multiplied by zeros: they must be finite. */
static spmm_status_t copy_b(const bell_t *f, const dense_t *dense, const spmm_operands_t *x)
{
    const cudaStream_t stream = (cudaStream_t)x->stream;
    const size_t       elem = spmm_type_size(x->ab_type), row = (size_t)dense->n * elem;
    const size_t       ldb  = (size_t)x->ldb * elem;
    const int64_t      more = f->b_rows - f->bell.n_cols;

    if (ldb > INT32_MAX) {
        return spmmi_fail(
            &f->device->env->err, SPMM_ERR_UNSUPPORTED,
            "engine cusparse-bell copies B here and takes no ldb above %d: it is %lld",
            INT32_MAX / (int)elem, (long long)x->ldb);
    }
    SPMM_CUDA(f->device,
              cudaMemcpy2DAsync(f->B, row, x->B, ldb, (size_t)x->n * elem, (size_t)f->bell.n_cols,
                                cudaMemcpyDeviceToDevice, stream));
    SPMM_CUDA(f->device, cudaMemsetAsync((char *)f->B + (size_t)f->bell.n_cols * row, 0,
                                         (size_t)more * row, stream));
    return SPMM_OK;
}

/* Descriptors for this dense and these addresses. */
static spmm_status_t prepare(bell_t *f, const dense_t *dense, const void *B, void *C)
{
    const dense_t   *at = &f->dense;
    size_t           need;
    cusparseStatus_t code;

    if (at->n == dense->n && at->ldb == dense->ldb && at->ldc == dense->ldc &&
        at->copies_b == dense->copies_b && at->copies_c == dense->copies_c) {
        code = cusparseDnMatSetValues(f->b, (void *)(uintptr_t)B);
        if (code == CUSPARSE_STATUS_SUCCESS) {
            code = cusparseDnMatSetValues(f->c, C);
        }
        return spmmi_cusparse_check(f->device, code, "cusparseDnMatSetValues");
    }
    SPMM_TRY(spmmi_cusparse_check(f->device, bind(f, dense, B, C), "cusparseCreateDnMat"));
    SPMM_TRY(spmmi_cusparse_check(f->device, work_size(f, &need), "cusparseSpMM_bufferSize"));
    if (need > f->work_bytes) {
        unbind(f);
        return spmmi_fail(&f->device->env->err, SPMM_ERR_INTERNAL,
                          "cuSPARSE asks for %zu bytes of workspace at n = %lld and the plan "
                          "holds %zu: plan for this n",
                          need, (long long)dense->n, f->work_bytes);
    }
    return SPMM_OK;
}

/* alpha * A * B + beta * C into C or, with beta 0, into its copy. */
static spmm_status_t multiply(bell_t *f, const dense_t *dense, const spmm_operands_t *x)
{
    const float a = (float)x->alpha.re, b = dense->copies_c ? 0.0f : (float)x->beta.re;

    SPMM_TRY(prepare(f, dense, dense->copies_b ? f->B : x->B, dense->copies_c ? f->C : x->C));
    SPMM_TRY(spmmi_cusparse_check(f->device, cusparseSetStream(f->handle, (cudaStream_t)x->stream),
                                  "cusparseSetStream"));
    return spmmi_cusparse_check(
        f->device,
        cusparseSpMM(f->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                     &a, f->A, f->b, &b, f->c, CUDA_R_32F, CUSPARSE_SPMM_BLOCKED_ELL_ALG1, f->work),
        "cusparseSpMM");
}

spmm_status_t spmmi_cusparse_bell_execute(void *format, const spmm_operands_t *x)
{
    bell_t           *f       = format;
    const bool        product = f->bell.nnz > 0;
    const dense_t     dense   = width_of(f, x);
    spmm_merge_args_t rest    = {.sum      = product ? f->C : NULL,
                                 .sum_type = SPMM_R_32F,
                                 .ld_sum   = dense.ldc,
                                 .row_map  = f->row_map,
                                 .n_rows   = f->bell.n_rows,
                                 .n        = x->n,
                                 .beta     = x->beta,
                                 .C        = x->C,
                                 .c_type   = x->c_type,
                                 .ldc      = x->ldc,
                                 .layout   = x->layout};

    if (f->bell.n_rows == 0 || x->n == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_cuda_use(f->device));
    if (product && dense.copies_b) {
        SPMM_TRY(copy_b(f, &dense, x));
    }
    if (product) {
        SPMM_TRY(multiply(f, &dense, x));
    }
    if (!product || dense.copies_c) {
        SPMM_CUDA(f->device, spmmi_cuda_merge_rows(&rest, (cudaStream_t)x->stream));
    }
    return SPMM_OK;
}

/* Device memory of @p rows x @p columns, counted in the format. */
static spmm_status_t reserve(bell_t *f, int64_t rows, int64_t columns, size_t size, void **ptr)
{
    size_t bytes;

    if (!spmmi_size_mul((size_t)rows, (size_t)columns, &bytes) ||
        !spmmi_size_mul(bytes, size, &bytes)) {
        return spmmi_fail_memory(&f->device->env->err, rows, (size_t)columns * size,
                                 "engine cusparse-bell");
    }
    SPMM_TRY(f->device->ops->alloc_cached(f->device, bytes, ptr));
    f->device_bytes += bytes;
    return SPMM_OK;
}

spmm_status_t spmmi_cusparse_bell_refill(void *format, const void *values)
{
    const bell_t *f      = format;
    const int64_t places = spmmi_bell_places(&f->bell);
    uint16_t     *padded;
    spmm_status_t status;

    if (f->bell.nnz == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_cuda_use(f->device));
    if (SPMM_NEW_ZERO(padded, places) == NULL) {
        return spmmi_fail_memory(&f->device->env->err, places, sizeof *padded,
                                 "padded values of Blocked-ELL");
    }
    spmmi_bell_fill(&f->bell, values, f->device->threads, padded);
    status = spmmi_device_write(f->device, f->values, padded, (size_t)places * sizeof *padded);
    spmmi_free(padded);
    return status;
}

static spmm_status_t upload(bell_t *f, const spmm_csr_t *block)
{
    const spmm_bell_t *bell    = &f->bell;
    const int64_t      columns = up_to(f->problem.n, STEP);

    if (!spmmi_csr_row_map_is_identity(block)) {
        SPMM_TRY(reserve(f, block->n_rows, 1, sizeof(int32_t), &f->row_map));
        SPMM_TRY(spmmi_device_write(f->device, f->row_map, block->row_map,
                                    (size_t)block->n_rows * sizeof(int32_t)));
    }
    if (bell->nnz == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(reserve(f, bell->n_block_rows, bell->width, sizeof *bell->col, &f->col));
    SPMM_TRY(
        spmmi_device_write(f->device, f->col, bell->col,
                           (size_t)bell->n_block_rows * (size_t)bell->width * sizeof *bell->col));
    SPMM_TRY(reserve(f, spmmi_bell_places(bell), 1, sizeof(uint16_t), &f->values));
    SPMM_TRY(reserve(f, f->b_rows, columns, spmm_type_size(f->problem.ab_type), &f->B));
    SPMM_TRY(reserve(f, f->c_rows, columns, sizeof(float), &f->C));
    return spmmi_cusparse_bell_refill(f, block->values);
}

/* Descriptor of A, and workspace for any dense up to the planned one; fails where cuSPARSE does not
 * take these types. */
static spmm_status_t set_up(bell_t *f)
{
    const spmm_bell_t *bell    = &f->bell;
    const int64_t      planned = up_to(f->problem.n, STEP);

    SPMM_TRY(spmmi_cusparse_check(f->device, cusparseCreate(&f->handle), "cusparseCreate"));
    SPMM_TRY(spmmi_cusparse_check(f->device,
                                  cusparseCreateBlockedEll(&f->A, f->c_rows, f->b_rows, bell->size,
                                                           (int64_t)bell->width * bell->size,
                                                           f->col, f->values, CUSPARSE_INDEX_32I,
                                                           CUSPARSE_INDEX_BASE_ZERO,
                                                           spmmi_cusparse_type(f->problem.ab_type)),
                                  "cusparseCreateBlockedEll"));
    for (int64_t n = STEP; n > 0; n = n == planned ? 0 : n < planned / 2 ? 2 * n : planned) {
        for (int copies_c = 0; copies_c < 2; copies_c++) {
            const dense_t dense = {.n = n, .ldb = n, .ldc = n, .copies_c = copies_c != 0};
            size_t        bytes = 0;

            SPMM_TRY(spmmi_cusparse_check(f->device, bind(f, &dense, f->B, f->C),
                                          "cusparseCreateDnMat"));
            SPMM_TRY(
                spmmi_cusparse_check(f->device, work_size(f, &bytes), "cusparseSpMM_bufferSize"));
            f->work_bytes = bytes > f->work_bytes ? bytes : f->work_bytes;
        }
    }
    unbind(f);
    return reserve(f, (int64_t)f->work_bytes, 1, 1, &f->work);
}

static spmm_status_t fill(bell_t *f, const spmm_csr_t *block)
{
    SPMM_TRY(spmmi_cuda_use(f->device));
    SPMM_TRY(spmmi_bell_create(f->device->env, block, spmmi_pattern_windows(f->problem.pattern),
                               f->problem.n, f->device->threads, &f->bell));
    f->c_rows = up_to(block->n_rows, f->bell.size);
    f->b_rows = up_to(block->n_cols, f->bell.size);
    SPMM_TRY(upload(f, block));
    return f->bell.nnz == 0 ? SPMM_OK : set_up(f);
}

spmm_status_t spmmi_cusparse_bell_build(const spmm_csr_t *block, const spmm_problem_t *problem,
                                        const spmm_device_t *device, void **format)
{
    spmm_status_t status;
    bell_t       *f;

    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "engine cusparse-bell");
    }
    f->device  = device;
    f->problem = *problem;
    status     = fill(f, block);
    if (status != SPMM_OK) {
        spmmi_cusparse_bell_destroy(f);
        return status;
    }
    f->problem.pattern = NULL; /* borrowed during the call */
    *format            = f;
    return SPMM_OK;
}

void spmmi_cusparse_bell_describe(const void *format, const spmm_pattern_t *pattern, FILE *out)
{
    const spmm_bell_t *bell = &((const bell_t *)format)->bell;

    (void)pattern;
    if (bell->nnz > 0) {
        (void)fprintf(
            out, "blocks of %d x %d, %d in each row of blocks; %.1f values stored for each entry\n",
            bell->size, bell->size, bell->width,
            (double)spmmi_bell_places(bell) / (double)bell->nnz);
    }
}

void spmmi_cusparse_bell_bytes(const void *format, size_t *host, size_t *device)
{
    const bell_t *f = format;

    *host = sizeof *f + (size_t)f->bell.n_block_rows * (size_t)f->bell.width * sizeof *f->bell.col +
            (size_t)f->bell.nnz * sizeof *f->bell.place;
    *device = f->device_bytes;
}

void spmmi_cusparse_bell_destroy(void *format)
{
    bell_t *f = format;

    if (f == NULL) {
        return;
    }
    (void)spmmi_cuda_use(f->device); /* of the handle; a failure here has been reported before */
    unbind(f);
    if (f->A != NULL) {
        (void)cusparseDestroySpMat(f->A);
    }
    if (f->handle != NULL) {
        (void)cusparseDestroy(f->handle); /* the handle is gone either way */
    }
    f->device->ops->release(f->device, f->col);
    f->device->ops->release(f->device, f->values);
    f->device->ops->release(f->device, f->row_map);
    f->device->ops->release(f->device, f->B);
    f->device->ops->release(f->device, f->C);
    f->device->ops->release(f->device, f->work);
    spmmi_bell_free(&f->bell);
    spmmi_free(f);
}
