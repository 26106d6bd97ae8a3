/* SPDX-License-Identifier: Apache-2.0 */
/** @file standins.h
 *  Deterministic generators of sparse patterns that stand in for large published matrices: the same
 *  name and seed give the same bytes.  A program of its own, without the library; standins.sh
 *  compiles it.
 */
#ifndef BENCH_STANDINS_H
#define BENCH_STANDINS_H

#include <stdint.h>
#include <stdlib.h>

/* random.c: xoshiro256**, seeded by splitmix64. */
void     random_seed(uint64_t s);
uint64_t random_bits(void);
double   uniform(void); /**< in [0, 1) */
double   random_normal(void);
int64_t  random_below(int64_t n);
/** A random permutation of @p p [n]. */
void shuffle(int32_t *p, int64_t n);
/** 0 to n - 1; the caller's to free. */
int32_t *identity(int64_t n);

_Noreturn void die(const char *message);
/** malloc() that ends the program where there is no memory. */
void *take(size_t bytes);
/** The value of key=value among the arguments of the family, or @p by_default. */
double parameter(const char *key, double by_default);

/** Draws from a discrete distribution in constant time (Walker). */
typedef struct {
    int64_t  n;
    double  *p;
    int32_t *a;
} alias_t;
alias_t alias_make(const double *weight, int64_t n);
int64_t alias_draw(const alias_t *alias);

/** Entries as row * n + column; of undirected edges as lower * n + higher. */
typedef struct {
    uint64_t *k;
    int64_t   n, cap;
} keys_t;
void keys_add(keys_t *a, uint64_t key);
/** The edge u, v of n vertices. */
void keys_add_edge(keys_t *a, int64_t n, int64_t u, int64_t v);
/** Sort, each once. */
void keys_unique(keys_t *a);
/** Keep exactly @p want, in their order. */
void keys_thin(keys_t *a, int64_t want);
/** Give every vertex without an edge one, to one of @p window neighbours (0: to any), then drop
 *  edges between vertices of degree above 2 until @p want are left. */
void keys_connect(keys_t *a, int64_t n, int64_t want, int64_t window);

/* output.c: binary CSR, little endian: int64 0x43535231, rows, columns, entries; int32
 * row_ptr[rows + 1], col_idx[entries], ascending in each row. */
void write_csr(const char *path, int64_t m, int64_t n, const int32_t *ptr, const int32_t *col);
/** Sorted keys row * n + column. */
void write_keys(const char *path, int64_t m, int64_t n, const keys_t *a);
/** Sorted edges, both ways; with @p diag the diagonal. */
void write_symmetric(const char *path, int64_t n, const keys_t *a, int diag);

/* The families; what they take by parameter() stands in front of each. */
void gen_graph(const char *out);   /**< degree-corrected block model: power-law, communities */
void gen_rmat(const char *out);    /**< R-MAT with exactly so many entries */
void gen_web(const char *out);     /**< hosts, navigation, rows by template, hubs */
void gen_mol(const char *out);     /**< molecules: skeletons, rings, hydrogens */
void gen_road(const char *out);    /**< thinned planar grid, numbered by tiles */
void gen_fem(const char *out);     /**< 3-D nodes with several unknowns, 27 or 15 neighbours */
void gen_cloud(const char *out);   /**< points along a chain, joined by distance */
void gen_qcd(const char *out);     /**< 4-D periodic lattice, 39 entries a row */
void gen_stencil(const char *out); /**< 5, 7, 9 or 27 points */
void gen_band(const char *out);
void gen_circuit(const char *out); /**< short rows and a few almost full rows and columns */
void gen_arrow(const char *out);   /**< dense diagonal blocks and almost full rows */
void gen_dnn(const char *out);     /**< a dense layer pruned by magnitude */

#endif /* BENCH_STANDINS_H */
