/* SPDX-License-Identifier: Apache-2.0 */
#include "bell.h"

#include <cusparse.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "device/device_cuda.h"
#include "spmm_dist/context.h"

/* Values stored at most: cuSPARSE 13.0 returned success without a product at 5e8 of them, on an
 * H200, and was right at 1.25e8. */
enum { MOST_VALUES = 1 << 27 };

struct bell {
    const spmm_device_t *device;              /* borrowed */
    void                *col, *values, *work; /* device, owned */
    cusparseHandle_t     handle;
    cusparseSpMatDescr_t A;
    cusparseDnMatDescr_t B, C;
};

/* The layout on the host, arrays owned. */
typedef struct {
    int32_t   size, n_block_rows, n_block_cols;
    int32_t   width;  /* blocks in each row of blocks */
    int32_t  *col;    /* [n_block_rows x width] ascending block columns, then -1 */
    uint16_t *values; /* [n_block_rows * size] rows of width * size places */
} layout_t;

static spmm_status_t check(const spmm_device_t *device, cusparseStatus_t code, const char *call)
{
    return code == CUSPARSE_STATUS_SUCCESS
               ? SPMM_OK
               : spmmi_fail(&device->env->err, SPMM_ERR_UNSUPPORTED, "%s: %s", call,
                            cusparseGetErrorString(code));
}

/* Mark the block columns of row @p b of blocks in @p seen, [n_block_cols] of the last row that has
 * one there.  @return how many there are */
static int32_t mark(const spmm_csr_t *block, const layout_t *l, int32_t b, int32_t *seen)
{
    const int64_t last  = block->row_ptr[(int64_t)(b + 1) * l->size];
    int32_t       count = 0;

    for (int64_t k = block->row_ptr[(int64_t)b * l->size]; k < last; k++) {
        const int32_t col = block->col_idx[k] / l->size;

        count += seen[col] != b;
        seen[col] = b;
    }
    return count;
}

/* Fill row @p b of blocks; @p slot [n_block_cols] is scratch. */
static void fill(const spmm_csr_t *block, const layout_t *l, int32_t b, const int32_t *seen,
                 int32_t *slot)
{
    const int64_t   pitch  = (int64_t)l->width * l->size;
    const uint16_t *values = block->values;
    int32_t        *col    = l->col + (int64_t)b * l->width;
    int32_t         n      = 0;

    for (int32_t c = 0; c < l->n_block_cols; c++) {
        if (seen[c] == b) {
            col[n]  = c;
            slot[c] = n++;
        }
    }
    while (n < l->width) {
        col[n++] = -1;
    }
    for (int64_t i = (int64_t)b * l->size; i < (int64_t)(b + 1) * l->size; i++) {
        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            const int32_t at = slot[block->col_idx[k] / l->size];

            l->values[i * pitch + (int64_t)at * l->size + block->col_idx[k] % l->size] = values[k];
        }
    }
}

static spmm_status_t lay_out(spmm_env_t *env, const spmm_csr_t *block, layout_t *l)
{
    const int64_t rows = block->n_rows;
    int32_t      *seen, *slot;
    spmm_status_t status = SPMM_OK;

    SPMM_NEW(seen, l->n_block_cols);
    SPMM_NEW(slot, l->n_block_cols);
    if (seen == NULL || slot == NULL) {
        status = spmmi_fail_memory(&env->err, l->n_block_cols, sizeof *seen, "columns of blocks");
    }
    for (int32_t c = 0; c < l->n_block_cols && status == SPMM_OK; c++) {
        seen[c] = -1;
    }
    for (int32_t b = 0; b < l->n_block_rows && status == SPMM_OK; b++) {
        const int32_t count = mark(block, l, b, seen);

        l->width = count > l->width ? count : l->width;
    }
    if (status == SPMM_OK && rows * l->width * l->size > MOST_VALUES) {
        status = spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                            "Blocked-ELL would store %" PRId64 " values, and %d are the most",
                            rows * l->width * l->size, (int)MOST_VALUES);
    }
    if (status == SPMM_OK) {
        SPMM_NEW(l->col, (int64_t)l->n_block_rows * l->width);
        SPMM_NEW_ZERO(l->values, rows * l->width * l->size);
        if (l->col == NULL || l->values == NULL) {
            status = spmmi_fail_memory(&env->err, rows * l->width,
                                       sizeof *l->values * (size_t)l->size, "Blocked-ELL");
        }
    }
    for (int32_t b = 0; b < l->n_block_rows && status == SPMM_OK; b++) {
        (void)mark(block, l, b, seen);
        fill(block, l, b, seen, slot);
    }
    spmmi_free_all(seen, slot);
    return status;
}

static spmm_status_t describe(bell_t *bell, const bench_operands_t *o, const layout_t *l)
{
    const spmm_device_t *device = bell->device;
    const float          alpha = 1.0f, beta = 0.0f;
    size_t               bytes = 0;

    SPMM_TRY(check(device, cusparseCreate(&bell->handle), "cusparseCreate"));
    SPMM_TRY(check(device, cusparseSetStream(bell->handle, (cudaStream_t)o->stream),
                   "cusparseSetStream"));
    SPMM_TRY(
        check(device,
              cusparseCreateBlockedEll(&bell->A, o->block->n_rows, o->block->n_cols, l->size,
                                       (int64_t)l->width * l->size, bell->col, bell->values,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_16F),
              "cusparseCreateBlockedEll"));
    SPMM_TRY(check(device,
                   cusparseCreateDnMat(&bell->B, o->block->n_cols, o->n, o->n, o->B, CUDA_R_16F,
                                       CUSPARSE_ORDER_ROW),
                   "cusparseCreateDnMat"));
    SPMM_TRY(check(device,
                   cusparseCreateDnMat(&bell->C, o->block->n_rows, o->n, o->n, o->C, CUDA_R_16F,
                                       CUSPARSE_ORDER_ROW),
                   "cusparseCreateDnMat"));
    SPMM_TRY(check(device,
                   cusparseSpMM_bufferSize(bell->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                           CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, bell->A,
                                           bell->B, &beta, bell->C, CUDA_R_32F,
                                           CUSPARSE_SPMM_BLOCKED_ELL_ALG1, &bytes),
                   "cusparseSpMM_bufferSize"));
    return device->ops->alloc(device, bytes, &bell->work);
}

static spmm_status_t upload(bell_t *bell, const bench_operands_t *o, const layout_t *l)
{
    const size_t blocks = (size_t)l->n_block_rows * (size_t)l->width;
    const size_t places = blocks * (size_t)l->size * (size_t)l->size;

    SPMM_TRY(spmmi_device_upload(bell->device, l->col, blocks * sizeof *l->col, &bell->col));
    SPMM_TRY(
        spmmi_device_upload(bell->device, l->values, places * sizeof *l->values, &bell->values));
    return describe(bell, o, l);
}

spmm_status_t bell_open(const bench_operands_t *o, int32_t size, bell_t **bell)
{
    const spmm_device_t *device = o->device;
    layout_t             l      = {.size         = size,
                                   .n_block_rows = o->block->n_rows / size,
                                   .n_block_cols = o->block->n_cols / size};
    spmm_status_t        status = lay_out(device->env, o->block, &l);
    bell_t              *made   = NULL;

    if (status == SPMM_OK && SPMM_NEW_ZERO(made, 1) == NULL) {
        status = spmmi_fail_memory(&device->env->err, 1, sizeof *made, "Blocked-ELL");
    }
    if (status == SPMM_OK) {
        made->device = device;
        status       = upload(made, o, &l);
    }
    spmmi_free_all(l.col, l.values);
    if (status != SPMM_OK) {
        bell_close(made);
        return status;
    }
    *bell = made;
    return SPMM_OK;
}

spmm_status_t bell_multiply(const bell_t *bell)
{
    const float alpha = 1.0f, beta = 0.0f;

    return check(bell->device,
                 cusparseSpMM(bell->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                              CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, bell->A, bell->B, &beta,
                              bell->C, CUDA_R_32F, CUSPARSE_SPMM_BLOCKED_ELL_ALG1, bell->work),
                 "cusparseSpMM");
}

void bell_close(bell_t *bell)
{
    if (bell == NULL) {
        return;
    }
    if (bell->A != NULL) {
        (void)cusparseDestroySpMat(bell->A);
    }
    if (bell->B != NULL) {
        (void)cusparseDestroyDnMat(bell->B);
    }
    if (bell->C != NULL) {
        (void)cusparseDestroyDnMat(bell->C);
    }
    if (bell->handle != NULL) {
        (void)cusparseDestroy(bell->handle);
    }
    bell->device->ops->release(bell->device, bell->col);
    bell->device->ops->release(bell->device, bell->values);
    bell->device->ops->release(bell->device, bell->work);
    spmmi_free(bell);
}
