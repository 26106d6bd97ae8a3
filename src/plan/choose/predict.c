/* SPDX-License-Identifier: Apache-2.0 */
/** @file predict.c
 *  Times of the schedules from the models of engines and transport, before any format is built.
 */
#include "plan/choose/predict.h"

#include <math.h>

#include "plan/block/gain.h"
#include "plan/exchange.h"
#include "plan/move.h"
#include "plan/plan.h"

/* On a GPU: until one stream has seen a mark of the other, and until a kernel has started. */
static const double hop_s = 2e-6, launch_s = 3e-6;

/* The facts of the joined block.  No column is in both blocks, so all that counts columns adds up.
 * Where only rows with halo entries make up the windows of the halo block, the joined one has some
 * pairs more; the last TC block and brick of a window, half empty on average, is there once. */
static spmm_pattern_t joined_pattern(const spmm_pattern_t *local, const spmm_pattern_t *remote)
{
    const int64_t    small = (local->n_rows + 7) / 8, middle = (local->n_rows + 15) / 16;
    const double     nnz = (double)(local->nnz + remote->nnz);
    spmm_pattern_t   p   = *local;
    spmm_tc_facts_t *tc  = &p.tc;

    if (remote->nnz == 0) {
        return p;
    }
    p.n_cols += remote->n_cols;
    p.nnz += remote->nnz;
    p.max_row += remote->max_row;
    p.used_cols += remote->used_cols;
    p.near_cols += remote->near_cols;
    p.row_cv = ((double)local->nnz * local->row_cv + (double)remote->nnz * remote->row_cv) / nnz;
    for (int h = 0; h < SPMM_TC_HEIGHTS; h++) {
        tc->pairs[h] += remote->tc.pairs[h];
    }
    spmmi_pattern_join_facts(&p, remote);
    tc->tc_blocks += remote->tc.tc_blocks;
    tc->bricks += remote->tc.bricks;
    if (tc->tc_blocks > tc->pairs[0] / 8 + small / 2) {
        tc->tc_blocks = tc->pairs[0] / 8 + small / 2;
    }
    if (tc->bricks > tc->pairs[1] / 4 + middle / 2) {
        tc->bricks = tc->pairs[1] / 4 + middle / 2;
    }
    tc->tc_blocks += tc->tc_blocks == 0;
    tc->bricks += tc->bricks == 0;
    tc->ibd += remote->tc.ibd;
    tc->mean_nnz_tc = nnz / (double)tc->tc_blocks;
    tc->alpha       = nnz / (64.0 * (double)tc->bricks);
    tc->synergy     = nnz / (16.0 * (double)tc->pairs[1]);
    tc->oi_shmem    = 512.0 * tc->alpha;
    return p;
}

/** What the terms are made from. */
typedef struct {
    const spmm_plan_t *plan;
    const char        *engine;
    spmm_pattern_t     joined;
} facts_t;

/* Rows are read once and written once. */
static double move_s(const facts_t *f, int64_t rows, int64_t n, spmm_type_t type)
{
    const spmm_device_t *device = f->plan->device;
    const double         bytes  = 2.0 * (double)rows * (double)n * (double)spmm_type_size(type);

    return rows == 0 ? 0.0
                     : bytes / device->mem_bw + (device->kind == SPMM_DEVICE_CPU ? 0.0 : launch_s);
}

static double product_s(const facts_t *f, const spmm_pattern_t *pattern, spmm_type_t c_type,
                        int64_t n)
{
    const spmm_plan_t   *plan    = f->plan;
    const spmm_problem_t problem = spmmi_plan_problem(plan, c_type, n);

    return spmmi_best_time(f->engine, pattern, &problem, plan->device);
}

/* The joined block gathers what the two blocks gather, each from its own working set, and reads
 * and writes once less the rows of C with halo entries; the model of one block knows one working
 * set. */
static double joined_s(const facts_t *f, int64_t n, double halo_s)
{
    const spmm_plan_t *plan  = f->plan;
    const spmm_type_t  split = spmmi_plan_sum_type(plan, SPMM_BLOCKSET_SPLIT);
    const spmm_type_t  whole = spmmi_plan_sum_type(plan, SPMM_BLOCKSET_MERGED);
    const double       local = product_s(f, &plan->blocks.local.pattern, split, n);
    const double       saved = move_s(f, plan->blocks.halo.pattern.n_rows, n, split);
    const double       sum   = local + fmax(halo_s - saved, 0.0);

    return fmin(product_s(f, &f->joined, whole, n), sum);
}

/* C from sums of another type, read once and written once. */
static double store_sum_s(const facts_t *f, spmm_blockset_t blockset)
{
    const spmm_plan_t *plan = f->plan;
    const int64_t      rows = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local;
    const spmm_type_t  type = spmmi_plan_sum_type(plan, blockset);

    return type == plan->c_type
               ? 0.0
               : (move_s(f, rows, plan->n, type) + move_s(f, rows, plan->n, plan->c_type)) / 2.0;
}

/* Terms of this rank; exchanges still its own. */
static void fill_terms(const facts_t *f, spmm_terms_t *t)
{
    const spmm_plan_t *plan     = f->plan;
    const bool         is_cpu   = plan->device->kind == SPMM_DEVICE_CPU;
    const spmm_type_t  c_type   = spmmi_plan_sum_type(plan, SPMM_BLOCKSET_SPLIT);
    const spmm_type_t  remote_c = plan->op == SPMM_OP_N ? c_type : plan->halo_type;
    const bool         packs = !plan->exchange.transport->packs || plan->layout == SPMM_LAYOUT_COL;

    *t         = (spmm_terms_t){.concurrent = !is_cpu, .hop_s = is_cpu ? 0.0 : hop_s};
    t->local_s = product_s(f, &plan->blocks.local.pattern, c_type, plan->n);
    t->add_s   = move_s(f, spmmi_halo_send_rows(&plan->exchange.halo), plan->n, plan->halo_type);
    for (int k = 1; k <= SPMM_MOST_CHUNKS; k++) {
        const int64_t       n     = (plan->n + k - 1) / k;
        spmm_chunk_terms_t *chunk = &t->chunk[k];

        chunk->pack_s =
            packs ? move_s(f, spmmi_halo_send_rows(&plan->exchange.halo), n, plan->halo_type) : 0.0;
        chunk->own_s      = move_s(f, plan->cols.n_local, n, plan->ab_type);
        chunk->halo_s     = plan->blocks.halo.nnz == 0
                                ? 0.0
                                : product_s(f, &plan->blocks.halo.pattern, remote_c, n);
        chunk->joined_s   = joined_s(f, n, chunk->halo_s);
        chunk->exchange_s = spmmi_plan_exchange_s(plan, (size_t)n * plan->sent_size);
    }
}

/* A rank waits for its peers: the slowest exchange counts for all that take part. */
static spmm_status_t share_exchanges(const spmm_plan_t *plan, spmm_terms_t *t)
{
    double slowest[SPMM_MOST_CHUNKS];

    for (int k = 1; k <= SPMM_MOST_CHUNKS; k++) {
        slowest[k - 1] = t->chunk[k].exchange_s;
    }
    SPMM_TRY(spmmi_allreduce(plan->env, slowest, SPMM_MOST_CHUNKS, MPI_DOUBLE, MPI_MAX));
    for (int k = 1; k <= SPMM_MOST_CHUNKS; k++) {
        t->chunk[k].exchange_s = plan->exchange.alone ? 0.0 : slowest[k - 1];
    }
    return SPMM_OK;
}

/* A time that is no number, where no engine runs the blocks, must not win by comparison. */
static double finite_or_last(double seconds)
{
    return isnan(seconds) ? INFINITY : seconds;
}

spmm_status_t spmmi_plan_predict(spmm_plan_t *plan, const char *engine)
{
    const spmm_plan_blocks_t *b = &plan->blocks;
    const facts_t             f = {.plan   = plan,
                                   .engine = engine,
                                   .joined = joined_pattern(&b->local.pattern, &b->halo.pattern)};
    spmm_terms_t              t;
    double                    slowest[SPMM_MOST_SCHEDULES];

    fill_terms(&f, &t);
    SPMM_TRY(share_exchanges(plan, &t));
    for (int s = 0; s < spmmi_n_schedules; s++) {
        const spmm_schedule_t *schedule = spmmi_schedules[s];

        slowest[s] = plan->exchange.alone ? t.local_s
                                          : finite_or_last(schedule->predict(schedule, plan, &t)) +
                                                store_sum_s(&f, schedule->blockset);
    }
    SPMM_TRY(spmmi_allreduce(plan->env, slowest, spmmi_n_schedules, MPI_DOUBLE, MPI_MAX));
    for (int s = 0; s < spmmi_n_schedules; s++) {
        plan->choice.schedules[s].predicted_s =
            plan->choice.schedules[s].usable ? slowest[s] : (double)INFINITY;
    }
    return SPMM_OK;
}
