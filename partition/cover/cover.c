/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/cover/cover.h"

#include "base/alloc.h"

enum { NONE = -1 };

/* A matching that grows.  One piece of memory each. */
typedef struct {
    const spmm_bipartite_t *graph;
    int32_t                *mate;  /* [n_left] right vertex of each; NONE */
    int32_t                *back;  /* [n_right] the other way */
    int32_t                *depth; /* [n_left] of the search; NONE: not reached, or done with */
    int32_t                *line;  /* [n_left] queue of the search, then the path */
    int64_t                *next;  /* [n_left] edge to try next */
} matching_t;

static spmm_status_t alloc_matching(spmm_error_t *err, const spmm_bipartite_t *g, matching_t *m)
{
    const int64_t count = 3 * (int64_t)g->n_left + g->n_right;

    *m = (matching_t){.graph = g};
    SPMM_NEW(m->next, g->n_left);
    SPMM_NEW(m->mate, count);
    if (m->next == NULL || m->mate == NULL) {
        return spmmi_fail_memory(err, count, sizeof *m->mate, "a cover of entries");
    }
    m->depth = m->mate + g->n_left;
    m->line  = m->depth + g->n_left;
    m->back  = m->line + g->n_left;
    for (int32_t u = 0; u < g->n_left; u++) {
        m->mate[u] = NONE;
    }
    for (int32_t v = 0; v < g->n_right; v++) {
        m->back[v] = NONE;
    }
    return SPMM_OK;
}

static void match(matching_t *m, int32_t u, int32_t v)
{
    m->mate[u] = v;
    m->back[v] = u;
}

/* Each left vertex takes the first free right one: most of what there is to match. */
static void match_greedily(matching_t *m)
{
    const spmm_bipartite_t *g = m->graph;

    for (int32_t u = 0; u < g->n_left; u++) {
        for (int64_t e = g->ptr[u]; e < g->ptr[u + 1] && m->mate[u] == NONE; e++) {
            if (m->back[g->right[e]] == NONE) {
                match(m, u, g->right[e]);
            }
        }
    }
}

/* Breadth first from the free left vertices along alternating paths.  False: none ends in a free
 * right vertex, and exactly what paths reach has a depth. */
static bool search(matching_t *m)
{
    const spmm_bipartite_t *g     = m->graph;
    int32_t                 first = 0, last = 0;
    bool                    found = false;

    for (int32_t u = 0; u < g->n_left; u++) {
        m->depth[u] = m->mate[u] == NONE ? 0 : NONE;
        m->next[u]  = g->ptr[u];
        if (m->mate[u] == NONE) {
            m->line[last++] = u;
        }
    }
    while (first < last) {
        const int32_t u = m->line[first++];

        for (int64_t e = g->ptr[u]; e < g->ptr[u + 1]; e++) {
            const int32_t w = m->back[g->right[e]];

            found = found || w == NONE;
            if (w != NONE && m->depth[w] == NONE) {
                m->depth[w]     = m->depth[u] + 1;
                m->line[last++] = w;
            }
        }
    }
    return found;
}

/* Swap the edges of a shortest path from @p root to a free right vertex, where one is left that
 * shares no vertex with those of this round. */
static void augment(matching_t *m, int32_t root)
{
    const spmm_bipartite_t *g   = m->graph;
    int32_t                 top = 0;

    m->line[0] = root;
    while (top >= 0) {
        const int32_t u = m->line[top];
        int32_t       w;

        if (m->next[u] == g->ptr[u + 1]) {
            m->depth[u] = NONE;
            top--;
            continue;
        }
        w = m->back[g->right[m->next[u]++]];
        if (w != NONE && m->depth[w] == m->depth[u] + 1) {
            m->line[++top] = w;
        } else if (w == NONE) {
            for (; top >= 0; top--) {
                const int32_t x = m->line[top];

                match(m, x, g->right[m->next[x] - 1]);
                m->depth[x] = NONE;
            }
        }
    }
}

/* Koenig: the left vertices that no alternating path reaches, and the mates of those reached. */
static int64_t take_cover(const matching_t *m, bool *left, bool *right)
{
    const spmm_bipartite_t *g     = m->graph;
    int64_t                 count = 0;

    for (int32_t v = 0; v < g->n_right; v++) {
        right[v] = m->back[v] != NONE && m->depth[m->back[v]] != NONE;
        count += right[v];
    }
    for (int32_t u = 0; u < g->n_left; u++) {
        left[u] = m->depth[u] == NONE;
        count += left[u];
    }
    return count;
}

spmm_status_t spmmi_cover_least(spmm_error_t *err, const spmm_bipartite_t *graph, bool *left,
                                bool *right, int64_t *count)
{
    matching_t    m;
    spmm_status_t status = alloc_matching(err, graph, &m);

    if (status == SPMM_OK) {
        int64_t size;

        match_greedily(&m);
        while (search(&m)) {
            for (int32_t u = 0; u < graph->n_left; u++) {
                if (m.mate[u] == NONE) {
                    augment(&m, u);
                }
            }
        }
        size = take_cover(&m, left, right);
        if (count != NULL) {
            *count = size;
        }
    }
    spmmi_free_all(m.next, m.mate);
    return status;
}
