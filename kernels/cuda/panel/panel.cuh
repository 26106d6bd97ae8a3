/* SPDX-License-Identifier: Apache-2.0 */
/** @file panel.cuh
 *  C = alpha * A * B + beta * C, A in panels, on tensor cores.
 *
 *  A thread block takes a panel times kWidth columns of B.  The rows of B that its windows use
 *  stream through a ring in shared memory, 16 in a step, each once.  Four warps copy them, each
 *  every fourth step; each of the others multiplies one window, whose tiles it reads straight from
 *  memory, a tile or two ahead.  The first four leave registers to the others.
 *
 *  Two barriers of a stage keep the warps together, no more than that.
 *  - `full`: each thread of the warp that copies a step arrives when its copies are there, and each
 *    thread that multiplies waits for the phase itself, so that it sees all copies of the step.
 *  - `empty`: each thread that multiplies arrives once it is past a step, each that copies into the
 *    stage again waits for the phase itself.  One thread of a warp behind a __syncwarp() would do,
 *    but racecheck does not follow that.
 *  A tile reaches over two steps back at most, so a warp is past a step two steps later, and may be
 *  as many steps ahead of another warp as the ring has more.  Barriers tell a phase from the next,
 *  not from the one after: a warp that multiplies waits for all steps in their order, and one that
 *  copies step s has waited for the release of step s - 4 - stages, which all warps release after
 *  s - 2 stages; so no one is two phases behind.
 *
 *  Rows of B have their 32 bytes turned by two bits of the slot; the format gives the rows that a
 *  warp reads at a time slots of different kinds.
 */
#ifndef SPMM_PANEL_CUH
#define SPMM_PANEL_CUH

#include "cuda/panel/panel_sums.cuh"

namespace spmmi
{

/** A stage of the ring, and the parity of its barriers in this turn. */
template <int kStages> struct PanelTurn {
    uint32_t stage = 0, parity = 0;

    __device__ __forceinline__ void step(uint32_t steps = 1)
    {
        stage += steps;
        if (stage >= kStages) {
            stage -= kStages;
            parity ^= 1;
        }
    }
};

/** Arrive when all that this thread copies so far by cp.async is there. */
__device__ __forceinline__ void barrier_arrive_copied(uint32_t barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

/** A warp that copies rows of B, all of every fourth step.  Columns come three of its steps ahead,
 *  so that no copy waits for them. */
template <class Shape, bool kWide> struct PanelRows {
    using Stride = std::conditional_t<kWide, uint32_t, uint64_t>;

    const int32_t *col;    /* the lane's column of step 0 */
    const char    *B;      /* at the lane's columns */
    Stride         stride; /* bytes of a row */
    int            valid;  /* of the lane's four columns */
    int            row;    /* of a step, the lane's first one */
    uint32_t       to;     /* shared address of it in stage 0 */

    __device__ __forceinline__ PanelRows(const spmm_tc_mm_args_t &args, const int32_t *list,
                                         uint32_t ring, int64_t j0)
    {
        const int     lane = (int)threadIdx.x % kWarp, word = lane % Shape::kLanes;
        const int64_t left = args.x.n - j0 - 4 * word;

        row    = lane / Shape::kLanes;
        col    = list + lane % Shape::kStep;
        B      = (const char *)args.x.B + (j0 + 4 * word) * 4;
        stride = (Stride)args.x.ldb * 4;
        valid  = left <= 0 ? 0 : left < 4 ? (int)left : 4;
        to     = ring + row * Shape::kRow + ((word ^ row % 4 * 2) * 16);
        keep(B);
    }

    __device__ __forceinline__ int32_t column(int step, int steps) const
    {
        return step < steps ? __ldg(col + step * Shape::kStep) : SPMM_TC_NO_COLUMN;
    }

    /* Where row k * kAtOnce of the lane lies: its kind is another one, in turn, where less than
     * four rows are copied at once. */
    static __device__ __forceinline__ uint32_t place(uint32_t at, int k)
    {
        return (at ^ (uint32_t)(k * Shape::kAtOnce % 4 * 32)) + k * Shape::kAtOnce * Shape::kRow;
    }

    /* What lies behind the last column stays as it is. */
    __device__ __forceinline__ void copy(uint32_t stage, int32_t columns) const
    {
        const uint32_t at = to + stage * Shape::kStage;

#pragma unroll
        for (int k = 0; k < Shape::kCopies; k++) {
            const int32_t     c    = __shfl_sync(0xffffffffu, columns, k * Shape::kAtOnce + row);
            const char *const from = B + (uint64_t)(uint32_t)c * stride;

            if constexpr (kWide) {
                if (c >= 0 && valid > 0) {
                    cp_async_at<16>(place(at, k), from);
                }
            } else if (c >= 0) {
                for (int e = 0; e < valid; e++) {
                    cp_async_at<4>(place(at, k) + 4 * e, from + 4 * e);
                }
            }
        }
    }

    __device__ __forceinline__ void copy_all(int steps, int first, uint32_t full, uint32_t empty)
    {
        constexpr int             kEach = Shape::kCopiers;
        PanelTurn<Shape::kStages> into;
        int32_t                   next[3];

#pragma unroll
        for (int k = 0; k < 3; k++) {
            next[k] = column(first + k * kEach, steps);
        }
        into.step(first);
#pragma unroll 1
        for (int s = first; s < steps; s += kEach) {
            barrier_wait(empty + into.stage * 8, (int)into.parity ^ 1);
            copy(into.stage, next[0]);
            barrier_arrive_copied(full + into.stage * 8);
            next[0] = next[1];
            next[1] = next[2];
            next[2] = column(s + 3 * kEach, steps);
            into.step(kEach);
        }
        cp_async_commit();
        cp_async_wait<0>();
    }
};

/** 16 bytes of a format, which nobody writes meanwhile; more of it will follow. */
__device__ __forceinline__ uint4 load_format(const unsigned char *from)
{
    uint4 x;

    asm volatile("ld.global.nc.L2::256B.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(from));
    return x;
}

/** A value of a format, zero where @p bit, as the sign of a number, is not set. */
__device__ __forceinline__ float load_format_if(uint32_t bit, const unsigned char *from)
{
    float x;

    asm volatile("{.reg .pred p; setp.lt.s32 p, %1, 0; mov.f32 %0, 0f00000000; "
                 "@p ld.global.nc.f32 %0, [%2];}"
                 : "=f"(x)
                 : "r"(bit), "l"(from));
    return x;
}

/** The tiles of a warp.  Values of a tile are asked for a tile ahead, its header two. */
struct PanelTiles {
    static constexpr uint32_t kNone = 0x7fffffff;

    const unsigned char *next; /* the tile whose header is `bits` and `head` */
    uint32_t             left; /* bytes from there to the end */
    uint4                bits;
    PanelHeader          head;

    /* The tile to multiply. */
    float    a[4];
    uint32_t places[2], step;

    __device__ __forceinline__ void read_header()
    {
        if (left > 0) {
            const uint4 rest = load_format(next + SPMM_PANEL_PLACES);

            bits = load_format(next);
            head = {{rest.x, rest.y}, rest.z, rest.w};
        }
    }

    /* The lane's value of word @p number of the bits. */
    __device__ __forceinline__ float value(uint32_t word, int number, const PanelLane &lane) const
    {
        const uint32_t x     = lane.sign(word);
        const uint32_t count = __byte_perm(head.counts, 0, 0x4440 + number) + __popc(x);

        return load_format_if(x, next + SPMM_PANEL_VALUES - 4 + 4 * count);
    }

    /* Ask for the values of the next tile, and for the header of the one behind it. */
    __device__ __forceinline__ void advance(const PanelLane &lane)
    {
        if (left == 0) {
            step = kNone;
            return;
        }
        places[0] = head.places[0];
        places[1] = head.places[1];
        step      = head.step();
        a[0]      = value(bits.x, 0, lane);
        a[1]      = value(bits.y, 1, lane);
        a[2]      = value(bits.z, 2, lane);
        a[3]      = value(bits.w, 3, lane);
        left -= head.bytes();
        next += head.bytes();
        read_header();
    }

    __device__ __forceinline__ PanelTiles(const unsigned char *first, uint32_t bytes,
                                          const PanelLane &lane)
        : next(first), left(bytes)
    {
        keep(next);
        read_header();
        advance(lane);
    }
};

/** Products of all steps of a part. */
template <class Shape, bool kSplit>
__device__ __forceinline__ void consume(int n, PanelTiles &tiles, PanelSums<Shape, kSplit> &sums,
                                        const PanelLane &lane, uint32_t ring, uint32_t full,
                                        uint32_t empty)
{
    constexpr int      kStages = Shape::kStages;
    const int          steps   = same_in_warp(n);
    PanelTurn<kStages> now;
    uint32_t           past = kStages - Shape::kSpan; /* stage of the step that many steps back */

#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        barrier_wait(full + now.stage * 8, (int)now.parity);
        while (tiles.step == (uint32_t)s) {
            const PanelTile<kSplit> tile(tiles.a, tiles.places);

            tiles.advance(lane);
            sums.multiply(tile, ring, past * Shape::kStage, lane);
        }
        if (s >= Shape::kSpan) {
            barrier_arrive(empty + past * 8);
        }
        past = past + 1 == kStages ? 0 : past + 1;
        now.step();
    }
}

/** What lies behind the last column would keep what shared memory held before, perhaps NaN. */
template <class Shape> __device__ __forceinline__ void clear_ring(uint32_t ring)
{
#pragma unroll 1
    for (int k = (int)threadIdx.x * 16; k < Shape::kRing; k += Shape::kThreads * 16) {
        clear_shared(ring + k);
    }
}

/** Panel @p panel times the columns from @p j0 on. */
template <class Shape, bool kSplit, bool kWide>
__device__ __forceinline__ void multiply_panel(const Panel &format, const spmm_tc_mm_args_t &args,
                                               bool wide_c, uint32_t ring, int32_t panel,
                                               int64_t j0)
{
    const uint32_t full = ring + Shape::kRing, empty = full + Shape::kStages * 8;
    const int      warp = (int)threadIdx.x / kWarp;

    if (j0 >= args.x.n) {
        return;
    }
    if (threadIdx.x < Shape::kStages) {
        barrier_init(full + threadIdx.x * 8, kWarp);
        barrier_init(empty + threadIdx.x * 8, Shape::kWindows * kWarp);
    }
    const int32_t step  = format.panel_step[panel];
    const int     steps = format.panel_step[panel + 1] - step;

    if (args.x.n - j0 < Shape::kWidth) {
        clear_ring<Shape>(ring);
    }
    __syncthreads();
    if (warp >= Shape::kWindows) {
        keep_registers<Shape::kFew>();
        PanelRows<Shape, kWide>(args, format.col + (int64_t)step * Shape::kStep, ring, j0)
            .copy_all(steps, warp - Shape::kWindows, full, empty);
        let_next_begin();
        return;
    }
    take_registers<Shape::kMany>();
    const int32_t            window = panel * Shape::kWindows + warp;
    const bool               mine   = window < format.n_windows;
    const int64_t            start  = format.window_start[mine ? window : 0];
    const int64_t            end    = mine ? format.window_start[window + 1] : start;
    const int                bit    = (int)threadIdx.x % kWarp;
    const PanelLane          lane(bit % 4, bit / 4, bit);
    PanelTiles               tiles(format.packed + start * SPMM_PANEL_UNIT,
                                   (uint32_t)(end - start) * SPMM_PANEL_UNIT, lane);
    PanelSums<Shape, kSplit> sums;

    sums.clear();
    consume(steps, tiles, sums, lane, ring, full, empty);
    let_next_begin();
    if (!mine) {
        return;
    }
    const int64_t left  = args.x.n - j0;
    const int     width = left < Shape::kWidth ? (int)left : Shape::kWidth;

    if (!sums.is_finite()) {
        repair_tile(format, args, window, j0, width);
        return;
    }
    if (wide_c) {
        sums.template store<true>(format, args, (int64_t)window * Panel::kHeight, j0, width);
    } else {
        sums.template store<false>(format, args, (int64_t)window * Panel::kHeight, j0, width);
    }
}

/** Which of the two kernels of a product. */
enum { kPanelAlone, kPanelFirst, kPanelSecond };

/** Slice by slice of 128 columns, panel by panel: from number @p first on, each by @p cuts blocks
 *  of Shape::kWidth columns.  The second kernel of a product does not wait for the first, which has
 *  waited for all before it, but ends after it. */
template <class Shape, bool kSplit, bool kWide>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    panel_mm(const __grid_constant__ Panel format, const __grid_constant__ spmm_tc_mm_args_t args,
             bool wide_c, unsigned first, unsigned cuts, int which)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned number = first + blockIdx.x / cuts, panels = (unsigned)format.n_panels;
    uint32_t       ring = shared_address(shared);

    asm volatile("" : "+r"(ring)); /* not to be asked for at each step */
    if (which != kPanelSecond) {
        wait_for_earlier();
    }
    if (which == kPanelFirst) {
        let_next_begin();
    }
    multiply_panel<Shape, kSplit, kWide>(format, args, wide_c, ring, (int32_t)(number % panels),
                                         (int64_t)(number / panels) * 128 +
                                             (int64_t)(blockIdx.x % cuts) * Shape::kWidth);
    if (which == kPanelSecond) {
        wait_for_earlier();
    }
}

} // namespace spmmi

#endif /* SPMM_PANEL_CUH */
