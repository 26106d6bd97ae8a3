/* SPDX-License-Identifier: Apache-2.0 */
/** @file orders.h
 *  Orders of rows as they are published, beside those of the library.  Written anew from the
 *  papers; deterministic.
 */
#ifndef BENCH_ORDERS_H
#define BENCH_ORDERS_H

#include "partition/reorder/reorder.h"

/** Acc-SpMM, algorithm 1, to the letter: a dendrogram by modularity, then from each vertex to the
 *  one that has most neighbours in common with it. */
extern const spmm_reorderer_t bench_order_acc;
/** Rabbit Order (Arai et al. 2016): a depth-first walk over that dendrogram. */
extern const spmm_reorderer_t bench_order_rabbit;

#endif /* BENCH_ORDERS_H */
