/* SPDX-License-Identifier: Apache-2.0 */
/** @file assemble_exchange.h  Entries to the ranks that own their rows. */
#ifndef SPMM_MATRIX_ASSEMBLE_EXCHANGE_H
#define SPMM_MATRIX_ASSEMBLE_EXCHANGE_H

#include "matrix/assemble.h"

/** Replace the bag by the entries of this rank's rows, in the order of the ranks they came from.
 *  They travel in rounds, and what is sent is freed on the way: beside the entries themselves it
 *  takes memory for a round.  Collective, agreed. */
spmm_status_t spmmi_assemble_exchange(const spmm_matrix_t *A, spmm_bag_t *bag);

#endif /* SPMM_MATRIX_ASSEMBLE_EXCHANGE_H */
