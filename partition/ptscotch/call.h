/* SPDX-License-Identifier: Apache-2.0 */
/** @file call.h  PT-Scotch, one call of the process at a time. */
#ifndef SPMM_PARTITION_PTSCOTCH_CALL_H
#define SPMM_PARTITION_PTSCOTCH_CALL_H

#include "partition/ptscotch/dist_graph.h"

#ifdef SPMM_HAVE_PTSCOTCH
#include <stdio.h> /* ptscotch.h needs it, and stdint.h */

#include <ptscotch.h>

/** Cut @p graph into env->size parts.  PT-Scotch keeps random numbers and parsers for the whole
 *  process: all ranks wait until none of them is in another call.  It gets a communicator of its
 *  own, since messages of plans may be under way on env->comm, one thread, and random numbers of
 *  its own: the same seed gives the same parts on as many ranks.  Collective, agreed.
 *  @param[in,out] graph  its arrays hold other numbers afterwards, only
 *                        spmmi_dist_graph_free() takes it
 *  @param[in] imbalance  allowed max / mean weight of parts, >= 1
 *  @param[out] part  [graph->n_vertices], not checked */
spmm_status_t spmmi_ptscotch_part(spmm_env_t *env, spmm_dist_graph_t *graph, double imbalance,
                                  uint64_t seed, SCOTCH_Num *part);
#endif

#endif /* SPMM_PARTITION_PTSCOTCH_CALL_H */
