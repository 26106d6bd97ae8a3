/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/report/explain.h"

#include <inttypes.h>

#include "base/scalar.h"
#include "plan/plan.h"
#include "plan/report/stats.h"
#include "spmm_dist/context.h"

static void print_tc_facts(const spmm_pattern_t *p, FILE *out)
{
    const spmm_tc_facts_t *f = &p->tc;

    (void)fprintf(out,
                  "  condensed columns: %" PRId64 ", %" PRId64 " and %" PRId64
                  " in windows of 8, 16 and 32 rows; TCU-Synergy %.1f %% (%s)\n",
                  f->pairs[0], f->pairs[1], f->pairs[2], 100.0 * f->synergy,
                  spmmi_tc_synergy_class(f->synergy));
    (void)fprintf(out,
                  "  8x8 TC blocks: %" PRId64 ", MeanNNZTC %.2f, IBD %.2f; 16x4 bricks: %" PRId64
                  ", density %.1f %%, modelled OI_shmem %.1f\n",
                  f->tc_blocks, f->mean_nnz_tc, f->ibd, f->bricks, 100.0 * f->alpha, f->oi_shmem);
}

static double percent(int64_t from, int64_t to)
{
    return 100.0 * ((double)to / (double)from - 1.0);
}

static void print_reordering(const spmm_reordering_t *r, FILE *out)
{
    if (r->method == NULL) {
        (void)fprintf(out, "  reordering none: %s\n", r->why);
        return;
    }
    (void)fprintf(out, "  reordering %s: ", r->applied ? r->method->name : "none");
    if (!r->applied) {
        (void)fprintf(out, "%s; ", r->why);
    }
    (void)fprintf(
        out, "MeanNNZTC %.2f -> %.2f, condensed columns %+.1f, %+.1f and %+.1f %%, %.2f s\n",
        r->before.mean_nnz_tc, r->after.mean_nnz_tc, percent(r->before.pairs[0], r->after.pairs[0]),
        percent(r->before.pairs[1], r->after.pairs[1]),
        percent(r->before.pairs[2], r->after.pairs[2]), r->seconds);
    if (r->other_s > 0.0) {
        (void)fprintf(out, "  measured: %.3f us on rows in their own order, %.3f us in this one\n",
                      r->own_s * 1e6, r->other_s * 1e6);
    }
}

static void print_engine(const spmm_plan_t *plan, const spmm_block_t *block,
                         const spmm_candidate_t *c, FILE *out)
{
    /* The diagonal block pays for the copies that the off-diagonal block works on, too. */
    const bool  copies = block == &plan->blocks.diagonal && c->layout != plan->layout;
    const char *note =
        c->layout == SPMM_LAYOUT_MIXED ? " with a row-major copy of B" : " with row-major copies";

    spmmi_candidate_print(c, "engine", copies ? note : "", c->engine == block->engine, out);
}

static void print_conversion(const spmm_plan_t *plan, FILE *out)
{
    const spmm_block_t *block = &plan->blocks.diagonal;

    if (plan->conversion.sum != NULL) {
        (void)fprintf(out, "conversion: C is rounded to %s once, from sums in %s\n",
                      spmmi_type_name(plan->c_type),
                      spmmi_type_name(spmmi_accum_type(plan->c_type)));
    }
    if (plan->conversion.kind != SPMM_CONVERT_NONE && plan->reproducible) {
        (void)fprintf(out, "conversion: B is copied to row-major, C from it: reproducible\n");
        return;
    }
    for (int e = 0; plan->conversion.kind != SPMM_CONVERT_NONE && e < spmmi_n_engines; e++) {
        if (block->candidates[e].engine == block->engine) {
            (void)fprintf(out, "conversion: B is copied to row-major, C %s, %.3f us predicted\n",
                          plan->conversion.kind == SPMM_CONVERT_B ? "is written by columns"
                                                                  : "from it",
                          block->candidates[e].copies_s * 1e6);
        }
    }
}

/* What the chosen format holds, values included, beside CSR with indices of 32 bits. */
static void print_format(const spmm_block_t *block, FILE *out)
{
    const size_t value = spmm_type_size(block->problem.ab_type);
    const size_t rows = (size_t)block->pattern.n_rows, nnz = (size_t)block->pattern.nnz;
    size_t       host = 0, device = 0;

    if (block->engine == NULL) {
        (void)fprintf(out, "  no format: the schedule has no use for one\n");
        return;
    }
    block->engine->bytes(block->format, &host, &device);
    (void)fprintf(out, "  format of %s: %zu bytes on the host, %zu on the device; CSR takes %zu\n",
                  block->engine->facts.name, host, device,
                  4 * (rows + 1) + nnz * (sizeof(int32_t) + value));
    if (block->engine->describe != NULL) {
        block->engine->describe(block->format, &block->pattern, out);
    }
}

static void print_block(const spmm_plan_t *plan, const spmm_block_t *block, const char *what,
                        FILE *out)
{
    const spmm_pattern_t *p = &block->pattern;

    (void)fprintf(out,
                  "%s block: %" PRId32 " x %" PRId32 ", %" PRId64 " entries, longest row %" PRId64
                  ", rows vary by %.2f, %" PRId64 " columns used\n",
                  what, p->n_rows, p->n_cols, p->nnz, p->max_row, p->row_cv, p->used_cols);
    if (block->reordering.method != NULL || block->reordering.why != NULL) {
        print_reordering(&block->reordering, out);
    }
    if (p->nnz > 0) {
        print_tc_facts(p, out);
        for (int k = 0; k < SPMM_PATTERN_FORMATS && p->formats[k] != NULL; k++) {
            if (p->formats[k]->describe != NULL) {
                p->formats[k]->describe(p, plan->ab_type, out);
            }
        }
    }
    for (int e = 0; e < spmmi_n_engines && block->candidates != NULL; e++) {
        print_engine(plan, block, &block->candidates[e], out);
    }
    if (block->remembered && block->engine != NULL) {
        (void)fprintf(out, "  engine %s was the fastest in an earlier plan\n",
                      block->engine->facts.name);
    }
    print_format(block, out);
}

static void print_schedule(const spmm_plan_t *plan, FILE *out)
{
    if (!plan->choice.travels) {
        (void)fprintf(out, "schedule: no row travels between ranks\n");
        return;
    }
    (void)fprintf(out, "schedule %s%s\n", plan->choice.schedule->name,
                  plan->choice.schedule->cuts ? ": times of the slowest rank" : "");
    for (int k = 0; k < SPMM_CUTS && plan->choice.schedule->cuts; k++) {
        spmmi_candidate_print(&plan->choice.cuts[k], "chunks", "",
                              &plan->choice.cuts[k] == spmmi_chosen_cut(&plan->choice), out);
    }
}

/* So long a product must take for the host to enqueue the next one meanwhile: START, EXCHANGED and
 * DONE recorded, two of them waited for, the exchange and both blocks launched. */
static void print_host(const spmm_plan_t *plan, FILE *out)
{
    const double call_s = 1e-6, launch_s = 2.5e-6, product_s = 5.0 * call_s + 3.0 * launch_s;
    const double least_s = plan->stats.schedule_predicted_s;

    if (plan->choice.travels && plan->device->kind != SPMM_DEVICE_CPU && plan->captures == NULL &&
        least_s < 2.0 * product_s) {
        (void)fprintf(out,
                      "host: enqueuing a product takes about %.0f us; option graph enqueues it as "
                      "one launch\n",
                      product_s * 1e6);
    }
}

static void print_captures(const spmm_plan_t *plan, FILE *out)
{
    int64_t captured, launched;

    if (plan->captures != NULL) {
        spmmi_plan_count_captures(plan, &captured, &launched);
        (void)fprintf(out, "graphs: %" PRId64 " captured, %" PRId64 " launched\n", captured,
                      launched);
    } else if (plan->captures_why != NULL) {
        (void)fprintf(out, "graphs: %s\n", plan->captures_why);
    }
}

static void print_flow(const char *where, const spmm_flow_t *f, FILE *out)
{
    (void)fprintf(out,
                  "  %s: %" PRId64 " rows, %" PRId64 " at most on a rank; %" PRId64 " messages, "
                  "%" PRId64 " at most\n",
                  where, f->rows, f->rows_max, f->messages, f->messages_max);
}

static void print_node_aware(const spmm_plan_t *plan, FILE *out)
{
    const spmm_node_exchange_choice_t *choice = &plan->choice.node;

    if (plan->env->nodes.count <= 1) {
        return;
    }
    if (choice->why[0] != '\0') {
        (void)fprintf(out, "exchange flat: node %s\n", choice->why);
    } else {
        (void)fprintf(out,
                      "exchange %s: one is predicted to take %.3g us flat, %.3g us "
                      "node-aware\n",
                      choice->chosen ? "node" : "flat", 1e6 * choice->flat_s, 1e6 * choice->node_s);
    }
}

/* Lists of rows that stay are there once spmm_plan_get_layout() has been called. */
static void print_memory(const spmm_plan_t *plan, const spmm_plan_stats_t *s, FILE *out)
{
    const spmm_layout_map_t *maps[] = {&plan->rows, &plan->cols};
    const int                n      = spmmi_plan_has_one_map(plan) ? 1 : 2;
    size_t                   lists  = 0;

    for (int m = 0; m < n; m++) {
        if (maps[m]->keep && maps[m]->orig != NULL) {
            lists += (size_t)maps[m]->n_local * sizeof *maps[m]->orig;
        }
    }
    (void)fprintf(out, "memory: %zu bytes on the host, %zu on the device", s->host_bytes,
                  s->device_bytes);
    if (lists > 0) {
        (void)fprintf(out, "; %zu on the host are lists of rows, for spmm_plan_get_layout()",
                      lists);
    }
    (void)fputc('\n', out);
}

spmm_status_t spmmi_plan_print(const spmm_plan_t *plan, FILE *out)
{
    spmm_plan_stats_t now = plan->stats, *s = &now;

    spmmi_plan_read_choices(plan, s);
    (void)fprintf(
        out,
        "plan of rank %d of %d on %s: op %c, %s-major, type %s, C %s, up to %" PRId64 " columns\n",
        plan->env->rank, plan->env->size, plan->device->description,
        plan->conjugate                        ? 'H'
        : plan->op == SPMM_OP_T || plan->flips ? 'T'
                                               : 'N',
        plan->layout == SPMM_LAYOUT_ROW ? "row" : "column", spmmi_type_name(plan->ab_type),
        plan->b_parts == 2 ? "complex" : spmmi_type_name(plan->c_type), plan->n / plan->b_parts);
    (void)fprintf(out,
                  "partition %s: imbalance %.3f, ghost rows %" PRId64 " in total and %" PRId64
                  " at most (block: %" PRId64 " in total, allgather: %" PRId64 ")%s%s\n",
                  s->partition, s->imbalance, s->halo_rows_total, s->halo_rows_max,
                  s->block_halo_rows_total, s->allgather_rows_total,
                  plan->partition.note == NULL ? "" : ", ",
                  plan->partition.note == NULL ? "" : plan->partition.note);
    print_block(plan, &plan->blocks.diagonal, "diagonal", out);
    print_block(plan, &plan->blocks.off_diagonal, "off-diagonal", out);
    if (plan->blocks.merged.block.candidates != NULL) {
        print_block(plan, &plan->blocks.merged.block, "merged", out);
    }
    print_conversion(plan, out);
    (void)fprintf(out, "exchange: %" PRId64 " rows in, %" PRId64 " out, %zu and %zu bytes\n",
                  s->halo_rows, s->send_rows, s->recv_bytes, s->send_bytes);
    print_flow("within nodes", &s->within, out);
    if (plan->env->nodes.count > 1) {
        print_flow("between nodes", &s->between, out);
    }
    for (int t = 0; t < spmmi_n_transports; t++) {
        spmmi_candidate_print(&plan->choice.transports[t], "transport", "",
                              plan->choice.transports[t].transport == plan->exchange.transport,
                              out);
    }
    if (spmmi_plan_rounds(plan)) {
        (void)fprintf(
            out,
            "ghost rows travel as %s: up to %.2g of |A| |B| of the off-diagonal block in error\n",
            spmmi_type_name(plan->sent_type), spmmi_type_error(plan->sent_type));
    }
    print_node_aware(plan, out);
    print_schedule(plan, out);
    print_host(plan, out);
    print_captures(plan, out);
    print_memory(plan, s, out);
    if (ferror(out)) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_IO, "the explanation could not be written");
    }
    return SPMM_OK;
}
