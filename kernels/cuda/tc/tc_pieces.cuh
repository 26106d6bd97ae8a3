/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_pieces.cuh
 *  Windows that are several pieces: the last thread block to arrive adds up the sums of all, in
 *  the order of the pieces, whichever it is.
 */
#ifndef SPMM_TC_PIECES_CUH
#define SPMM_TC_PIECES_CUH

#include "cuda/tc/tc_common.cuh"

namespace spmmi
{

/** What other multiprocessors wrote: from L2. */
template <typename T> __device__ __forceinline__ T load_written(const T *from)
{
    return __ldcg(from);
}
__device__ __forceinline__ Complex<float> load_written(const Complex<float> *from)
{
    const float2 v = __ldcg((const float2 *)from);

    return {v.x, v.y};
}
__device__ __forceinline__ Complex<double> load_written(const Complex<double> *from)
{
    const double2 v = __ldcg((const double2 *)from);

    return {v.x, v.y};
}

/** After a thread block has left its sums of piece @p p in work.partial, @p width columns from j0
 *  on: the last one of the window to arrive adds all up and stores them.  It leaves the count at 0,
 *  for the next product.
 *  @tparam kThreads  of the thread block, which all take part */
template <int kThreads, class F>
__device__ __forceinline__ void add_up_if_last(const F &format, const spmm_tc_work_t &work,
                                               const spmm_tc_mm_args_t &args, int64_t p, int j0,
                                               int width)
{
    using T                     = typename F::T;
    const int32_t         at    = __ldg(work.split_of + p);
    const spmm_tc_split_t split = work.split[at];
    const int64_t         first = (int64_t)split.window * F::kHeight;
    const int64_t         step  = (int64_t)F::kHeight * args.x.n;
    const int             cols  = (int)least(width, args.x.n - j0);
    const unsigned        most  = (unsigned)split.n_pieces - 1;

    __threadfence();
    __syncthreads();
    if (!__syncthreads_or(threadIdx.x == 0 &&
                          atomicInc(work.arrived + (int64_t)at * work.n_slices + (int)j0 / width,
                                    most) == most)) {
        return;
    }
    __threadfence();
#pragma unroll 1
    for (int e = (int)threadIdx.x; e < F::kHeight * cols; e += kThreads) {
        const int row = e / cols;
        const int j   = j0 + e % cols;
        const T  *part =
            (const T *)work.partial + ((int64_t)split.piece * F::kHeight + row) * args.x.n + j;

        if (first + row < format.n_rows) {
            T sum = load_written(part);

#pragma unroll 4
            for (int k = 1; k < split.n_pieces; k++) {
                sum += load_written(part += step);
            }
            if (!is_finite(sum)) {
                sum = exact(format, args, split.window, row, j);
            }
            store_c(args, at_c<typename F::Out>(args, first + row, j), sum);
        }
    }
}

} // namespace spmmi

#endif /* SPMM_TC_PIECES_CUH */
