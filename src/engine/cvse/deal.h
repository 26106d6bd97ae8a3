/* SPDX-License-Identifier: Apache-2.0 */
/** @file deal.h
 *  Another order of the vectors of a window, for kernels that read rows of B from shared memory:
 *  any eight that one access takes, a half of a block, stand in as many banks as the window has.
 */
#ifndef SPMM_ENGINE_CVSE_DEAL_H
#define SPMM_ENGINE_CVSE_DEAL_H

#include "engine/cvse/format.h"

/** Rows of B whose numbers are equal modulo this share their banks. */
enum { SPMM_CVSE_BANKS = 8 };

/** The place of @p format that goes to each place, counted through all blocks.  Deterministic.
 *  @param[out] from  [n_blocks * 16]; NULL for an empty format; spmmi_free() it */
spmm_status_t spmmi_cvse_deal(spmm_env_t *env, const spmm_cvse_t *format, int threads,
                              int32_t **from);

/** What belongs to the blocks of @p format in the order @p from; NULL: no memory.
 *  @param[in] host  the lists or bits of the format, or anything that stands as its values do
 *  @param[in] size  bytes of a block of it */
void *spmmi_cvse_dealt(const spmm_cvse_t *format, const int32_t *from, int threads,
                       const void *host, size_t size);

#endif /* SPMM_ENGINE_CVSE_DEAL_H */
