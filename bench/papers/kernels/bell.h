/* SPDX-License-Identifier: Apache-2.0 */
/** @file bell.h
 *  Blocked-ELL of cuSPARSE in FP16, sums in FP32: the baseline of vectorSparse (paper 005, section
 *  7.1).  Every row of blocks stores as many square blocks as the fullest one; places without an
 *  entry are zeros, which are multiplied.
 */
#ifndef BELL_H
#define BELL_H

#include "block.h"

typedef struct bell bell_t;

/** Lay out the block of @p o, whose rows and columns are multiples of @p size.
 *  @param[in]  size  rows and columns of a block of the format
 *  @param[out] bell  close it with bell_close()
 *  @return SPMM_ERR_UNSUPPORTED where the zeros are too many, or cuSPARSE refuses the size */
spmm_status_t bell_open(const bench_operands_t *o, int32_t size, bell_t **bell);
/** Enqueue C = A * B of the operands that @p bell was opened for, in their stream. */
spmm_status_t bell_multiply(const bell_t *bell);
/** NULL: there is none. */
void bell_close(bell_t *bell);

#endif /* BELL_H */
