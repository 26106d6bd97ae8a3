/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <math.h>
#include <string.h>

/** Neighbours of each node, itself among them, ascending. */
typedef struct {
    int64_t  n;
    int32_t *ptr, *node;
} nodes_t;

/* Of sorted pairs lower * n + higher, which are freed. */
static nodes_t neighbours(int64_t n, keys_t *a)
{
    nodes_t  g   = {n, calloc(n + 2, 4), take((2 * a->n + n) * 4)};
    int32_t *pos = take((n + 1) * 4);
    if (g.ptr == NULL) {
        die("out of memory");
    }
    for (int64_t i = 0; i < a->n; i++) {
        g.ptr[a->k[i] / n + 1]++;
        g.ptr[a->k[i] % n + 1]++;
    }
    for (int64_t i = 0; i < n; i++) {
        g.ptr[i + 1] += g.ptr[i] + 1;
    }
    memcpy(pos, g.ptr, (n + 1) * 4);
    for (int64_t i = 0; i < a->n; i++) {
        g.node[pos[a->k[i] % n]++] = (int32_t)(a->k[i] / n);
    }
    for (int64_t i = 0; i < n; i++) {
        g.node[pos[i]++] = (int32_t)i;
    }
    for (int64_t i = 0; i < a->n; i++) {
        g.node[pos[a->k[i] / n]++] = (int32_t)(a->k[i] % n);
    }
    free(a->k);
    free(pos);
    return g;
}

/* Dense dof x dof blocks; the first @p single nodes lack one pair of entries of their own block. */
static void expand(const nodes_t *g, int64_t dof, int64_t single, int32_t *ptr, int32_t *col)
{
    int64_t c = 0;
    ptr[0]    = 0;
    for (int64_t i = 0; i < g->n; i++) {
        for (int64_t d = 0; d < dof; d++) {
            for (int32_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
                for (int64_t e = 0; e < dof; e++) {
                    if (g->node[k] == i && i < single && dof > 1 &&
                        ((d == 0 && e == dof - 1) || (e == 0 && d == dof - 1))) {
                        continue;
                    }
                    col[c++] = (int32_t)(g->node[k] * dof + e);
                }
            }
            ptr[i * dof + d + 1] = (int32_t)c;
        }
    }
}

/* The n rows among @p total, in their order: the others are empty. */
static void spread(const char *out, int64_t n, int64_t total, const int32_t *ptr, int32_t *col)
{
    int32_t *to = take(n * 4), *wide = calloc(total + 1, 4);
    if (wide == NULL) {
        die("out of memory");
    }
    for (int64_t r = 0, i = 0; r < total; r++) {
        if (i < n && random_below(total - r) < n - i) {
            to[i]       = (int32_t)r;
            wide[r + 1] = ptr[i + 1] - ptr[i];
            i++;
        }
    }
    for (int64_t r = 0; r < total; r++) {
        wide[r + 1] += wide[r];
    }
    for (int64_t k = 0; k < ptr[n]; k++) {
        col[k] = to[col[k]];
    }
    write_csr(out, total, total, wide, col);
}

/* Sorted pairs of @p N nodes with dof unknowns each; @p want entries, 0: as many as there are.
 * total: rows of the matrix, where more than unknowns the others are empty. */
static void write_nodes(const char *out, int64_t N, int64_t dof, keys_t *a, int64_t want)
{
    int64_t n = N * dof, total = parameter("total", 0);
    int64_t natural = dof * dof * (N + 2 * a->n), single = 0;
    if (want) {
        int64_t cut = (natural - want) / (2 * dof * dof);
        if (natural < want) {
            die("fem: fewer entries than wanted");
        }
        single = (natural - want) / 2 - cut * dof * dof;
        keys_thin(a, a->n - cut);
    }
    int64_t nnz = dof * dof * (N + 2 * a->n) - 2 * single;
    if (nnz > 0x7fffffff) {
        die("nnz does not fit int32");
    }
    nodes_t  g   = neighbours(N, a);
    int32_t *ptr = take((n + 1) * 4), *col = take(nnz * 4);
    expand(&g, dof, single, ptr, col);
    if (total > n) {
        spread(out, n, total, ptr, col);
    } else {
        write_csr(out, n, n, ptr, col);
    }
}

/* nodes (the last plane may be partial), nx, ny, dof, pts: 27 or 15 neighbours, nnz (0: as many as
 * there are), win: nodes are shuffled in windows of so many. */
void gen_fem(const char *out)
{
    int64_t N = parameter("nodes", 20817), nx = parameter("nx", 9), ny = parameter("ny", 9),
            dof = parameter("dof", 3), pts = parameter("pts", 27);
    int64_t  want = parameter("nnz", 0), win = parameter("win", 0);
    int32_t *pm = take(N * 4);
    for (int64_t i = 0; i < N; i++) {
        pm[i] = (int32_t)i;
    }
    if (win > 1) {
        for (int64_t i = 0; i < N; i += win) {
            shuffle(pm + i, i + win < N ? win : N - i);
        }
    }
    keys_t a = {0}; /* node pairs lo<hi */
    for (int64_t p = 0; p < N; p++) {
        int64_t x = p % nx, y = p / nx % ny, z = p / (nx * ny);
        for (int dz = 0; dz <= 1; dz++) {
            for (int dy = -1; dy <= 1; dy++) {
                for (int dx = -1; dx <= 1; dx++) {
                    if (dz == 0 && (dy < 0 || (dy == 0 && dx <= 0))) {
                        continue;
                    }
                    if (pts == 15 &&
                        !((dx >= 0 && dy >= 0 && dz >= 0) || (dx <= 0 && dy <= 0 && dz <= 0))) {
                        continue; /* Kuhn tetrahedra */
                    }
                    int64_t X = x + dx, Y = y + dy, q = ((z + dz) * ny + Y) * nx + X;
                    if (X < 0 || Y < 0 || X >= nx || Y >= ny || q >= N) {
                        continue;
                    }
                    int64_t u = pm[p], v = pm[q];
                    if (u > v) {
                        int64_t t = u;
                        u         = v;
                        v         = t;
                    }
                    keys_add(&a, (uint64_t)u * N + v);
                }
            }
        }
    }
    keys_unique(&a);
    write_nodes(out, N, dof, &a, want);
}

typedef struct {
    float    d;
    uint64_t k;
} pair_t;

static int compare_pairs(const void *x, const void *y)
{
    const pair_t *a = x, *b = y;
    return a->d < b->d ? -1 : a->d > b->d ? 1 : a->k < b->k ? -1 : a->k > b->k;
}

/** Points of a chain in a ball of radius @p ball. */
typedef struct {
    int64_t n;
    double  ball;
    float  *x; /**< [n][3] */
} cloud_t;

static cloud_t draw_chain(int64_t n)
{
    cloud_t c    = {n, cbrt((double)n) * .62, take(n * 12)};
    double  p[3] = {0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        for (;;) {
            double q[3], r2 = 0, l = 0, v[3];
            for (int k = 0; k < 3; k++) {
                v[k] = random_normal();
                l += v[k] * v[k];
            }
            for (int k = 0; k < 3; k++) {
                q[k] = p[k] + v[k] / sqrt(l);
                r2 += q[k] * q[k];
            }
            if (r2 > c.ball * c.ball && uniform() < .98) {
                continue;
            }
            memcpy(p, q, sizeof p);
            break;
        }
        for (int k = 0; k < 3; k++) {
            c.x[3 * i + k] = (float)p[k];
        }
    }
    return c;
}

/** Cells of edge @p rc, @p side in each direction, with lists of their points. */
typedef struct {
    int64_t  side;
    double   rc;
    int32_t *head, *next;
} cells_t;

static int64_t cell_of(const cloud_t *c, const cells_t *l, int64_t i, int k)
{
    return (int64_t)fmin(fmax((c->x[3 * i + k] + 1.3 * c->ball) / l->rc, 0), l->side - 1);
}

/* Pairs of point i and those in front of it in the cells [z][y] around cell w, up to @p room. */
static int64_t pairs_of(const cloud_t *c, const cells_t *l, int64_t i, int64_t row, int64_t w0,
                        int64_t w1, pair_t *pair, int64_t m, int64_t room)
{
    for (int64_t w = w0; w <= w1 && w < l->side; w++) {
        for (int32_t j = l->head[row * l->side + w]; j >= 0; j = l->next[j]) {
            float d = 0;
            for (int k = 0; k < 3; k++) {
                d += (c->x[3 * i + k] - c->x[3 * j + k]) * (c->x[3 * i + k] - c->x[3 * j + k]);
            }
            if (d <= l->rc * l->rc && m < room) {
                pair[m].d   = d;
                pair[m++].k = (uint64_t)j * c->n + i;
            }
        }
    }
    return m;
}

/* All pairs nearer than rc, up to @p room. */
static int64_t near_pairs(const cloud_t *c, double rc, pair_t *pair, int64_t room)
{
    cells_t l = {.side = (int64_t)(2.6 * c->ball / rc) + 3, .rc = rc};
    int64_t m = 0, cells = l.side * l.side * l.side;
    l.head = take(cells * 4);
    l.next = take(c->n * 4);
    memset(l.head, 255, cells * 4);
    for (int64_t i = 0; i < c->n; i++) {
        int64_t cx = cell_of(c, &l, i, 0), cy = cell_of(c, &l, i, 1), cz = cell_of(c, &l, i, 2);
        for (int64_t z = cz ? cz - 1 : 0; z <= cz + 1 && z < l.side; z++) {
            for (int64_t y = cy ? cy - 1 : 0; y <= cy + 1 && y < l.side; y++) {
                m = pairs_of(c, &l, i, z * l.side + y, cx ? cx - 1 : 0, cx + 1, pair, m, room);
            }
        }
        int64_t cell = (cz * l.side + cy) * l.side + cx;
        l.next[i]    = l.head[cell];
        l.head[cell] = (int32_t)i;
    }
    free(l.head);
    free(l.next);
    return m;
}

/* nodes, dof, nnz: exactly so many entries, by the nearest pairs. */
void gen_cloud(const char *out)
{
    int64_t N = parameter("nodes", 12139), dof = parameter("dof", 3);
    int64_t want = parameter("nnz", 4344765);
    int64_t P = (want / (dof * dof) - N + 1) / 2 + 1, room = 8 * P;
    double  rc   = cbrt((double)P / N * 2 * 3) * .75;
    cloud_t c    = draw_chain(N);
    pair_t *pair = take(room * sizeof *pair);
    keys_t  a    = {0};
    for (int tr = 0;; tr++) {
        int64_t m = near_pairs(&c, rc, pair, room);
        if (m >= P && m < room) {
            qsort(pair, m, sizeof *pair, compare_pairs);
            break;
        }
        if (tr > 40) {
            die("cloud: no radius fits");
        }
        rc *= m < P ? 1.15 : .85;
    }
    for (int64_t i = 0; i < P; i++) {
        keys_add(&a, pair[i].k);
    }
    keys_unique(&a);
    write_nodes(out, N, dof, &a, want);
}
