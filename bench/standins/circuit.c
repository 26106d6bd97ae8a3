/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <math.h>
#include <string.h>

/* circuit: n, nnz, full = number of almost full rows and columns, fill = their density */
void gen_circuit(const char *out)
{
    int64_t n = parameter("n", 116835), want = parameter("nnz", 766396),
            full = parameter("full", 2), win = parameter("win", 60);
    double fill = parameter("fill", .97);
    keys_t a    = {0};
    for (int64_t i = 0; i < n; i++) {
        keys_add(&a, (uint64_t)i * n + i);
    }
    for (int64_t f = 0; f < full; f++) {
        int64_t r = random_below(n);
        double  q = fill * pow(.35, (double)f / (full > 1 ? full - 1 : 1) * 2);
        for (int64_t j = 0; j < n; j++) {
            if (uniform() < q) {
                keys_add(&a, (uint64_t)r * n + j);
            }
            if (uniform() < q * .98) {
                keys_add(&a, (uint64_t)j * n + r);
            }
        }
    }
    keys_unique(&a);
    if (a.n > want) {
        die("circuit: dense rows exceed nnz");
    }
    for (int round = 0; a.n < want; round++) {
        if (round > 60) {
            die("circuit: too dense");
        }
        int64_t more = (int64_t)((want - a.n) * .53) + 8;
        for (int64_t e = 0; e < more; e++) {
            int64_t u = random_below(n), v;
            double  r = uniform();
            if (r < .75) {
                v = u + 1 + (int64_t)(-log(1 - uniform()) * win);
            } else if (r < .97) {
                v = random_below(n);
            } else {
                v = random_below(200 < n ? 200 : n) * (n / 200);
            }
            if (v < 0 || v >= n) {
                v = random_below(n);
            }
            keys_add(&a, (uint64_t)u * n + v);
            if (uniform() < .9) {
                keys_add(&a, (uint64_t)v * n + u);
            }
        }
        keys_unique(&a);
    }
    keys_thin(&a, want);
    write_keys(out, n, n, &a);
}

/* n, nnz, full: almost full rows and columns, fill: their density, blk: mean size of the dense
 * diagonal blocks; symmetric, with scattered coupling. */
void gen_arrow(const char *out)
{
    int64_t n = parameter("n", 66463), want = ((int64_t)parameter("nnz", 10352819) - n) / 2,
            full = parameter("full", 60), bs = parameter("blk", 90);
    double fill = parameter("fill", .98);
    keys_t a    = {0};
    for (int64_t b = 0; b < n;) {
        int64_t sz = (int64_t)(bs * (.2 + -log(1 - uniform()))) + 1;
        if (b + sz > n) {
            sz = n - b;
        }
        for (int64_t i = b; i < b + sz; i++) {
            for (int64_t j = i + 1; j < b + sz; j++) {
                if (uniform() < .7) {
                    keys_add(&a, (uint64_t)i * n + j);
                }
            }
        }
        b += sz;
    }
    for (int64_t f = 0; f < full; f++) {
        int64_t r = random_below(n);
        double  q = fill * exp(-6. * f / full);
        for (int64_t j = 0; j < n; j++) {
            if (j != r && uniform() < q) {
                keys_add(&a, j < r ? (uint64_t)j * n + r : (uint64_t)r * n + j);
            }
        }
    }
    keys_unique(&a);
    while (a.n < want) {
        int64_t need = want - a.n;
        for (int64_t e = 0; e < need + need / 16 + 8; e++) {
            int64_t u = random_below(n), v = (int64_t)(n * uniform() * uniform());
            if (u == v) {
                continue;
            }
            keys_add(&a, u < v ? (uint64_t)u * n + v : (uint64_t)v * n + u);
        }
        keys_unique(&a);
    }
    keys_thin(&a, want);
    write_symmetric(out, n, &a, 1);
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

void gen_dnn(const char *out)
{
    int64_t m = parameter("m", 2048), n = parameter("n", 2048);
    double  sp = parameter("sparsity", .9), rs = parameter("rowsd", .10),
           cs    = parameter("colsd", .15);
    int64_t keep = (int64_t)floor((1 - sp) * m * n + .5), tot = m * n;
    double *r = take(m * 8), *c = take(n * 8);
    for (int64_t i = 0; i < m; i++) {
        r[i] = exp(random_normal() * rs);
    }
    for (int64_t j = 0; j < n; j++) {
        c[j] = exp(random_normal() * cs);
    }
    float *w = take(tot * 4), *s = take(tot * 4);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            w[i * n + j] = (float)fabs(random_normal() * r[i] * c[j]);
        }
    }
    memcpy(s, w, tot * 4);
    qsort(s, tot, 4, compare_floats);
    float   th    = s[tot - keep];
    int64_t above = 0;
    for (int64_t i = 0; i < tot; i++) {
        above += w[i] > th;
    }
    int64_t ties = keep - above;
    keys_t  a    = {0};
    for (int64_t i = 0; i < tot; i++) {
        if (w[i] > th || (w[i] == th && ties-- > 0)) {
            keys_add(&a, i);
        }
    }
    write_keys(out, m, n, &a);
}
