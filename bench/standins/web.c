/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <math.h>

/** Pages of hosts; a page has up to @p most links. */
typedef struct {
    int64_t  n, most;
    int64_t *host, *host_end; /**< [n] first page of the host of each page, and behind its last */
    int64_t *page, *before;   /**< links of a page and of the one in front of it */
    int64_t  n_before;
} web_t;

/* Pareto sizes. */
static void draw_hosts(web_t *w, double mean)
{
    w->host     = take(w->n * 8);
    w->host_end = take(w->n * 8);
    for (int64_t i = 0; i < w->n;) {
        int64_t size = (int64_t)(mean * .3 * pow(1 - uniform(), -1 / 1.25)) + 3;
        if (size > w->n / 8) {
            size = w->n / 8;
        }
        if (i + size > w->n) {
            size = w->n - i;
        }
        for (int64_t j = i; j < i + size; j++) {
            w->host[j]     = i;
            w->host_end[j] = i + size;
        }
        i += size;
    }
}

/* To a hub of the web, a page that its host likes, or a page near by. */
static int64_t draw_link(const web_t *w, int64_t i, double glob)
{
    int64_t h0 = w->host[i], hn = w->host_end[i] - h0, t;
    double  r = uniform();
    if (r < glob) {
        double z = uniform();
        t        = (int64_t)(w->n * z * z * z * z);
        return (int64_t)((uint64_t)(t + 1) * 0x9e3779b97f4a7c15ull % (uint64_t)w->n);
    }
    if (r < .45) {
        double z = uniform();
        t        = h0 + (int64_t)(hn * z * z * z);
    } else {
        double g = -log(1 - uniform()) * 12;
        t        = (random_bits() & 1) ? i + 1 + (int64_t)g : i - 1 - (int64_t)g;
    }
    if (t < h0) {
        t = h0 + random_below(hn);
    }
    if (t >= h0 + hn) {
        t = h0 + random_below(hn);
    }
    return t;
}

/* Some pages repeat the first links of the page in front of them, as templates do. */
static void draw_page(web_t *w, int64_t i, int64_t degree, double copy, double glob, keys_t *a)
{
    int64_t n_links = 0, *swap = w->before;
    if (w->n_before && w->before[0] >= w->host[i] && uniform() < copy) {
        for (int64_t k = 0; k < w->n_before && n_links < degree; k++) {
            if (uniform() < .9) {
                w->page[n_links++] = w->before[k];
            }
        }
    }
    while (n_links < degree) {
        w->page[n_links++] = draw_link(w, i, glob);
    }
    for (int64_t k = 0; k < n_links; k++) {
        keys_add(a, (uint64_t)i * w->n + w->page[k]);
    }
    w->before   = w->page;
    w->page     = swap;
    w->n_before = n_links;
}

/* n, nnz, host: mean size of a host, dmax: most links of a page, copy: share of pages that repeat
 * links, glob: share of links to hubs. */
void gen_web(const char *out)
{
    int64_t want = parameter("nnz", 7600595);
    double  copy = parameter("copy", .55), glob = parameter("glob", .08);
    web_t   w    = {.n = parameter("n", 685230), .most = parameter("dmax", 249)};
    double  mean = (double)want / w.n;
    keys_t  a    = {0};
    draw_hosts(&w, parameter("host", 300));
    w.page   = take((w.most + 1) * 8);
    w.before = take((w.most + 1) * 8);
    for (int round = 0; a.n < want; round++) {
        double  scale = round ? (double)(want - a.n) / want : 1.07;
        int64_t most  = w.most / (round ? 8 : 1);
        if (round > 60) {
            die("web: too dense");
        }
        w.n_before = 0;
        for (int64_t i = 0; i < w.n; i++) {
            double  d      = mean * exp(random_normal() * 0.9 - 0.405) * scale;
            int64_t degree = (int64_t)d + (uniform() < d - floor(d));
            draw_page(&w, i, degree > most ? most : degree, copy, glob, &a);
        }
        keys_unique(&a);
    }
    keys_thin(&a, want);
    write_keys(out, w.n, w.n, &a);
}
