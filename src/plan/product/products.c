/* SPDX-License-Identifier: Apache-2.0 */
/** @file products.c  The passes over C that schedules are made of. */
#include "plan/product/products.h"

#include "plan/plan.h"

static spmm_status_t multiply(const spmm_block_t *block, const spmm_operands_t *x)
{
    return block->engine->execute(block->format, x);
}

spmm_status_t spmmi_plan_run_local(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_operands_t y = spmmi_plan_inner(plan, x);

    y.follows = plan->exchange.in_line ? SPMM_FOLLOWS_BESIDE : SPMM_FOLLOWS_LAST;
    SPMM_TRY(spmmi_plan_note(plan, 0, SPMM_MARK_LOCAL_FROM, x->stream));
    SPMM_TRY(multiply(&plan->blocks.local, &y));
    return spmmi_plan_note(plan, 0, SPMM_MARK_LOCAL_TO, x->stream);
}

/* The columns of a slice of what the blocks multiply and write. */
static spmm_operands_t columns_of(const spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice)
{
    spmm_operands_t y    = spmmi_plan_inner(plan, x);
    const int64_t   b_at = slice->first * (y.layout == SPMM_LAYOUT_COL ? y.ldb : 1);
    const int64_t   c_at = slice->first * (y.layout == SPMM_LAYOUT_ROW ? 1 : y.ldc);

    if (slice->first > 0) { /* a rank without rows may have no B or C */
        y.B = (const char *)y.B + (size_t)b_at * spmm_type_size(plan->ab_type);
        y.C = (char *)y.C + (size_t)c_at * spmm_type_size(y.c_type);
    }
    y.n = slice->n;
    return y;
}

/* The column-major copy of halo rows that a column-major halo block takes: one for each slice. */
static void *edge_of(const spmm_plan_t *plan, const spmm_slice_t *slice)
{
    return (char *)plan->edge.halo + (size_t)spmmi_halo_recv_rows(&plan->exchange.halo) *
                                         (size_t)slice->first * spmm_type_size(plan->halo_type);
}

static spmm_status_t multiply_halo(spmm_plan_t *plan, const spmm_operands_t *x,
                                   const spmm_slice_t *slice)
{
    spmm_operands_t y      = columns_of(plan, x, slice);
    const int64_t   n_halo = spmmi_halo_recv_rows(&plan->exchange.halo);

    y.beta = (spmm_scalar_t){.re = 1.0};
    y.B    = slice->halo;
    y.ldb  = slice->n;
    if (slice->waits) {
        y.until = plan->exchange.transport->arrival(plan->exchange.state);
    } else if (plan->exchange.in_line) {
        y.follows = SPMM_FOLLOWS_ALL;
    }
    if (y.layout == SPMM_LAYOUT_COL && slice->n == 1) { /* it lies in both orders */
        y.ldb = n_halo;
    } else if (y.layout == SPMM_LAYOUT_COL) {
        SPMM_TRY(plan->device->ops->scatter_rows(
            plan->device,
            &(spmm_scatter_args_t){.src        = slice->halo,
                                   .n_rows     = n_halo,
                                   .n          = slice->n,
                                   .elem_size  = spmm_type_size(plan->halo_type),
                                   .dst        = edge_of(plan, slice),
                                   .ld_dst     = n_halo,
                                   .dst_layout = SPMM_LAYOUT_COL},
            x->stream));
        y.B   = edge_of(plan, slice);
        y.ldb = n_halo;
    }
    return multiply(&plan->blocks.halo, &y);
}

spmm_status_t spmmi_plan_run_halo(spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice)
{
    SPMM_TRY(spmmi_plan_note(plan, slice->index, SPMM_MARK_HALO_FROM, x->stream));
    if (plan->blocks.halo.nnz > 0) {
        SPMM_TRY(multiply_halo(plan, x, slice));
    }
    return spmmi_plan_note(plan, slice->index, SPMM_MARK_HALO_TO, x->stream);
}

static spmm_status_t multiply_transposed(spmm_plan_t *plan, const spmm_operands_t *x,
                                         const spmm_slice_t *slice)
{
    spmm_operands_t y       = columns_of(plan, x, slice);
    const int64_t   n_halo  = spmmi_halo_recv_rows(&plan->exchange.halo);
    const bool      columns = y.layout == SPMM_LAYOUT_COL;

    y.layout = columns ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
    y.c_type = plan->halo_type;
    y.alpha  = (spmm_scalar_t){.re = 1.0}; /* that of the rank that gets the sums counts */
    y.beta   = (spmm_scalar_t){0};
    y.C      = columns ? edge_of(plan, slice) : slice->halo;
    y.ldc    = columns ? n_halo : y.n;
    SPMM_TRY(multiply(&plan->blocks.halo, &y));
    if (!columns) {
        return SPMM_OK;
    }
    return plan->device->ops->gather_rows(
        plan->device,
        &(spmm_gather_args_t){.src        = edge_of(plan, slice),
                              .ld_src     = n_halo,
                              .src_layout = SPMM_LAYOUT_COL,
                              .n_rows     = n_halo,
                              .n          = slice->n,
                              .elem_size  = spmm_type_size(plan->halo_type),
                              .dst        = slice->halo},
        x->stream);
}

spmm_status_t spmmi_plan_run_halo_transposed(spmm_plan_t *plan, const spmm_operands_t *x,
                                             const spmm_slice_t *slice)
{
    SPMM_TRY(spmmi_plan_note(plan, slice->index, SPMM_MARK_HALO_FROM, x->stream));
    if (plan->blocks.halo.nnz > 0) {
        SPMM_TRY(multiply_transposed(plan, x, slice));
    }
    return spmmi_plan_note(plan, slice->index, SPMM_MARK_HALO_TO, x->stream);
}

spmm_status_t spmmi_plan_add_received(spmm_plan_t *plan, const spmm_operands_t *x,
                                      const spmm_slice_t *slice)
{
    const spmm_operands_t y      = columns_of(plan, x, slice);
    const size_t          before = (size_t)spmmi_halo_send_rows(&plan->exchange.halo) *
                          (size_t)slice->first * spmm_type_size(plan->halo_type);

    SPMM_TRY(spmmi_plan_note(plan, slice->index, SPMM_MARK_UNPACK_FROM, x->stream));
    if (plan->exchange.reduce.n_rows > 0) {
        SPMM_TRY(plan->device->ops->scatter_add_rows(
            plan->device,
            &(spmm_scatter_add_args_t){.src = (const char *)plan->exchange.mirror_rows + before,
                                       .src_type   = plan->halo_type,
                                       .row        = plan->exchange.reduce.row,
                                       .ptr        = plan->exchange.reduce.ptr,
                                       .pos        = plan->exchange.reduce.pos,
                                       .n_rows     = plan->exchange.reduce.n_rows,
                                       .n          = y.n,
                                       .alpha      = y.alpha,
                                       .dst        = y.C,
                                       .dst_type   = y.c_type,
                                       .ld_dst     = y.ldc,
                                       .dst_layout = y.layout == SPMM_LAYOUT_ROW ? SPMM_LAYOUT_ROW
                                                                                 : SPMM_LAYOUT_COL},
            y.stream));
    }
    return spmmi_plan_note(plan, slice->index, SPMM_MARK_UNPACK_TO, x->stream);
}

spmm_status_t spmmi_plan_copy_own(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_gather_args_t args = {.src        = x->B,
                                     .ld_src     = x->ldb,
                                     .src_layout = plan->layout,
                                     .n_rows     = plan->cols.n_local,
                                     .n          = x->n,
                                     .elem_size  = spmm_type_size(plan->ab_type),
                                     .dst        = plan->blocks.joined.rows};

    if (args.n_rows == 0) {
        return SPMM_OK;
    }
    if (plan->layout == SPMM_LAYOUT_ROW && x->n == x->ldb) {
        return plan->device->ops->copy(plan->device, args.dst, args.src,
                                       (size_t)args.n_rows * (size_t)args.n * args.elem_size,
                                       x->stream);
    }
    return plan->device->ops->gather_rows(plan->device, &args, x->stream);
}

spmm_status_t spmmi_plan_run_joined(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_operands_t y = spmmi_plan_inner(plan, x);

    y.B   = plan->blocks.joined.rows;
    y.ldb = x->n;
    SPMM_TRY(spmmi_plan_note(plan, 0, SPMM_MARK_HALO_FROM, x->stream));
    SPMM_TRY(multiply(&plan->blocks.joined.block, &y));
    return spmmi_plan_note(plan, 0, SPMM_MARK_HALO_TO, x->stream);
}
