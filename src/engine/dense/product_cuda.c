/* SPDX-License-Identifier: Apache-2.0 */
/** @file product_cuda.c
 *  The product of cuBLASLt, what its zeros have spoilt computed again, and rows of C in another
 *  order.
 */
#include "engine/dense/product_cuda.h"

#include <math.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cuda/cuda_kernels.h"
#include "cuda/dense/dense.h"
#include "engine/dense/format.h"
#include "spmm_dist/context.h"

/* Of C, and less than that of B: above, a look at B in front of the product takes less time than
 * one at C behind it. */
static const double marked_bytes = 6e6;

/* Device memory of @p count elements, counted in the format. */
static spmm_status_t reserve(spmm_dense_t *f, int64_t count, size_t size, void *ptr)
{
    size_t bytes;

    if (!spmmi_size_mul((size_t)count, size, &bytes)) {
        return spmmi_fail_memory(&f->device->env->err, count, size, "engine dense");
    }
    SPMM_TRY(f->device->ops->alloc_cached(f->device, bytes, (void **)ptr));
    f->device_bytes += bytes;
    return SPMM_OK;
}

/* There once the default stream is. */
static spmm_status_t upload(spmm_dense_t *f, const void *host, int64_t count, size_t size,
                            void *ptr)
{
    SPMM_TRY(reserve(f, count, size, ptr));
    return f->device->ops->stage(f->device, *(void **)ptr, host, (size_t)count * size);
}

static spmm_status_t upload_offsets(spmm_dense_t *f, const int64_t *row_ptr)
{
    int32_t      *narrow;
    spmm_status_t status;

    if (SPMM_NEW(narrow, f->A.n_rows + 1) == NULL) {
        return spmmi_fail_memory(&f->device->env->err, f->A.n_rows + 1, sizeof *narrow,
                                 "offsets of rows");
    }
    for (int32_t i = 0; i <= f->A.n_rows; i++) {
        narrow[i] = (int32_t)row_ptr[i];
    }
    status = upload(f, narrow, f->A.n_rows + 1, sizeof *narrow, &f->A.row_ptr);
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

    if (c < marked_bytes || b > c) {
        return SPMM_OK;
    }
    SPMM_TRY(reserve(f, groups, sizeof(uint32_t), &f->marks));
    SPMM_CUDA(f->device, cudaMemsetAsync(f->marks, 0, (size_t)groups * sizeof(uint32_t), NULL));
    return SPMM_OK;
}

static spmm_status_t make_arrays(spmm_dense_t *f, const spmm_csr_t *block)
{
    const size_t  size   = spmm_type_size(block->type);
    const int64_t places = f->A.n_rows * f->A.ld;

    if (!spmmi_csr_row_map_is_identity(block)) {
        SPMM_TRY(upload(f, block->row_map, block->n_rows, sizeof(int32_t), &f->row_map));
    }
    if (f->nnz == 0) {
        return f->device->ops->stream_sync(f->device, NULL);
    }
    SPMM_TRY(upload_offsets(f, block->row_ptr));
    SPMM_TRY(upload(f, block->col_idx, f->nnz, sizeof(int32_t), &f->A.col));
    SPMM_TRY(reserve(f, places, size, &f->A.values));
    SPMM_CUDA(f->device, cudaMemsetAsync(f->A.values, 0, (size_t)places * size, NULL));
    SPMM_TRY(reserve(f, f->A.n_rows * f->problem.n,
                     spmm_type_size(spmmi_accum_type(f->problem.ab_type)), &f->sum));
    SPMM_TRY(reserve_marks(f));
    SPMM_TRY(reserve(f, (int64_t)SPMM_DENSE_WORK, 1, &f->work));
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
        SPMM_TRY(spmmi_lt_open(f->device, &f->lt));
        SPMM_TRY(spmmi_lt_check(f->device, f->lt, f->lt->Create(&f->handle), "cublasLtCreate"));
    }
    SPMM_TRY(make_arrays(f, block));
    return f->nnz > 0 ? spmmi_dense_tune(f) : SPMM_OK;
}

spmm_status_t spmmi_dense_build(const spmm_csr_t *block, const spmm_problem_t *problem,
                                const spmm_device_t *device, void **format)
{
    spmm_status_t status;
    spmm_dense_t *f;

    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "engine dense");
    }
    f->device   = device;
    f->problem  = *problem;
    f->nnz      = spmmi_csr_nnz(block);
    f->seconds  = NAN;
    f->A.type   = block->type;
    f->A.n_rows = block->n_rows;
    f->A.n_cols = block->n_cols;
    f->A.ld     = spmmi_dense_ld(block->n_cols, block->type);
    status      = fill(f, block);
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
    SPMM_TRY(spmmi_dense_multiply(f, goal, x));
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
    *device = f->device_bytes;
}

void spmmi_dense_destroy(void *format)
{
    spmm_dense_t *f = format;

    if (f == NULL) {
        return;
    }
    (void)spmmi_cuda_use(f->device); /* of the handle; a failure here has been reported before */
    for (int goal = 0; goal < SPMM_DENSE_GOALS; goal++) {
        spmmi_dense_forget(f, &f->planned[goal]);
        spmmi_dense_forget(f, &f->other[goal]);
    }
    if (f->handle != NULL) {
        (void)f->lt->Destroy(f->handle); /* the handle is gone either way */
    }
    f->device->ops->release(f->device, f->A.values);
    f->device->ops->release(f->device, (void *)(uintptr_t)f->A.row_ptr);
    f->device->ops->release(f->device, (void *)(uintptr_t)f->A.col);
    f->device->ops->release(f->device, f->row_map);
    f->device->ops->release(f->device, f->sum);
    f->device->ops->release(f->device, f->marks);
    f->device->ops->release(f->device, f->work);
    spmmi_free(f);
}
