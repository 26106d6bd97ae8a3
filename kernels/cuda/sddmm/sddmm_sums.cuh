/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_sums.cuh  What the SDDMM kernels on CUDA cores share. */
#ifndef SPMM_SDDMM_SUMS_CUH
#define SPMM_SDDMM_SUMS_CUH

#include "cuda/sddmm/sddmm.h"
#include "cuda/tc/tc_common.cuh"

namespace spmmi
{

/** Each of kLanes lanes has its share of kSums sums, as many or more.  kLanes - 1 of kSums shares
 *  are shuffled, since in each step a lane gives away one half of its sums and keeps the other.
 *  @param[in,out] sum  becomes sums kSums / kLanes * lane on, over all lanes */
template <int kLanes, typename T, int kSums>
__device__ __forceinline__ void sums_of_lane(T (&sum)[kSums], int lane)
{
#pragma unroll
    for (int step = kLanes / 2, half = kSums / 2; step > 0; step /= 2, half /= 2) {
        const bool upper = (lane & step) != 0;

#pragma unroll
        for (int e = 0; e < half; e++) {
            const T give = upper ? sum[e] : sum[e + half];
            const T keep = upper ? sum[e + half] : sum[e];

            sum[e] = keep + __shfl_xor_sync(0xffffffffu, give, step);
        }
    }
}

} // namespace spmmi

#endif /* SPMM_SDDMM_SUMS_CUH */
