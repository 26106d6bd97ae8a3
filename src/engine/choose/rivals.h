/* SPDX-License-Identifier: Apache-2.0 */
/** @file rivals.h  The formats that products are tried with. */
#ifndef SPMM_ENGINE_RIVALS_H
#define SPMM_ENGINE_RIVALS_H

#include "engine/choose/tries.h"
#include "engine/choose/tuning.h"

/** What is built beside the first format takes at most so many times what the block takes as CSR,
 *  and so many bytes more, on the device and on the host each. */
#define SPMM_RIVALS_FACTOR 4.0
#define SPMM_RIVALS_BYTES  8388608.0

/** Build what is worth trying against the best predicted, which is built: the yardstick with all
 *  its algorithms, and the dense product within a factor of 1.6, where 200 products and more are to
 *  come; of others within that factor the next, or the next two where there is no dense product,
 *  and other variants of what is within 1.3, as far as the budget goes; all as far as memory does.
 *  The budget, five times as much for what is within 1.1 (in 16 bits where n ends within an access
 *  1.3) and a fifth for the rest, is for building the others; of the products to be tried it pays
 *  what they are predicted to lose.
 *  @param[out] tries  owns t->format, too; NULL: there is nothing to try */
spmm_status_t spmmi_rivals_build(spmm_tuning_t *t, spmm_tries_t **tries);

#endif /* SPMM_ENGINE_RIVALS_H */
