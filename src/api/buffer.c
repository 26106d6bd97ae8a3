/* SPDX-License-Identifier: Apache-2.0 */
#include "api/context.h"

spmm_status_t spmm_buffer_alloc(spmm_context_t *ctx, size_t bytes, void **buffer)
{
    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_buffer_alloc: ctx is NULL");
    }
    spmmi_error_clear(&ctx->env.err);
    if (buffer == NULL) {
        return spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "spmm_buffer_alloc: buffer is NULL");
    }
    return ctx->device.ops->alloc(&ctx->device, bytes, buffer);
}

spmm_status_t spmm_buffer_free(spmm_context_t *ctx, void **buffer)
{
    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_buffer_free: ctx is NULL");
    }
    spmmi_error_clear(&ctx->env.err);
    if (buffer != NULL) {
        ctx->device.ops->release(&ctx->device, *buffer);
        *buffer = NULL;
    }
    return SPMM_OK;
}

spmm_status_t spmm_buffer_copy(spmm_context_t *ctx, void *dst, const void *src, size_t bytes)
{
    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_buffer_copy: ctx is NULL");
    }
    spmmi_error_clear(&ctx->env.err);
    if (bytes > 0 && (dst == NULL || src == NULL)) {
        return spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "spmm_buffer_copy: %s is NULL",
                          dst == NULL ? "dst" : "src");
    }
    SPMM_TRY(ctx->device.ops->copy(&ctx->device, dst, src, bytes, NULL));
    SPMM_TRY(ctx->device.ops->stream_sync(&ctx->device, NULL));
    return spmmi_transport_check(&ctx->shared);
}

spmm_status_t spmm_stream_synchronize(spmm_context_t *ctx, spmm_stream_t stream)
{
    if (ctx == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_stream_synchronize: ctx is NULL");
    }
    spmmi_error_clear(&ctx->env.err);
    SPMM_TRY(ctx->device.ops->stream_sync(&ctx->device, stream));
    return spmmi_transport_check(&ctx->shared);
}
