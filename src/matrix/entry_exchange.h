/* SPDX-License-Identifier: Apache-2.0 */
/** @file entry_exchange.h  Entries of a matrix go to the owners of their rows. */
#ifndef SPMM_MATRIX_ENTRY_EXCHANGE_H
#define SPMM_MATRIX_ENTRY_EXCHANGE_H

#include "matrix/bag.h"
#include "matrix/matrix.h"

/** Replace the bag by the entries of this rank's rows, in the order of the ranks they came from.
 *  Ranks without entries for each other send nothing.  Beside the entries it takes memory for what
 *  is on its way.  Collective, agreed.
 *  @param[in]     A    row_offset is set
 *  @param[in,out] bag  freed while it is emptied */
spmm_status_t spmmi_exchange_entries(const spmm_matrix_t *A, spmm_bag_t *bag);

#endif /* SPMM_MATRIX_ENTRY_EXCHANGE_H */
