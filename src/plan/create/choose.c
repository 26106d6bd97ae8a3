/* SPDX-License-Identifier: Apache-2.0 */
/** @file choose.c
 *  The schedule of a plan, its formats, and into how many chunks it cuts B.  All ranks take the
 *  same, since every number and every status that they go by is agreed.
 */
#include "plan/create/choose.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "engine/tune/constants.h"
#include "engine/tune/trial.h"
#include "plan/blocks/formats.h"
#include "plan/blocks/order.h"
#include "plan/plan.h"
#include "plan/run/execute.h"

#define SPMM_SCHEDULE(x) extern const spmm_schedule_t spmmi_schedule_##x;
#include "plan/run/schedule_list.h"
#undef SPMM_SCHEDULE

const spmm_schedule_t *spmmi_schedule_find(const char *name)
{
    static const spmm_schedule_t *const all[] = {
#define SPMM_SCHEDULE(x) &spmmi_schedule_##x,
#include "plan/run/schedule_list.h"
#undef SPMM_SCHEDULE
    };
    int s = 0;

    while (strcmp(all[s]->name, name) != 0) {
        s++;
    }
    return all[s];
}

/* Why it may not run this plan; NULL: it may. */
static const char *refuse(const spmm_plan_t *plan)
{
    const spmm_schedule_t *schedule = plan->choice.schedule;

    if (plan->reproducible && !schedule->merges) {
        return "does not sum a row of C at once, as option reproducible asks";
    }
    if (spmmi_tuning_options_chunks(&plan->tuning) > 1 && !schedule->cuts) {
        return "does not cut the columns of B: leave out chunks";
    }
    return schedule->refuse == NULL ? NULL : schedule->refuse(plan);
}

/* By facts that are equal on all ranks. */
static spmm_status_t pick_schedule(spmm_plan_t *plan)
{
    const char *name = plan->reproducible ? "merged" : "overlap", *why;

    if (plan->tuning.schedule != NULL) {
        name = plan->tuning.schedule;
    }
    plan->choice.schedule = spmmi_schedule_find(name);
    why                   = refuse(plan);
    return why == NULL
               ? SPMM_OK
               : spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED, "schedule %s %s", name, why);
}

static spmm_status_t set_up(spmm_plan_t *plan)
{
    static const char *const names[SPMM_CUTS] = {"1", "2", "4"};

    for (int k = 0; k < SPMM_CUTS; k++) {
        plan->choice.cuts[k]        = spmmi_candidate_new(names[k]);
        plan->choice.cuts[k].usable = true;
    }
    plan->choice.chunks = 1;
    SPMM_TRY(pick_schedule(plan));
    SPMM_TRY(spmmi_block_scan(plan->device, plan->layout, &plan->blocks.diagonal));
    return spmmi_block_scan(plan->device, plan->layout, &plan->blocks.off_diagonal);
}

/* What one rank has counts for all. */
static spmm_status_t find_travel(spmm_plan_t *plan)
{
    int any = !plan->exchange.alone;

    SPMM_TRY(spmmi_allreduce(plan->env, &any, 1, MPI_INT, MPI_MAX));
    plan->choice.travels = any != 0;
    return SPMM_OK;
}

/* On a GPU: until one stream has seen an event of the other, and until a kernel has started. */
static const double hop_s = 2e-6, launch_s = 3e-6;

/** Predicted seconds of the parts of a product, this rank. */
typedef struct {
    double local_s, add_s; /**< with the diagonal block; op T: of the sum of the rows received */
    /* Of one of the chunks, which are of equal width: */
    double pack_s, halo_s; /**< packing send rows; product with the off-diagonal block */
    double exchange_s;     /**< the slowest rank's, once shared */
} parts_t;

/* Rows are read once and written once. */
static double move_s(const spmm_plan_t *plan, int64_t rows, int64_t n, spmm_type_t type)
{
    const spmm_device_t *device = plan->device;
    const double         bytes  = 2.0 * (double)rows * (double)n * (double)spmm_type_size(type);

    return rows == 0 ? 0.0
                     : bytes / device->mem_bw + (device->kind == SPMM_DEVICE_CPU ? 0.0 : launch_s);
}

static double product_s(const spmm_plan_t *plan, const char *engine, const spmm_pattern_t *pattern,
                        spmm_type_t c_type, int64_t n)
{
    const spmm_problem_t problem = spmmi_plan_problem(plan, c_type, n);

    return spmmi_best_time(engine, pattern, &problem, plan->device);
}

/* C from sums of another type, read once and written once. */
static double store_sum_s(const spmm_plan_t *plan)
{
    const int64_t     rows = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local;
    const spmm_type_t type = spmmi_plan_sum_type(plan, false);

    return type == plan->c_type
               ? 0.0
               : (move_s(plan, rows, plan->n, type) + move_s(plan, rows, plan->n, plan->c_type)) /
                     2.0;
}

/* The exchange is still this rank's. */
static parts_t parts_of(const spmm_plan_t *plan, const char *engine, int chunks)
{
    const spmm_plan_blocks_t *b      = &plan->blocks;
    const spmm_type_t         c_type = spmmi_plan_sum_type(plan, false);
    const spmm_type_t         halo_c = plan->op == SPMM_OP_N ? c_type : plan->halo_type;
    const int64_t             sent   = spmmi_halo_send_rows(&plan->exchange.halo);
    const int64_t             n      = (plan->n + chunks - 1) / chunks;
    const size_t              row    = (size_t)n * plan->sent_size;
    const spmm_pattern_t     *own    = &b->diagonal.pattern;
    const bool packs = !plan->exchange.transport->packs || plan->layout == SPMM_LAYOUT_COL;
    parts_t    p     = {.local_s    = product_s(plan, engine, own, c_type, plan->n),
                        .add_s      = move_s(plan, sent, plan->n, plan->halo_type),
                        .exchange_s = spmmi_plan_exchange_s(plan, row)};

    p.pack_s = packs ? move_s(plan, sent, n, plan->halo_type) : 0.0;
    p.halo_s = b->off_diagonal.nnz == 0
                   ? 0.0
                   : product_s(plan, engine, &b->off_diagonal.pattern, halo_c, n);
    return p;
}

/* Chunk c of the off-diagonal block starts when it has arrived and the one before is done. */
static double op_n_s(const parts_t *p, int chunks)
{
    double arrived = 0.0, done = p->local_s;

    for (int c = 0; c < chunks; c++) {
        arrived += p->pack_s + p->exchange_s;
        done = fmax(done, arrived + hop_s) + p->halo_s;
    }
    return hop_s + done;
}

/* The chunks are made one after the other, each leaves when it is made and the one before has
 * gone. */
static double op_t_s(const parts_t *p, int chunks)
{
    double gone = 0.0;

    for (int c = 1; c <= chunks; c++) {
        gone = fmax(gone, c * p->halo_s + hop_s) + p->exchange_s;
    }
    return fmax(chunks * p->halo_s + p->local_s, gone) + hop_s + p->add_s;
}

/* On CPUs one after the other. */
static double in_a_row_s(const spmm_plan_t *plan, const parts_t *p, int chunks)
{
    const double last_s = plan->op == SPMM_OP_N ? chunks * p->pack_s : p->add_s;

    return p->local_s + chunks * (p->exchange_s + p->halo_s) + last_s;
}

/* A time that is no number, where no engine runs the blocks, must not win by comparison. */
static double product_in_s(const spmm_plan_t *plan, const parts_t *p, int chunks)
{
    const bool   is_cpu  = plan->device->kind == SPMM_DEVICE_CPU;
    const double seconds = plan->exchange.alone    ? p->local_s
                           : is_cpu                ? in_a_row_s(plan, p, chunks)
                           : plan->op == SPMM_OP_N ? op_n_s(p, chunks)
                                                   : op_t_s(p, chunks);

    return isnan(seconds) ? INFINITY : seconds + store_sum_s(plan);
}

/* A rank waits for its peers: the slowest exchange counts for all that take part. */
spmm_status_t spmmi_plan_predict(spmm_plan_t *plan, const char *engine)
{
    parts_t parts[SPMM_CUTS];
    double  slowest[SPMM_CUTS];

    for (int k = 0; k < SPMM_CUTS; k++) {
        parts[k]   = parts_of(plan, engine, 1 << k);
        slowest[k] = parts[k].exchange_s;
    }
    SPMM_TRY(spmmi_allreduce(plan->env, slowest, SPMM_CUTS, MPI_DOUBLE, MPI_MAX));
    for (int k = 0; k < SPMM_CUTS; k++) {
        parts[k].exchange_s = slowest[k];
        slowest[k]          = product_in_s(plan, &parts[k], 1 << k);
    }
    SPMM_TRY(spmmi_allreduce(plan->env, slowest, SPMM_CUTS, MPI_DOUBLE, MPI_MAX));
    for (int k = 0; k < SPMM_CUTS; k++) {
        plan->choice.cuts[k].predicted_s = slowest[k];
    }
    return SPMM_OK;
}

/* Executes as a program would make them, on all ranks at once, with real exchanges of scratch B.
 * Nothing hides the launches, since nothing will but graphs, which come later and gain most where
 * there are many launches; ranks start together and then run free. */
enum {
    N_WARM    = 2, /* the first also loads and prepares */
    N_BATCHES = 5,
    MOST_RUNS = 20 /* of a batch */
};
static const double batch_seconds = 4e-3; /* aimed at */

/** Times executes of the plan with scratch operands. */
typedef struct {
    spmm_plan_t    *plan;     /**< borrowed */
    spmm_trial_t    operands; /**< B and C in the plan's layout, stream and events */
    spmm_operands_t x;
} trial_t;

/* Ranks with little memory left may have room for fewer columns.  Collective, agreed.
 * @return SPMM_ERR_MEMORY: no room for the operands on some rank */
static spmm_status_t open_trial(spmm_plan_t *plan, trial_t *t)
{
    const spmm_csr_t     sizes   = {.n_cols = spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local,
                                    .c_rows = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local};
    const spmm_problem_t problem = {.ab_type = plan->ab_type, .c_type = plan->c_type, .n = plan->n};

    t->plan = plan;
    SPMM_TRY(spmmi_agree(
        plan->env, spmmi_trial_open(plan->device, &sizes, &problem, 0.0, true, &t->operands)));
    SPMM_TRY(spmmi_allreduce(plan->env, &t->operands.n, 1, MPI_INT64_T, MPI_MIN));
    t->x = spmmi_trial_operands(&t->operands, plan->layout);
    return SPMM_OK;
}

/* Seconds of one of @p runs products in a row.  A rank that fails goes on, for its peers. */
static spmm_status_t time_runs(trial_t *t, int runs, double *seconds)
{
    const spmm_device_t *device = t->plan->device;
    const spmm_trial_t  *on     = &t->operands;
    spmm_status_t        status = SPMM_OK;

    SPMM_TRY(spmmi_barrier(t->plan->env));
    status = device->ops->event_record(device, on->from, on->stream);
    for (int k = 0; k < runs; k++) {
        status = spmmi_first_failure(status, spmmi_plan_execute(t->plan, &t->x));
    }
    SPMM_TRY(status);
    SPMM_TRY(device->ops->event_record(device, on->to, on->stream));
    SPMM_TRY(device->ops->event_elapsed(device, on->from, on->to, seconds));
    *seconds /= runs;
    return spmmi_transport_check(t->plan->shared);
}

/* Seconds of one execute at the planned width: median of some batches of this rank, and of them the
 * slowest rank's.  Collective, agreed. */
static spmm_status_t time_batches(trial_t *t, double *seconds)
{
    spmm_env_t *env = t->plan->env;
    double      took[N_BATCHES], once = 0.0;
    int         runs = MOST_RUNS;

    for (int warm = 0; warm < N_WARM; warm++) {
        SPMM_TRY(spmmi_agree(env, time_runs(t, 1, &once)));
    }
    SPMM_TRY(spmmi_allreduce(env, &once, 1, MPI_DOUBLE, MPI_MAX));
    if (once * MOST_RUNS > batch_seconds) {
        runs = (int)(batch_seconds / once) + 1;
    }
    for (int b = 0; b < N_BATCHES; b++) {
        SPMM_TRY(spmmi_agree(env, time_runs(t, runs, &took[b])));
    }
    *seconds = spmmi_median(took, N_BATCHES) * (double)t->operands.planned / (double)t->x.n;
    return spmmi_allreduce(env, seconds, 1, MPI_DOUBLE, MPI_MAX);
}

/* The times of the trial are not those of a user's execute, nor are its phase events. */
static spmm_status_t time_chunks(trial_t *trial, double *seconds)
{
    spmm_plan_t  *plan    = trial->plan;
    const bool    profile = plan->profile;
    spmm_status_t status, synced;

    plan->profile = false;
    spmmi_plan_decide(plan);
    status               = time_batches(trial, seconds);
    plan->profile        = profile;
    plan->timing.has_run = false;
    /* What was enqueued before a failure may be at work on buffers that are freed next. */
    synced = plan->device->ops->stream_sync(plan->device, plan->exchange.comm_stream);
    return status != SPMM_OK ? status : spmmi_agree(plan->env, synced);
}

/* The least predicted number of chunks that is not @p but. */
static int least_predicted(const spmm_plan_t *plan, int but)
{
    return spmmi_candidate_least(plan->choice.cuts, SPMM_CUTS, but);
}

static void take(spmm_plan_t *plan, int k)
{
    plan->choice.chunks = 1 << k;
}

static void take_predicted(spmm_plan_t *plan)
{
    const spmm_candidate_t *cuts = plan->choice.cuts;
    const int               best = least_predicted(plan, -1);

    take(plan, cuts[best].predicted_s < SPMM_CLEAR * cuts[0].predicted_s ? best : 0);
}

/* Numbers of chunks to measure: one, and the two best predicted.
 * @return how many */
static int list_tried(const spmm_plan_t *plan, bool tried[SPMM_CUTS])
{
    const spmm_candidate_t *cuts = plan->choice.cuts;
    const int               best = least_predicted(plan, -1), next = least_predicted(plan, best);
    int                     count = 0;

    for (int k = 0; k < SPMM_CUTS; k++) {
        const bool is_near =
            cuts[k].predicted_s <= SPMM_CHUNKS_WORTH_TRYING * cuts[best].predicted_s;

        tried[k] = k == 0 || k == best || (k == next && is_near);
        count += tried[k];
    }
    return count;
}

/* The fastest stays. */
static spmm_status_t measure(spmm_plan_t *plan, const bool tried[SPMM_CUTS], trial_t *trial)
{
    spmm_candidate_t *cuts    = plan->choice.cuts;
    int               fastest = 0;

    for (int k = 0; k < SPMM_CUTS; k++) {
        if (tried[k]) {
            take(plan, k);
            SPMM_TRY(time_chunks(trial, &cuts[k].measured_s));
            fastest = cuts[k].measured_s < cuts[fastest].measured_s ? k : fastest;
        }
    }
    take(plan, fastest);
    return SPMM_OK;
}

/* Without room for B and C beside the plan nothing is measured. */
static spmm_status_t try_chunks(spmm_plan_t *plan)
{
    const double  start = spmmi_now();
    trial_t       trial = {.plan = plan};
    bool          tried[SPMM_CUTS];
    spmm_status_t status;

    if (list_tried(plan, tried) == 1) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_agree(plan->env, spmmi_phases_create(&plan->phases, SPMM_MOST_CHUNKS)));
    status = open_trial(plan, &trial);
    if (status == SPMM_ERR_MEMORY) {
        spmmi_trial_close(&trial.operands);
        spmmi_log(plan->env, "chunks are not measured: %s", plan->env->err.text);
        spmmi_error_clear(&plan->env->err);
        take_predicted(plan);
        return SPMM_OK;
    }
    if (status == SPMM_OK) {
        status = measure(plan, tried, &trial);
    }
    spmmi_trial_close(&trial.operands);
    plan->stats.tune_s += spmmi_now() - start;
    plan->stats.build_s += spmmi_now() - start;
    return status;
}

static spmm_status_t choose_chunks(spmm_plan_t *plan)
{
    const int  asked  = spmmi_tuning_options_chunks(&plan->tuning);
    const bool is_cpu = plan->device->kind == SPMM_DEVICE_CPU && !plan->env->measures_on_cpu;

    if (asked > 0) {
        plan->choice.chunks = asked;
    } else if (plan->measures) { /* without streams nothing overlaps */
        SPMM_TRY(try_chunks(plan));
    } else if (!is_cpu) {
        take_predicted(plan);
    }
    return spmmi_agree(plan->env, spmmi_phases_create(&plan->phases, plan->choice.chunks));
}

spmm_status_t spmmi_plan_choose_schedule(spmm_plan_t *plan, const spmm_plan_options_t *options)
{
    const double start = spmmi_now();
    bool         cuts;

    SPMM_TRY(spmmi_agree(plan->env, set_up(plan)));
    SPMM_TRY(find_travel(plan));
    cuts = plan->choice.travels && plan->choice.schedule->cuts;
    if (cuts) {
        SPMM_TRY(spmmi_plan_predict(plan, options->engine));
    }
    SPMM_TRY(spmmi_plan_make_formats(plan, options));
    if (cuts) {
        SPMM_TRY(choose_chunks(plan));
    }
    spmmi_free(plan->blocks.need);
    plan->blocks.need = NULL;
    spmmi_log(plan->env, "schedule %s, chunks %d, chosen in %.2f s, formats included",
              plan->choice.schedule->name, plan->choice.chunks, spmmi_now() - start);
    return SPMM_OK;
}
