/* SPDX-License-Identifier: Apache-2.0 */
#include "scale.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "driver_parse.h"
#include "driver_progress.h"

enum { PER_NODE = 8 };

/** What the rows of a case are made from. */
typedef struct {
    driver_job_t           *job;
    const driver_options_t *options;
    spmm_context_t         *ctx;
    spmm_matrix_t          *A;
    scale_t                *scale;
} run_t;

/* "16,64,256" */
static int parse_ranks(driver_job_t *job, const char *text, scale_t *scale)
{
    char copy[SCALE_CASES * 8], *rest = NULL;

    if (strlen(text) >= sizeof copy) {
        return driver_fail(job, DRIVER_USAGE, "--scale takes at most %d numbers of ranks",
                           (int)SCALE_CASES);
    }
    memcpy(copy, text, strlen(text) + 1);
    for (char *at = strtok_r(copy, ",", &rest); at != NULL; at = strtok_r(NULL, ",", &rest)) {
        int64_t   ranks = 0;
        const int code  = driver_parse_int(job, "scale", at, 2, 16384, &ranks);

        if (code != DRIVER_GOOD) {
            return code;
        }
        if (scale->n_cases == SCALE_CASES) {
            return driver_fail(job, DRIVER_USAGE, "--scale takes at most %d numbers of ranks",
                               (int)SCALE_CASES);
        }
        scale->item[scale->n_cases++].ranks = (int)ranks;
    }
    return scale->n_cases > 0
               ? DRIVER_GOOD
               : driver_fail(job, DRIVER_USAGE, "--scale takes numbers of ranks, as 16,64,256");
}

/* Between nodes as counted.  Within, of all but flat: at most what is needed from the node and from
 * beyond it, and what is sent on to the ranks that send it across. */
static void add_row(const run_t *run, scale_case_t *c, const spmm_scale_info_t *info, int groups,
                    bool nodes_first, const char *exchange, const spmm_flow_t *between)
{
    scale_row_t *row   = &c->row[c->n_rows++];
    const double bytes = (double)((run->options->columns + groups - 1) / groups) *
                         (double)spmm_type_size(run->options->type);

    *row = (scale_row_t){.exchange     = exchange,
                         .nodes_first  = nodes_first,
                         .groups       = groups,
                         .between      = *between,
                         .within_bytes = (double)info->flat_within.bytes_max};
    if (between != &info->flat_between && strcmp(exchange, "cover") != 0) {
        row->within_bytes += (double)(info->flat_between.bytes_max + between->bytes_max);
    }
    scale_predict(&run->scale->machine, (double)info->entries_max * bytes, row);
}

static int count(const run_t *run, scale_case_t *c, int groups, bool nodes_first)
{
    const driver_options_t *o       = run->options;
    spmm_scale_options_t    options = SPMM_SCALE_OPTIONS_INIT;
    spmm_scale_info_t       info    = {.struct_size = sizeof info};
    int                     code;

    options.ranks          = c->ranks;
    options.ranks_per_node = run->scale->per_node;
    options.column_groups  = groups;
    options.flat           = !nodes_first;
    options.partition      = strcmp(o->partition, "auto") == 0 ? NULL : o->partition;
    options.objective      = o->objective;
    options.imbalance      = o->imbalance;
    options.seed           = o->seed;
    code = driver_check(run->job, run->ctx, spmm_matrix_scale(run->A, o->columns, &options, &info),
                        DRIVER_OTHER);
    if (code != DRIVER_GOOD) {
        return code;
    }
    run->scale->partition = info.partition;
    c->nodes              = info.nodes;
    add_row(run, c, &info, groups, nodes_first, "flat", &info.flat_between);
    if (groups == 1) {
        add_row(run, c, &info, 1, nodes_first, "node", &info.node_between);
        add_row(run, c, &info, 1, nodes_first, "cover", &info.cover_between);
        add_row(run, c, &info, 1, nodes_first, "cover-node", &info.cover_node_between);
    }
    return DRIVER_GOOD;
}

/* Groups that spmm_matrix_scale() takes. */
static bool can_group(const run_t *run, const scale_case_t *c, int groups)
{
    const int each = c->ranks / groups, node = run->scale->per_node;

    return c->ranks % groups == 0 && run->options->columns >= groups &&
           (each % node == 0 || node % each == 0);
}

static int count_case(const run_t *run, scale_case_t *c)
{
    int code = count(run, c, 1, false);

    if (code == DRIVER_GOOD && c->nodes > 1) {
        code = count(run, c, 1, true);
    }
    for (int groups = 2; groups <= 8 && code == DRIVER_GOOD; groups *= 2) {
        if (can_group(run, c, groups)) {
            code = count(run, c, groups, c->nodes > 1);
        }
    }
    return code;
}

static int open_matrix(run_t *run)
{
    const driver_options_t *o       = run->options;
    spmm_context_options_t  options = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_status_t           status;
    int                     code;

    options.device = SPMM_DEVICE_CPU;
    code = driver_check(run->job, NULL, spmm_context_create(run->job->comm, &options, &run->ctx),
                        DRIVER_OTHER);
    if (code != DRIVER_GOOD) {
        return code;
    }
    status = o->matrix != NULL
                 ? spmm_matrix_read(run->ctx, o->matrix, o->type, o->seed, &run->A)
                 : spmm_matrix_generate(run->ctx, o->generate, o->type, o->seed, &run->A);
    return driver_check(run->job, run->ctx, status,
                        status == SPMM_ERR_ARGUMENT && o->matrix == NULL ? DRIVER_USAGE
                                                                         : DRIVER_INPUT);
}

static int run_cases(run_t *run)
{
    int code = open_matrix(run);

    for (int k = 0; k < run->scale->n_cases && code == DRIVER_GOOD; k++) {
        code = count_case(run, &run->scale->item[k]);
    }
    (void)spmm_matrix_destroy(&run->A);
    (void)spmm_context_destroy(&run->ctx);
    return code;
}

int driver_scale(driver_job_t *job, const driver_options_t *options)
{
    static scale_t scale; /* zero */
    run_t          run  = {.job = job, .options = options, .scale = &scale};
    int            code = driver_check_outputs(job, options);

    scale.per_node = options->ranks_per_node > 0 ? (int)options->ranks_per_node : PER_NODE;
    if (code == DRIVER_GOOD && job->size > 1) {
        code = driver_fail(job, DRIVER_USAGE,
                           "--scale counts on one rank, and this job has %d: start it without "
                           "mpirun",
                           job->size);
    }
    if (code == DRIVER_GOOD) {
        code = parse_ranks(job, options->scale, &scale);
    }
    if (code == DRIVER_GOOD) {
        code = scale_read_machine(job, options->machine, &scale.machine);
    }
    if (code == DRIVER_GOOD) {
        code = run_cases(&run);
    }
    if (code == DRIVER_GOOD) {
        scale_print(stdout, &scale);
        code = options->json == NULL ? DRIVER_GOOD : scale_write_json(job, options, &scale);
    }
    return code;
}
