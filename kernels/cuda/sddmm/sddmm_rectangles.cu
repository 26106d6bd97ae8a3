/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_rectangles.cu
 *  Kernels and launchers of rectangles, and what runs for rows that tensor maps do not take:
 *  kernels that read element by element.
 */
#include "cuda/sddmm/sddmm.h"
#include "cuda/windows/tc_bulk.cuh"
#include "cuda/windows/tc_half.cuh"

namespace spmmi
{

/* SDDMM of unstructured masks in FP32 and FP64: the rows of X and Y of a rectangle come to shared
 * memory, 128 bytes of each at a time, and all entries find them there.
 *
 * - One warp asks for boxes of both by tensor maps, as stages of a ring get free.
 * - A lane of the others has a task: up to 8 entries of a row, with all of their sums.  So sums
 * are not added up over lanes, and the words of X serve 8 entries.  Lane l begins a line with
 * its word l % 8: eight lanes read from all banks, whatever their rows.  Tasks of most entries
 * come first, so that the lanes of a warp have about as many.
 * - Eight lanes exchange their sums in the end, and store those of a task together. */

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

/* The same in 16 bits, on tensor cores.  A warp has batches of 32 entries in 8 rows of X: their
 * rows of Y are two m16 sides, those of X one n8 side, and of the 8 products of a row of Y that of
 * the entry's own row is kept.  The lists of a rectangle come to shared memory
 * with its lines.
 *
 * A lane reads a word of each half of a line.  Eight lanes, which shared memory serves at a time,
 * have two rows: the odd one's halves come the other way round, so that they are in different
 * banks.  Products are of even rows of X with even rows of Y, and of odd ones with odd ones: the
 * halves are then those of each other. */

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

namespace
{

constexpr int kPlain = 256; /* threads of a block that has a rectangle */

/* Row @p i and column @p j of the mask. */
template <typename T, typename Out, typename S>
__device__ __forceinline__ void put(const spmm_sddmm_rectangles_t &mask,
                                    const spmm_sddmm_args_t &args, int i, int j, int64_t place)
{
    const T *const x =
        (const T *)args.X + (mask.row_map == NULL ? i : __ldg(mask.row_map + i)) * args.ldx;
    const T *const y   = (const T *)args.Y + j * args.ldy;
    S              sum = 0;

    for (int64_t k = 0; k < args.k; k++) {
        sum = fma(widen<S>(x[k]), widen<S>(y[k]), sum);
    }
    store<Out>(args, place, sum);
}

template <typename T>
__global__ void __launch_bounds__(kPlain)
    plain_tasks(spmm_sddmm_rectangles_t mask, spmm_sddmm_args_t args)
{
    const int4 range = range_at(mask, blockIdx.x);

    for (int64_t t = range.z + (int)threadIdx.x; t < range.w; t += kPlain) {
        const int what = __ldg(mask.task + 2 * t), place = __ldg(mask.task + 2 * t + 1);

        for (int e = 0; e < what >> 16; e++) {
            put<T, T, T>(mask, args, range.x + (what & 0xffff),
                         range.y + __ldg(mask.col + t * kMost + e), (int64_t)place + e);
        }
    }
}

template <typename Half, typename Out>
__global__ void __launch_bounds__(kPlain)
    plain_batches(spmm_sddmm_rectangles_t mask, spmm_sddmm_args_t args)
{
    constexpr int64_t kSize = SPMM_SDDMM_BATCH;
    const int4        range = range_at(mask, blockIdx.x);

    for (int64_t at = range.z * kSize + threadIdx.x; at < range.w * kSize; at += kPlain) {
        const int entry = __ldg(mask.entry + at), place = __ldg(mask.place + at);

        if (place >= 0) {
            const int row = __ldg(mask.row + at / kSize * SPMM_SDDMM_BATCH_ROWS + (entry >> 16));

            put<Half, Out, float>(mask, args, range.x + row, range.y + (entry & 0xffff), place);
        }
    }
}

using Kernel = void (*)(CUtensorMap, CUtensorMap, spmm_sddmm_rectangles_t, spmm_sddmm_args_t,
                        Layout);

/* Boxes that cover so many rows. */
int boxes_of(int rows)
{
    return (rows + SPMM_SDDMM_BOX - 1) / SPMM_SDDMM_BOX;
}

Layout layout_of(const spmm_sddmm_rectangles_t &mask, int64_t k, int elems, int room)
{
    Layout layout;

    layout.boxes_x = boxes_of(mask.rows);
    layout.boxes_y = boxes_of(mask.cols);
    layout.rows_x  = (int)ceil_div(mask.rows, layout.boxes_x);
    layout.rows_y  = (int)ceil_div(mask.cols, layout.boxes_y);
    layout.slices  = (int)ceil_div(k, elems);
    layout.stages  = (int)least(room / layout.bytes(), kStages);
    return layout;
}

bool is_wide(const spmm_sddmm_rectangles_t &mask, const spmm_sddmm_args_t &args, int64_t size,
             Kernel kernel)
{
    bool waits = false;

    return spmmi_sddmm_holds_rectangles(args.cc) && mask.row_map == NULL && fits(args.X, 16) &&
           fits(args.Y, 16) && fits(args.ldx * size, 16) && fits(args.ldy * size, 16) &&
           args.k <= INT32_MAX - kLine &&
           waits_itself((const void *)kernel, &waits) == cudaSuccess && waits;
}

/* @p room: bytes for stages; @p plain: for other rows. */
cudaError_t run(const spmm_sddmm_rectangles_t &mask, const spmm_sddmm_args_t &args,
                cudaStream_t stream, int size, Kernel kernel, int threads, int room,
                void (*plain)(spmm_sddmm_rectangles_t, spmm_sddmm_args_t))
{
    const int   elems = kLine / size;
    CUtensorMap x, y;

    if (mask.n_rectangles == 0) {
        return cudaSuccess;
    }
    if (is_wide(mask, args, size, kernel)) {
        const Layout layout = layout_of(mask, args.k, elems, room);

        if (make_map(args.X, size, mask.n_rows, args.k, args.ldx, layout.rows_x, elems,
                     Words::kStraight, &x) &&
            make_map(args.Y, size, mask.n_cols, args.k, args.ldy, layout.rows_y, elems,
                     Words::kStraight, &y)) {
            return launch_with(kShared, kernel, dim3((unsigned)least(mask.n_rectangles, args.n_sm)),
                               dim3((unsigned)threads), stream, x, y, mask, args, layout);
        }
        *args.no_map = true;
    }
    return launch(plain, dim3((unsigned)mask.n_rectangles), dim3(kPlain), stream, mask, args);
}

template <typename T>
cudaError_t run(const spmm_sddmm_rectangles_t &mask, const spmm_sddmm_args_t &args,
                cudaStream_t stream)
{
    return run(mask, args, stream, sizeof(T), sddmm_rectangles<T>, kThreads, kForStages,
               plain_tasks<T>);
}

template <class Main, class Plain> cudaError_t load(Main *kernel, Plain *plain)
{
    const cudaError_t code = preload(kernel, plain);

    return code == cudaSuccess ? allow_shared(kernel) : code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_rectangles_preload(void)
{
    using namespace spmmi;
    cudaError_t code = load(sddmm_rectangles<double>, plain_tasks<double>);

    (void)tensor_map_encoder();
    code = code == cudaSuccess ? load(sddmm_rectangles<float>, plain_tasks<float>) : code;
    return code != cudaSuccess ? code : for_all_half_types([](auto types) {
        using Types = decltype(types);

        return load(sddmm_rectangles_half<typename Types::Half, typename Types::Out>,
                    plain_batches<typename Types::Half, typename Types::Out>);
    });
}

extern "C" cudaError_t spmmi_cuda_sddmm_rectangles(const spmm_sddmm_rectangles_t *mask,
                                                   const spmm_sddmm_args_t       *args,
                                                   cudaStream_t                   stream)
{
    using namespace spmmi;
    if (args->type == SPMM_R_32F && args->s_type == SPMM_R_32F) {
        return run<float>(*mask, *args, stream);
    }
    if (args->type == SPMM_R_64F && args->s_type == SPMM_R_64F) {
        return run<double>(*mask, *args, stream);
    }
    return for_half_types(args->type, args->s_type, [&](auto types) {
        using Half = typename decltype(types)::Half;
        using Out  = typename decltype(types)::Out;

        return run(*mask, *args, stream, sizeof(Half), sddmm_rectangles_half<Half, Out>,
                   kHalfThreads, kForHalf, plain_batches<Half, Out>);
    });
}
