/* SPDX-License-Identifier: Apache-2.0 */
/** @file products.c
 *  The passes over C that schedules are made of, and conversions of column-major B and C for
 *  engines that multiply row-major blocks.  B is copied once per execute.  C comes out of the
 *  kernel by columns (layout MIXED), or out of a row-major product at the end.  Ghost rows travel
 *  row-major anyway and are used as they arrive.
 *
 *  C of 16 bits gets one sum in FP32 where several products add up in it, or where it comes out of
 *  a copy.  Sums of a part of the entries may leave the range of FP16 where the whole does not.
 */
#include "plan/run/products.h"

#include "base/alloc.h"
#include "plan/plan.h"

/* B is read and written, the product C read and written: that C is read, too, since beta may be
 * non-zero, is in the engines' models.  On GPUs a launch more for each, which begins while the
 * kernel in front of it ends, at 0.8 of the memory's rate: a product in either way with both copies
 * takes 0.83 to 1.04 of what this adds to the row-major one, medians of 40 real matrices in FP64
 * and FP32, N = 8, 32 and 128, on one H100. */
static double predict(const spmm_plan_t *plan, bool copies_c)
{
    const bool   gpu    = plan->device->kind != SPMM_DEVICE_CPU;
    const double launch = gpu ? 1.6e-6 : 0.0;
    const double rate   = gpu ? 0.8 : 1.0;
    const double b      = (double)spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local *
                     (double)spmm_type_size(plan->ab_type);
    const double c =
        (double)spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local *
        (double)(spmm_type_size(spmmi_accum_type(plan->c_type)) + spmm_type_size(plan->c_type));
    const double bytes = (double)plan->n * (2.0 * b + (copies_c ? c : 0.0));

    if (plan->n == 1) { /* it lies in both orders */
        return 0.0;
    }
    return launch * (copies_c ? 2.0 : 1.0) + bytes / (rate * plan->device->mem_bw);
}

/* Keep the faster of two ways for each engine; the one in @p list where both are equal.  The
 * baseline is measured as its library takes the block. */
static void keep_faster(const spmm_candidate_t *other, double copies_s, spmm_candidate_t *list)
{
    for (int e = 0; e < spmmi_n_engines; e++) {
        const double other_s = other[e].predicted_s + copies_s;

        if (list[e].engine->facts.baseline) {
            continue;
        }
        if (!list[e].usable || (other[e].usable && other_s < list[e].predicted_s)) {
            list[e]             = other[e];
            list[e].predicted_s = other_s;
            list[e].copies_s    = copies_s;
        }
    }
}

spmm_status_t spmmi_plan_consider_conversion(spmm_plan_t *plan)
{
    static const spmm_layout_t ways[]    = {SPMM_LAYOUT_MIXED, SPMM_LAYOUT_ROW};
    spmm_block_t              *block     = &plan->blocks.diagonal;
    spmm_problem_t             converted = block->problem;
    spmm_candidate_t          *candidates;

    if (SPMM_NEW_ZERO(candidates, spmmi_n_engines) == NULL) {
        return spmmi_fail_memory(&plan->env->err, spmmi_n_engines, sizeof *candidates,
                                 "engine candidates");
    }
    spmmi_engine_consider(&block->pattern, &block->problem, plan->device, block->candidates);
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        converted.layout = ways[k];
        converted.c_type = ways[k] == SPMM_LAYOUT_ROW ? spmmi_accum_type(block->problem.c_type)
                                                      : block->problem.c_type;
        spmmi_engine_consider(&block->pattern, &converted, plan->device, candidates);
        keep_faster(candidates, predict(plan, ways[k] == SPMM_LAYOUT_ROW), block->candidates);
    }
    spmmi_free(candidates);
    return SPMM_OK;
}

static bool converts_b(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    return plan->conversion.kind != SPMM_CONVERT_NONE && x->n > 1;
}

/* A single column lies in both orders, but the copy may have another type. */
static bool converts_c(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    return plan->conversion.kind == SPMM_CONVERT_B_AND_C &&
           (x->n > 1 || x->c_type != spmmi_accum_type(x->c_type));
}

/* What the blocks multiply and write: @p x itself, or the row-major copies of B and C.  A single
 * column needs no copy: it is row-major as it lies. */
static spmm_operands_t converted(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const bool      direct = plan->conversion.kind == SPMM_CONVERT_B;
    spmm_operands_t y      = *x;

    if (plan->conversion.kind != SPMM_CONVERT_NONE) {
        y.layout = direct ? SPMM_LAYOUT_MIXED : SPMM_LAYOUT_ROW;
        y.B      = converts_b(plan, x) ? plan->conversion.b : x->B;
        y.ldb    = x->n;
        y.ldc    = direct ? x->ldc : x->n;
    }
    if (converts_c(plan, x)) {
        y.beta   = (spmm_scalar_t){0};
        y.c_type = spmmi_accum_type(x->c_type);
        y.C      = plan->conversion.c;
    }
    return y;
}

spmm_status_t spmmi_plan_convert_b(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_gather_args_t args = {.src        = x->B,
                                     .ld_src     = x->ldb,
                                     .src_layout = SPMM_LAYOUT_COL,
                                     .n_rows     = spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local,
                                     .n          = x->n,
                                     .elem_size  = spmm_type_size(plan->ab_type),
                                     .dst        = plan->conversion.b};

    return converts_b(plan, x) ? plan->device->ops->gather_rows(plan->device, &args, x->stream)
                               : SPMM_OK;
}

spmm_status_t spmmi_plan_store_c(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_store_args_t args = {.src    = plan->conversion.c,
                                    .n_rows = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local,
                                    .n      = x->n,
                                    .beta   = x->beta,
                                    .dst    = x->C,
                                    .ld_dst = x->ldc,
                                    .type   = x->c_type};

    return converts_c(plan, x) ? plan->device->ops->store_columns(plan->device, &args, x->stream)
                               : SPMM_OK;
}

spmm_operands_t spmmi_plan_into_sum(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const int64_t   rows = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local;
    spmm_operands_t y    = *x;

    y.beta   = (spmm_scalar_t){0};
    y.c_type = spmmi_accum_type(x->c_type);
    y.C      = plan->conversion.sum;
    y.ldc    = x->layout == SPMM_LAYOUT_ROW ? x->n : rows + (rows == 0);
    return y;
}

spmm_status_t spmmi_plan_store_sum(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_operands_t   sum  = spmmi_plan_into_sum(plan, x);
    const spmm_merge_args_t args = {.sum      = sum.C,
                                    .sum_type = sum.c_type,
                                    .ld_sum   = sum.ldc,
                                    .n_rows   = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local,
                                    .n        = x->n,
                                    .beta     = x->beta,
                                    .C        = x->C,
                                    .c_type   = x->c_type,
                                    .ldc      = x->ldc,
                                    .layout   = x->layout};

    return plan->device->ops->merge_rows(plan->device, &args, x->stream);
}

static spmm_status_t multiply(const spmm_block_t *block, const spmm_operands_t *x)
{
    return block->engine->execute(block->format, x);
}

spmm_status_t spmmi_plan_run_diagonal(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_operands_t y = converted(plan, x);

    SPMM_TRY(spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_DIAGONAL_FROM, x->stream));
    SPMM_TRY(multiply(&plan->blocks.diagonal, &y));
    return spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_DIAGONAL_TO, x->stream);
}

/* The columns of a slice of what the blocks multiply and write. */
static spmm_operands_t columns_of(const spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice)
{
    spmm_operands_t y    = converted(plan, x);
    const int64_t   b_at = slice->first * (y.layout == SPMM_LAYOUT_COL ? y.ldb : 1);
    const int64_t   c_at = slice->first * (y.layout == SPMM_LAYOUT_ROW ? 1 : y.ldc);

    if (slice->first > 0) { /* a rank without rows may have no B or C */
        y.B = (const char *)y.B + (size_t)b_at * spmm_type_size(plan->ab_type);
        y.C = (char *)y.C + (size_t)c_at * spmm_type_size(y.c_type);
    }
    y.n = slice->n;
    return y;
}

/* The column-major copy of ghost rows that a column-major off-diagonal block takes: one for each
 * slice. */
static void *ghost_copy_of(const spmm_plan_t *plan, const spmm_slice_t *slice)
{
    return (char *)plan->conversion.halo + (size_t)spmmi_halo_recv_rows(&plan->exchange.halo) *
                                               (size_t)slice->first *
                                               spmm_type_size(plan->halo_type);
}

static spmm_status_t multiply_halo(spmm_plan_t *plan, const spmm_operands_t *x,
                                   const spmm_slice_t *slice)
{
    spmm_operands_t y      = columns_of(plan, x, slice);
    const int64_t   n_halo = spmmi_halo_recv_rows(&plan->exchange.halo);

    y.beta = (spmm_scalar_t){.re = 1.0};
    y.B    = slice->halo;
    y.ldb  = slice->n;
    if (y.layout == SPMM_LAYOUT_COL && slice->n == 1) { /* it lies in both orders */
        y.ldb = n_halo;
    } else if (y.layout == SPMM_LAYOUT_COL) {
        SPMM_TRY(plan->device->ops->scatter_rows(
            plan->device,
            &(spmm_scatter_args_t){.src        = slice->halo,
                                   .n_rows     = n_halo,
                                   .n          = slice->n,
                                   .elem_size  = spmm_type_size(plan->halo_type),
                                   .dst        = ghost_copy_of(plan, slice),
                                   .ld_dst     = n_halo,
                                   .dst_layout = SPMM_LAYOUT_COL},
            x->stream));
        y.B   = ghost_copy_of(plan, slice);
        y.ldb = n_halo;
    }
    return multiply(&plan->blocks.off_diagonal, &y);
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
    y.C      = columns ? ghost_copy_of(plan, slice) : slice->halo;
    y.ldc    = columns ? n_halo : y.n;
    SPMM_TRY(multiply(&plan->blocks.off_diagonal, &y));
    if (!columns) {
        return SPMM_OK;
    }
    return plan->device->ops->gather_rows(
        plan->device,
        &(spmm_gather_args_t){.src        = ghost_copy_of(plan, slice),
                              .ld_src     = n_halo,
                              .src_layout = SPMM_LAYOUT_COL,
                              .n_rows     = n_halo,
                              .n          = slice->n,
                              .elem_size  = spmm_type_size(plan->halo_type),
                              .dst        = slice->halo},
        x->stream);
}

spmm_status_t spmmi_plan_run_off_diagonal(spmm_plan_t *plan, const spmm_operands_t *x,
                                          const spmm_slice_t *slice)
{
    SPMM_TRY(
        spmmi_phase_note(&plan->phases, slice->index, SPMM_PHASE_OFF_DIAGONAL_FROM, x->stream));
    if (plan->blocks.off_diagonal.nnz > 0) {
        SPMM_TRY(plan->op == SPMM_OP_N ? multiply_halo(plan, x, slice)
                                       : multiply_transposed(plan, x, slice));
    }
    return spmmi_phase_note(&plan->phases, slice->index, SPMM_PHASE_OFF_DIAGONAL_TO, x->stream);
}

spmm_status_t spmmi_plan_add_received(spmm_plan_t *plan, const spmm_operands_t *x,
                                      const spmm_slice_t *slice)
{
    const spmm_operands_t y      = columns_of(plan, x, slice);
    const size_t          before = (size_t)spmmi_halo_send_rows(&plan->exchange.halo) *
                          (size_t)slice->first * spmm_type_size(plan->halo_type);

    SPMM_TRY(spmmi_phase_note(&plan->phases, slice->index, SPMM_PHASE_UNPACK_FROM, x->stream));
    if (plan->exchange.reduce.n_rows > 0) {
        SPMM_TRY(plan->device->ops->scatter_add_rows(
            plan->device,
            &(spmm_scatter_add_args_t){.src      = (const char *)plan->exchange.send_rows + before,
                                       .src_type = plan->halo_type,
                                       .row      = plan->exchange.reduce.row,
                                       .ptr      = plan->exchange.reduce.ptr,
                                       .pos      = plan->exchange.reduce.pos,
                                       .n_rows   = plan->exchange.reduce.n_rows,
                                       .n        = y.n,
                                       .alpha    = y.alpha,
                                       .dst      = y.C,
                                       .dst_type = y.c_type,
                                       .ld_dst   = y.ldc,
                                       .dst_layout = y.layout == SPMM_LAYOUT_ROW ? SPMM_LAYOUT_ROW
                                                                                 : SPMM_LAYOUT_COL},
            y.stream));
    }
    return spmmi_phase_note(&plan->phases, slice->index, SPMM_PHASE_UNPACK_TO, x->stream);
}

spmm_status_t spmmi_plan_copy_own(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_gather_args_t args = {.src        = x->B,
                                     .ld_src     = x->ldb,
                                     .src_layout = plan->layout,
                                     .n_rows     = plan->cols.n_local,
                                     .n          = x->n,
                                     .elem_size  = spmm_type_size(plan->ab_type),
                                     .dst        = plan->blocks.merged.rows};

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

spmm_status_t spmmi_plan_run_merged(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_operands_t y = converted(plan, x);

    y.B   = plan->blocks.merged.rows;
    y.ldb = x->n;
    SPMM_TRY(spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_OFF_DIAGONAL_FROM, x->stream));
    SPMM_TRY(multiply(&plan->blocks.merged.block, &y));
    return spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_OFF_DIAGONAL_TO, x->stream);
}
