/* SPDX-License-Identifier: Apache-2.0 */
/** @file schedule_predict.c
 *  Times of schedule overlap in 1, 2 and 4 chunks, from the models of engines and transport, before
 *  any format is built.
 */
#include "plan/create/schedule_predict.h"

#include <math.h>

#include "plan/blocks/order.h"
#include "plan/create/exchange.h"
#include "plan/plan.h"

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
