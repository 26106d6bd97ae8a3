/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_short.cuh
 *  CVSE where windows are short or few: the time of such a product is that of accesses which wait
 *  for each other.  A warp has no header to read before its first block: that stands at the warp's
 *  own number, so B is the second access and not the third; the rest of the task arrives meanwhile.
 *  Lists and values go straight to registers, those of the next block while B is on the way.
 *  The warps of a team each add up and store a part of the sums.
 */
#ifndef SPMM_CVSE_SHORT_CUH
#define SPMM_CVSE_SHORT_CUH

#include <algorithm>

#include "cuda/cvse/cvse_rows.cuh"
#include "cuda/windows/tc_launch.cuh"

namespace spmmi
{

template <typename Half, typename Out, int kTiles, int kLoads, int kElems, CvseAccess kAccess,
          int kWarps>
struct CvseShort : CvseRows<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps> {
    using Rows = CvseRows<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps>;
    using Tile = typename Rows::Tile;
    using Sums = Pack<float, kElems>;
    using Rows::A, Rows::args, Rows::item, Rows::lane, Rows::part, Rows::kHeight;
    static constexpr int kUnits =
        2 * kTiles * kLoads;                   /* rows and loads of a lane: what is shared */
    static constexpr int kPlanes = kElems / 4; /* accesses of 16 bytes to each */
    static constexpr int kRoom = kUnits * kPlanes * kWarps * kWarp; /* of them, in shared memory */

    /* Of one block: the lane's four columns and its entries. */
    struct Lists {
        int4                col;
        Pack<uint2, kTiles> a;
    };

    int32_t row[2 * kTiles]; /* of C */

    __device__ __forceinline__ CvseShort(const typename Rows::Format &format,
                                         const spmm_tc_mm_args_t &mm, int j)
        : Rows(format, mm, spmm_tc_item_t{-1, 0, 0, 0}, j)
    {
    }

    __device__ __forceinline__ Lists read(const int32_t *col, const Half *values, int64_t k) const
    {
        Lists x;

        x.col = __ldg((const int4 *)(col + k * kCvseK) + part);
        if constexpr (kTiles == 2) {
            const uint4 a = __ldg((const uint4 *)(values + k * (kCvseK * kHeight)) + lane);

            x.a.at[0] = make_uint2(a.x, a.y);
            x.a.at[1] = make_uint2(a.z, a.w);
        } else {
            x.a.at[0] = __ldg((const uint2 *)(values + k * (kCvseK * kHeight)) + lane);
        }
        return x;
    }

    __device__ __forceinline__ void load(const Lists &x, Tile &to) const
    {
        this->load_rows(x.col, to);
#pragma unroll
        for (int k = 0; k < kTiles; k++) {
            to.a[k] = x.a.at[k];
        }
    }

    /* The task's blocks; the first is in @p tile or on the way there. */
    __device__ __forceinline__ void run(const int4 &task, Tile &tile)
    {
        int64_t block = task.y;
        Lists   next;

        item.window = task.x;
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            row[k] = this->row_of(k);
        }
#pragma unroll 1
        for (int more = task.z;; more--) {
            if (more > 0) {
                next = read(A.col, (const Half *)A.values, block++);
            }
            this->multiply(tile);
            if (more <= 0) {
                break;
            }
            load(next, tile);
        }
        if constexpr (Rows::kEdge) {
            this->drop_edge();
        }
    }

    __device__ __forceinline__ void store_alone(int64_t j) const
    {
        if (!this->is_finite()) {
            repair(j);
            return;
        }
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                this->store_row(this->result(k / 2, load, k % 2), load, row[k]);
            }
        }
    }

    __device__ __forceinline__ void repair(int64_t j) const
    {
        if (item.window >= 0) {
            repair_tile(A, args, item.window, j, Rows::kWidth);
        }
    }

    __device__ __forceinline__ float4 &place(float4 *room, int unit, int plane, int warp) const
    {
        return room[((unit * kPlanes + plane) * kWarps + warp) * kWarp + lane];
    }

    /* Add up the sums of a team, in the order of its warps, and store them: warp number m of it
     * takes the units m, m + @p team, ...  What padding made of an Inf shows in the sums of one
     * warp.  One bad team makes all of the thread block repair, so that none stores behind that.
     * @param room  shared memory, kRoom */
    __device__ __forceinline__ void store_team(float4 *room, int warp, int team, int64_t j) const
    {
        const int member = warp & (team - 1);
        float     bad    = 0.0f;

#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                const Sums x = this->result(k / 2, load, k % 2);

#pragma unroll
                for (int e = 0; e < kElems; e += 4) {
                    place(room, k * kLoads + load, e / 4, warp) =
                        make_float4(x.at[e], x.at[e + 1], x.at[e + 2], x.at[e + 3]);
                    bad = taint(x.at[e] + x.at[e + 1], taint(x.at[e + 2] + x.at[e + 3], bad));
                }
            }
        }
        if (__syncthreads_or(bad != 0.0f)) {
            if (member == 0) {
                repair(j);
            }
            return;
        }
#pragma unroll 1
        for (int unit = member; unit < kUnits; unit += team) {
            store_unit(add_up(room, unit, warp - member, team), unit);
        }
    }

    __device__ __forceinline__ Sums add_up(float4 *room, int unit, int from, int team) const
    {
        Sums sum = {};

#pragma unroll 1
        for (int w = from; w < from + team; w += 2) { /* two at a time under way */
#pragma unroll
            for (int e = 0; e < kElems; e += 4) {
                const float4 x = place(room, unit, e / 4, w), y = place(room, unit, e / 4, w + 1);

                sum.at[e] += x.x, sum.at[e + 1] += x.y, sum.at[e + 2] += x.z, sum.at[e + 3] += x.w;
                sum.at[e] += y.x, sum.at[e + 1] += y.y, sum.at[e + 2] += y.z, sum.at[e + 3] += y.w;
            }
        }
        return sum;
    }

    __device__ __forceinline__ void store_unit(const Sums &x, int unit) const
    {
        /* The row again: an index into row[] known only now would take it out of registers. */
        this->store_row(x, unit % kLoads, this->row_of(unit / kLoads));
    }
};

/** @tparam Warp     a CvseShort
 *  @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <class Warp, int kWarps, int kBlocks>
__global__ void __launch_bounds__(kWarps *kWarp, resident_blocks(kWarps *kWarp, kBlocks))
    cvse_short_mm(const __grid_constant__ typename Warp::Format A,
                  const __grid_constant__ spmm_cvse_short_t     tasks,
                  const __grid_constant__ spmm_tc_mm_args_t     args)
{
    using Half = typename Warp::Format::In;
    extern __shared__ float4 room4[];
    const int                warp = (int)threadIdx.x / kWarp;
    const int64_t            at   = (int64_t)blockIdx.x * kWarps + warp;
    const int                j    = (int)blockIdx.y * Warp::kWidth;
    Warp                     w(A, args, j);
    typename Warp::Tile      tile;

    w.load(w.read(tasks.col, (const Half *)tasks.values, at), tile);
    w.run(__ldg((const int4 *)tasks.task + at), tile);
    if ((int)blockIdx.x >= tasks.end[SPMM_CVSE_TEAMS - 2]) {
        w.store_alone(j);
    } else {
        int team = 2;

#pragma unroll
        for (int k = 0; k < SPMM_CVSE_TEAMS - 2; k++) {
            team = (int)blockIdx.x < tasks.end[k] ? max(team, 16 >> k) : team;
        }
        w.store_team(room4, warp, team, j);
    }
}

/* Which of the CVSE kernels for short windows runs a product. */

/** The kernels of one pair of types, window height and access. */
template <typename Half, typename Out, int kTiles, CvseAccess kAccess> struct CvseShortKernels {
    template <int kLoads, int kElems, int kWarps>
    using Warp                  = CvseShort<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps>;
    using Format                = typename Warp<1, 4, 4>::Format;
    using Choice                = TcChoice<void (*)(Format, spmm_cvse_short_t, spmm_tc_mm_args_t)>;
    static constexpr bool kEdge = kAccess == CvseAccess::kEdge;

    static constexpr int kNumber = 8;

    template <int kLoads, int kElems, int kWarps, int kBlocks> static Choice choice()
    {
        using One = Warp<kLoads, kElems, kWarps>;

        return {cvse_short_mm<One, kWarps, kBlocks>, One::kWidth, kWarps, kElems,
                One::kRoom * (int)sizeof(float4)};
    }

    /* The widest first.  As many thread blocks as registers for the sums and one block's rows of B
     * allow. */
    static const Choice *all()
    {
        constexpr int kTwo = kTiles == 1 ? 5 : 4, kOne = kTiles == 1 ? 7 : 5;

        static const Choice choices[kNumber] = {
            choice<2, 8, 4, kTwo>(),     choice<1, 8, 4, kOne>(),     choice<1, 4, 4, 8>(),
            choice<2, 8, 8, kTwo / 2>(), choice<1, 8, 8, kOne / 2>(), choice<1, 4, 8, 4>(),
            choice<1, 8, 16, 1>(),       choice<1, 4, 16, 2>(),
        };

        return choices;
    }

    /* Whether rows of B and C begin, and unless there are edges end, with accesses of so many
     * elements. */
    static bool is_aligned(const spmm_tc_mm_args_t &args, int elems)
    {
        const int64_t in  = elems * (int64_t)sizeof(Half);
        const int64_t out = least(16, elems * (int64_t)sizeof(Out));

        return fits(args.x.B, in) && fits(args.x.C, out) && (kEdge || args.x.n % elems == 0) &&
               fits(args.x.ldb * (int64_t)sizeof(Half), in) &&
               fits(args.x.ldc * (int64_t)sizeof(Out), out) &&
               (uint64_t)args.x.ldb * sizeof(Half) <= UINT32_MAX;
    }

    /* Whether n columns fill a slice; with edges the narrowest need not be full. */
    static bool fills(int64_t n, int width, int elems)
    {
        return width <= (kEdge ? std::max(ceil_div(n, elems) * elems, (int64_t)kCvseNarrow) : n);
    }

    /* The widest that the tasks are made for; NULL: these kernels cannot do it. */
    static const Choice *best(const spmm_cvse_short_t &tasks, const spmm_tc_mm_args_t &args)
    {
        for (int k = 0; k < kNumber && tasks.slice > 0; k++) {
            const Choice &one = all()[k];

            if (one.warps == tasks.n_warps && one.width <= tasks.slice &&
                fills(args.x.n, one.width, one.elems) && is_aligned(args, one.elems) &&
                ceil_div(args.x.n, one.width) <= kMaxGridYZ) {
                return &one;
            }
        }
        return NULL;
    }

    static cudaError_t launch(const Choice &choice, const Format &A, const spmm_cvse_short_t &tasks,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const dim3 grid((unsigned)tasks.end[SPMM_CVSE_TEAMS - 1],
                        (unsigned)ceil_div(args.x.n, choice.width));
        const bool teams = tasks.end[SPMM_CVSE_TEAMS - 2] > 0;

        return launch_with(teams ? (size_t)choice.room : 0, choice.kernel, grid,
                           dim3(choice.warps * kWarp), stream, A, tasks, args);
    }

    static cudaError_t preload()
    {
        return preload_choices(all(), kNumber);
    }
};

} // namespace spmmi

#endif /* SPMM_CVSE_SHORT_CUH */
