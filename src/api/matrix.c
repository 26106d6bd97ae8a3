/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/context.h"
#include "base/alloc.h"
#include "base/same.h"
#include "base/scalar.h"
#include "matrix/matrix.h"
#include "matrix/write/write.h"

/* Collective, agreed.  @p argument: [count] that are equal on all ranks. */
static spmm_status_t check_handles(spmm_context_t *ctx, spmm_matrix_t **A, const char *call,
                                   int count, const spmm_same_t *argument)
{
    spmm_status_t status = SPMM_OK;

    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "%s: ctx is NULL", call);
    }
    SPMM_TRY(spmmi_enter(&ctx->env, call));
    if (A == NULL) {
        status = spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "%s: A is NULL", call);
    }
    return spmmi_compare(&ctx->env, call, status, count, argument);
}

/* Hand a finished matrix to the caller. */
static spmm_status_t own(spmm_context_t *ctx, spmm_status_t status, spmm_matrix_t *made,
                         spmm_matrix_t **A)
{
    if (status != SPMM_OK) {
        return status;
    }
    made->context = ctx;
    made->live    = &ctx->live;
    made->number  = ++ctx->made;
    ctx->live++;
    *A = made;
    return SPMM_OK;
}

/** The caller's arrays, which may lie on the device. */
typedef struct {
    int64_t     n_rows;     /**< of entries or of blocks */
    int64_t     per_index;  /**< values that belong to one column index: 1, or those of a block */
    size_t      index_size; /**< of a row offset and of a column index: 4 or 8 bytes */
    const void *row_ptr, *col_idx, *values;
    spmm_type_t type;
} given_csr_t;

/** The same in host memory. */
typedef struct {
    int64_t *row_ptr, *col_idx;
    void    *values;
} host_csr_t;

static void host_csr_free(host_csr_t *host)
{
    spmmi_free_all(host->row_ptr, host->col_idx, host->values);
}

/* Fetch [count] indices of either width.  Narrow ones go to the upper half of @p to and are widened
 * from there: none is overwritten before it is read, and no second array is needed. */
static spmm_status_t fetch_indices(const spmm_device_t *device, int64_t *to, const void *from,
                                   int64_t count, size_t index_size)
{
    const size_t bytes = (size_t)count * index_size;
    char        *raw   = (char *)to + ((size_t)count * sizeof *to - bytes);

    SPMM_TRY(device->ops->fetch(device, raw, from, bytes));
    if (index_size == sizeof(int32_t)) {
        for (int64_t k = 0; k < count; k++) {
            int32_t index;

            memcpy(&index, raw + (size_t)k * sizeof index, sizeof index);
            to[k] = index;
        }
    }
    return SPMM_OK;
}

/* Fetch the arrays; their lengths come from row_ptr alone, so that is looked at before anything is
 * read by it. */
static spmm_status_t fetch_csr(spmm_context_t *ctx, const given_csr_t *in, host_csr_t *host)
{
    const spmm_device_t *device = &ctx->device;
    spmm_error_t        *err    = &ctx->env.err;
    const int64_t        n_rows = in->n_rows;
    const size_t         size   = spmm_type_size(in->type);
    int64_t              nnz, n_values;

    if (size == 0) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "type %d of the values is none of spmm_type_t",
                          (int)in->type);
    }
    if (n_rows < 0 || n_rows > INT32_MAX || (in->row_ptr == NULL && n_rows > 0)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "n_rows is %lld and row_ptr %s: n_rows must be 0 to 2^31 - 1 and row_ptr "
                          "hold n_rows + 1 offsets",
                          (long long)n_rows, in->row_ptr == NULL ? "NULL" : "given");
    }
    if (SPMM_NEW(host->row_ptr, n_rows + 1) == NULL) {
        return spmmi_fail_memory(err, n_rows + 1, sizeof(int64_t), "row offsets");
    }
    host->row_ptr[0] = 0; /* a rank without rows may have no array */
    if (in->row_ptr != NULL) {
        SPMM_TRY(fetch_indices(device, host->row_ptr, in->row_ptr, n_rows + 1, in->index_size));
    }
    nnz = host->row_ptr[n_rows];
    if (host->row_ptr[0] != 0 || nnz < 0) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "row_ptr starts with %lld and ends with %lld: it must start with 0 and "
                          "not decrease",
                          (long long)host->row_ptr[0], (long long)nnz);
    }
    if (__builtin_mul_overflow(nnz, in->per_index, &n_values)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "%lld blocks of %lld values are too many",
                          (long long)nnz, (long long)in->per_index);
    }
    if (nnz > 0 && (in->col_idx == NULL || in->values == NULL)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "%s is NULL but row_ptr announces %lld entries",
                          in->col_idx == NULL ? "col_idx" : "values", (long long)nnz);
    }
    host->values = spmmi_alloc(n_values, size);
    if (SPMM_NEW(host->col_idx, nnz) == NULL || host->values == NULL) {
        return spmmi_fail_memory(err, n_values, sizeof(int64_t) + size, "a copy of the entries");
    }
    SPMM_TRY(fetch_indices(device, host->col_idx, in->col_idx, nnz, in->index_size));
    return device->ops->fetch(device, host->values, in->values, (size_t)n_values * size);
}

/* What the calls that take rows do, by their name. */
static spmm_status_t create_rows(spmm_context_t *ctx, int64_t n_cols, const given_csr_t *in,
                                 const char *call, spmm_matrix_t **A)
{
    const spmm_same_t type = spmmi_whole("type", in->type);
    host_csr_t        host = {0};
    spmm_matrix_t    *made = NULL;
    spmm_status_t     status;

    SPMM_TRY(check_handles(ctx, A, call, 1, &type));
    status = spmmi_agree(&ctx->env, fetch_csr(ctx, in, &host));
    if (status == SPMM_OK) {
        status = spmmi_matrix_from_csr(&ctx->env, in->n_rows, n_cols, host.row_ptr, host.col_idx,
                                       host.values, in->type, &made);
    }
    host_csr_free(&host);
    return own(ctx, status, made, A);
}

spmm_status_t spmm_matrix_create_csr(spmm_context_t *ctx, int64_t n_rows, int64_t n_cols,
                                     const int64_t *row_ptr, const int64_t *col_idx,
                                     const void *values, spmm_type_t type, spmm_matrix_t **A)
{
    const given_csr_t in = {n_rows, 1, sizeof *col_idx, row_ptr, col_idx, values, type};

    return create_rows(ctx, n_cols, &in, "spmm_matrix_create_csr", A);
}

spmm_status_t spmm_matrix_create_csr32(spmm_context_t *ctx, int64_t n_rows, int64_t n_cols,
                                       const int32_t *row_ptr, const int32_t *col_idx,
                                       const void *values, spmm_type_t type, spmm_matrix_t **A)
{
    const given_csr_t in = {n_rows, 1, sizeof *col_idx, row_ptr, col_idx, values, type};

    return create_rows(ctx, n_cols, &in, "spmm_matrix_create_csr32", A);
}

static spmm_status_t check_blocks(spmm_context_t *ctx, int64_t n_rows, int64_t vector,
                                  int64_t width)
{
    if ((vector != 2 && vector != 4 && vector != 8 && vector != 16) || width < 1 ||
        width > INT32_MAX) {
        return spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT,
                          "blocks of %lld x %lld: they have 2, 4, 8 or 16 rows and 1 to 2^31 - 1 "
                          "columns",
                          (long long)vector, (long long)width);
    }
    if (n_rows < 0 || n_rows > INT32_MAX || n_rows % vector != 0) {
        return spmmi_fail(
            &ctx->env.err, SPMM_ERR_ARGUMENT,
            "n_rows is %lld: it must be 0 to 2^31 - 1 and a multiple of the %lld rows "
            "of a block",
            (long long)n_rows, (long long)vector);
    }
    return SPMM_OK;
}

spmm_status_t spmm_matrix_create_cvse(spmm_context_t *ctx, int64_t n_rows, int64_t n_cols,
                                      int64_t vector, int64_t width, const int64_t *block_ptr,
                                      const int64_t *col_idx, const void *values, spmm_type_t type,
                                      spmm_matrix_t **A)
{
    const spmm_same_t same[] = {spmmi_whole("vector", vector), spmmi_whole("width", width),
                                spmmi_whole("type", type)};
    host_csr_t        host   = {0};
    spmm_matrix_t    *made   = NULL;
    spmm_status_t     status;

    SPMM_TRY(check_handles(ctx, A, "spmm_matrix_create_cvse", 3, same));
    status = check_blocks(ctx, n_rows, vector, width);
    if (status == SPMM_OK) {
        const given_csr_t given = {
            n_rows / vector, vector * width, sizeof *col_idx, block_ptr, col_idx, values, type};

        status = fetch_csr(ctx, &given, &host);
    }
    status = spmmi_agree(&ctx->env, status);
    if (status == SPMM_OK) {
        const spmm_blocks_t in = {n_rows,       n_cols,       vector,      width,
                                  host.row_ptr, host.col_idx, host.values, type};

        status = spmmi_matrix_from_blocks(&ctx->env, &in, &made);
    }
    host_csr_free(&host);
    return own(ctx, status, made, A);
}

/* Ranks may know one file by several names: what it holds is compared where it is read. */
static const char *path_to_compare(const spmm_context_t *ctx, const char *path)
{
    return ctx != NULL && ctx->env.check ? path : NULL;
}

/* The type of a matrix that the library fills itself. */
static spmm_status_t check_type(spmm_context_t *ctx, spmm_type_t type)
{
    return type == SPMM_TYPE_AUTO || spmm_type_size(type) != 0
               ? SPMM_OK
               : spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "type %d is none of spmm_type_t",
                            (int)type);
}

spmm_status_t spmm_matrix_read(spmm_context_t *ctx, const char *path, spmm_type_t type,
                               uint64_t seed, spmm_matrix_t **A)
{
    const spmm_same_t same[] = {spmmi_text("path", path_to_compare(ctx, path)),
                                spmmi_whole("type", type), spmmi_whole("seed", (int64_t)seed)};
    spmm_matrix_t    *made   = NULL;
    spmm_status_t     status;

    SPMM_TRY(check_handles(ctx, A, "spmm_matrix_read", 3, same));
    status = path != NULL ? check_type(ctx, type)
                          : spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "the path is NULL");
    SPMM_TRY(spmmi_agree(&ctx->env, status));
    status = spmmi_matrix_from_file(&ctx->env, path, type, seed, &made);
    return own(ctx, status, made, A);
}

spmm_status_t spmm_matrix_write(const spmm_matrix_t *A, const char *path, const char *format)
{
    spmm_status_t status = SPMM_OK;

    if (A == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_matrix_write: A is NULL");
    }
    SPMM_TRY(spmmi_enter(A->env, "spmm_matrix_write"));
    status = path == NULL
                 ? spmmi_fail(&A->env->err, SPMM_ERR_ARGUMENT, "spmm_matrix_write: path is NULL")
                 : spmmi_matrix_need_entries(A);
    SPMM_TRY(SPMM_COMPARE(A->env, "spmm_matrix_write", status, spmmi_whole("matrix", A->number),
                          spmmi_text("path", path), spmmi_text("format", format)));
    return spmmi_matrix_write(A, path, format);
}

spmm_status_t spmm_matrix_generate(spmm_context_t *ctx, const char *spec, spmm_type_t type,
                                   uint64_t seed, spmm_matrix_t **A)
{
    const spmm_same_t same[] = {spmmi_text("spec", spec), spmmi_whole("type", type),
                                spmmi_whole("seed", (int64_t)seed)};
    spmm_matrix_t    *made   = NULL;
    spmm_status_t     status;

    SPMM_TRY(check_handles(ctx, A, "spmm_matrix_generate", 3, same));
    status = spec != NULL ? check_type(ctx, type)
                          : spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "the spec is NULL");
    SPMM_TRY(spmmi_agree(&ctx->env, status));
    status = spmmi_matrix_from_spec(&ctx->env, spec, type, seed, &made);
    return own(ctx, status, made, A);
}

/* Put new values, in the caller's order, in the order they are stored in. */
static spmm_status_t store_values(spmm_matrix_t *A, const void *values)
{
    spmm_context_t *ctx  = A->context;
    const size_t    size = spmm_type_size(A->type);
    const int64_t   nnz  = spmmi_matrix_local_nnz(A);
    char           *host;
    spmm_status_t   status;

    SPMM_TRY(spmmi_matrix_need_entries(A));
    if (nnz > 0 && values == NULL) {
        return spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT,
                          "values is NULL but this rank has %lld entries", (long long)nnz);
    }
    if (A->value_order == NULL) {
        return ctx->device.ops->fetch(&ctx->device, A->values, values, (size_t)nnz * size);
    }
    if ((host = spmmi_alloc(nnz, size)) == NULL) {
        return spmmi_fail_memory(&ctx->env.err, nnz, size, "new values");
    }
    status = ctx->device.ops->fetch(&ctx->device, host, values, (size_t)nnz * size);
    for (int64_t k = 0; k < nnz && status == SPMM_OK; k++) {
        memcpy((char *)A->values + (size_t)k * size, host + (size_t)A->value_order[k] * size, size);
    }
    spmmi_free(host);
    return status;
}

spmm_status_t spmm_matrix_update_values(spmm_matrix_t *A, const void *values)
{
    if (A == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_matrix_update_values: A is NULL");
    }
    SPMM_TRY(spmmi_enter(A->env, "spmm_matrix_update_values"));
    SPMM_TRY(SPMM_CHECK_CALL(A->env, "spmm_matrix_update_values", SPMM_OK,
                             spmmi_whole("matrix", A->number)));
    SPMM_TRY(spmmi_agree(A->env, store_values(A, values)));
    for (spmm_matrix_user_t *user = A->users; user != NULL; user = user->next) {
        SPMM_TRY(spmmi_agree(A->env, user->refill(user->self)));
    }
    return SPMM_OK;
}

spmm_status_t spmm_matrix_get_info(const spmm_matrix_t *A, spmm_matrix_info_t *info)
{
    spmm_matrix_info_t mine;

    if (A == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_matrix_get_info: A is NULL");
    }
    spmmi_error_clear(&A->env->err);
    mine = (spmm_matrix_info_t){.rows       = A->rows,
                                .cols       = A->cols,
                                .nnz        = A->nnz,
                                .first_row  = A->row_offset[A->env->rank],
                                .local_rows = A->n_rows,
                                .first_col  = A->col_offset[A->env->rank],
                                .local_cols = A->n_cols,
                                .local_nnz  = spmmi_matrix_local_nnz(A),
                                .type       = A->type,
                                .digest     = A->digest,
                                .host_bytes = spmmi_matrix_bytes(A)};
    return spmmi_give_info(&A->env->err, &mine, sizeof mine, info, "matrix info");
}

spmm_status_t spmm_matrix_get_csr(const spmm_matrix_t *A, const int64_t **row_ptr,
                                  const int64_t **col_idx, const void **values)
{
    if (A == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_matrix_get_csr: A is NULL");
    }
    spmmi_error_clear(&A->env->err);
    if (row_ptr == NULL || col_idx == NULL || values == NULL) {
        return spmmi_fail(&A->env->err, SPMM_ERR_ARGUMENT,
                          "spmm_matrix_get_csr: row_ptr, col_idx or values is NULL");
    }
    SPMM_TRY(spmmi_matrix_need_entries(A));
    *row_ptr = A->row_ptr;
    *col_idx = A->col_idx;
    *values  = A->values;
    return SPMM_OK;
}

spmm_status_t spmm_matrix_drop_entries(spmm_matrix_t *A)
{
    if (A == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_matrix_drop_entries: A is NULL");
    }
    spmmi_error_clear(&A->env->err);
    spmmi_free_all(A->col_idx, A->values);
    A->col_idx = NULL;
    A->values  = NULL;
    A->dropped = true;
    return SPMM_OK;
}

spmm_status_t spmm_matrix_destroy(spmm_matrix_t **A)
{
    if (A == NULL || *A == NULL) {
        return SPMM_OK;
    }
    spmmi_error_clear(&(*A)->env->err);
    if ((*A)->users != NULL) {
        return spmmi_fail(&(*A)->env->err, SPMM_ERR_ARGUMENT,
                          "plans made from this matrix are alive: destroy them first");
    }
    --*(*A)->live;
    spmmi_matrix_free(*A);
    *A = NULL;
    return SPMM_OK;
}
