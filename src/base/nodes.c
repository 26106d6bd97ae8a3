/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nodes.h"

#include "base/alloc.h"

/* The four arrays are one piece of memory. */
static spmm_status_t alloc_nodes(spmm_error_t *err, int size, spmm_nodes_t *nodes)
{
    const int64_t count = 4 * (int64_t)size + 1;

    *nodes = (spmm_nodes_t){0};
    if (SPMM_NEW_ZERO(nodes->node, count) == NULL) {
        return spmmi_fail_memory(err, count, sizeof *nodes->node, "the nodes of the ranks");
    }
    nodes->index = nodes->node + size;
    nodes->rank  = nodes->index + size;
    nodes->first = nodes->rank + size;
    return SPMM_OK;
}

/* node and count are set: the rest follows. */
static void list_ranks(int size, spmm_nodes_t *nodes)
{
    for (int p = 0; p < size; p++) {
        const int k = nodes->node[p];

        nodes->index[p] = nodes->first[k + 1]++;
        nodes->most     = nodes->index[p] >= nodes->most ? nodes->index[p] + 1 : nodes->most;
    }
    for (int k = 0; k < nodes->count; k++) {
        nodes->first[k + 1] += nodes->first[k];
    }
    for (int p = 0; p < size; p++) {
        nodes->rank[nodes->first[nodes->node[p]] + nodes->index[p]] = p;
    }
}

spmm_status_t spmmi_nodes_create(spmm_error_t *err, int size, const int *lowest,
                                 spmm_nodes_t *nodes)
{
    SPMM_TRY(alloc_nodes(err, size, nodes));
    for (int p = 0; p < size; p++) {
        nodes->node[p] = lowest[p] == p ? nodes->count++ : nodes->node[lowest[p]];
    }
    list_ranks(size, nodes);
    return SPMM_OK;
}

spmm_status_t spmmi_nodes_split(spmm_error_t *err, int size, int per_node, spmm_nodes_t *nodes)
{
    SPMM_TRY(alloc_nodes(err, size, nodes));
    for (int p = 0; p < size; p++) {
        nodes->node[p] = p / per_node;
    }
    nodes->count = nodes->node[size - 1] + 1;
    list_ranks(size, nodes);
    return SPMM_OK;
}

/* Collective, not agreed. */
static spmm_status_t find_lowest(spmm_env_t *env, int *lowest)
{
    MPI_Comm node = MPI_COMM_NULL;
    int      code = MPI_Comm_split_type(env->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    spmm_status_t status = spmmi_agree(env, spmmi_mpi_check(env, code, "MPI_Comm_split_type"));

    if (status == SPMM_OK) {
        *lowest = env->rank;
        code    = MPI_Allreduce(MPI_IN_PLACE, lowest, 1, MPI_INT, MPI_MIN, node);
        status  = spmmi_mpi_check(env, code, "MPI_Allreduce");
    }
    if (node != MPI_COMM_NULL) {
        const spmm_status_t freed = spmmi_mpi_check(env, MPI_Comm_free(&node), "MPI_Comm_free");

        status = status == SPMM_OK ? freed : status;
    }
    return status;
}

static spmm_status_t ask_machines(spmm_env_t *env)
{
    int           mine, *lowest;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW(lowest, env->size) == NULL) {
        status = spmmi_fail_memory(&env->err, env->size, sizeof *lowest, "the nodes of the ranks");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_agree(env, find_lowest(env, &mine));
    }
    if (status == SPMM_OK) {
        status = spmmi_allgather(env, &mine, lowest, sizeof mine);
    }
    if (status == SPMM_OK) {
        status = spmmi_nodes_create(&env->err, env->size, lowest, &env->nodes);
    }
    spmmi_free(lowest);
    return status;
}

spmm_status_t spmmi_nodes_find(spmm_env_t *env, int per_node)
{
    const spmm_status_t status =
        per_node > 0 ? spmmi_nodes_split(&env->err, env->size, per_node, &env->nodes)
                     : ask_machines(env);

    return spmmi_agree(env, status);
}

void spmmi_nodes_free(spmm_nodes_t *nodes)
{
    spmmi_free(nodes->node);
    *nodes = (spmm_nodes_t){0};
}
