/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/halo.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/hash.h"
#include "base/nodes.h"
#include "device/network.h"

/** What the halo is made from; freed when it stands. */
typedef struct {
    const int64_t *offset, *need;           /**< of the caller */
    int64_t       *recv_count, *send_count; /**< [size] rows from and to each rank */
    int64_t       *asked; /**< indices of this rank that the others need, in rank order */
    int64_t        n_asked;
    uint64_t      *ours, *theirs; /**< [2 * size] rows and checksum of each pair */
} draft_t;

static void draft_free(draft_t *draft)
{
    spmmi_free_all(draft->recv_count, draft->send_count, draft->asked, draft->ours, draft->theirs);
}

static spmm_status_t count_needs(spmm_env_t *env, draft_t *draft, int64_t n_need)
{
    const int64_t *offset = draft->offset, *need = draft->need;

    if (SPMM_NEW_ZERO(draft->recv_count, env->size) == NULL ||
        SPMM_NEW_ZERO(draft->send_count, env->size) == NULL ||
        SPMM_NEW_ZERO(draft->ours, 2 * (int64_t)env->size) == NULL ||
        SPMM_NEW_ZERO(draft->theirs, 2 * (int64_t)env->size) == NULL) {
        return spmmi_fail_memory(&env->err, 6 * (int64_t)env->size, sizeof(int64_t),
                                 "the counts of a halo plan");
    }
    if (offset[env->rank + 1] - offset[env->rank] > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                          "a rank owns %" PRId64
                          " rows of B, local rows are 32-bit: use more ranks",
                          offset[env->rank + 1] - offset[env->rank]);
    }
    for (int64_t i = 0; i < n_need; i++) {
        const bool in_range = need[i] >= 0 && need[i] < offset[env->size];
        const int  owner    = in_range ? spmmi_owner(offset, env->size, need[i]) : -1;

        if (!in_range || owner == env->rank || (i > 0 && need[i] <= need[i - 1])) {
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "needed index %" PRId64 " at place %" PRId64
                              " is out of range, out of order or of this rank itself",
                              need[i], i);
        }
        draft->recv_count[owner]++;
    }
    return SPMM_OK;
}

static spmm_status_t alloc_asked(spmm_env_t *env, draft_t *draft)
{
    if (SPMM_NEW(draft->asked, draft->n_asked) == NULL) {
        return spmmi_fail_memory(&env->err, draft->n_asked, sizeof *draft->asked,
                                 "the rows that other ranks need");
    }
    return SPMM_OK;
}

/* The ranks with a count, and the prefix sums of their counts. */
static spmm_status_t list_peers(spmm_env_t *env, const int64_t *count, int *n_peers, int **peer,
                                int64_t **ptr)
{
    int n = 0;

    for (int p = 0; p < env->size; p++) {
        n += count[p] > 0;
    }
    if (SPMM_NEW(*peer, n) == NULL || SPMM_NEW(*ptr, (int64_t)n + 1) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)n + 1, sizeof **ptr,
                                 "the peers of a halo plan");
    }
    *n_peers  = n;
    (*ptr)[0] = 0;
    n         = 0;
    for (int p = 0; p < env->size; p++) {
        if (count[p] > 0) {
            (*peer)[n]    = p;
            (*ptr)[n + 1] = (*ptr)[n] + count[p];
            n++;
        }
    }
    return SPMM_OK;
}

static spmm_status_t make_lists(spmm_env_t *env, const draft_t *draft, spmm_halo_t *halo)
{
    const int64_t first = draft->offset[env->rank], end = draft->offset[env->rank + 1];

    SPMM_TRY(
        list_peers(env, draft->send_count, &halo->n_send_peers, &halo->send_peer, &halo->send_ptr));
    SPMM_TRY(
        list_peers(env, draft->recv_count, &halo->n_recv_peers, &halo->recv_peer, &halo->recv_ptr));
    if (SPMM_NEW(halo->send_row, draft->n_asked) == NULL) {
        return spmmi_fail_memory(&env->err, draft->n_asked, sizeof *halo->send_row, "send rows");
    }
    for (int64_t i = 0; i < draft->n_asked; i++) {
        if (draft->asked[i] < first || draft->asked[i] >= end) {
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "another rank needs row %" PRId64 ", but this rank owns %" PRId64
                              " .. %" PRId64 " only: the ranks hold different distributions",
                              draft->asked[i], first, end - 1);
        }
        halo->send_row[i] = (int32_t)(draft->asked[i] - first);
    }
    return SPMM_OK;
}

static uint64_t checksum(uint64_t sum, int64_t index)
{
    return spmmi_mix64(sum ^ (uint64_t)index);
}

/* Each rank tells each other how many rows it will send there and a checksum of their global
 * indices in order; the receiver compares with its own half of the halo. */
static spmm_status_t compare_pairs(spmm_env_t *env, const draft_t *draft, const spmm_halo_t *halo)
{
    for (int s = 0; s < halo->n_send_peers; s++) {
        uint64_t *pair = draft->ours + 2 * (size_t)halo->send_peer[s];

        pair[0] = (uint64_t)(halo->send_ptr[s + 1] - halo->send_ptr[s]);
        for (int64_t i = halo->send_ptr[s]; i < halo->send_ptr[s + 1]; i++) {
            pair[1] = checksum(pair[1], draft->offset[env->rank] + halo->send_row[i]);
        }
    }
    SPMM_TRY(spmmi_alltoall(env, draft->ours, draft->theirs, 2 * sizeof *draft->ours));
    for (int r = 0; r < halo->n_recv_peers; r++) {
        uint64_t *pair = draft->theirs + 2 * (size_t)halo->recv_peer[r];
        uint64_t  sum  = 0;

        for (int64_t i = halo->recv_ptr[r]; i < halo->recv_ptr[r + 1]; i++) {
            sum = checksum(sum, draft->need[i]);
        }
        pair[0] -= (uint64_t)(halo->recv_ptr[r + 1] - halo->recv_ptr[r]);
        pair[1] -= sum;
    }
    for (int p = 0; p < env->size; p++) { /* ranks that are no peers must have sent zeros */
        if (draft->theirs[2 * p] != 0 || draft->theirs[2 * p + 1] != 0) {
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "ranks %d and %d disagree on the rows that travel between them", p,
                              env->rank);
        }
    }
    return SPMM_OK;
}

static spmm_status_t build(spmm_env_t *env, draft_t *draft, int64_t n_need, spmm_halo_t *halo)
{
    SPMM_TRY(spmmi_agree(env, count_needs(env, draft, n_need)));
    SPMM_TRY(spmmi_alltoall_counts(env, draft->recv_count, draft->send_count, &draft->n_asked));
    SPMM_TRY(spmmi_agree(env, alloc_asked(env, draft)));
    SPMM_TRY(spmmi_alltoallv(env, draft->need, draft->recv_count, draft->asked, draft->send_count,
                             sizeof *draft->asked));
    SPMM_TRY(spmmi_agree(env, make_lists(env, draft, halo)));
    return spmmi_agree(env, compare_pairs(env, draft, halo));
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

spmm_status_t spmmi_halo_sum_node(spmm_env_t *env, spmm_halo_t *halo)
{
    const int        n               = 2 * env->nodes.count;
    spmm_halo_flow_t flow[SPMM_WAYS] = {{0}};
    spmm_status_t    status          = SPMM_OK;
    int64_t         *rows;

    if (env->nodes.count <= 1) {
        return SPMM_OK;
    }
    if (SPMM_NEW_ZERO(rows, n) == NULL) {
        status = spmmi_fail_memory(&env->err, n, sizeof *rows, "the rows between nodes");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        int64_t *mine = rows + 2 * (ptrdiff_t)env->nodes.node[env->rank];

        spmmi_halo_flow(halo, env, flow);
        mine[0]         = flow[SPMM_BETWEEN].rows_in;
        mine[1]         = flow[SPMM_BETWEEN].rows_out;
        status          = spmmi_allreduce(env, rows, n, MPI_INT64_T, MPI_SUM);
        halo->node_rows = greater(mine[0], mine[1]);
    }
    spmmi_free(rows);
    return status;
}

spmm_status_t spmmi_halo_create(spmm_env_t *env, const int64_t *offset, const int64_t *need,
                                int64_t n_need, spmm_halo_t *halo)
{
    draft_t       draft = {.offset = offset, .need = need};
    spmm_halo_t   made  = {0};
    spmm_status_t status;

    status = build(env, &draft, n_need, &made);
    draft_free(&draft);
    if (status == SPMM_OK) {
        status = spmmi_halo_sum_node(env, &made);
    }
    if (status != SPMM_OK) {
        spmmi_halo_free(&made);
        return status;
    }
    *halo = made;
    return SPMM_OK;
}

void spmmi_halo_flow(const spmm_halo_t *halo, const spmm_env_t *env,
                     spmm_halo_flow_t flow[SPMM_WAYS])
{
    for (int p = 0; p < halo->n_recv_peers; p++) {
        const spmm_way_t way = spmmi_nodes_way(&env->nodes, halo->recv_peer[p], env->rank);

        flow[way].rows_in += halo->recv_ptr[p + 1] - halo->recv_ptr[p];
        flow[way].messages_in++;
    }
    for (int p = 0; p < halo->n_send_peers; p++) {
        const spmm_way_t way = spmmi_nodes_way(&env->nodes, halo->send_peer[p], env->rank);

        flow[way].rows_out += halo->send_ptr[p + 1] - halo->send_ptr[p];
        flow[way].messages_out++;
    }
}

size_t spmmi_halo_bytes(const spmm_halo_t *halo)
{
    const size_t peers = (size_t)halo->n_send_peers + (size_t)halo->n_recv_peers;
    const size_t rows  = halo->send_ptr == NULL ? 0 : (size_t)spmmi_halo_send_rows(halo);

    return peers * sizeof *halo->send_peer + (peers + 2) * sizeof *halo->send_ptr +
           rows * sizeof *halo->send_row;
}

void spmmi_halo_free(spmm_halo_t *halo)
{
    spmmi_free_all(halo->send_peer, halo->recv_peer, halo->send_ptr, halo->recv_ptr,
                   halo->send_row);
    memset(halo, 0, sizeof *halo);
}

double spmmi_way_s(const spmm_halo_t *halo, spmm_way_t way, size_t row_bytes,
                   const spmm_device_t *device)
{
    const spmm_nodes_t     *nodes           = &device->env->nodes;
    spmm_halo_flow_t        flow[SPMM_WAYS] = {{0}};
    const spmm_halo_flow_t *f               = &flow[way];
    spmm_load_t             load;
    int                     k;

    if (nodes->count <= 1) {
        return 0.0;
    }
    k = nodes->node[device->env->rank];
    spmmi_halo_flow(halo, device->env, flow);
    load = (spmm_load_t){greater(f->messages_in, f->messages_out),
                         (double)greater(f->rows_in, f->rows_out) * (double)row_bytes,
                         (double)halo->node_rows * (double)row_bytes /
                             (nodes->first[k + 1] - nodes->first[k])};
    return spmmi_network_time(&device->network, way, &load);
}

double spmmi_ways_s(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device,
                    double rate)
{
    spmm_halo_flow_t        flow[SPMM_WAYS] = {{0}};
    const spmm_halo_flow_t *within          = &flow[SPMM_WITHIN];

    spmmi_halo_flow(halo, device->env, flow);
    return fmax((double)greater(within->rows_in, within->rows_out) * (double)row_bytes / rate,
                spmmi_way_s(halo, SPMM_BETWEEN, row_bytes, device));
}
