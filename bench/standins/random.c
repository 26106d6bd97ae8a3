/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <math.h>
#include <stdio.h>

static uint64_t S[4];

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15ull);
    z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z          = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

void random_seed(uint64_t s)
{
    for (int i = 0; i < 4; i++) {
        S[i] = splitmix(&s);
    }
}

static inline uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t random_bits(void)
{ /* xoshiro256** */
    uint64_t r = rotl(S[1] * 5, 7) * 9, t = S[1] << 17;
    S[2] ^= S[0];
    S[3] ^= S[1];
    S[1] ^= S[2];
    S[0] ^= S[3];
    S[2] ^= t;
    S[3] = rotl(S[3], 45);
    return r;
}

double uniform(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

int64_t random_below(int64_t n)
{
    return (int64_t)(((unsigned __int128)random_bits() * (uint64_t)n) >> 64);
}

double random_normal(void)
{
    double u = uniform(), v = uniform();
    if (u < 1e-300) {
        u = 1e-300;
    }
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

_Noreturn void die(const char *message)
{
    (void)fprintf(stderr, "gen_standins: %s\n", message);
    exit(1);
}

void *take(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);

    if (p == NULL) {
        die("out of memory");
    }
    return p;
}

int32_t *identity(int64_t n)
{
    int32_t *p = take((size_t)n * sizeof *p);

    for (int64_t i = 0; i < n; i++) {
        p[i] = (int32_t)i;
    }
    return p;
}

alias_t alias_make(const double *w, int64_t n)
{
    alias_t A = {n, take(n * 8), take(n * 4)};
    double  s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += w[i];
    }
    int32_t *lo = take(n * 4), *hi = take(n * 4);
    int64_t  nl = 0, nh = 0;
    for (int64_t i = 0; i < n; i++) {
        A.p[i] = w[i] * n / s;
        A.a[i] = (int32_t)i;
        if (A.p[i] < 1) {
            lo[nl++] = (int32_t)i;
        } else {
            hi[nh++] = (int32_t)i;
        }
    }
    while (nl && nh) {
        int32_t l = lo[--nl], h = hi[nh - 1];
        A.a[l] = h;
        A.p[h] -= 1 - A.p[l];
        if (A.p[h] < 1) {
            nh--;
            lo[nl++] = h;
        }
    }
    while (nl) {
        A.p[lo[--nl]] = 1;
    }
    while (nh) {
        A.p[hi[--nh]] = 1;
    }
    free(lo);
    free(hi);
    return A;
}

int64_t alias_draw(const alias_t *A)
{
    int64_t i = random_below(A->n);
    return uniform() < A->p[i] ? i : A->a[i];
}

void shuffle(int32_t *p, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = random_below(i + 1);
        int32_t t = p[i];
        p[i]      = p[j];
        p[j]      = t;
    }
}
