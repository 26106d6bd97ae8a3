/* SPDX-License-Identifier: Apache-2.0 */
/** @file stats.c  What a plan tells of itself: volumes, times, and whose rows come. */
#include "plan/report/stats.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "plan/blocks/formats.h"
#include "plan/plan.h"

/* What contiguous blocks of rows would make travel: the baseline of every other partition. */
static spmm_status_t score_block(spmm_plan_t *plan)
{
    const spmm_partition_options_t options = {.imbalance = 1.0};
    spmm_partition_t               block;
    spmm_partition_score_t         score;
    spmm_status_t                  status;

    SPMM_TRY(spmmi_partition_create(plan->A, "block", &options, &block));
    status = spmmi_partition_score(plan->A, &block, NULL, &score);
    spmmi_partition_free(&block);
    if (status == SPMM_OK) {
        plan->stats.block_halo_rows_total = score.halo_total;
    }
    return status;
}

/* The partition itself is the baseline. */
static bool is_block(const spmm_plan_t *plan)
{
    return plan->env->size == 1 || strcmp(plan->partition.method, "block") == 0;
}

spmm_status_t spmmi_plan_count_block(spmm_plan_t *plan)
{
    return is_block(plan) ? SPMM_OK : score_block(plan);
}

static size_t map_bytes(const spmm_layout_map_t *map, int size)
{
    return ((size_t)size + 1) * (sizeof *map->offset + sizeof *map->orig_offset) +
           (size_t)size * (sizeof *map->send_count + sizeof *map->recv_count) +
           (map->orig == NULL ? 0 : (size_t)map->n_local * sizeof *map->orig) +
           (map->send_row == NULL ? 0 : (size_t)map->n_orig * sizeof *map->send_row);
}

static void count_block(const spmm_block_t *block, spmm_plan_stats_t *s)
{
    size_t host = 0, device = 0;

    if (block->engine != NULL) {
        block->engine->bytes(block->format, &host, &device);
    }
    s->host_bytes += host;
    if (block->engine != NULL && block->source != NULL) {
        s->host_bytes += (size_t)block->nnz * sizeof *block->source;
    }
    s->device_bytes += device;
}

static void count_exchange(const spmm_plan_t *plan, spmm_plan_stats_t *s)
{
    size_t host, device;

    if (plan->exchange.state == NULL) {
        spmmi_node_exchange_bytes(plan->exchange.node, &host, &device);
    } else {
        plan->exchange.transport->bytes(plan->exchange.state, &host, &device);
    }
    s->host_bytes += host + spmmi_halo_bytes(&plan->exchange.halo);
    s->device_bytes += device;
}

static void count_bytes(const spmm_plan_t *plan, spmm_plan_stats_t *s)
{
    s->host_bytes = sizeof *plan + map_bytes(&plan->rows, plan->env->size) +
                    (spmmi_plan_has_one_map(plan) ? 0 : map_bytes(&plan->cols, plan->env->size));
    s->device_bytes = 0;
    *(plan->device->kind == SPMM_DEVICE_CPU ? &s->host_bytes : &s->device_bytes) +=
        plan->buffer_bytes;
    count_block(&plan->blocks.diagonal, s);
    count_block(&plan->blocks.off_diagonal, s);
    count_block(&plan->blocks.merged.block, s);
    count_exchange(plan, s);
}

/* The choices made. */
static void name_choices(const spmm_plan_t *plan, spmm_plan_stats_t *s)
{
    const spmm_block_t *main = spmmi_plan_main_block(plan);
    const spmm_block_t *last = main == &plan->blocks.diagonal ? &plan->blocks.off_diagonal : main;

    s->engine               = main->engine->facts.name;
    s->halo_engine          = last->engine->facts.name;
    s->local_predicted_s    = main->predicted_s;
    s->local_measured_s     = main->measured_s;
    s->reordering           = main->reordering.applied ? main->reordering.method->name : "none";
    s->transport            = plan->exchange.transport->name;
    s->partition            = plan->partition.method;
    s->exchange             = plan->exchange.node != NULL ? "node" : "flat";
    s->schedule             = plan->choice.travels ? plan->choice.schedule->name : "none";
    s->chunks               = plan->choice.chunks;
    s->schedule_predicted_s = spmmi_chosen_cut(&plan->choice)->predicted_s;
    s->schedule_measured_s  = spmmi_chosen_cut(&plan->choice)->measured_s;
}

void spmmi_plan_read_choices(const spmm_plan_t *plan, spmm_plan_stats_t *stats)
{
    name_choices(plan, stats);
    count_bytes(plan, stats);
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* In and out of this rank in one execute. */
typedef struct {
    int64_t rows[2], bytes[2], messages[2];
} traffic_t;

static void add_flow(traffic_t *t, int in, int out, const spmm_halo_flow_t *flow, int64_t row_bytes)
{
    t->rows[in] += flow->rows_in;
    t->rows[out] += flow->rows_out;
    t->bytes[in] += flow->rows_in * row_bytes;
    t->bytes[out] += flow->rows_out * row_bytes;
    t->messages[in] += flow->messages_in;
    t->messages[out] += flow->messages_out;
}

/* What an execute of @p part moves.  @p t [SPMM_WAYS] */
static void add_traffic(const spmm_plan_t *part, spmm_plan_stats_t *s, traffic_t *t)
{
    const spmm_plan_exchange_t *e         = &part->exchange;
    const int64_t               row_bytes = part->n * (int64_t)part->sent_size;
    const int                   in = part->op == SPMM_OP_N ? 0 : 1, out = 1 - in;
    const size_t                bytes[2] = {(size_t)(spmmi_halo_recv_rows(&e->halo) * row_bytes),
                                            (size_t)(spmmi_halo_send_rows(&e->halo) * row_bytes)};
    spmm_halo_flow_t            flow[SPMM_WAYS] = {{0}};

    s->recv_bytes += bytes[in];
    s->send_bytes += bytes[out];
    if (e->node != NULL) {
        spmmi_node_exchange_flow(e->node, flow);
    } else {
        spmmi_halo_flow(&e->halo, part->env, flow);
    }
    for (int way = 0; way < SPMM_WAYS; way++) {
        add_flow(&t[way], in, out, &flow[way], row_bytes);
    }
}

/* What @p mine is over all ranks.  Collective. */
static spmm_status_t sum_flow(spmm_env_t *env, const traffic_t *mine, spmm_flow_t *all)
{
    int64_t sum[3] = {mine->rows[0], mine->bytes[0], mine->messages[0]};
    int64_t max[3] = {greater(mine->rows[0], mine->rows[1]),
                      greater(mine->bytes[0], mine->bytes[1]),
                      greater(mine->messages[0], mine->messages[1])};

    SPMM_TRY(spmmi_allreduce(env, sum, 3, MPI_INT64_T, MPI_SUM));
    SPMM_TRY(spmmi_allreduce(env, max, 3, MPI_INT64_T, MPI_MAX));
    *all = (spmm_flow_t){.rows         = sum[0],
                         .rows_max     = max[0],
                         .bytes        = sum[1],
                         .bytes_max    = max[1],
                         .messages     = sum[2],
                         .messages_max = max[2]};
    return SPMM_OK;
}

/* Collective. */
static spmm_status_t count_traffic(spmm_plan_t *plan)
{
    traffic_t t[SPMM_WAYS];

    memset(t, 0, sizeof t);
    plan->stats.recv_bytes = plan->stats.send_bytes = 0;
    add_traffic(plan, &plan->stats, t);
    SPMM_TRY(sum_flow(plan->env, &t[SPMM_WITHIN], &plan->stats.within));
    return sum_flow(plan->env, &t[SPMM_BETWEEN], &plan->stats.between);
}

spmm_status_t spmmi_plan_count(spmm_plan_t *plan)
{
    spmm_plan_stats_t *s        = &plan->stats;
    const spmm_halo_t *halo     = &plan->exchange.halo;
    const bool         forward  = plan->op == SPMM_OP_N;
    const int64_t      received = spmmi_halo_recv_rows(halo), sent = spmmi_halo_send_rows(halo);
    const int64_t      entries  = plan->blocks.diagonal.nnz + plan->blocks.off_diagonal.nnz;
    int64_t            sum[2]   = {received, entries};
    int64_t            max[2]   = {forward ? received : sent, entries};
    double             times[4] = {s->partition_s, s->build_s, s->tune_s, s->reorder_s};
    const int64_t      b_rows   = spmmi_plan_map(plan, SPMM_OPERAND_B)->n_global;

    SPMM_TRY(spmmi_allreduce(plan->env, sum, 2, MPI_INT64_T, MPI_SUM));
    SPMM_TRY(spmmi_allreduce(plan->env, max, 2, MPI_INT64_T, MPI_MAX));
    SPMM_TRY(spmmi_allreduce(plan->env, times, 4, MPI_DOUBLE, MPI_MAX));
    if (is_block(plan)) {
        s->block_halo_rows_total = sum[0];
    }
    if (sum[1] != plan->A->nnz) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_INTERNAL,
                          "the blocks of all ranks hold %lld entries, the matrix has %lld",
                          (long long)sum[1], (long long)plan->A->nnz);
    }
    s->nnz_local            = plan->blocks.diagonal.nnz;
    s->nnz_halo             = plan->blocks.off_diagonal.nnz;
    s->halo_rows            = forward ? received : sent;
    s->send_rows            = forward ? sent : received;
    s->halo_rows_total      = sum[0];
    s->halo_rows_max        = max[0];
    s->allgather_rows_total = (plan->env->size - 1) * b_rows;
    s->imbalance            = sum[1] == 0 ? 1.0 : (double)max[1] * plan->env->size / (double)sum[1];
    s->partition_s          = times[0];
    s->build_s              = times[1];
    s->tune_s               = times[2];
    s->reorder_s            = times[3];
    spmmi_plan_read_choices(plan, s);
    return count_traffic(plan);
}

/* Between posting and waiting, a host transport lets the diagonal block run, or waits for it on
 * the CPU: two spans of exchange.  The sum of received rows stands for packing. */
static const struct {
    const char  *phase;
    spmm_phase_t from, to;
} of_slice[] = {
    {"pack", SPMM_PHASE_PACK, SPMM_PHASE_PACKED},
    {"exchange", SPMM_PHASE_PACKED, SPMM_PHASE_BEGUN},
    {"exchange", SPMM_PHASE_ENDING, SPMM_PHASE_EXCHANGED},
    {"halo", SPMM_PHASE_OFF_DIAGONAL_FROM, SPMM_PHASE_OFF_DIAGONAL_TO},
    {"pack", SPMM_PHASE_UNPACK_FROM, SPMM_PHASE_UNPACK_TO},
};
enum { SPANS_OF_SLICE = 5 };
_Static_assert(sizeof of_slice / sizeof of_slice[0] == SPANS_OF_SLICE, "one span for each");
_Static_assert(SPANS_OF_SLICE *SPMM_MOST_CHUNKS + 1 <= SPMM_MOST_SPANS, "room for all spans");

static spmm_status_t add_span(const spmm_plan_t *plan, int slice, const char *phase,
                              spmm_phase_t from, spmm_phase_t to, spmm_span_t *spans, int *count)
{
    const spmm_device_t *device = plan->device;
    spmm_event_t *const  start  = spmmi_phase_event(&plan->phases, 0, SPMM_PHASE_START);
    spmm_span_t         *span   = &spans[*count];

    span->phase = phase;
    span->chunk = slice;
    SPMM_TRY(device->ops->event_elapsed(
        device, start, spmmi_phase_event(&plan->phases, slice, from), &span->from_s));
    SPMM_TRY(device->ops->event_elapsed(device, start, spmmi_phase_event(&plan->phases, slice, to),
                                        &span->to_s));
    ++*count;
    return SPMM_OK;
}

/* op N has events of packing, op T of adding up what was received. */
static bool has_events(const spmm_plan_t *plan, int k)
{
    return of_slice[k].from == SPMM_PHASE_PACK          ? plan->op == SPMM_OP_N
           : of_slice[k].from == SPMM_PHASE_UNPACK_FROM ? plan->op == SPMM_OP_T
                                                        : true;
}

spmm_status_t spmmi_plan_trace(const spmm_plan_t *plan, spmm_span_t *spans, int *count)
{
    spmm_slice_t slice[SPMM_MOST_CHUNKS];
    int          slices = 0;

    *count = 0;
    if (!plan->profile || !plan->timing.has_run) {
        return SPMM_OK;
    }
    if (!plan->exchange.alone) {
        slices = spmmi_plan_cut(plan, plan->timing.last_n, slice);
    }
    SPMM_TRY(
        add_span(plan, 0, "local", SPMM_PHASE_DIAGONAL_FROM, SPMM_PHASE_DIAGONAL_TO, spans, count));
    for (int c = 0; c < slices; c++) {
        for (int k = 0; k < SPANS_OF_SLICE; k++) {
            if (has_events(plan, k)) {
                SPMM_TRY(add_span(plan, c, of_slice[k].phase, of_slice[k].from, of_slice[k].to,
                                  spans, count));
            }
        }
    }
    return SPMM_OK;
}

/* The sum of the spans of a phase. */
static double time_of(const char *phase, const spmm_span_t *spans, int count)
{
    double seconds = 0.0;

    for (int k = 0; k < count; k++) {
        seconds += strcmp(spans[k].phase, phase) == 0 ? spans[k].to_s - spans[k].from_s : 0.0;
    }
    return seconds;
}

spmm_status_t spmmi_plan_collect_stats(const spmm_plan_t *plan, spmm_plan_stats_t *stats)
{
    spmm_span_t spans[SPMM_MOST_SPANS];
    int         count;

    *stats = plan->stats;
    spmmi_plan_read_choices(plan, stats);
    stats->pack_s = stats->exchange_s = stats->local_s = stats->halo_s = stats->total_s = NAN;
    SPMM_TRY(spmmi_plan_trace(plan, spans, &count));
    if (count == 0) {
        return SPMM_OK;
    }
    stats->pack_s     = time_of("pack", spans, count);
    stats->exchange_s = time_of("exchange", spans, count);
    stats->local_s    = time_of("local", spans, count);
    stats->halo_s     = time_of("halo", spans, count);
    return plan->device->ops->event_elapsed(
        plan->device, spmmi_phase_event(&plan->phases, 0, SPMM_PHASE_START),
        spmmi_phase_event(&plan->phases, 0, SPMM_PHASE_DONE), &stats->total_s);
}

static void add_rows(const spmm_plan_t *plan, int64_t *rows)
{
    const spmm_halo_t *halo    = &plan->exchange.halo;
    const bool         n       = plan->op == SPMM_OP_N;
    const int          n_peers = n ? halo->n_recv_peers : halo->n_send_peers;
    const int         *peer    = n ? halo->recv_peer : halo->send_peer;
    const int64_t     *ptr     = n ? halo->recv_ptr : halo->send_ptr;

    if (plan->exchange.node != NULL) {
        spmmi_node_exchange_trace(plan->exchange.node, rows);
        return;
    }
    for (int k = 0; k < n_peers; k++) {
        rows[peer[k]] += ptr[k + 1] - ptr[k];
    }
}

void spmmi_plan_trace_rows(const spmm_plan_t *plan, int64_t *rows)
{
    for (int p = 0; p < plan->env->size; p++) {
        rows[p] = 0;
    }
    add_rows(plan, rows);
}

/* With exchange node the halo plan of the plan has the rows that are packed, once for a node. */
static const spmm_halo_t *sent_halo(const spmm_plan_t *plan)
{
    return plan->exchange.node != NULL ? spmmi_node_exchange_flat(plan->exchange.node)
                                       : &plan->exchange.halo;
}

/* The owners of the rows name them. */
static spmm_status_t name_rows(const spmm_plan_t *plan, int64_t *owned, int64_t *count,
                               int64_t *rows)
{
    const spmm_halo_t *halo   = &plan->exchange.halo;
    const spmm_halo_t *sent   = sent_halo(plan);
    const int64_t      n      = spmmi_halo_send_rows(sent);
    int64_t *const     wanted = count + plan->env->size;

    for (int64_t i = 0; i < n; i++) {
        owned[i] = spmmi_layout_original(&plan->cols, sent->send_row[i]);
    }
    for (int k = 0; k < sent->n_send_peers; k++) {
        count[sent->send_peer[k]] = sent->send_ptr[k + 1] - sent->send_ptr[k];
    }
    for (int k = 0; k < halo->n_recv_peers; k++) {
        wanted[halo->recv_peer[k]] = halo->recv_ptr[k + 1] - halo->recv_ptr[k];
    }
    return spmmi_alltoallv(plan->env, owned, count, rows, wanted, sizeof *rows);
}

spmm_status_t spmmi_plan_list_halo(const spmm_plan_t *plan, int64_t *rows)
{
    const int64_t n      = spmmi_halo_send_rows(sent_halo(plan));
    spmm_status_t status = SPMM_OK;
    int64_t      *owned, *count;

    SPMM_NEW(owned, n);
    SPMM_NEW_ZERO(count, 2 * (int64_t)plan->env->size);
    if (owned == NULL || count == NULL) {
        status = spmmi_fail_memory(&plan->env->err, n, sizeof *owned, "the indices of ghost rows");
    }
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        status = name_rows(plan, owned, count, rows);
    }
    spmmi_free_all(owned, count);
    return status;
}
