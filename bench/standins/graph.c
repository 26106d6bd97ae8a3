/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <math.h>

/** Vertices of the block model. */
typedef struct {
    int64_t  n, n_communities;
    double  *weight;    /**< [n] */
    int64_t *start;     /**< [n_communities + 1] vertices of each community are consecutive */
    int32_t *community; /**< [n] */
    int32_t *number;    /**< [n] of each vertex in the matrix */
    alias_t  all, *in;  /**< by weight: of all, of each community */
} blocks_t;

/* Power law, or log-normal where logn is given, capped at dmaxr times the mean. */
static double *draw_weights(int64_t n)
{
    double  gamma = parameter("gamma", 2.3), ratio = parameter("dmaxr", 50);
    double  ln = parameter("logn", 0);
    double *w  = take(n * 8);
    for (int64_t i = 0; i < n; i++) {
        w[i] = ln > 0 ? exp(random_normal() * ln) : pow(1 - uniform(), -1 / (gamma - 1));
    }
    for (int it = 0; it < 20; it++) {
        double s = 0;
        for (int64_t i = 0; i < n; i++) {
            s += w[i];
        }
        double cap = ratio * s / n;
        for (int64_t i = 0; i < n; i++) {
            if (w[i] > cap) {
                w[i] = cap * (0.5 + 0.5 * uniform());
            }
        }
    }
    return w;
}

/* Contiguous communities of skewed sizes, two vertices at least. */
static void draw_communities(blocks_t *b)
{
    int64_t n = b->n, nc = b->n_communities;
    double  csk = parameter("csk", 1.0), sum = 0, acc = 0;
    double *size = take(nc * 8);
    b->start     = take((nc + 1) * 8);
    b->community = take(n * 4);
    b->in        = take(nc * sizeof(alias_t));
    for (int64_t c = 0; c < nc; c++) {
        size[c] = pow(uniform() + 0.02, csk);
        sum += size[c];
    }
    b->start[0] = 0;
    for (int64_t c = 0; c < nc; c++) {
        acc += size[c];
        b->start[c + 1] = c + 1 == nc ? n : (int64_t)((n - 2 * nc) * acc / sum) + 2 * (c + 1);
        b->in[c]        = alias_make(b->weight + b->start[c], b->start[c + 1] - b->start[c]);
        for (int64_t i = b->start[c]; i < b->start[c + 1]; i++) {
            b->community[i] = (int32_t)c;
        }
    }
    b->all = alias_make(b->weight, n);
    free(size);
}

static void draw_edges(const blocks_t *b, double mu, int64_t count, keys_t *a)
{
    for (int64_t e = 0; e < count; e++) {
        int64_t u = alias_draw(&b->all), v;
        if (uniform() < mu) {
            v = alias_draw(&b->all);
        } else {
            int64_t c = b->community[u];
            v         = b->start[c] + alias_draw(&b->in[c]);
        }
        if (b->number[u] != b->number[v]) {
            keys_add_edge(a, b->n, b->number[u], b->number[v]);
        }
    }
}

/* n, nnz (even), gamma or logn, dmaxr as above, comm communities, csk skew of their sizes, mu share
 * of edges between communities, shuf 0: as drawn, 1: in any order, 2: shuffled in windows of win,
 * iso=1 keeps isolated vertices. */
void gen_graph(const char *out)
{
    int64_t  n = parameter("n", 10000), want = (int64_t)parameter("nnz", 100000) / 2;
    int64_t  nc = parameter("comm", 50), win = parameter("win", 256);
    double   mu   = parameter("mu", 0.3);
    int      shuf = parameter("shuf", 1);
    blocks_t b    = {.n = n, .n_communities = nc > n / 2 ? n / 2 : nc};
    keys_t   a    = {0};
    b.weight      = draw_weights(n);
    draw_communities(&b);
    b.number = identity(n);
    if (shuf == 1) {
        shuffle(b.number, n);
    }
    if (shuf == 2) {
        for (int64_t i = 0; i < n; i += win) {
            shuffle(b.number + i, i + win < n ? win : n - i);
        }
    }
    for (int round = 0; a.n < want; round++) {
        if (round > 60) {
            die("graph: too dense for its communities");
        }
        draw_edges(&b, mu, (int64_t)((want - a.n) * 1.08) + 64, &a);
        keys_unique(&a);
    }
    keys_thin(&a, want);
    if (parameter("iso", 0) == 0) {
        keys_connect(&a, n, want, shuf == 1 ? 0 : 8);
    }
    write_symmetric(out, n, &a, 0);
}

/* n, nnz, a, b, c: probabilities of the quadrants, sym=1: undirected, shuf=1: shuffled. */
void gen_rmat(const char *out)
{
    int64_t n = parameter("n", 1 << 16), want = parameter("nnz", 1 << 20);
    double  A = parameter("a", .57), B = parameter("b", .19), C = parameter("c", .19);
    int     sym = parameter("sym", 0), shuf = parameter("shuf", 0), lg = 0;
    while (((int64_t)1 << lg) < n) {
        lg++;
    }
    if (sym) {
        want /= 2;
    }
    int32_t *pm = take(n * 4);
    for (int64_t i = 0; i < n; i++) {
        pm[i] = (int32_t)i;
    }
    if (shuf) {
        shuffle(pm, n);
    }
    keys_t a = {0};
    for (int round = 0; a.n < want; round++) {
        if (round > 80) {
            die("rmat: too dense");
        }
        int64_t more = (int64_t)((want - a.n) * 1.1) + 64;
        while (more > 0) {
            int64_t u = 0, v = 0;
            for (int l = 0; l < lg; l++) {
                double r = uniform();
                int    q = r < A ? 0 : r < A + B ? 1 : r < A + B + C ? 2 : 3;
                u        = 2 * u + (q >> 1);
                v        = 2 * v + (q & 1);
            }
            if (u >= n || v >= n || (sym && u == v)) {
                continue;
            }
            more--;
            u = pm[u];
            v = pm[v];
            if (sym && u > v) {
                int64_t x = u;
                u         = v;
                v         = x;
            }
            keys_add(&a, (uint64_t)u * n + v);
        }
        keys_unique(&a);
    }
    keys_thin(&a, want);
    if (sym) {
        write_symmetric(out, n, &a, 0);
    } else {
        write_keys(out, n, n, &a);
    }
}
