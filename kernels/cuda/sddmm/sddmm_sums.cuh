/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_sums.cuh  What the SDDMM kernels on CUDA cores share. */
#ifndef SPMM_SDDMM_SUMS_CUH
#define SPMM_SDDMM_SUMS_CUH

#include "cuda/sddmm/sddmm.h"
#include "cuda/tc/tc_common.cuh"

namespace spmmi
{

/** Each of kSums lanes has its share of as many sums: kSums - 1 shuffles add them up, since in
 *  each step a lane gives away one half of its sums and keeps the other.
 *  @return the sum number @p lane over all lanes; @p sum is used up */
template <typename T, int kSums> __device__ __forceinline__ T sum_of_lane(T (&sum)[kSums], int lane)
{
#pragma unroll
    for (int half = kSums / 2; half > 0; half /= 2) {
        const bool upper = (lane & half) != 0;

#pragma unroll
        for (int e = 0; e < half; e++) {
            const T give = upper ? sum[e] : sum[e + half];
            const T keep = upper ? sum[e + half] : sum[e];

            sum[e] = keep + __shfl_xor_sync(0xffffffffu, give, half);
        }
    }
    return sum[0];
}

} // namespace spmmi

#endif /* SPMM_SDDMM_SUMS_CUH */
