/* SPDX-License-Identifier: Apache-2.0 */
/** @file move.c  Dense blocks between two distributions, the caller's and the plan's: setup. */
#include "plan/run/move.h"

#include "base/alloc.h"
#include "base/comm.h"
#include "plan/plan.h"

spmm_status_t spmmi_plan_list_rows(spmm_plan_t *plan, spmm_operand_t operand)
{
    const bool         one = spmmi_plan_has_one_map(plan);
    spmm_layout_map_t *map =
        !one && spmmi_plan_map(plan, operand) == &plan->cols ? &plan->cols : &plan->rows;

    if (map->orig != NULL) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_layout_list(plan->env, map));
    plan->stats.host_bytes += (size_t)map->n_local * sizeof *map->orig;
    if (one) {
        plan->cols.orig = map->orig;
    }
    return SPMM_OK;
}

/** Rows on their way: packed on the device and in host memory. */
typedef struct {
    void    *device_from, *device_to, *host_from, *host_to;
    int32_t *order; /**< device copy of map->send_row; NULL: in order */
} staging_t;

static void staging_free(const spmm_plan_t *plan, staging_t *s)
{
    plan->device->ops->release(plan->device, s->device_from);
    plan->device->ops->release(plan->device, s->device_to);
    plan->device->ops->release(plan->device, s->order);
    spmmi_free_all(s->host_from, s->host_to);
}

static spmm_status_t staging_alloc(const spmm_plan_t *plan, const spmm_layout_map_t *map,
                                   int64_t n_from, int64_t n_to, size_t row_bytes, staging_t *s)
{
    const spmm_device_ops_t *ops   = plan->device->ops;
    void                    *order = NULL;

    s->host_from = spmmi_alloc(n_from, row_bytes);
    s->host_to   = spmmi_alloc(n_to, row_bytes);
    if (s->host_from == NULL || s->host_to == NULL) {
        return spmmi_fail_memory(&plan->env->err, n_from + n_to, row_bytes, "rows being moved");
    }
    SPMM_TRY(ops->alloc(plan->device, (size_t)n_from * row_bytes, &s->device_from));
    SPMM_TRY(ops->alloc(plan->device, (size_t)n_to * row_bytes, &s->device_to));
    if (map->send_row != NULL) {
        SPMM_TRY(spmmi_device_upload(plan->device, map->send_row,
                                     (size_t)map->n_orig * sizeof *map->send_row, &order));
    }
    s->order = order;
    return SPMM_OK;
}

spmm_status_t spmmi_plan_move(spmm_plan_t *plan, spmm_operand_t operand, bool to_plan, int64_t n,
                              const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                              spmm_stream_t stream)
{
    const spmm_device_ops_t *ops       = plan->device->ops;
    const spmm_layout_map_t *map       = spmmi_plan_map(plan, operand);
    const spmm_type_t        type      = operand == SPMM_OPERAND_B ? plan->ab_type : plan->c_type;
    const size_t             elem      = spmm_type_size(type);
    const size_t             row_bytes = (size_t)n * elem;
    const int64_t            n_from    = to_plan ? map->n_orig : map->n_local;
    const int64_t            n_to      = to_plan ? map->n_local : map->n_orig;
    staging_t                s         = {0};
    spmm_status_t            status;

    status = staging_alloc(plan, map, n_from, n_to, row_bytes, &s);
    if (status == SPMM_OK) {
        status = ops->gather_rows(plan->device,
                                  &(spmm_gather_args_t){.src        = src,
                                                        .ld_src     = ld_src,
                                                        .src_layout = plan->layout,
                                                        .row        = to_plan ? s.order : NULL,
                                                        .n_rows     = n_from,
                                                        .n          = n,
                                                        .elem_size  = elem,
                                                        .dst        = s.device_from},
                                  stream);
    }
    if (status == SPMM_OK) {
        status = ops->stream_sync(plan->device, stream);
    }
    if (status == SPMM_OK) {
        status = ops->fetch(plan->device, s.host_from, s.device_from, (size_t)n_from * row_bytes);
    }
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        /* Rows arrive in the plan's order one way, in send_row order the other way. */
        status =
            spmmi_alltoallv(plan->env, s.host_from, to_plan ? map->send_count : map->recv_count,
                            s.host_to, to_plan ? map->recv_count : map->send_count, row_bytes);
    }
    if (status == SPMM_OK) {
        status = ops->copy(plan->device, s.device_to, s.host_to, (size_t)n_to * row_bytes, stream);
    }
    if (status == SPMM_OK) {
        status = ops->scatter_rows(plan->device,
                                   &(spmm_scatter_args_t){.src        = s.device_to,
                                                          .row        = to_plan ? NULL : s.order,
                                                          .n_rows     = n_to,
                                                          .n          = n,
                                                          .elem_size  = elem,
                                                          .dst        = dst,
                                                          .ld_dst     = ld_dst,
                                                          .dst_layout = plan->layout},
                                   stream);
    }
    if (status == SPMM_OK) {
        status = ops->stream_sync(plan->device, stream);
    }
    staging_free(plan, &s);
    return spmmi_agree(plan->env, status);
}
