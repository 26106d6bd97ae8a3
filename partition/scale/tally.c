/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/scale/tally.h"

#include "base/nodes.h"

void spmmi_scale_add(spmm_scale_count_t *count, int from, int to, int64_t rows)
{
    const spmm_scale_t *s    = count->scale;
    spmm_scale_tally_t *t    = &count->tally[spmmi_nodes_way(&s->nodes, from, to)];
    const int64_t       kind = count->partials ? (int64_t)s->ranks * s->ranks : 0;
    const int64_t       pair = kind + (int64_t)from * s->ranks + to;
    const uint64_t      bit  = (uint64_t)1 << (pair & 63);

    if (rows == 0) {
        return;
    }
    t->rows_out[from] += rows;
    t->rows_in[to] += rows;
    if ((count->sends[pair >> 6] & bit) == 0) {
        count->sends[pair >> 6] |= bit;
        t->messages_out[from]++;
        t->messages_in[to]++;
    }
}

static int ranks_of(const spmm_nodes_t *nodes, int node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/* The rank of @p node in a lane to or from @p other. */
static int rank_of(const spmm_nodes_t *nodes, int node, int other, int lane)
{
    const int ranks = ranks_of(nodes, node);
    const int place = ranks <= ranks_of(nodes, other) ? lane : (lane + other) % ranks;

    return nodes->rank[nodes->first[node] + place];
}

void spmmi_scale_deal(spmm_scale_count_t *count, int node, int to, int64_t rows)
{
    const spmm_nodes_t *nodes = &count->scale->nodes;
    const int           a = ranks_of(nodes, node), b = ranks_of(nodes, to);
    const int           lanes = a < b ? a : b;

    for (int lane = 0; lane < lanes && rows > 0; lane++) {
        const int turn = (lane + node + to) % lanes;

        spmmi_scale_add(count, rank_of(nodes, node, to, lane), rank_of(nodes, to, node, lane),
                        rows * (turn + 1) / lanes - rows * turn / lanes);
    }
}
