/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "plan/plan.h"

/* What contiguous blocks of rows would make travel: the yardstick of every other partition. */
static spmm_status_t score_block(spmm_plan_t *plan, int64_t *halo_total)
{
    const spmm_partition_options_t options = {.imbalance = 1.0};
    spmm_partition_t               block;
    spmm_partition_score_t         score;
    spmm_status_t                  status;

    SPMM_TRY(spmm_partition_create(plan->A, "block", &options, &block));
    status = spmm_partition_score(plan->A, &block, &score);
    spmm_partition_free(&block);
    if (status == SPMM_OK) {
        *halo_total = score.halo_total;
    }
    return status;
}

static size_t map_bytes(const spmm_layout_map_t *map, int size)
{
    return ((size_t)size + 1) * (sizeof *map->offset + sizeof *map->orig_offset) +
           (size_t)size * (sizeof *map->send_count + sizeof *map->recv_count) +
           (size_t)map->n_local * sizeof *map->orig +
           (size_t)map->n_orig * (sizeof *map->new_index + sizeof *map->send_row);
}

static size_t halo_bytes(const spmm_halo_t *halo)
{
    const size_t peers = (size_t)halo->n_send_peers + (size_t)halo->n_recv_peers;

    return peers * sizeof *halo->send_peer + (peers + 2) * sizeof *halo->send_ptr +
           (size_t)spmm_halo_send_rows(halo) * sizeof *halo->send_row;
}

static void count_bytes(spmm_plan_t *plan)
{
    const spmm_block_t *blocks[] = {&plan->local, &plan->remote};
    size_t              host, device;

    for (int b = 0; b < 2; b++) {
        blocks[b]->engine->bytes(blocks[b]->format, &host, &device);
        plan->stats.host_bytes += host;
        if (blocks[b]->source != NULL) {
            plan->stats.host_bytes += (size_t)blocks[b]->nnz * sizeof *blocks[b]->source;
        }
        plan->stats.device_bytes += device;
    }
    plan->transport->bytes(plan->exchange, &host, &device);
    plan->stats.host_bytes += sizeof *plan + host + halo_bytes(&plan->halo) +
                              map_bytes(&plan->rows, plan->env->size) +
                              map_bytes(&plan->cols, plan->env->size) +
                              (size_t)plan->rows.n_orig * sizeof *plan->partition.row_part +
                              (size_t)plan->cols.n_orig * sizeof *plan->partition.col_part;
    plan->stats.device_bytes += device;
}

spmm_status_t spmm_plan_count(spmm_plan_t *plan)
{
    spmm_plan_stats_t *s         = &plan->stats;
    const int64_t      in        = spmm_halo_recv_rows(&plan->halo);
    const int64_t      out       = spmm_halo_send_rows(&plan->halo);
    const size_t       row_bytes = (size_t)plan->n * spmm_type_size(plan->halo_type);
    int64_t            sum[2]    = {in, plan->local.nnz + plan->remote.nnz};
    int64_t            max[2]    = {plan->op == SPMM_OP_N ? in : out, sum[1]};
    double             times[4]  = {s->partition_s, s->build_s, s->tune_s, s->reorder_s};
    const int64_t      b_rows    = spmm_plan_map(plan, SPMM_OPERAND_B)->n_global;

    SPMM_MPI(plan->env, MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT64_T, MPI_SUM, plan->env->comm));
    SPMM_MPI(plan->env, MPI_Allreduce(MPI_IN_PLACE, max, 2, MPI_INT64_T, MPI_MAX, plan->env->comm));
    SPMM_MPI(plan->env,
             MPI_Allreduce(MPI_IN_PLACE, times, 4, MPI_DOUBLE, MPI_MAX, plan->env->comm));
    if (plan->env->size == 1 || strcmp(plan->partition.method, "block") == 0) {
        s->block_halo_rows_total = sum[0];
    } else {
        SPMM_TRY(score_block(plan, &s->block_halo_rows_total));
    }
    if (sum[1] != plan->A->nnz) {
        return spmm_fail(&plan->env->err, SPMM_ERR_INTERNAL,
                         "the blocks of all ranks hold %lld entries, the matrix has %lld",
                         (long long)sum[1], (long long)plan->A->nnz);
    }
    s->engine               = plan->local.engine->name;
    s->halo_engine          = plan->remote.engine->name;
    s->transport            = plan->transport->name;
    s->partition            = plan->partition.method;
    s->nnz_local            = plan->local.nnz;
    s->nnz_halo             = plan->remote.nnz;
    s->halo_rows            = plan->op == SPMM_OP_N ? in : out;
    s->mirror_rows          = plan->op == SPMM_OP_N ? out : in;
    s->halo_rows_total      = sum[0];
    s->halo_rows_max        = max[0];
    s->allgather_rows_total = (plan->env->size - 1) * b_rows;
    s->imbalance            = sum[1] == 0 ? 1.0 : (double)max[1] * plan->env->size / (double)sum[1];
    s->send_bytes           = (size_t)s->mirror_rows * row_bytes;
    s->recv_bytes           = (size_t)s->halo_rows * row_bytes;
    s->partition_s          = times[0];
    s->build_s              = times[1];
    s->tune_s               = times[2];
    s->reorder_s            = times[3];
    s->reordering = plan->local.reordering.applied ? plan->local.reordering.method->name : "none";
    count_bytes(plan);
    return SPMM_OK;
}

static spmm_status_t between(const spmm_plan_t *plan, spmm_mark_t from, spmm_mark_t to,
                             double *seconds)
{
    return plan->device->ops->event_elapsed(plan->device, plan->marks[from], plan->marks[to],
                                            seconds);
}

spmm_status_t spmm_plan_measure(const spmm_plan_t *plan, spmm_plan_stats_t *stats)
{
    double begin, end;

    *stats        = plan->stats;
    stats->pack_s = stats->exchange_s = stats->local_s = stats->halo_s = stats->total_s = NAN;
    if (!plan->profile || !plan->has_run) {
        return SPMM_OK;
    }
    if (plan->alone) {
        stats->pack_s = stats->exchange_s = stats->halo_s = 0.0;
        SPMM_TRY(between(plan, SPMM_MARK_LOCAL_FROM, SPMM_MARK_LOCAL_TO, &stats->local_s));
        return between(plan, SPMM_MARK_START, SPMM_MARK_DONE, &stats->total_s);
    }
    /* Between begin() and end() a host transport waits for the local block to be enqueued, or on
     * the CPU to be done: that time is not the exchange's. */
    SPMM_TRY(between(plan, SPMM_MARK_PACKED, SPMM_MARK_BEGUN, &begin));
    SPMM_TRY(between(plan, SPMM_MARK_ENDING, SPMM_MARK_EXCHANGED, &end));
    stats->exchange_s = begin + end;
    if (plan->op == SPMM_OP_N) {
        SPMM_TRY(between(plan, SPMM_MARK_PACK, SPMM_MARK_PACKED, &stats->pack_s));
    } else { /* the sum of received rows stands for packing */
        SPMM_TRY(between(plan, SPMM_MARK_UNPACK_FROM, SPMM_MARK_UNPACK_TO, &stats->pack_s));
    }
    SPMM_TRY(between(plan, SPMM_MARK_LOCAL_FROM, SPMM_MARK_LOCAL_TO, &stats->local_s));
    SPMM_TRY(between(plan, SPMM_MARK_HALO_FROM, SPMM_MARK_HALO_TO, &stats->halo_s));
    return between(plan, SPMM_MARK_START, SPMM_MARK_DONE, &stats->total_s);
}
