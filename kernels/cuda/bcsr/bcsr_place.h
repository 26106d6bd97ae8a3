/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_place.h  Where the kernels of BCSR keep rows of B in shared memory, in C
 *  for tests on CPUs. */
#ifndef SPMM_BCSR_PLACE_H
#define SPMM_BCSR_PLACE_H

#include "kernel_args.h"

/** Where the 16-byte word number @p chunk of row @p k of B stands in shared memory, in bytes: rows
 *  of @p width columns, 32 or a multiple of 64, so turned that any eight of a matrix that ldmatrix
 *  takes are in different banks. */
SPMM_BOTH static inline uint32_t spmmi_bcsr_b_at(int32_t width, int32_t k, int32_t chunk)
{
    const int32_t turn = width >= 64 ? k % 8 : k / 2 % 4;

    return (uint32_t)(2 * width * k + 16 * (chunk ^ turn));
}
/** Of lane @p lane's row for ldmatrix.x4.trans: four matrices of 8 rows of B, of columns 0 to 7,
 *  for a 2:4 tile; two of columns 0 to 7 and two of 8 to 15 for one of 16x16.  Those of 8 j
 *  columns on: ^ 16 j. */
SPMM_BOTH static inline uint32_t spmmi_bcsr_sparse_row(int32_t width, int32_t lane)
{
    return spmmi_bcsr_b_at(width, lane, 0);
}
SPMM_BOTH static inline uint32_t spmmi_bcsr_dense_row(int32_t width, int32_t lane)
{
    return spmmi_bcsr_b_at(width, lane % 16, lane / 16);
}

#endif /* SPMM_BCSR_PLACE_H */
