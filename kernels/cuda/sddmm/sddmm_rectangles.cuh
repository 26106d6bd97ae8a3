/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_rectangles.cuh
 *  SDDMM of unstructured masks in FP32 and FP64: the rows of X and Y of a rectangle come to shared
 *  memory, 128 bytes of each at a time, and all entries find them there.
 *
 *  - One warp asks for boxes of both by tensor maps, as stages of a ring get free.
 *  - A lane of the others has a task: up to 8 entries of a row, with all of their sums.  So sums
 *    are not added up over lanes, and the words of X serve 8 entries.  Lane l begins a line with
 *    its word l % 8: eight lanes read from all banks, whatever their rows.  Tasks of most entries
 *    come first, so that the lanes of a warp have about as many.
 *  - Eight lanes exchange their sums in the end, and store those of a task together.
 */
#ifndef SPMM_SDDMM_RECTANGLES_CUH
#define SPMM_SDDMM_RECTANGLES_CUH

#include "cuda/sddmm/sddmm.h"
#include "cuda/tc/tc_bulk.cuh"
#include "cuda/tc/tc_half.cuh"

namespace spmmi
{

constexpr int kMost      = SPMM_SDDMM_TASK;
constexpr int kLine      = SPMM_SDDMM_LINE;
constexpr int kWarps     = SPMM_SDDMM_REACH / kWarp; /* that multiply */
constexpr int kThreads   = (kWarps + 1) * kWarp;     /* one more fetches, by one of its threads */
constexpr int kWord      = 16;                       /* bytes */
constexpr int kWords     = kLine / kWord;
constexpr int kStages    = 4; /* at most */
constexpr int kAlign     = 128;
constexpr int kBars      = 2 * kStages * 8;
constexpr int kShared    = 227 << 10;
constexpr int kForStages = kShared - kAlign - kBars;

static_assert(kMost == 8 && kWords == 8, "eight lanes exchange sums and share the banks");

/** What a launch knows of all rectangles. */
struct Layout {
    int boxes_x, rows_x, boxes_y, rows_y; /**< boxes of a line of X and Y, rows of each */
    int slices, stages;

    __host__ __device__ int bytes_x() const
    {
        return boxes_x * rows_x * kLine;
    }
    __host__ __device__ int bytes() const
    {
        return bytes_x() + boxes_y * rows_y * kLine;
    }
};

/** Shared memory: stages, a line of each row of X and then of Y, and barriers. */
struct Room {
    uint32_t stage, full, empty;

    __device__ __forceinline__ Room(uint32_t shared, const Layout &layout)
        : stage((shared + kAlign - 1) / kAlign * kAlign),
          full(stage + layout.stages * layout.bytes()), empty(full + kStages * 8)
    {
    }

    /* Barriers of stages that so many warps read. */
    __device__ __forceinline__ void open(int stages, int warps) const
    {
        for (int s = 0; s < stages; s++) {
            barrier_init(full + 8 * s, 1);
            barrier_init(empty + 8 * s, warps);
        }
    }
};

__device__ __forceinline__ int4 range_at(const spmm_sddmm_rectangles_t &mask, int64_t r)
{
    return __ldg((const int4 *)mask.range + min(r, (int64_t)mask.n_rectangles - 1));
}

/* The lines of a rectangle, as one lane asks for them. */
template <int kElems>
__device__ __forceinline__ void ask(const CUtensorMap &x, const CUtensorMap &y, const int4 &range,
                                    const Layout &layout, const Room &room, Turn &turn)
{
    for (int s = 0; s < layout.slices; s++, turn.next(layout.stages)) {
        const uint32_t full = room.full + 8 * turn.stage;
        const uint32_t to   = room.stage + turn.stage * layout.bytes();

        barrier_wait(room.empty + 8 * turn.stage, turn.parity ^ 1);
        barrier_expect(full, layout.bytes());
        for (int b = 0; b < layout.boxes_x; b++) {
            copy_box(to + b * layout.rows_x * kLine, x, range.x + b * layout.rows_x, s * kElems,
                     full);
        }
        for (int b = 0; b < layout.boxes_y; b++) {
            copy_box(to + layout.bytes_x() + b * layout.rows_y * kLine, y,
                     range.y + b * layout.rows_y, s * kElems, full);
        }
    }
}

/* What a lane reads of its task; 0 entries: it has none. */
struct Task {
    int  row, count, place;
    int4 col; /* two to a word */
};

__device__ __forceinline__ Task task_at(const spmm_sddmm_rectangles_t &mask, const int4 &range,
                                        bool is)
{
    const int t    = range.z + (int)threadIdx.x;
    Task      task = {0, 0, 0, {0, 0, 0, 0}};

    if (is && t < range.w) {
        const int2 what = __ldg((const int2 *)mask.task + t);

        task.row   = what.x & 0xffff;
        task.count = what.x >> 16;
        task.place = what.y;
        task.col   = __ldg((const int4 *)mask.col + t);
    }
    return task;
}

/** A word of X, and what it adds to sums. */
template <typename T> struct Word {
    T x[kWord / (int)sizeof(T)];

    __device__ __forceinline__ explicit Word(const int4 &word)
    {
        memcpy(x, &word, sizeof x);
    }

    __device__ __forceinline__ void add(T &sum, const Word &y) const
    {
#pragma unroll
        for (int i = 0; i < kWord / (int)sizeof(T); i++) {
            sum = fma(x[i], y.x[i], sum);
        }
    }
};

/* A line of kCount entries.  Addresses are of the lane's word 0 of it, which stand at multiples of
 * a line but for the number of the lane: exclusive or is a step to another word. */
template <typename T, int kCount>
__device__ __forceinline__ void add_line(uint32_t x, uint32_t y, const int4 &col, T (&sum)[kMost])
{
    const int pairs[4] = {col.x, col.y, col.z, col.w};
    uint32_t  row[kCount];

#pragma unroll
    for (int e = 0; e < kCount; e++) {
        row[e] = y + ((uint32_t)pairs[e / 2] >> e % 2 * 16 & 0xffff) * kLine;
    }
#pragma unroll 1
    for (uint32_t word = 0; word < kLine; word += kWord) {
        const Word<T> own(load_shared<int4>(x ^ word));
        int4          read[kCount];

#pragma unroll
        for (int e = 0; e < kCount; e++) {
            read[e] = load_shared<int4>(row[e] ^ word);
        }
#pragma unroll
        for (int e = 0; e < kCount; e++) {
            own.add(sum[e], Word<T>(read[e]));
        }
    }
}

/* The same of as many as the lanes of a warp have at most. */
template <typename T>
__device__ __forceinline__ void add_line(int count, uint32_t x, uint32_t y, const int4 &col,
                                         T (&sum)[kMost])
{
    switch (count) {
    case 0:
        break;
    case 1:
        add_line<T, 1>(x, y, col, sum);
        break;
    case 2:
        add_line<T, 2>(x, y, col, sum);
        break;
    case 3:
        add_line<T, 3>(x, y, col, sum);
        break;
    case 4:
        add_line<T, 4>(x, y, col, sum);
        break;
    case 5:
        add_line<T, 5>(x, y, col, sum);
        break;
    case 6:
        add_line<T, 6>(x, y, col, sum);
        break;
    case 7:
        add_line<T, 7>(x, y, col, sum);
        break;
    default:
        add_line<T, 8>(x, y, col, sum);
        break;
    }
}

/* Lane l of eight gets number l of the sums of each: sum[i] is then of lane i. */
template <typename S> __device__ __forceinline__ void exchange(S (&sum)[kMost], int lane)
{
#pragma unroll
    for (int step = kMost / 2; step > 0; step /= 2) {
        const bool upper = (lane & step) != 0;

#pragma unroll
        for (int e = 0; e < kMost; e++) {
            if ((e & step) == 0) {
                const S give = upper ? sum[e] : sum[e + step];
                const S keep = upper ? sum[e + step] : sum[e];
                const S got  = __shfl_xor_sync(0xffffffffu, give, step);

                sum[e]        = upper ? got : keep;
                sum[e + step] = upper ? keep : got;
            }
        }
    }
}

template <typename Out, typename S>
__device__ __forceinline__ void store(const spmm_sddmm_args_t &args, int64_t place, S sum)
{
    const S    fresh = (S)args.alpha * sum;
    Out *const s     = (Out *)args.S + place;

    *s = Narrow<Out>::from(args.beta == 0.0 ? fresh : fresh + (S)args.beta * widen<S>(*s));
}

template <typename S>
__device__ __forceinline__ void store_sums(const spmm_sddmm_args_t &args, const Task &task,
                                           S (&sum)[kMost], int                       lane)
{
    const int mine = lane % kMost;

    exchange(sum, lane);
#pragma unroll
    for (int i = 0; i < kMost; i++) {
        const int count = __shfl_sync(0xffffffffu, task.count, i, kMost);
        const int place = __shfl_sync(0xffffffffu, task.place, i, kMost);

        if (mine < count) {
            store<S>(args, (int64_t)place + mine, sum[i]);
        }
    }
}

/* The tasks of a warp in all rectangles of the thread block. */
template <typename T>
__device__ __forceinline__ void run_tasks(const spmm_sddmm_rectangles_t &mask,
                                          const spmm_sddmm_args_t &args, const Layout &layout,
                                          const Room &room)
{
    const int      lane   = (int)threadIdx.x % kWarp;
    const uint32_t turned = lane % kWords * kWord;
    int4           range  = range_at(mask, (int64_t)blockIdx.x + gridDim.x);
    Task           next   = task_at(mask, range_at(mask, blockIdx.x), true);
    Turn           turn;

    for (int64_t r = blockIdx.x; r < mask.n_rectangles; r += gridDim.x) {
        const Task now  = next;
        const int  most = __shfl_sync(0xffffffffu, now.count, 0);

        T sum[kMost] = {};

        next  = task_at(mask, range, r + gridDim.x < mask.n_rectangles);
        range = range_at(mask, r + 2 * (int64_t)gridDim.x);
        for (int s = 0; s < layout.slices; s++, turn.next(layout.stages)) {
            const uint32_t x = room.stage + turn.stage * layout.bytes() + turned;

            barrier_wait(room.full + 8 * turn.stage, turn.parity);
            add_line<T>(most, x + now.row * kLine, x + layout.bytes_x(), now.col, sum);
            __syncwarp();
            if (lane == 0) {
                barrier_arrive(room.empty + 8 * turn.stage);
            }
        }
        if (most > 0) {
            store_sums(args, now, sum, lane);
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, 1)
    sddmm_rectangles(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                     const __grid_constant__ spmm_sddmm_rectangles_t mask,
                     const __grid_constant__ spmm_sddmm_args_t args, const Layout layout)
{
    extern __shared__ unsigned char shared[];
    const Room                      room(shared_address(shared), layout);
    const bool                      fetches = threadIdx.x == kWarps * kWarp;

    if (fetches) {
        prefetch_map(x);
        prefetch_map(y);
        room.open(layout.stages, kWarps);
        show_to_copies();
    }
    __syncthreads();
    if (threadIdx.x < kWarps * kWarp) {
        run_tasks<T>(mask, args, layout, room);
    } else if (fetches) {
        int4 next = range_at(mask, blockIdx.x);
        Turn turn;

        for (int64_t r = blockIdx.x; r < mask.n_rectangles; r += gridDim.x) {
            const int4 range = next;

            next = range_at(mask, r + gridDim.x);
            ask<kLine / (int)sizeof(T)>(x, y, range, layout, room, turn);
        }
    }
}

} // namespace spmmi

#endif /* SPMM_SDDMM_RECTANGLES_CUH */
