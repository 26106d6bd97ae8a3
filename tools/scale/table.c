/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "scale.h"

/* Of nothing nothing is all. */
static double part_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : part > 0 ? (double)part : 1.0;
}

static void print_row(FILE *out, const scale_t *scale, const scale_case_t *c, const scale_row_t *r)
{
    const spmm_flow_t *flat = &c->row[0].between;
    char               name[48];

    (void)snprintf(name, sizeof name, "%s%s", scale->partition,
                   r->nodes_first ? ", nodes first" : "");
    (void)fprintf(
        out, "  %-18s %6d %-10s %12" PRId64 " %6.2f %10" PRId64 " %6.2f %8" PRId64 " %10.4f %s\n",
        name, r->groups, r->exchange, r->between.rows, part_of(r->between.bytes, flat->bytes),
        r->between.rows_max, part_of(r->between.bytes_max, flat->bytes_max),
        r->between.messages_max, 1e3 * r->seconds[r->limit], scale_limit_name(r->limit));
}

void scale_print(FILE *out, const scale_t *scale)
{
    const scale_machine_t *m = &scale->machine;

    (void)fprintf(out,
                  "machine     a rank gathers %.3g bytes/s, %.3g within its node, %.3g through its "
                  "adapter;\n            messages %.3g s, each further one %.3g s\n",
                  m->gather, m->within, m->between, m->latency_s, m->message_s);
    for (int k = 0; k < scale->n_cases; k++) {
        const scale_case_t *c = &scale->item[k];

        (void)fprintf(out, "\n%d ranks on %d nodes, rows of B or C between nodes\n", c->ranks,
                      c->nodes);
        (void)fprintf(out, "  %-18s %6s %-10s %12s %6s %10s %6s %8s %10s %s\n", "partition",
                      "groups", "exchange", "rows", "bytes", "of a rank", "bytes", "messages", "ms",
                      "limit");
        for (int r = 0; r < c->n_rows; r++) {
            print_row(out, scale, c, &c->row[r]);
        }
    }
}
