/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_launch.cuh
 *  What launchers of kernels on work items share: the choice among kernels for slices of
 *  several widths, the launch, the loading.
 */
#ifndef SPMM_TC_LAUNCH_CUH
#define SPMM_TC_LAUNCH_CUH

#include "cuda/windows/tc_common.cuh"

namespace spmmi
{

/** A kernel, and what a launch of it needs. */
template <class Kernel> struct TcChoice {
    Kernel kernel;
    int    width; /**< columns of a slice */
    int    warps; /**< of a thread block */
    int    elems; /**< columns of an access; 1: narrow */
    int    room;  /**< bytes of shared memory for teams */
};

/** One on work items of format F. */
template <class F> using TcItems = TcChoice<void (*)(F, spmm_tc_work_t, spmm_tc_mm_args_t)>;

/* Few windows, as many rows with many entries make them, take large teams. */
inline int warps_of_block(const spmm_tc_work_t &work)
{
    return work.n_items <= SPMM_TC_FEW * work.n_sm ? 8 : 4;
}

/** The widest slices that compute no more columns than narrower ones and leave enough warps for the
 *  device, else the narrowest.
 *  @param[in] list        of each size of thread block the widest first, at the end the narrow one
 *  @param[in] is_aligned  whether a kernel with so many columns of an access can run */
template <class F, class Aligned>
const TcItems<F> &best_choice(const TcItems<F> *list, int number, const spmm_tc_work_t &work,
                              int64_t n, Aligned is_aligned)
{
    constexpr int     kEnough = 12; /* warps of a multiprocessor */
    const int         warps   = warps_of_block(work);
    const int64_t     items   = work.n_items + (int64_t)(warps - 1) * work.n_team;
    const TcItems<F> *take    = &list[number - 1];

    for (int k = number - 2; k >= 0; k--) {
        const TcItems<F> &one = list[k];

        if (one.warps == warps && is_aligned(one.elems) && n >= one.width &&
            (take->elems == 1 ||
             (ceil_div(n, one.width) * one.width <= ceil_div(n, take->width) * take->width &&
              items * ceil_div(n, one.width) >= kEnough * work.n_sm))) {
            take = &one;
        }
    }
    return *take;
}

/** The product, and the sums of cut windows.
 *  @param waits  as of launch_first() */
template <class F>
cudaError_t launch_items(const TcItems<F> &choice, const F &A, const spmm_tc_work_t &work,
                         const spmm_tc_mm_args_t &args, cudaStream_t stream, bool waits = false)
{
    const int64_t blocks = work.n_team + ceil_div(work.n_items - work.n_team, choice.warps);
    const dim3    grid((unsigned)blocks,
                       (unsigned)least(ceil_div(args.x.n, choice.width), kMaxGridYZ));
    const size_t  room = work.n_team == 0 ? 0 : (size_t)choice.room;

    const dim3 block(choice.warps * kWarp);

    const cudaError_t code =
        launch_first(args.x, waits, room, choice.kernel, grid, block, stream, A, work, args);

    return code != cudaSuccess ? code : launch_finish(A, work, args, stream);
}

/** Load the kernels of a list with members kernel and room, their dynamic shared memory. */
template <class Choice> cudaError_t preload_choices(const Choice *choices, int number)
{
    cudaError_t code = cudaSuccess;

    for (int k = 0; k < number && code == cudaSuccess; k++) {
        code = preload(choices[k].kernel);
        if (code == cudaSuccess) { /* more than 48 KB only on request */
            code = cudaFuncSetAttribute(
                choices[k].kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, choices[k].room);
        }
    }
    return code;
}

} // namespace spmmi

#endif /* SPMM_TC_LAUNCH_CUH */
