/* SPDX-License-Identifier: Apache-2.0 */
/** @file place.h
 *  Which of the GPUs that a rank sees it takes.  Ranks of a node may all see all its GPUs, one
 *  each, or those near to them (srun --gpu-bind=closest), in any order.
 */
#ifndef SPMM_DEVICE_PLACE_H
#define SPMM_DEVICE_PLACE_H

#include <stdint.h>

#include "base/env.h"

/** GPUs of a rank that count; it never takes a later one. */
enum { SPMM_PLACE_DEVICES = 32 };

/** One rank after the other takes, of those it sees, a GPU that the fewest before it took, the
 *  first of these: place modulo GPUs where all ranks see the same ones.
 *  @param seen  what the ranks of a node see, by place: SPMM_PLACE_DEVICES ids
 *               each, 0 after the last
 *  @param taken  room for place + 1 ids
 *  @param place  whose choice is asked for
 *  @param n_before  out: ranks that took the same GPU before
 *  @return index of the GPU among those it sees; 0 where it sees none */
int spmmi_place_choose(const uint64_t *seen, uint64_t *taken, int place, int *n_before);

/** The same for the calling rank.  Collective over env->comm; not agreed over ranks.
 *  @param mine  SPMM_PLACE_DEVICES ids, the same on all ranks of a node for the same GPU */
spmm_status_t spmmi_place_device(spmm_env_t *env, const uint64_t *mine, int *index, int *n_before);

#endif
