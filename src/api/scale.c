/* SPDX-License-Identifier: Apache-2.0 */
#include "spmm_dist/scale.h"

#include <string.h>

#include "api/context.h"
#include "matrix/matrix.h"
#include "partition/scale/scale.h"
#include "plan/create/tuning_options.h"

enum { MOST_RANKS = 16384 };

static spmm_status_t check(spmm_env_t *env, int64_t n, const spmm_scale_options_t *given,
                           spmm_scale_options_t *o, spmm_tuning_options_t *tuning)
{
    char why[SPMM_TUNING_WHY];

    if (given == NULL) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "the scale options are NULL: they say for how many ranks to count");
    }
    SPMM_TRY(spmmi_take_options(&env->err, given, given->struct_size, o, sizeof *o, "scale"));
    if (env->size > 1) {
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                          "the exchange of ranks that are not there is counted on one rank, and "
                          "this context has %d",
                          env->size);
    }
    if (n < 1 || n > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "n is %lld, must be 1 to 2^31 - 1",
                          (long long)n);
    }
    if (o->ranks < 1 || o->ranks > MOST_RANKS) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "ranks is %d, must be 1 to 16384",
                          o->ranks);
    }
    if (o->ranks_per_node < 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "ranks_per_node is %d, must be >= 0",
                          o->ranks_per_node);
    }
    if (!spmmi_tuning_options_read(o->tuning, SPMM_TUNING_PARTS, tuning, why)) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "%s", why);
    }
    if (o->partition == NULL) {
#ifdef SPMM_HAVE_METIS
        o->partition = "metis";
#else
        o->partition = "block";
#endif
    }
    if (strcmp(o->partition, "metis") != 0 && strcmp(o->partition, "block") != 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "partition '%.60s' cannot be made for ranks that are not there: take "
                          "metis or block",
                          o->partition);
    }
    return SPMM_OK;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static spmm_flow_t sum_up(const spmm_scale_tally_t *t, int ranks, int64_t row_bytes)
{
    spmm_flow_t flow = {0};

    for (int p = 0; p < ranks; p++) {
        flow.rows += t->rows_in[p];
        flow.messages += t->messages_in[p];
        flow.rows_max = greater(flow.rows_max, greater(t->rows_in[p], t->rows_out[p]));
        flow.messages_max =
            greater(flow.messages_max, greater(t->messages_in[p], t->messages_out[p]));
    }
    flow.bytes     = flow.rows * row_bytes;
    flow.bytes_max = flow.rows_max * row_bytes;
    return flow;
}

/* @p within NULL: not counted */
static spmm_status_t count(const spmm_scale_t *scale, bool nodes, int64_t row_bytes,
                           spmm_flow_t *within, spmm_flow_t *between)
{
    spmm_scale_tally_t tally[SPMM_WAYS];
    spmm_status_t      status = spmmi_scale_count(scale, nodes, tally);

    if (status == SPMM_OK) {
        *between = sum_up(&tally[SPMM_BETWEEN], scale->ranks, row_bytes);
        if (within != NULL) {
            *within = sum_up(&tally[SPMM_WITHIN], scale->ranks, row_bytes);
        }
    }
    spmmi_scale_tally_free(&tally[SPMM_WITHIN]);
    spmmi_scale_tally_free(&tally[SPMM_BETWEEN]);
    return status;
}

static spmm_status_t part_and_count(spmm_matrix_t *A, const spmm_scale_options_t *o,
                                    const spmm_partition_options_t *part, int64_t n,
                                    spmm_scale_info_t *info)
{
    const int64_t row_bytes = n * (int64_t)spmm_type_size(A->type);
    spmm_scale_t  scale;
    spmm_status_t status =
        spmmi_scale_create(A, o->ranks, o->ranks_per_node, o->partition, part, &scale);

    info->partition = scale.method;
    if (status == SPMM_OK) {
        status = count(&scale, false, row_bytes, &info->flat_within, &info->flat_between);
    }
    if (status == SPMM_OK) {
        status = count(&scale, true, row_bytes, NULL, &info->node_between);
    }
    spmmi_scale_free(&scale);
    return status;
}

spmm_status_t spmm_matrix_scale(spmm_matrix_t *A, int64_t n, const spmm_scale_options_t *options,
                                spmm_scale_info_t *info)
{
    spmm_scale_options_t     o    = SPMM_SCALE_OPTIONS_INIT;
    spmm_scale_info_t        mine = {0};
    spmm_tuning_options_t    tuning;
    spmm_partition_options_t part;
    spmm_env_t              *env;
    spmm_status_t            status;

    if (A == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_matrix_scale: A is NULL");
    }
    env = A->env;
    SPMM_TRY(spmmi_enter(env, "spmm_matrix_scale"));
    status = spmmi_matrix_need_entries(A);
    SPMM_TRY(spmmi_agree(env, status == SPMM_OK ? check(env, n, options, &o, &tuning) : status));
    part = (spmm_partition_options_t){
        .objective = tuning.objective, .imbalance = o.imbalance, .seed = tuning.seed};
    mine.nodes = o.ranks_per_node > 0 ? (o.ranks - 1) / o.ranks_per_node + 1 : 1;
    status     = part_and_count(A, &o, &part, n, &mine);
    return status == SPMM_OK ? spmmi_give_info(&env->err, &mine, sizeof mine, info, "scale info")
                             : status;
}
