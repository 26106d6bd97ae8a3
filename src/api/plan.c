/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api/context.h"
#include "base/alloc.h"
#include "base/same.h"
#include "base/scalar.h"
#include "device/check.h"
#include "plan/create/create.h"
#include "plan/plan.h"
#include "plan/report/explain.h"
#include "plan/report/stats.h"
#include "plan/run/execute.h"
#include "plan/run/move.h"
#include "spmm_dist/fortran.h"

spmm_status_t spmm_plan_create(spmm_matrix_t *A, int64_t n, const spmm_plan_options_t *options,
                               spmm_plan_t **plan)
{
    spmm_plan_options_t mine   = SPMM_PLAN_OPTIONS_INIT;
    spmm_status_t       status = SPMM_OK;
    spmm_context_t     *ctx;

    if (A == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_plan_create: A is NULL");
    }
    ctx = A->context;
    SPMM_TRY(spmmi_enter(&ctx->env, "spmm_plan_create"));
    if (plan == NULL) {
        status = spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "spmm_plan_create: plan is NULL");
    } else if (options != NULL) {
        status = spmmi_take_options(&ctx->env.err, options, options->struct_size, &mine,
                                    sizeof mine, "plan");
    }
    status = status == SPMM_OK ? spmmi_matrix_need_entries(A) : status;
    SPMM_TRY(SPMM_COMPARE(&ctx->env, "spmm_plan_create", status, spmmi_whole("matrix", A->number),
                          spmmi_whole("n", n)));
    SPMM_TRY(spmmi_plan_build(&ctx->shared, A, n, &mine, plan));
    (*plan)->number = ++ctx->made;
    ctx->live++;
    return SPMM_OK;
}

/* A call of all ranks with a plan. */
static spmm_status_t enter(const spmm_plan_t *plan, const char *call)
{
    return plan == NULL ? spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "%s: plan is NULL", call)
                        : spmmi_enter(plan->env, call);
}

/* A call of this rank alone. */
static spmm_status_t enter_here(const spmm_plan_t *plan, const char *call)
{
    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "%s: plan is NULL", call);
    }
    spmmi_error_clear(&plan->env->err);
    return SPMM_OK;
}

/* A dense operand of @p rows rows: pointer and leading dimension.  Without rows both may be
 * anything, and the leading dimension is set to the least that has a meaning. */
static spmm_status_t check_dense(const spmm_plan_t *plan, const char *name, const void *data,
                                 int64_t rows, int64_t n, int64_t *ld, spmm_type_t type)
{
    spmm_error_t *err    = &plan->env->err;
    const bool    is_row = plan->layout == SPMM_LAYOUT_ROW;
    const int64_t least  = is_row ? n : rows;

    if (rows == 0) {
        *ld = is_row ? n : 1;
        return SPMM_OK;
    }
    if (*ld < least) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "ld of %s is %" PRId64 ", must be at least %" PRId64
                          " (%s-major, %" PRId64 " local rows, %" PRId64 " columns)",
                          name, *ld, least, is_row ? "row" : "column", rows, n);
    }
    if (*ld > INT64_MAX / 2 || !spmmi_ld_fits(is_row ? rows : n, *ld)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "ld of %s is %" PRId64 ": no memory is that large", name, *ld);
    }
    return spmmi_check_block(plan->device, name, data, rows, type);
}

static spmm_status_t check_n(const spmm_plan_t *plan, int64_t n, int64_t most)
{
    if (n < 1 || n > most) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                          "n is %" PRId64 ", must be 1 to %" PRId64 " as planned", n, most);
    }
    return SPMM_OK;
}

static spmm_extent_t extent_of(const spmm_plan_t *plan, const void *data, int64_t rows, int64_t n,
                               int64_t ld, spmm_type_t type)
{
    const bool is_row = plan->layout == SPMM_LAYOUT_ROW;

    return spmmi_extent_of(data, is_row ? rows : n, (is_row ? n : rows) * plan->b_parts,
                           ld * plan->b_parts, type);
}

/* Rounded once, so that all engines agree on whether beta is 0.  Volatile, since GCC 12.2 at -O3
 * joins the roundings of alpha and beta into one of vectors and then drops it (test_plan). */
static double rounded(const spmm_plan_t *plan, double x)
{
    const volatile float near = (float)x;

    return plan->compute == SPMM_COMPUTE_64F ? x : (double)near;
}

static spmm_scalar_t in_compute_type(const spmm_plan_t *plan, spmm_scalar_t x)
{
    return (spmm_scalar_t){.re = rounded(plan, x.re), .im = rounded(plan, x.im)};
}

/* Local. */
static spmm_status_t check_execute(const spmm_plan_t *plan, spmm_operands_t *x)
{
    const int64_t b_rows = spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local;
    const int64_t c_rows = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local;
    spmm_extent_t b_bytes, c_bytes;

    SPMM_TRY(spmmi_plan_check_sequence(plan));
    SPMM_TRY(check_n(plan, x->n, plan->n / plan->b_parts));
    SPMM_TRY(check_dense(plan, "B", x->B, b_rows, x->n, &x->ldb, plan->ab_type));
    SPMM_TRY(check_dense(plan, "C", x->C, c_rows, x->n, &x->ldc, plan->c_type));
    b_bytes = extent_of(plan, x->B, b_rows, x->n, x->ldb, plan->ab_type);
    c_bytes = extent_of(plan, x->C, c_rows, x->n, x->ldc, plan->c_type);
    if (spmmi_extents_overlap(&b_bytes, &c_bytes)) {
        return spmmi_fail(
            &plan->env->err, SPMM_ERR_ARGUMENT,
            "C overlaps B: the product cannot overwrite its operand, give C memory of its own, or "
            "other columns of one array with the same ld");
    }
    return SPMM_OK;
}

/* Leading dimensions of column-major blocks go by the rows of each rank. */
static spmm_same_t same_ld(const spmm_plan_t *plan, const char *name, spmm_operand_t operand,
                           int64_t ld)
{
    const bool is_read = spmmi_plan_map(plan, operand)->n_local > 0;

    return plan->layout == SPMM_LAYOUT_ROW && is_read ? spmmi_whole(name, ld) : spmmi_any(name);
}

/* A product in the caller's words: n and leading dimensions count elements of B and C.
 * @param[in] status  of what the caller has checked, local */
static spmm_status_t execute(spmm_plan_t *plan, const char *call, spmm_status_t status,
                             spmm_operands_t x)
{
    const int64_t ldb = x.ldb, ldc = x.ldc;

    status = status == SPMM_OK ? check_execute(plan, &x) : status;
    status = SPMM_CHECK_CALL(
        plan->env, call, status, spmmi_whole("plan", plan->number), spmmi_whole("n", x.n),
        spmmi_real("alpha", x.alpha.re), spmmi_real("imaginary part of alpha", x.alpha.im),
        spmmi_real("beta", x.beta.re), spmmi_real("imaginary part of beta", x.beta.im),
        same_ld(plan, "ldb", SPMM_OPERAND_B, ldb), same_ld(plan, "ldc", SPMM_OPERAND_C, ldc));
    if (status != SPMM_OK) {
        spmmi_plan_skip(plan);
        return status;
    }
    x.ab_type = plan->ab_type;
    x.c_type  = plan->c_type;
    x.layout  = plan->layout;
    x.alpha   = in_compute_type(plan, x.alpha);
    x.beta    = in_compute_type(plan, x.beta);
    x.n *= plan->b_parts;
    x.ldb *= plan->b_parts;
    x.ldc *= plan->b_parts;
    return spmmi_plan_execute(plan, &x);
}

spmm_status_t spmm_execute(spmm_plan_t *plan, int64_t n, double alpha, const void *B, int64_t ldb,
                           double beta, void *C, int64_t ldc, spmm_stream_t stream)
{
    SPMM_TRY(enter(plan, "spmm_execute"));
    return execute(plan, "spmm_execute", SPMM_OK,
                   (spmm_operands_t){.n      = n,
                                     .alpha  = {.re = alpha},
                                     .beta   = {.re = beta},
                                     .B      = B,
                                     .ldb    = ldb,
                                     .C      = C,
                                     .ldc    = ldc,
                                     .stream = stream});
}

/* Of the type that sums are kept in; 0 for NULL. */
static spmm_scalar_t read_scalar(const spmm_plan_t *plan, const void *from)
{
    const spmm_type_t type = spmmi_accum_type(plan->ab_type), part = spmmi_part_type(type);

    if (from == NULL) {
        return (spmm_scalar_t){0};
    }
    return (spmm_scalar_t){.re = spmmi_value_get(part, from, 0),
                           .im = spmmi_is_complex(type) ? spmmi_value_get(part, from, 1) : 0.0};
}

spmm_status_t spmm_execute_scaled(spmm_plan_t *plan, int64_t n, const void *alpha, const void *B,
                                  int64_t ldb, const void *beta, void *C, int64_t ldc,
                                  spmm_stream_t stream)
{
    spmm_status_t status = SPMM_OK;

    SPMM_TRY(enter(plan, "spmm_execute_scaled"));
    if (alpha == NULL || beta == NULL) {
        status = spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_execute_scaled: %s is NULL",
                            alpha == NULL ? "alpha" : "beta");
    }
    return execute(plan, "spmm_execute_scaled", status,
                   (spmm_operands_t){.n      = n,
                                     .alpha  = read_scalar(plan, alpha),
                                     .beta   = read_scalar(plan, beta),
                                     .B      = B,
                                     .ldb    = ldb,
                                     .C      = C,
                                     .ldc    = ldc,
                                     .stream = stream});
}

spmm_status_t spmm_plan_resync(spmm_plan_t *plan)
{
    SPMM_TRY(enter(plan, "spmm_plan_resync"));
    SPMM_TRY(
        SPMM_CHECK_CALL(plan->env, "spmm_plan_resync", SPMM_OK, spmmi_whole("plan", plan->number)));
    return spmmi_plan_resync(plan);
}

spmm_status_t spmm_plan_update_values(spmm_plan_t *plan, const void *values, spmm_stream_t stream)
{
    SPMM_TRY(enter_here(plan, "spmm_plan_update_values"));
    SPMM_TRY(spmmi_check_block(plan->device, "values", values, spmmi_matrix_local_nnz(plan->A),
                               plan->ab_type));
    return spmmi_plan_take_values(plan, values, stream);
}

static spmm_status_t check_operand(const spmm_plan_t *plan, spmm_operand_t operand)
{
    if (operand != SPMM_OPERAND_B && operand != SPMM_OPERAND_C) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                          "operand %d is none of spmm_operand_t", (int)operand);
    }
    return SPMM_OK;
}

/* Make the list of original indices of an operand's rows, where it is not there. */
static spmm_status_t list_rows(spmm_plan_t *plan, spmm_operand_t operand)
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

spmm_status_t spmm_plan_get_layout(const spmm_plan_t *plan, spmm_operand_t operand,
                                   spmm_layout_info_t *info)
{
    const spmm_layout_map_t *map;
    spmm_layout_info_t       mine;

    SPMM_TRY(enter_here(plan, "spmm_plan_get_layout"));
    SPMM_TRY(check_operand(plan, operand));
    /* What is asked for is of the plan, and made when it is asked for. */
    SPMM_TRY(list_rows((spmm_plan_t *)(uintptr_t)plan, operand));
    map  = spmmi_plan_map(plan, operand);
    mine = (spmm_layout_info_t){.local_rows     = map->n_local,
                                .global_row     = map->orig,
                                .original_first = map->orig_offset[plan->env->rank],
                                .original_rows  = map->n_orig,
                                .is_shared      = spmmi_matrix_is_square(plan->A)};
    return spmmi_give_info(&plan->env->err, &mine, sizeof mine, info, "layout info");
}

/* Arguments of both ways of spmmi_move_rows(), local. */
static spmm_status_t check_move(const spmm_plan_t *plan, spmm_operand_t operand, bool to_plan,
                                int64_t n, const void *src, int64_t *ld_src, const void *dst,
                                int64_t *ld_dst)
{
    const spmm_type_t type = operand == SPMM_OPERAND_B ? plan->ab_type : plan->c_type;
    int64_t           src_rows, dst_rows;
    spmm_extent_t     src_bytes, dst_bytes;

    SPMM_TRY(check_operand(plan, operand));
    SPMM_TRY(check_n(plan, n, plan->n / plan->b_parts));
    src_rows =
        to_plan ? spmmi_plan_map(plan, operand)->n_orig : spmmi_plan_map(plan, operand)->n_local;
    dst_rows =
        to_plan ? spmmi_plan_map(plan, operand)->n_local : spmmi_plan_map(plan, operand)->n_orig;
    SPMM_TRY(check_dense(plan, "src", src, src_rows, n, ld_src, type));
    SPMM_TRY(check_dense(plan, "dst", dst, dst_rows, n, ld_dst, type));
    src_bytes = extent_of(plan, src, src_rows, n, *ld_src, type);
    dst_bytes = extent_of(plan, dst, dst_rows, n, *ld_dst, type);
    return spmmi_check_apart(plan->device, "dst", &dst_bytes, "src", &src_bytes);
}

static spmm_status_t move(spmm_plan_t *plan, spmm_operand_t operand, bool to_plan, int64_t n,
                          const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                          spmm_stream_t stream)
{
    const char *const call = to_plan ? "spmm_plan_scatter" : "spmm_plan_gather";
    spmm_status_t     status;

    SPMM_TRY(enter(plan, call));
    status = check_move(plan, operand, to_plan, n, src, &ld_src, dst, &ld_dst);
    SPMM_TRY(SPMM_COMPARE(plan->env, call, status, spmmi_whole("plan", plan->number),
                          spmmi_whole("operand", operand), spmmi_whole("n", n)));
    return spmmi_move_rows(
        plan->device, spmmi_plan_map(plan, operand), to_plan,
        &(spmm_operands_t){.ab_type = operand == SPMM_OPERAND_B ? plan->ab_type : plan->c_type,
                           .layout  = plan->layout,
                           .n       = n * plan->b_parts,
                           .B       = src,
                           .ldb     = ld_src * plan->b_parts,
                           .C       = dst,
                           .ldc     = ld_dst * plan->b_parts,
                           .stream  = stream});
}

spmm_status_t spmm_plan_scatter(spmm_plan_t *plan, spmm_operand_t operand, int64_t n,
                                const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                                spmm_stream_t stream)
{
    return move(plan, operand, true, n, src, ld_src, dst, ld_dst, stream);
}

spmm_status_t spmm_plan_gather(spmm_plan_t *plan, spmm_operand_t operand, int64_t n,
                               const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                               spmm_stream_t stream)
{
    return move(plan, operand, false, n, src, ld_src, dst, ld_dst, stream);
}

/* Collective, agreed. */
static spmm_status_t write_partition(const spmm_plan_t *plan, const char *path)
{
    const spmm_layout_map_t *map    = plan->flips ? &plan->cols : &plan->rows;
    spmm_status_t            status = SPMM_OK;
    int32_t                 *part;

    if (SPMM_NEW(part, map->n_orig) == NULL) {
        status = spmmi_fail_memory(&plan->env->err, map->n_orig, sizeof *part, "a partition");
    }
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        spmmi_layout_parts(map, plan->env->size, part);
        status = spmmi_partition_write(plan->A, part, path);
    }
    spmmi_free(part);
    return status;
}

spmm_status_t spmm_plan_write_partition(const spmm_plan_t *plan, const char *path)
{
    spmm_status_t status = SPMM_OK;

    SPMM_TRY(enter(plan, "spmm_plan_write_partition"));
    if (path == NULL) {
        status = spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                            "spmm_plan_write_partition: path is NULL");
    }
    SPMM_TRY(SPMM_COMPARE(plan->env, "spmm_plan_write_partition", status,
                          spmmi_whole("plan", plan->number), spmmi_text("path", path)));
    return write_partition(plan, path);
}

spmm_status_t spmm_plan_destroy(spmm_plan_t **plan)
{
    if (plan == NULL || *plan == NULL) {
        return SPMM_OK;
    }
    spmmi_error_clear(&(*plan)->env->err);
    --*(*plan)->A->live;
    spmmi_plan_free(*plan);
    *plan = NULL;
    return SPMM_OK;
}

/* What a plan says of itself. */

spmm_status_t spmm_plan_get_stats(const spmm_plan_t *plan, spmm_plan_stats_t *stats)
{
    spmm_plan_stats_t mine;

    SPMM_TRY(enter_here(plan, "spmm_plan_get_stats"));
    SPMM_TRY(spmmi_plan_collect_stats(plan, &mine));
    return spmmi_give_info(&plan->env->err, &mine, sizeof mine, stats, "plan stats");
}

spmm_status_t spmm_plan_get_timeline(const spmm_plan_t *plan, int capacity, spmm_span_t *spans,
                                     int *count)
{
    spmm_span_t mine[SPMM_MOST_SPANS];
    int         n = 0;

    SPMM_TRY(enter_here(plan, "spmm_plan_get_timeline"));
    if (spans == NULL || count == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_plan_get_timeline: %s is NULL",
                          spans == NULL ? "spans" : "count");
    }
    if (capacity < 0) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "capacity is %d, must be >= 0",
                          capacity);
    }
    SPMM_TRY(spmmi_plan_trace(plan, mine, &n));
    *count = n < capacity ? n : capacity;
    memcpy(spans, mine, (size_t)*count * sizeof *spans);
    return SPMM_OK;
}

spmm_status_t spmm_plan_get_traffic(const spmm_plan_t *plan, int64_t *rows)
{
    SPMM_TRY(enter_here(plan, "spmm_plan_get_traffic"));
    if (rows == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                          "spmm_plan_get_traffic: rows is NULL");
    }
    spmmi_plan_trace_rows(plan, rows);
    return SPMM_OK;
}

spmm_status_t spmm_plan_get_halo(const spmm_plan_t *plan, int64_t *rows)
{
    spmm_status_t status = SPMM_OK;

    SPMM_TRY(enter(plan, "spmm_plan_get_halo"));
    if (rows == NULL && spmmi_halo_recv_rows(&plan->exchange.halo) > 0) {
        status = spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_plan_get_halo: rows is NULL");
    }
    SPMM_TRY(
        SPMM_COMPARE(plan->env, "spmm_plan_get_halo", status, spmmi_whole("plan", plan->number)));
    return spmmi_plan_list_halo(plan, rows);
}

spmm_status_t spmm_plan_explain(const spmm_plan_t *plan, FILE *out)
{
    SPMM_TRY(enter_here(plan, "spmm_plan_explain"));
    if (out == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_plan_explain: out is NULL");
    }
    return spmmi_plan_print(plan, out);
}

spmm_status_t spmm_plan_explain_f(const spmm_plan_t *plan, const char *path)
{
    FILE         *out;
    spmm_status_t status;

    SPMM_TRY(enter_here(plan, "spmm_plan_explain"));
    if (path == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_plan_explain: path is NULL");
    }
    errno = 0;
    out   = fopen(path, "a");
    if (out == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_IO, "cannot write to '%.200s': %s", path,
                          strerror(errno));
    }
    status = spmm_plan_explain(plan, out);
    if (fclose(out) != 0 && status == SPMM_OK) {
        status = spmmi_fail(&plan->env->err, SPMM_ERR_IO, "cannot write to '%.200s': %s", path,
                            strerror(errno));
    }
    return status;
}
