/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/scalar.h"
#include "engine/format_bittcf.h"
#include "plan/plan.h"

static void print_tc_facts(const spmm_pattern_t *p, spmm_type_t type, FILE *out)
{
    const spmm_tc_facts_t    *f = &p->tc;
    const spmm_bittcf_bytes_t b = spmm_bittcf_bytes(p->n_rows, f->tc_blocks, p->nnz, type);

    (void)fprintf(out,
                  "  condensed columns: %" PRId64 ", %" PRId64 " and %" PRId64
                  " in windows of 8, 16 and 32 rows; TCU-Synergy %.1f %% (%s)\n",
                  f->pairs[0], f->pairs[1], f->pairs[2], 100.0 * f->synergy,
                  spmm_tc_synergy_class(f->synergy));
    (void)fprintf(out,
                  "  8x8 TC blocks: %" PRId64 ", MeanNNZTC %.2f, IBD %.2f; 16x4 bricks: %" PRId64
                  ", density %.1f %%, modelled OI_shmem %.1f\n",
                  f->tc_blocks, f->mean_nnz_tc, f->ibd, f->bricks, 100.0 * f->alpha, f->oi_shmem);
    (void)fprintf(out,
                  "  bytes of indices: CSR %zu, TCF %zu, ME-TCF %zu, BitTCF %zu; of values %zu\n",
                  b.csr, b.tcf, b.me_tcf, b.bittcf, b.values);
}

static void print_block(const spmm_plan_t *plan, const spmm_block_t *block, const char *what,
                        FILE *out)
{
    const spmm_pattern_t *p = &block->pattern;

    (void)fprintf(out,
                  "%s block: %" PRId32 " x %" PRId32 ", %" PRId64 " entries, longest row %" PRId64
                  ", rows vary by %.2f, %" PRId64 " columns used\n",
                  what, p->n_rows, p->n_cols, p->nnz, p->max_row, p->row_cv, p->used_cols);
    if (p->nnz > 0) {
        print_tc_facts(p, block->problem.ab_type, out);
    }
    for (int e = 0; e < spmm_n_engines; e++) {
        const spmm_engine_candidate_t *c = &block->candidates[e];

        if (c->usable) {
            /* The halo block of an edge works on the copies that the local block pays for. */
            (void)fprintf(
                out, "  engine %-12s %10.3f us predicted%s%s\n", c->engine->name,
                c->predicted_s * 1e6,
                block == &plan->local && c->layout != plan->layout ? " with row-major copies" : "",
                c->engine == block->engine ? "  <- chosen" : "");
        } else {
            (void)fprintf(out, "  engine %-12s %s\n", c->engine->name, c->why);
        }
    }
}

spmm_status_t spmm_plan_print(const spmm_plan_t *plan, FILE *out)
{
    const spmm_plan_stats_t *s = &plan->stats;

    (void)fprintf(
        out,
        "plan of rank %d of %d on %s: op %c, %s-major, type %s, C %s, up to %" PRId64 " columns\n",
        plan->env->rank, plan->env->size, plan->device->description,
        plan->op == SPMM_OP_N ? 'N' : 'T', plan->layout == SPMM_LAYOUT_ROW ? "row" : "column",
        spmm_type_name(plan->ab_type), spmm_type_name(plan->c_type), plan->n);
    (void)fprintf(out,
                  "partition %s: imbalance %.3f, halo rows %" PRId64 " in total and %" PRId64
                  " at most (block: %" PRId64 " in total, allgather: %" PRId64 ")\n",
                  s->partition, s->imbalance, s->halo_rows_total, s->halo_rows_max,
                  s->block_halo_rows_total, s->allgather_rows_total);
    print_block(plan, &plan->local, "local", out);
    print_block(plan, &plan->remote, "halo", out);
    if (plan->edge) {
        (void)fprintf(out, "edge: B and C are copied to and from row-major, %.3f us predicted\n",
                      plan->edge_s * 1e6);
    }
    (void)fprintf(out, "exchange: %" PRId64 " rows in, %" PRId64 " out, %zu and %zu bytes\n",
                  s->halo_rows, s->mirror_rows, s->recv_bytes, s->send_bytes);
    for (int t = 0; t < spmm_n_transports; t++) {
        const spmm_transport_candidate_t *c = &plan->transports[t];

        if (c->usable) {
            (void)fprintf(out, "  transport %-10s %9.3f us predicted%s\n", c->transport->name,
                          c->predicted_s * 1e6,
                          c->transport == plan->transport ? "  <- chosen" : "");
        } else {
            (void)fprintf(out, "  transport %-10s %s\n", c->transport->name, c->why);
        }
    }
    (void)fprintf(out, "memory: %zu bytes on the host, %zu on the device\n", s->host_bytes,
                  s->device_bytes);
    if (ferror(out)) {
        return spmm_fail(&plan->env->err, SPMM_ERR_IO, "the explanation could not be written");
    }
    return SPMM_OK;
}
