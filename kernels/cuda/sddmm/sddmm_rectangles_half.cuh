/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_rectangles_half.cuh
 *  The same in 16 bits, on tensor cores.  A warp has batches of 32 entries in 8 rows of X: their
 *  rows of Y are two m16 sides, those of X one n8 side, and of the 8 products of a row of Y that of
 *  the entry's own row is kept.  The lists of a rectangle come to shared memory
 *  with its lines.
 *
 *  A lane reads a word of each half of a line.  Eight lanes, which shared memory serves at a time,
 *  have two rows: the odd one's halves come the other way round, so that they are in different
 *  banks.  Products are of even rows of X with even rows of Y, and of odd ones with odd ones: the
 *  halves are then those of each other.
 */
#ifndef SPMM_SDDMM_RECTANGLES_HALF_CUH
#define SPMM_SDDMM_RECTANGLES_HALF_CUH

#include "cuda/sddmm/sddmm_rectangles.cuh"
#include "cuda/tc/tc_half.cuh"

namespace spmmi
{

constexpr int kHalfWarps   = 16;                           /* that multiply */
constexpr int kHalfThreads = (kHalfWarps + 1) * kWarp;     /* one more fetches */
constexpr int kHeld        = SPMM_SDDMM_HELD / kHalfWarps; /* batches of a warp at a time */
constexpr int kBatchBytes  = SPMM_SDDMM_BATCH * 4;         /* of entries, and of places */
constexpr int kRowBytes    = SPMM_SDDMM_BATCH_ROWS * 2;
constexpr int kListBytes   = SPMM_SDDMM_HELD * (2 * kBatchBytes + kRowBytes);
constexpr int kForHalf     = kForStages - 2 * kListBytes - 32; /* stages */

static_assert(SPMM_SDDMM_BATCH == kWarp && SPMM_SDDMM_BATCH_ROWS == 8, "the sides of an mma");

/** Shared memory behind the stages and their barriers: lists of two rectangles, and barriers. */
struct Lists {
    uint32_t base, full, empty;

    __device__ __forceinline__ explicit Lists(const Room &room)
        : base((room.empty + kStages * 8 + 15) / 16 * 16), full(base + 2 * kListBytes),
          empty(full + 16)
    {
    }

    __device__ __forceinline__ uint32_t entry(int stage, int batch) const
    {
        return base + stage * kListBytes + batch * kBatchBytes;
    }
    __device__ __forceinline__ uint32_t place(int stage, int batch) const
    {
        return entry(stage, SPMM_SDDMM_HELD + batch);
    }
    __device__ __forceinline__ uint32_t row(int stage, int batch) const
    {
        return entry(stage, 2 * SPMM_SDDMM_HELD) + batch * kRowBytes;
    }
};

/* The lists of a rectangle, as one lane asks for them. */
__device__ __forceinline__ void ask_for_lists(const spmm_sddmm_rectangles_t &mask,
                                              const int4 &range, const Lists &lists, Turn &turn)
{
    const int      n     = range.w - range.z;
    const int64_t  first = range.z;
    const uint32_t full  = lists.full + 8 * turn.stage;

    barrier_wait(lists.empty + 8 * turn.stage, turn.parity ^ 1);
    barrier_expect(full, n * (2 * kBatchBytes + kRowBytes));
    copy_bytes(lists.entry(turn.stage, 0), mask.entry + first * SPMM_SDDMM_BATCH, n * kBatchBytes,
               full);
    copy_bytes(lists.place(turn.stage, 0), mask.place + first * SPMM_SDDMM_BATCH, n * kBatchBytes,
               full);
    copy_bytes(lists.row(turn.stage, 0), mask.row + first * SPMM_SDDMM_BATCH_ROWS, n * kRowBytes,
               full);
    turn.next(2);
}

/* A line of the 32 rows of Y and the 8 of X of a batch, for lane 4 g + t. */
template <typename Half>
__device__ __forceinline__ void add_batch(uint32_t entry, uint32_t row, uint32_t x, uint32_t y,
                                          int g, float (&sum)[2][4])
{
    const int      own  = load_shared<int32_t>(row + g / 2 * 4) >> g % 2 * 16 & 0xffff;
    const uint32_t from = x + own * kLine;
    const int4     x0 = load_shared<int4>(from), x1 = load_shared<int4>(from ^ kLine / 2);

#pragma unroll
    for (int m = 0; m < 2; m++) {
        const int      low  = load_shared<int32_t>(entry + (16 * m + g) * 4) & 0xffff;
        const int      high = load_shared<int32_t>(entry + (16 * m + 8 + g) * 4) & 0xffff;
        const uint32_t a = y + low * kLine, b = y + high * kLine;
        const int4     a0 = load_shared<int4>(a), a1 = load_shared<int4>(a ^ kLine / 2);
        const int4     b0 = load_shared<int4>(b), b1 = load_shared<int4>(b ^ kLine / 2);
        const uint32_t side[4][4] = {
            {(uint32_t)a0.x, (uint32_t)b0.x, (uint32_t)a0.y, (uint32_t)b0.y},
            {(uint32_t)a0.z, (uint32_t)b0.z, (uint32_t)a0.w, (uint32_t)b0.w},
            {(uint32_t)a1.x, (uint32_t)b1.x, (uint32_t)a1.y, (uint32_t)b1.y},
            {(uint32_t)a1.z, (uint32_t)b1.z, (uint32_t)a1.w, (uint32_t)b1.w}};

        mma_half_m16n8k16<Half>(sum[m], side[0], x0.x, x0.y);
        mma_half_m16n8k16<Half>(sum[m], side[1], x0.z, x0.w);
        mma_half_m16n8k16<Half>(sum[m], side[2], x1.x, x1.y);
        mma_half_m16n8k16<Half>(sum[m], side[3], x1.z, x1.w);
    }
}

/* Lane l stores the entry of slot l. */
template <typename Out>
__device__ __forceinline__ void store_batch(const spmm_sddmm_args_t &args, uint32_t entry,
                                            uint32_t place, int lane, const float (&sum)[2][4])
{
    const int which = load_shared<int32_t>(entry + lane * 4) >> 16; /* of the rows of X */
    const int to    = load_shared<int32_t>(place + lane * 4);
    const int from = lane % 8 * 4 + which / 2, odd = lane / 4 % 2;
    float     mine = 0.0f;

#pragma unroll
    for (int p = 0; p < 4; p++) {
        const float *const pair = sum[p / 2] + p % 2 * 2;
        const float        got  = __shfl_sync(0xffffffffu, odd ? pair[1] : pair[0], from);

        mine = lane / 8 == p ? got : mine;
    }
    if (to >= 0) {
        store<Out>(args, to, mine);
    }
}

/* The batches of a warp in all rectangles of the thread block. */
template <typename Half, typename Out>
__device__ __forceinline__ void run_batches(const spmm_sddmm_rectangles_t &mask,
                                            const spmm_sddmm_args_t &args, const Layout &layout,
                                            const Room &room, const Lists &lists)
{
    const int      lane = (int)threadIdx.x % kWarp, warp = (int)threadIdx.x / kWarp;
    const int      g    = lane / 4;
    const uint32_t at   = lane % 4 * kWord + g % 2 * (kLine / 2);
    int4           next = range_at(mask, blockIdx.x);
    Turn           turn, list;

    for (int64_t r = blockIdx.x; r < mask.n_rectangles; r += gridDim.x, list.next(2)) {
        const int n                = next.w - next.z - warp; /* batches from the warp's first on */
        float     sum[kHeld][2][4] = {};

        next = range_at(mask, r + gridDim.x);
        barrier_wait(lists.full + 8 * list.stage, list.parity);
        for (int s = 0; s < layout.slices; s++, turn.next(layout.stages)) {
            const uint32_t x = room.stage + turn.stage * layout.bytes() + at;

            barrier_wait(room.full + 8 * turn.stage, turn.parity);
#pragma unroll
            for (int i = 0; i < kHeld; i++) {
                const int b = warp + i * kHalfWarps;

                if (i * kHalfWarps < n) {
                    add_batch<Half>(lists.entry(list.stage, b), lists.row(list.stage, b), x,
                                    x + layout.bytes_x(), g, sum[i]);
                }
            }
            __syncwarp();
            if (lane == 0) {
                barrier_arrive(room.empty + 8 * turn.stage);
            }
        }
#pragma unroll
        for (int i = 0; i < kHeld; i++) {
            const int b = warp + i * kHalfWarps;

            if (i * kHalfWarps < n) {
                store_batch<Out>(args, lists.entry(list.stage, b), lists.place(list.stage, b), lane,
                                 sum[i]);
            }
        }
        __syncwarp();
        if (lane == 0) {
            barrier_arrive(lists.empty + 8 * list.stage);
        }
    }
}

template <typename Half, typename Out>
__global__ void __launch_bounds__(kHalfThreads, 1)
    sddmm_rectangles_half(const __grid_constant__ CUtensorMap             x,
                          const __grid_constant__ CUtensorMap             y,
                          const __grid_constant__ spmm_sddmm_rectangles_t mask,
                          const __grid_constant__ spmm_sddmm_args_t args, const Layout layout)
{
    extern __shared__ unsigned char shared[];
    const Room                      room(shared_address(shared), layout);
    const Lists                     lists(room);
    const bool                      fetches = threadIdx.x == kHalfWarps * kWarp;

    if (fetches) {
        prefetch_map(x);
        prefetch_map(y);
        room.open(layout.stages, kHalfWarps);
        for (int s = 0; s < 2; s++) {
            barrier_init(lists.full + 8 * s, 1);
            barrier_init(lists.empty + 8 * s, kHalfWarps);
        }
        show_to_copies();
    }
    __syncthreads();
    if (threadIdx.x < kHalfWarps * kWarp) {
        run_batches<Half, Out>(mask, args, layout, room, lists);
    } else if (fetches) {
        int4 next = range_at(mask, blockIdx.x);
        Turn turn, list;

        for (int64_t r = blockIdx.x; r < mask.n_rectangles; r += gridDim.x) {
            const int4 range = next;

            next = range_at(mask, r + gridDim.x);
            ask_for_lists(mask, range, lists, list);
            ask<kLine / 2>(x, y, range, layout, room, turn);
        }
    }
}

} // namespace spmmi

#endif /* SPMM_SDDMM_RECTANGLES_HALF_CUH */
