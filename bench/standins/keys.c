/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <string.h>

void keys_add(keys_t *a, uint64_t k)
{
    if (a->n == a->cap) {
        a->cap = a->cap ? a->cap + a->cap / 2 : 1 << 16;
        a->k   = realloc(a->k, a->cap * sizeof(uint64_t));
        if (!a->k) {
            die("out of memory");
        }
    }
    a->k[a->n++] = k;
}

void keys_add_edge(keys_t *a, int64_t n, int64_t u, int64_t v)
{
    keys_add(a, u < v ? (uint64_t)u * n + v : (uint64_t)v * n + u);
}

static void keys_sort(uint64_t *a, int64_t n)
{ /* LSD radix sort */
    uint64_t mx = 0;
    for (int64_t i = 0; i < n; i++) {
        if (a[i] > mx) {
            mx = a[i];
        }
    }
    uint64_t      *b = take(n * sizeof(uint64_t)), *src = a, *dst = b;
    static int64_t c[1 << 13];
    for (int sh = 0; sh < 64 && (mx >> sh); sh += 13) {
        memset(c, 0, sizeof c);
        for (int64_t i = 0; i < n; i++) {
            c[(src[i] >> sh) & 8191]++;
        }
        int64_t s = 0;
        for (int i = 0; i < 8192; i++) {
            int64_t t = c[i];
            c[i]      = s;
            s += t;
        }
        for (int64_t i = 0; i < n; i++) {
            dst[c[(src[i] >> sh) & 8191]++] = src[i];
        }
        uint64_t *t = src;
        src         = dst;
        dst         = t;
    }
    if (src != a) {
        memcpy(a, src, n * sizeof(uint64_t));
    }
    free(b);
}

void keys_unique(keys_t *a)
{
    keys_sort(a->k, a->n);
    int64_t m = 0;
    for (int64_t i = 0; i < a->n; i++) {
        if (!m || a->k[i] != a->k[m - 1]) {
            a->k[m++] = a->k[i];
        }
    }
    a->n = m;
}

void keys_thin(keys_t *a, int64_t want)
{ /* keep exactly want keys_t, order kept */
    int64_t left = a->n, need = want, m = 0;
    for (int64_t i = 0; i < a->n; i++, left--) {
        if (random_below(left) < need) {
            a->k[m++] = a->k[i];
            need--;
        }
    }
    a->n = m;
}

/* undirected keys lo*n+hi: give every isolated vertex one edge, then drop edges between vertices of
   degree > 2 until exactly want remain */
void keys_connect(keys_t *a, int64_t n, int64_t want, int64_t win)
{
    int32_t *d = calloc(n, 4);
    for (int64_t i = 0; i < a->n; i++) {
        d[a->k[i] / n]++;
        d[a->k[i] % n]++;
    }
    for (int64_t u = 0; u < n; u++) {
        if (!d[u]) {
            int64_t v = win ? u + 1 + random_below(win) : random_below(n);
            if (v >= n || v == u) {
                v = u ? u - 1 : 1;
            }
            int64_t lo = u < v ? u : v, hi = u < v ? v : u;
            keys_add(a, (uint64_t)lo * n + hi);
            d[u]++;
            d[v]++;
        }
    }
    keys_unique(a);
    for (int r = 0; a->n > want && r < 1000; r++) {
        int64_t left = a->n, need = a->n - want, m = 0;
        for (int64_t i = 0; i < a->n; i++, left--) {
            int64_t u = a->k[i] / n, v = a->k[i] % n;
            if (need > 0 && d[u] > 2 && d[v] > 2 && random_below(left) < 2 * need) {
                d[u]--;
                d[v]--;
                need--;
            } else {
                a->k[m++] = a->k[i];
            }
        }
        a->n = m;
    }
    if (a->n > want) {
        die("cannot thin to the wanted edge count");
    }
    free(d);
}
