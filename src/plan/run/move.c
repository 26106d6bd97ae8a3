/* SPDX-License-Identifier: Apache-2.0 */
/** @file move.c  Dense blocks between two distributions, the caller's and the plan's: setup. */
#include "plan/run/move.h"

#include "base/alloc.h"
#include "base/comm.h"
#include "spmm_dist/context.h"

/** Rows on their way: packed on the device and in host memory. */
typedef struct {
    void    *device_from, *device_to, *host_from, *host_to;
    int32_t *order; /**< device copy of map->send_row; NULL: in order */
} staging_t;

static void staging_free(const spmm_device_t *device, staging_t *s)
{
    device->ops->release(device, s->device_from);
    device->ops->release(device, s->device_to);
    device->ops->release(device, s->order);
    spmmi_free_all(s->host_from, s->host_to);
}

static spmm_status_t staging_alloc(const spmm_device_t *device, const spmm_layout_map_t *map,
                                   int64_t n_from, int64_t n_to, size_t row_bytes, staging_t *s)
{
    const spmm_device_ops_t *ops = device->ops;

    s->host_from = spmmi_alloc(n_from, row_bytes);
    s->host_to   = spmmi_alloc(n_to, row_bytes);
    if (s->host_from == NULL || s->host_to == NULL) {
        return spmmi_fail_memory(&device->env->err, n_from + n_to, row_bytes, "rows being moved");
    }
    SPMM_TRY(ops->alloc(device, (size_t)n_from * row_bytes, &s->device_from));
    SPMM_TRY(ops->alloc(device, (size_t)n_to * row_bytes, &s->device_to));
    return map->send_row == NULL
               ? SPMM_OK
               : spmmi_device_upload_list(device, map->send_row, map->n_orig, &s->order);
}

spmm_status_t spmmi_move_rows(const spmm_device_t *device, const spmm_layout_map_t *map,
                              bool to_plan, const spmm_operands_t *x)
{
    const spmm_device_ops_t *ops       = device->ops;
    spmm_env_t              *env       = device->env;
    const size_t             elem      = spmm_type_size(x->ab_type);
    const size_t             row_bytes = (size_t)x->n * elem;
    const int64_t            n_from    = to_plan ? map->n_orig : map->n_local;
    const int64_t            n_to      = to_plan ? map->n_local : map->n_orig;
    staging_t                s         = {0};
    spmm_status_t            status;

    status = staging_alloc(device, map, n_from, n_to, row_bytes, &s);
    if (status == SPMM_OK) {
        status = ops->gather_rows(device,
                                  &(spmm_gather_args_t){.src        = x->B,
                                                        .ld_src     = x->ldb,
                                                        .src_layout = x->layout,
                                                        .row        = to_plan ? s.order : NULL,
                                                        .n_rows     = n_from,
                                                        .n          = x->n,
                                                        .elem_size  = elem,
                                                        .dst        = s.device_from},
                                  x->stream);
    }
    if (status == SPMM_OK) {
        status = ops->stream_sync(device, x->stream);
    }
    if (status == SPMM_OK) {
        status = ops->fetch(device, s.host_from, s.device_from, (size_t)n_from * row_bytes);
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        /* Rows arrive in the plan's order one way, in send_row order the other way. */
        status = spmmi_alltoallv(env, s.host_from, to_plan ? map->send_count : map->recv_count,
                                 s.host_to, to_plan ? map->recv_count : map->send_count, row_bytes);
    }
    if (status == SPMM_OK) {
        status = ops->copy(device, s.device_to, s.host_to, (size_t)n_to * row_bytes, x->stream);
    }
    if (status == SPMM_OK) {
        status = ops->scatter_rows(device,
                                   &(spmm_scatter_args_t){.src        = s.device_to,
                                                          .row        = to_plan ? NULL : s.order,
                                                          .n_rows     = n_to,
                                                          .n          = x->n,
                                                          .elem_size  = elem,
                                                          .dst        = x->C,
                                                          .ld_dst     = x->ldc,
                                                          .dst_layout = x->layout},
                                   x->stream);
    }
    if (status == SPMM_OK) {
        status = ops->stream_sync(device, x->stream);
    }
    staging_free(device, &s);
    return spmmi_agree(env, status);
}
