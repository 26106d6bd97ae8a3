/* SPDX-License-Identifier: Apache-2.0 */
#include "standins.h"

#include <math.h>
#include <string.h>

enum { MOST_ATOMS = 1000, BONDS = 4 };

/** A molecule: its first @p heavy atoms are its skeleton, the others hydrogens. */
typedef struct {
    int64_t n;           /**< atoms of all molecules */
    int64_t first, size; /**< of this one */
    int     heavy;
    int     bonds[2 * MOST_ATOMS + 8];
} molecule_t;

static void add_bond(molecule_t *m, int i, int j, keys_t *a)
{
    keys_add(a, (uint64_t)(m->first + i) * m->n + m->first + j);
    m->bonds[i]++;
    m->bonds[j]++;
}

static void draw_size(molecule_t *m, double mean, double sd, double hydrogens)
{
    int64_t size = (int64_t)(mean * exp(random_normal() * sd - sd * sd / 2) + .5);
    if (size < 4) {
        size = 4;
    }
    if (size > MOST_ATOMS) {
        size = MOST_ATOMS;
    }
    if (m->first + size > m->n || m->n - m->first - size < 4) {
        size = m->n - m->first;
    }
    if (size > 2 * MOST_ATOMS) {
        die("mol: tail");
    }
    m->size  = size;
    m->heavy = (int)(size * (1 - hydrogens) + uniform());
    if (m->heavy < 2) {
        m->heavy = 2;
    }
    if (m->heavy > size) {
        m->heavy = (int)size;
    }
    memset(m->bonds, 0, sizeof(int) * size);
}

/* Mostly a chain, numbered along it; hydrogens are leaves in the order of their atoms. */
static void draw_tree(molecule_t *m, keys_t *a)
{
    for (int i = 1; i < m->heavy; i++) {
        int j = i - 1;
        if (uniform() < .25) {
            j = i - 1 - (int)random_below(i < 6 ? i : 6);
        }
        for (int tr = 0; m->bonds[j] >= BONDS && tr < 50; tr++) {
            j = (int)random_below(i);
        }
        add_bond(m, j, i, a);
    }
    for (int64_t i = m->heavy; i < m->size; i++) {
        int64_t left = m->size - m->heavy;
        int     j    = (int)((i - m->heavy) * m->heavy / (left > 0 ? left : 1));
        for (int tr = 0; m->bonds[j] >= BONDS && tr < 50; tr++) {
            j = (int)random_below(m->heavy);
        }
        add_bond(m, j, (int)i, a);
    }
}

/* Close rings of five and six atoms until there are @p target edges in all. */
static void draw_rings(molecule_t *m, int64_t from, double target, keys_t *a)
{
    for (int tr = 0; tr < 60 && (double)a->n < target && m->heavy > 6; tr++) {
        int      r = uniform() < .7 ? 5 : 4, i = (int)random_below(m->heavy - r), j = i + r;
        uint64_t key = (uint64_t)(m->first + i) * m->n + m->first + j;
        int      dup = 0;
        if (tr < 40 && (m->bonds[i] >= BONDS || m->bonds[j] >= BONDS)) {
            continue;
        }
        for (int64_t q = from; q < a->n && !dup; q++) {
            dup = a->k[q] == key;
        }
        if (!dup) {
            add_bond(m, i, j, a);
        }
    }
}

/* n, nnz (even), mean: atoms of a molecule, sd of their logarithm, h: share of hydrogens.  Every
 * molecule is connected; rings follow the number of entries that is wanted so far. */
void gen_mol(const char *out)
{
    int64_t    n = parameter("n", 3138114), want = (int64_t)parameter("nnz", 6487230) / 2;
    double     mean = parameter("mean", 39.4), sd = parameter("sd", .42);
    double     hydrogens = parameter("h", .46);
    keys_t     a         = {0};
    molecule_t m         = {.n = n};
    for (; m.first < n; m.first += m.size) {
        int64_t from = a.n;
        draw_size(&m, mean, sd, hydrogens);
        draw_tree(&m, &a);
        draw_rings(&m, from, (double)want * (m.first + m.size) / n, &a);
    }
    keys_unique(&a);
    if (a.n > want) {
        keys_thin(&a, want);
    }
    while (a.n < want) {
        int64_t need = want - a.n;
        for (int64_t q = 0; q < need; q++) {
            int64_t i = random_below(n - 8);
            keys_add(&a, (uint64_t)i * n + i + 3 + random_below(4));
        }
        keys_unique(&a);
    }
    write_symmetric(out, n, &a, 0);
}
