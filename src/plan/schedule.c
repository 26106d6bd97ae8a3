/* SPDX-License-Identifier: Apache-2.0 */
/** @file schedule.c
 *  One product with the exchange behind the local block.  Columns are
 *  streams, time runs down:
 *
 *      op N    user stream          comm stream         op T    user stream          comm stream
 *              mark START  ----->   wait                        halo block -> rows
 *              local block          pack mirror rows            mark       ----->   wait
 *                                   exchange                    local block          exchange
 *              wait        <-----   mark EXCHANGED              wait        <-----   mark EXCHANGED
 *              halo block (beta 1)                              add received rows
 *
 *  Where the plan works on row-major copies of column-major B and C (edge.c), B is copied on the
 *  user stream before the first block that reads it, both blocks write the copy of C, and C gets
 *  its part last.  Packing reads the caller's B, so the exchange does not wait for the copy.
 *
 *  The local block touches no remote row, so the exchange is free while it is the shorter of the
 *  two.  hypre and PETSc order their products the same way (hypre_ParCSRMatrixMatvec,
 *  MatMult_MPIAIJ).
 */
#include "plan/plan.h"

static spmm_status_t mark(spmm_plan_t *plan, spmm_mark_t which, spmm_stream_t stream)
{
    return plan->device->ops->event_record(plan->device, plan->marks[which], stream);
}

/* A mark that only profiling looks at. */
static spmm_status_t note(spmm_plan_t *plan, spmm_mark_t which, spmm_stream_t stream)
{
    return plan->profile ? mark(plan, which, stream) : SPMM_OK;
}

static spmm_status_t wait_for(spmm_plan_t *plan, spmm_mark_t which, spmm_stream_t stream)
{
    return plan->device->ops->stream_wait(plan->device, stream, plan->marks[which]);
}

/* May peers read the rows of B where they lie?  Then nothing is packed. */
static bool reads_in_place(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const size_t size = spmm_type_size(plan->halo_type);
    const size_t ld = (size_t)x->ldb * size, rows = (size_t)plan->cols.n_local;

    return plan->transport->reads_in_place != NULL && plan->op == SPMM_OP_N &&
           plan->layout == SPMM_LAYOUT_ROW && rows > 0 &&
           plan->transport->reads_in_place(plan->exchange, x->B, ld,
                                           (rows - 1) * ld + (size_t)x->n * size);
}

static spmm_exchange_t exchange_of(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const size_t size = spmm_type_size(plan->halo_type);

    return (spmm_exchange_t){.direction =
                                 plan->op == SPMM_OP_N ? SPMM_HALO_FORWARD : SPMM_HALO_REVERSE,
                             .mirror    = plan->mirror_rows,
                             .halo      = plan->halo_rows,
                             .row_bytes = (size_t)x->n * size,
                             .in_place  = reads_in_place(plan, x) ? x->B : NULL,
                             .ld_bytes  = (size_t)x->ldb * size};
}

static spmm_status_t run_local(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_operands_t y = spmm_plan_inner(plan, x);

    SPMM_TRY(note(plan, SPMM_MARK_LOCAL_FROM, x->stream));
    SPMM_TRY(plan->local.engine->execute(plan->local.format, y.n, y.alpha, y.B, y.ldb, y.beta, y.C,
                                         y.ldc, y.stream));
    return note(plan, SPMM_MARK_LOCAL_TO, x->stream);
}

/* The exchange with the local block inside.  Peers wait for our rows, so a begun exchange is ended
 * even when the local block failed. */
static spmm_status_t exchange_and_run_local(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_exchange_t what = exchange_of(plan, x);
    spmm_status_t         local, ended;

    SPMM_TRY(note(plan, SPMM_MARK_PACKED, plan->comm_stream));
    SPMM_TRY(plan->transport->begin(plan->exchange, &what, plan->comm_stream));
    local = note(plan, SPMM_MARK_BEGUN, plan->comm_stream);
    if (local == SPMM_OK && plan->op == SPMM_OP_N) { /* op T: before the halo block */
        local = spmm_plan_turn_b(plan, x);
    }
    if (local == SPMM_OK) {
        local = run_local(plan, x);
    }
    if (local == SPMM_OK) {
        local = note(plan, SPMM_MARK_ENDING, plan->comm_stream);
    }
    ended = plan->transport->end(plan->exchange, &what, plan->comm_stream);
    SPMM_TRY(local);
    SPMM_TRY(ended);
    SPMM_TRY(mark(plan, SPMM_MARK_EXCHANGED, plan->comm_stream));
    return wait_for(plan, SPMM_MARK_EXCHANGED, x->stream);
}

static spmm_status_t pack(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_gather_args_t args = {.src        = x->B,
                                     .ld_src     = x->ldb,
                                     .src_layout = plan->layout,
                                     .row        = plan->send_row,
                                     .n_rows     = spmm_halo_send_rows(&plan->halo),
                                     .n          = x->n,
                                     .elem_size  = spmm_type_size(plan->halo_type),
                                     .dst        = plan->mirror_rows};

    SPMM_TRY(note(plan, SPMM_MARK_PACK, plan->comm_stream));
    return args.n_rows == 0 || reads_in_place(plan, x)
               ? SPMM_OK
               : plan->device->ops->gather_rows(plan->device, &args, plan->comm_stream);
}

/* C += alpha * A_halo * (received rows). */
static spmm_status_t run_halo(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_operands_t y      = spmm_plan_inner(plan, x);
    const int64_t         n_halo = spmm_halo_recv_rows(&plan->halo);
    const void           *rows   = plan->halo_rows;
    int64_t               ld     = x->n;

    if (plan->remote.problem.layout == SPMM_LAYOUT_COL) {
        SPMM_TRY(plan->device->ops->scatter_rows(
            plan->device,
            &(spmm_scatter_args_t){.src        = plan->halo_rows,
                                   .n_rows     = n_halo,
                                   .n          = x->n,
                                   .elem_size  = spmm_type_size(plan->halo_type),
                                   .dst        = plan->halo_edge,
                                   .ld_dst     = n_halo,
                                   .dst_layout = SPMM_LAYOUT_COL},
            x->stream));
        rows = plan->halo_edge;
        ld   = n_halo;
    }
    return plan->remote.engine->execute(plan->remote.format, y.n, y.alpha, rows, ld, 1.0, y.C,
                                        y.ldc, y.stream);
}

static spmm_status_t run_op_n(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(wait_for(plan, SPMM_MARK_START, plan->comm_stream));
    SPMM_TRY(pack(plan, x));
    SPMM_TRY(exchange_and_run_local(plan, x));
    SPMM_TRY(note(plan, SPMM_MARK_HALO_FROM, x->stream));
    if (plan->remote.nnz > 0) {
        SPMM_TRY(run_halo(plan, x));
    }
    return note(plan, SPMM_MARK_HALO_TO, x->stream);
}

/* Partial rows for other ranks: alpha * A_halo^T * B, packed. */
static spmm_status_t run_halo_transposed(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_operands_t y       = spmm_plan_inner(plan, x);
    const int64_t         n_halo  = spmm_halo_recv_rows(&plan->halo);
    const bool            columns = plan->remote.problem.layout == SPMM_LAYOUT_COL;

    SPMM_TRY(plan->remote.engine->execute(plan->remote.format, y.n, y.alpha, y.B, y.ldb, 0.0,
                                          columns ? plan->halo_edge : plan->halo_rows,
                                          columns ? n_halo : y.n, y.stream));
    if (!columns) {
        return SPMM_OK;
    }
    return plan->device->ops->gather_rows(
        plan->device,
        &(spmm_gather_args_t){.src        = plan->halo_edge,
                              .ld_src     = n_halo,
                              .src_layout = SPMM_LAYOUT_COL,
                              .n_rows     = n_halo,
                              .n          = x->n,
                              .elem_size  = spmm_type_size(plan->halo_type),
                              .dst        = plan->halo_rows},
        x->stream);
}

/* C += the partial rows that peers sent. */
static spmm_status_t add_received(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_operands_t y = spmm_plan_inner(plan, x);

    if (plan->reduce.n_rows == 0) {
        return SPMM_OK;
    }
    return plan->device->ops->scatter_add_rows(
        plan->device,
        &(spmm_scatter_add_args_t){.src        = plan->mirror_rows,
                                   .src_type   = plan->halo_type,
                                   .row        = plan->reduce.row,
                                   .ptr        = plan->reduce.ptr,
                                   .pos        = plan->reduce.pos,
                                   .n_rows     = plan->reduce.n_rows,
                                   .n          = y.n,
                                   .dst        = y.C,
                                   .dst_type   = plan->c_type,
                                   .ld_dst     = y.ldc,
                                   .dst_layout = plan->local.problem.layout},
        y.stream);
}

static spmm_status_t run_op_t(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(spmm_plan_turn_b(plan, x));
    SPMM_TRY(note(plan, SPMM_MARK_HALO_FROM, x->stream));
    if (plan->remote.nnz > 0) {
        SPMM_TRY(run_halo_transposed(plan, x));
    }
    SPMM_TRY(mark(plan, SPMM_MARK_HALO_TO, x->stream));
    SPMM_TRY(wait_for(plan, SPMM_MARK_HALO_TO, plan->comm_stream));
    SPMM_TRY(note(plan, SPMM_MARK_PACK, plan->comm_stream));
    SPMM_TRY(exchange_and_run_local(plan, x));
    SPMM_TRY(note(plan, SPMM_MARK_UNPACK_FROM, x->stream));
    SPMM_TRY(add_received(plan, x));
    return note(plan, SPMM_MARK_UNPACK_TO, x->stream);
}

static spmm_status_t run_alone(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(spmm_plan_turn_b(plan, x));
    return run_local(plan, x);
}

static spmm_status_t enqueue(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(mark(plan, SPMM_MARK_START, x->stream));
    SPMM_TRY(plan->alone             ? run_alone(plan, x)
             : plan->op == SPMM_OP_N ? run_op_n(plan, x)
                                     : run_op_t(plan, x));
    return spmm_plan_store_c(plan, x);
}

spmm_status_t spmm_plan_run(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_status_t status, ended;

    /* The buffers belong to the last execute until it is done, on whatever stream that was. */
    if (plan->in_use) {
        SPMM_TRY(wait_for(plan, SPMM_MARK_DONE, x->stream));
    }
    /* Also what a failed execute got to enqueue works on the buffers. */
    status        = enqueue(plan, x);
    ended         = mark(plan, SPMM_MARK_DONE, x->stream);
    plan->in_use  = plan->in_use || ended == SPMM_OK;
    status        = status != SPMM_OK ? status : ended;
    plan->has_run = status == SPMM_OK;
    return status;
}
