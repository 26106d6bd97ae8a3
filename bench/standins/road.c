/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <math.h>

/** Crossings on a grid of @p w by @p h, the last ones missing. */
typedef struct {
    int64_t  n, w, h;
    int32_t *id;     /**< [w h] of each place of the grid, -1: none */
    int32_t *number; /**< [n] of each crossing in the matrix */
} grid_t;

/* By tiles, then some swapped with one near by. */
static void number_crossings(grid_t *g, int64_t tile, double swapped)
{
    int64_t c = 0;
    g->id     = take(g->w * g->h * 4);
    for (int64_t ty = 0; ty < g->h; ty += tile) {
        for (int64_t tx = 0; tx < g->w; tx += tile) {
            for (int64_t y = ty; y < ty + tile && y < g->h; y++) {
                for (int64_t x = tx; x < tx + tile && x < g->w; x++) {
                    int64_t p = y * g->w + x;
                    g->id[p]  = p < g->n ? (int32_t)c++ : -1;
                }
            }
        }
    }
    g->number = identity(g->n);
    for (int64_t i = 0; i + 40 < g->n; i++) {
        if (uniform() < swapped) {
            int64_t j    = i + random_below(40);
            int32_t t    = g->number[i];
            g->number[i] = g->number[j];
            g->number[j] = t;
        }
    }
}

static void add_road(const grid_t *g, int64_t p, int64_t q, keys_t *a)
{
    keys_add_edge(a, g->n, g->number[g->id[p]], g->number[g->id[q]]);
}

/* Roads to the right, down and, few, across: kept with probability @p keep, more where there would
 * be none, so that chains are long and few crossings isolated. */
static void draw_roads(const grid_t *g, int64_t x, int64_t y, double keep, double diag, keys_t *a)
{
    int64_t p    = y * g->w + x;
    int64_t q[3] = {x + 1 < g->w ? p + 1 : -1, y + 1 < g->h ? p + g->w : -1,
                    x + 1 < g->w && y + 1 < g->h ? p + g->w + 1 : -1};
    int kept = 0;
    for (int k = 0; k < 3 && g->id[p] >= 0; k++) {
        double pr = k < 2 ? keep : diag * 2 * keep;
        if (q[k] < 0 || q[k] >= g->w * g->h || g->id[q[k]] < 0) {
            continue;
        }
        if (k == 1 && !kept && pr < .93) {
            pr = .93;
        }
        if (k == 1 && kept) {
            pr = pr > .22 ? pr - .12 : pr;
        }
        if (uniform() >= pr) {
            continue;
        }
        kept |= k == 0;
        add_road(g, p, q[k], a);
    }
}

/* n, nnz (even), tile: side of the tiles of numbering, diag: share of diagonals, swap: share of
 * crossings that are numbered elsewhere. */
void gen_road(const char *out)
{
    int64_t n = parameter("n", 1971281), want = (int64_t)parameter("nnz", 5533214) / 2;
    int64_t tile = parameter("tile", 48), w = (int64_t)ceil(sqrt((double)n));
    double  diag = parameter("diag", .03), swapped = parameter("swap", .15);
    grid_t  g    = {.n = n, .w = w, .h = (n + w - 1) / w};
    double  keep = (double)want / (2. * n * (1 + diag)) * 1.02;
    keys_t  a    = {0};
    number_crossings(&g, tile, swapped);
    for (int64_t y = 0; y < g.h; y++) {
        for (int64_t x = 0; x < w; x++) {
            draw_roads(&g, x, y, keep, diag, &a);
        }
    }
    keys_unique(&a);
    for (int r = 0; a.n < want && r < 50; r++) {
        int64_t need = want - a.n;
        for (int64_t e = 0; e < need + 16; e++) {
            int64_t x = random_below(w - 1), y = random_below(g.h - 1), p = y * w + x;
            int64_t q = (random_bits() & 1) ? p + 1 : p + w;
            if (g.id[p] >= 0 && g.id[q] >= 0) {
                add_road(&g, p, q, &a);
            }
        }
        keys_unique(&a);
    }
    keys_thin(&a, want);
    keys_connect(&a, n, want, 2);
    write_symmetric(out, n, &a, 0);
}
