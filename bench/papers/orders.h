/* SPDX-License-Identifier: Apache-2.0 */
/** @file orders.h
 *  Orders of rows as they are published, beside those of the library: what figure 10 of Acc-SpMM
 *  compares.  Written anew from the papers; deterministic.  SGT (TC-GNN) orders no rows: it is the
 *  condensation of columns that all of these have, so order `none` is its row.
 */
#ifndef BENCH_ORDERS_H
#define BENCH_ORDERS_H

#include "partition/reorder/reorder.h"

/** Acc-SpMM, algorithm 1, to the letter: a dendrogram by modularity, then from each vertex to the
 *  one that has most neighbours in common with it. */
extern const spmm_reorderer_t bench_order_acc;
/** Rabbit Order (Arai et al. 2016): a depth-first walk over that dendrogram. */
extern const spmm_reorderer_t bench_order_rabbit;
/** Louvain (Blondel et al. 2008): communities of communities, each in one piece. */
extern const spmm_reorderer_t bench_order_louvain;
/** Clusters of rows that MinHash finds alike, of up to 16 rows (DTC-SpMM) and 64 (Huang et al.
 *  2021). */
extern const spmm_reorderer_t bench_order_lsh16, bench_order_lsh64;
/** One sort each: by first columns, and by least hashes of columns. */
extern const spmm_reorderer_t bench_order_first, bench_order_minhash;

#endif /* BENCH_ORDERS_H */
