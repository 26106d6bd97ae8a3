/* SPDX-License-Identifier: Apache-2.0 */
/** @file format_cuda.c  The format of engine cusparse: built, refilled, destroyed. */
#include "engine/cusparse/product_cuda.h"

#include "base/alloc.h"
#include "base/scalar.h"
#include "spmm_dist/context.h"

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

spmm_status_t spmmi_cusparse_build(const spmm_csr_t *block, const spmm_problem_t *problem,
                                   const spmm_device_t *device, void **format)
{
    spmm_status_t    status = spmmi_cuda_use(device);
    spmm_cusparse_t *f;

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

spmm_status_t spmmi_cusparse_refill(void *format, const void *values)
{
    const spmm_cusparse_t *f = format;

    SPMM_TRY(spmmi_cuda_use(f->device));
    return spmmi_device_write(f->device, f->values, values,
                              (size_t)f->nnz * spmm_type_size(f->problem.ab_type));
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
