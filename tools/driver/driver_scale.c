/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_scale.c  --scale: what a product would exchange on more ranks. */
#include <inttypes.h>
#include <string.h>

#include "driver_scale.h"

/* Of nothing nothing is all. */
static double part_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : part > 0 ? (double)part : 1.0;
}

scale_way_t driver_scale_way(const spmm_scale_info_t *info, int way)
{
    const scale_way_t ways[SCALE_WAYS] = {{"flat", &info->flat_between},
                                          {"node", &info->node_between}};

    return ways[way];
}

static void print_case(FILE *out, int64_t ranks, const spmm_scale_info_t *info)
{
    const spmm_flow_t *flat = &info->flat_between;

    (void)fprintf(out, "\n%" PRId64 " ranks on %d nodes, partition %s, rows of B between nodes\n",
                  ranks, info->nodes, info->partition);
    (void)fprintf(out, "  %-10s %12s %6s %10s %6s %8s\n", "exchange", "rows", "bytes", "of a rank",
                  "bytes", "messages");
    for (int k = 0; k < SCALE_WAYS; k++) {
        const scale_way_t  way  = driver_scale_way(info, k);
        const spmm_flow_t *flow = way.between;

        (void)fprintf(out, "  %-10s %12" PRId64 " %6.2f %10" PRId64 " %6.2f %8" PRId64 "\n",
                      way.exchange, flow->rows, part_of(flow->bytes, flat->bytes), flow->rows_max,
                      part_of(flow->bytes_max, flat->bytes_max), flow->messages_max);
    }
}

int driver_scale(driver_run_t *run)
{
    const driver_options_t *o       = run->options;
    spmm_scale_options_t    options = SPMM_SCALE_OPTIONS_INIT;
    spmm_scale_info_t       info[DRIVER_SCALE_CASES];
    int                     code = DRIVER_GOOD;

    driver_progress(run, "counting");
    options.ranks_per_node = o->ranks_per_node > 0 ? (int)o->ranks_per_node : DRIVER_SCALE_NODE;
    options.partition      = strcmp(o->partition, "auto") == 0 ? NULL : o->partition;
    options.imbalance      = o->imbalance;
    options.tuning         = o->tuning;
    for (int k = 0; k < o->scale.n && code == DRIVER_GOOD; k++) {
        info[k]       = (spmm_scale_info_t){.struct_size = sizeof info[k]};
        options.ranks = (int)o->scale.ranks[k];
        code =
            driver_check(run->job, run->ctx,
                         spmm_matrix_scale(run->A, o->columns, &options, &info[k]), DRIVER_OTHER);
    }
    for (int k = 0; k < o->scale.n && code == DRIVER_GOOD; k++) {
        print_case(stdout, o->scale.ranks[k], &info[k]);
    }
    return code == DRIVER_GOOD && o->json != NULL ? driver_write_scale(run->job, o, info) : code;
}
