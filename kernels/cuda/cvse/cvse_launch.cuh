/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_launch.cuh
 *  Which of the CVSE kernels runs a product.  One .cu file for each pair of types instantiates
 *  this, so that they compile side by side.
 */
#ifndef SPMM_CVSE_LAUNCH_CUH
#define SPMM_CVSE_LAUNCH_CUH

#include "cuda/cvse/cvse_rows.cuh"
#include "cuda/cvse/cvse_short.cuh"
#include "cuda/cvse/cvse_slab.cuh"

namespace spmmi
{

/* C = alpha * A * B + beta * C, A in CVSE, 16-bit, on tensor cores with sums in FP32.
 *
 * How B gets into the operands: cvse_rows.cuh.
 * Column lists and values of A come to shared memory by asynchronous copies, three blocks ahead. */

/** @tparam kElems   columns that a lane loads at a time: 8 or 4
 *  @tparam kStages  blocks whose rows of B are in registers or on the way there
 *  @tparam kWarps   of the thread block: those of a team */
template <typename Half, typename Out, int kTiles, int kLoads, int kElems, int kStages,
          CvseAccess kAccess, int kWarps>
struct CvseWarp : CvseRows<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps> {
    using Rows = CvseRows<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps>;
    using Ring = CvseRing<Half, kTiles>;
    using Tile = typename Rows::Tile;
    using Rows::A, Rows::item, Rows::lane, Rows::part, Rows::kHeight;

    Ring       &ring;
    const char *col_from, *values_from; /* what the lane copies of the next block */
    uint32_t    col_at, values_at;      /* shared addresses of what it reads */

    __device__ __forceinline__ CvseWarp(const typename Rows::Format &format,
                                        const spmm_tc_mm_args_t &mm, Ring &shared,
                                        const spmm_tc_item_t &work, int j)
        : Rows(format, mm, work, j), ring(shared),
          col_from((const char *)(A.col + (int64_t)item.block * kCvseK) + 16 * (lane % 4)),
          values_from((const char *)(A.values + (int64_t)item.block * (kCvseK * kHeight)) +
                      16 * lane),
          col_at(shared_address(&shared.col[0][4 * part])),
          values_at(shared_address(&shared.values[0][4 * kTiles * lane]))
    {
        keep(col_at);
        keep(values_at);
    }

    /* Start copying block k, the next one; a commit in any case keeps the groups counted. */
    __device__ __forceinline__ void fetch(int k)
    {
        if (k < item.n_blocks) {
            if (lane < 16 * kTiles) {
                cp_async<16>(&ring.values[k % kCvseRing][8 * lane], values_from);
            }
            if (lane < 4) {
                cp_async<16>(&ring.col[k % kCvseRing][4 * lane], col_from);
            }
            values_from += kCvseK * kHeight * sizeof(Half);
            col_from += kCvseK * sizeof(int32_t);
        }
        cp_async_commit();
    }

    /* Block k into registers: blocks are loaded in order.  The one barrier shows block k to all
     * lanes, and that they have read block k - 1, whose place the next copy takes. */
    __device__ __forceinline__ void load(int k, Tile &to)
    {
        const uint32_t at = (uint32_t)k % kCvseRing;

        cp_async_wait<kCvseRing - 2>();
        __syncwarp();
        const int4 col = load_shared<int4>(col_at + at * (kCvseK * 4));

        this->load_rows(col, to);
#pragma unroll
        for (int tile = 0; tile < kTiles; tile++) {
            to.a[tile] =
                load_shared<uint2>(values_at + at * (kCvseK * kHeight * 2) + (uint32_t)tile * 8);
        }
        fetch(k + kCvseRing - 1);
    }

    /* All blocks: kStages register tiles in rotation, so indices are constants after unrolling. */
    __device__ __forceinline__ void run()
    {
        Tile      tile[kStages];
        const int n = item.n_blocks;

        for (int k = 0; k < kCvseRing - 1; k++) {
            fetch(k);
        }
#pragma unroll
        for (int k = 0; k < kStages - 1; k++) {
            if (k < n) {
                load(k, tile[k]);
            }
        }
        for (int at = 0; at < n; at += kStages) {
#pragma unroll
            for (int k = 0; k < kStages; k++) {
                if (at + k < n) {
                    if (at + k + kStages - 1 < n) {
                        load(at + k + kStages - 1, tile[(k + kStages - 1) % kStages]);
                    }
                    this->multiply(tile[k]);
                }
            }
        }
        cp_async_wait<0>();
        __syncwarp();
        if constexpr (Rows::kEdge) {
            this->drop_edge();
        }
    }
};

/** @tparam Warp     a CvseWarp
 *  @tparam kWarps   of a thread block
 *  @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <class Warp, int kWarps, int kBlocks>
__global__ void __launch_bounds__(kWarps *kWarp, resident_blocks(kWarps *kWarp, kBlocks))
    cvse_mm(const __grid_constant__ typename Warp::Format A,
            const __grid_constant__ spmm_tc_work_t        work,
            const __grid_constant__ spmm_tc_mm_args_t     args)
{
    __shared__ typename Warp::Ring ring[kWarps];
    extern __shared__ int4         room[];
    const int                      warp  = (int)threadIdx.x / kWarp;
    const bool                     team  = blockIdx.x < (unsigned)work.n_team;
    const int64_t                  block = (int64_t)blockIdx.x;
    const int64_t p = team ? block : work.n_team + (block - work.n_team) * kWarps + warp;

    if (p >= work.n_items) {
        return;
    }
    const int4     words = __ldg((const int4 *)work.item + p);
    spmm_tc_item_t item  = {words.x, words.y, words.z, words.w};

    if (team) {
        const int from = (int)((int64_t)item.n_blocks * warp / kWarps);

        item.n_blocks = (int)((int64_t)item.n_blocks * (warp + 1) / kWarps) - from;
        item.block += from;
    }

    for (int64_t j = (int64_t)blockIdx.y * Warp::kWidth; j < args.x.n;
         j += (int64_t)gridDim.y * Warp::kWidth) {
        Warp w(A, args, ring[warp], item, (int)j);

        w.run();
        if (team && !w.share((float *)room)) {
            continue;
        }
        if (p < work.n_partial) {
            w.store_partial((float *)work.partial + p * Warp::kHeight * args.x.n);
        } else if (w.is_finite()) {
            w.store();
        } else {
            repair_tile(A, args, item.window, j, Warp::kWidth);
        }
    }
}

/** The kernels of one pair of types and window height. */
template <typename Half, typename Out, int kTiles> struct CvseKernels {
    using Format = Cvse<Half, Out, kTiles>;
    using Edged  = CvseEdged<Half, Out, kTiles>;
    using Short  = CvseShortKernels<Half, Out, kTiles, CvseAccess::kWide>;
    using Edges  = CvseShortKernels<Half, Out, kTiles, CvseAccess::kEdge>;
    using Slab   = CvseSlabKernels<Half, Out>;

    static constexpr int kNumber = 9, kEdgeNumber = 3;
    static constexpr int kTwo = kTiles == 1 ? 5 : 4, kOne = kTiles == 1 ? 5 : 4;

    template <int kLoads, int kElems, int kStages, CvseAccess kAccess, int kWarps, int kBlocks>
    static auto choice()
    {
        using Warp          = CvseWarp<Half, Out, kTiles, kLoads, kElems, kStages, kAccess, kWarps>;
        constexpr int elems = kAccess == CvseAccess::kNarrow ? 1 : kElems;

        return TcItems<typename Warp::Format>{cvse_mm<Warp, kWarps, kBlocks>, Warp::kWidth, kWarps,
                                              elems, Warp::kTeamRoom * (int)sizeof(float)};
    }

    /* Of each size of thread block the widest first.  256 columns of 16 rows would leave two
     * warps to a scheduler: they take 128.  Slices of 64 columns load a block ahead, as BitTCF
     * does; those of 32 have more warps instead. */
    static const TcItems<Format> *all()
    {
        constexpr int  kMost = kTiles == 1 ? 4 : 2, kFour = kTiles == 1 ? 3 : 4;
        constexpr auto kWide = CvseAccess::kWide;

        static const TcItems<Format> choices[kNumber] = {
            choice<kMost, 8, 1, kWide, 4, kFour>(),
            choice<2, 8, 1, kWide, 4, kTwo>(),
            choice<1, 8, 2, kWide, 4, kOne>(),
            choice<1, 4, 1, kWide, 4, 8>(),
            choice<kMost, 8, 1, kWide, 8, kFour / 2>(),
            choice<2, 8, 1, kWide, 8, kTwo / 2>(),
            choice<1, 8, 2, kWide, 8, kOne / 2>(),
            choice<1, 4, 1, kWide, 8, 4>(),
            choice<1, 4, 1, CvseAccess::kNarrow, 4, 5>(),
        };

        return choices;
    }

    /* Those for edges, of thread blocks of four warps or of eight. */
    static const TcItems<Edged> *edges(int warps)
    {
        constexpr auto kEdge = CvseAccess::kEdge;

        static const TcItems<Edged> four[kEdgeNumber]  = {choice<2, 8, 1, kEdge, 4, kTwo>(),
                                                          choice<1, 8, 2, kEdge, 4, kOne>(),
                                                          choice<1, 4, 1, kEdge, 4, 8>()};
        static const TcItems<Edged> eight[kEdgeNumber] = {choice<2, 8, 1, kEdge, 8, kTwo / 2>(),
                                                          choice<1, 8, 2, kEdge, 8, kOne / 2>(),
                                                          choice<1, 4, 1, kEdge, 8, 4>()};

        return warps == 4 ? four : eight;
    }

    /* Slices for edges are taken where they are wider than whole ones, or those are narrow. */
    static bool takes_edge(int width, int whole)
    {
        return width > whole;
    }

    static cudaError_t launch_tasks(const Edged &A, const spmm_cvse_short_t &tasks,
                                    const spmm_tc_mm_args_t &args, cudaStream_t stream, bool *done)
    {
        const auto *whole = Short::best(tasks, args);
        const auto *edge  = Edges::best(tasks, args);

        *done = whole != NULL || edge != NULL;
        if (edge != NULL && takes_edge(edge->width, whole != NULL ? whole->width : 0)) {
            return Edges::launch(*edge, A, tasks, args, stream);
        }
        return *done ? Short::launch(*whole, A, tasks, args, stream) : cudaSuccess;
    }

    static cudaError_t launch_cut(const Edged &A, const spmm_tc_work_t &work,
                                  const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const int64_t n = args.x.n, up = std::max(ceil_div(n, 8) * 8, (int64_t)kCvseNarrow);
        const auto   &whole = best_choice<Format>(
            all(), kNumber, work, n, [&](int elems) { return Short::is_aligned(args, elems); });

        if (Edges::is_aligned(args, 4)) {
            const auto &edge =
                best_choice<Edged>(edges(warps_of_block(work)), kEdgeNumber, work, up,
                                   [&](int elems) { return Edges::is_aligned(args, elems); });

            if (takes_edge(edge.width, whole.elems == 1 ? 0 : whole.width)) {
                return launch_items(edge, A, work, args, stream);
            }
        }
        return launch_items(whole, (const Format &)A, work, args, stream);
    }

    static cudaError_t launch(const spmm_cvse_arrays_t &arrays, const spmm_cvse_short_t &tasks,
                              const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args,
                              cudaStream_t stream)
    {
        const Edged A = {{arrays.n_rows, arrays.n_windows, arrays.window_ptr, arrays.col,
                          arrays.bits, (const Half *)arrays.values},
                         tasks.slab.n_cols - 1};
        CUtensorMap map;
        bool        done;
        cudaError_t code;

        if constexpr (kTiles == 1) {
            if (Slab::can_run(tasks.slab, args, &map)) {
                return Slab::launch(map, A, tasks.slab, args, work.n_sm, stream);
            }
        }
        code = launch_tasks(A, tasks, args, stream, &done);
        return done ? code : launch_cut(A, work, args, stream);
    }

    static cudaError_t preload()
    {
        cudaError_t code = spmmi::preload(finish_splits<Format>, finish_splits<Edged>);

        code = code == cudaSuccess ? preload_choices(all(), kNumber) : code;
        code = code == cudaSuccess ? preload_choices(edges(4), kEdgeNumber) : code;
        code = code == cudaSuccess ? preload_choices(edges(8), kEdgeNumber) : code;
        code = code == cudaSuccess && kTiles == 1 ? Slab::preload() : code;
        code = code == cudaSuccess ? Short::preload() : code;
        return code == cudaSuccess ? Edges::preload() : code;
    }
};

/** The product; nothing for empty shapes. */
template <typename Half, typename Out>
cudaError_t cvse_product(const spmm_cvse_arrays_t &A, const spmm_cvse_short_t &tasks,
                         const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args,
                         cudaStream_t stream)
{
    if (work.n_items == 0 || args.x.n == 0) {
        return cudaSuccess;
    }
    switch (A.height) {
    case 8:
        return CvseKernels<Half, Out, 1>::launch(A, tasks, work, args, stream);
    case 16:
        return CvseKernels<Half, Out, 2>::launch(A, tasks, work, args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

/** Load the kernels of one pair of types. */
template <typename Half, typename Out> cudaError_t cvse_preload()
{
    const cudaError_t code = CvseKernels<Half, Out, 1>::preload();

    return code != cudaSuccess ? code : CvseKernels<Half, Out, 2>::preload();
}

} // namespace spmmi

/** What CMake makes one .cu of for each line of instances.cmake, so that they compile side by
 *  side. */
#define SPMM_INSTANCE(Half, Out)                                                                   \
    template cudaError_t spmmi::cvse_product<Half, Out>(                                           \
        const spmm_cvse_arrays_t &, const spmm_cvse_short_t &, const spmm_tc_work_t &,             \
        const spmm_tc_mm_args_t &, cudaStream_t);                                                  \
    template cudaError_t spmmi::cvse_preload<Half, Out>();

#endif /* SPMM_CVSE_LAUNCH_CUH */
