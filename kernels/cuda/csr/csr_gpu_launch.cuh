/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_launch.cuh
 *  The CSR kernel, and which of its instances runs a product.  The .cu files instantiate this for
 *  their types, so that they compile side by side.
 */
#ifndef SPMM_CSR_GPU_LAUNCH_CUH
#define SPMM_CSR_GPU_LAUNCH_CUH

#include <algorithm>

#include "cuda/csr/csr_gpu.cuh"
#include "cuda/csr/csr_gpu_pack.cuh"
#include "cuda/csr/csr_gpu_wait.cuh"

namespace spmmi
{

/* CSR times dense where what a row of C becomes may depend on the entries of this row alone: a
 * group of lanes takes a whole row and adds its entries in their order.  Rows of more than twice
 * SPMM_CSR_CHAIN entries are several work items, whose sums a second kernel adds.  Lanes share out
 * columns, never entries, so that n, alignment and the width of accesses do not show in the bits;
 * every product is part of an fma. */

/** One group of a thread block, for one slice of columns. */
template <typename T, typename C, int kLanes, int kVector, int kLoads>
struct CsrRows : CsrGroup<T, C, kLanes, kVector, kLoads, 4, CsrStore::kRows> {
    using Group = CsrGroup<T, C, kLanes, kVector, kLoads, 4, CsrStore::kRows>;
    using Sum   = typename Group::Sum;
    using Group::A, Group::dense, Group::id, Group::lane;
    using Group::Group;

    /** The work item of this group. */
    __device__ __forceinline__ void run()
    {
        const unsigned       at    = blockIdx.x * Group::kGroups + (unsigned)id;
        const bool           any   = at < (unsigned)A.n_items;
        const int2           words = any ? __ldg((const int2 *)(A.item + at)) : int2{};
        uint32_t             entry = (uint32_t)words.x;
        int                  left = words.y, most = left;
        typename Group::Tile tile = this->load_tile(entry, left);

        for (int step = kLanes; step < kWarp; step *= 2) { /* lanes of a warp stay together */
            most = max(most, __shfl_xor_sync(kAllLanes, most, step));
        }
        for (; most > 0; most -= kLanes, entry += kLanes, left -= kLanes) {
            const auto next = this->load_tile(entry + kLanes, left - kLanes);

#pragma unroll 1
            for (int from = 0; from < kLanes && from < most; from += 4) {
                this->batch(tile, from, left - from, 0);
            }
            tile = next;
        }
        if (at < (unsigned)A.n_partial) {
            this->put_partial((Sum *)A.partial + (int64_t)at * dense.n);
        } else if (any) {
            this->store(__ldg(A.row + ((uint32_t)words.x + (unsigned)words.y - 1)) & INT32_MAX);
        }
    }

    /** Split row number @p at, from the sums of its work items. */
    __device__ __forceinline__ void add_up(int at)
    {
        const spmm_csr_split_t split = A.split[at];

        if (id < SPMM_CSR_CHAINS) {
            this->add_partial((const Sum *)A.partial + (int64_t)split.item * dense.n, split.n_items,
                              SPMM_CSR_CHAINS);
        }
        this->leave_sums();
        __syncthreads();
        if (id == 0) {
            for (int g = 1; g < min(SPMM_CSR_CHAINS, split.n_items); g++) {
                this->take_sums(g * kLanes + lane);
            }
            this->store(split.row);
        }
    }
};

template <typename T, typename C, int kLanes, int kVector, int kLoads, int kBlocks>
__global__ void __launch_bounds__(kCsrBlock, resident_blocks(kCsrBlock, kBlocks))
    csr_mm_rows(const __grid_constant__ spmm_csr_items_t A,
                const __grid_constant__ CsrDense<typename CsrSum<T>::type> dense)
{
    using Rows = CsrRows<T, C, kLanes, kVector, kLoads>;
    __shared__ typename Rows::Shared shared;
    const int                        slice = dense.first + (int)blockIdx.y * Rows::kWidth;

    follow(dense);
    Rows(A, dense, shared, slice).run();
    if (dense.share > 0) {
        const int64_t from = (int64_t)blockIdx.x * dense.share;

        Rows(A, dense, shared, slice).run_empty(from, least(from + dense.share, A.n_empty));
    }
}

/** Split rows, one for each thread block along x. */
template <typename T, typename C, int kVector>
__global__ void __launch_bounds__(kCsrBlock)
    csr_mm_splits(const __grid_constant__ spmm_csr_items_t A,
                  const __grid_constant__ CsrDense<typename CsrSum<T>::type> dense)
{
    using Rows = CsrRows<T, C, kCsrBlock / SPMM_CSR_CHAINS, kVector, 1>;
    __shared__ typename Rows::Shared shared;

    follow(dense);
    Rows(A, dense, shared, dense.first + (int)blockIdx.y * Rows::kWidth).add_up((int)blockIdx.x);
}

/* CSR times a single column.  A thread block takes the same work item as in csr_gpu.cuh, kTile
 * entries at a time: its threads multiply neighbouring entries, then each adds up kItems
 * consecutive products, and a segmented scan over the block brings a thread what the threads in
 * front of it have of the row that it ends.  All sums have a fixed order. */

/** @tparam C  type of the column of C */
template <typename T, typename C> struct CsrVector {
    using Sum                   = typename CsrSum<T>::type;
    static constexpr int kItems = 5; /* odd: a thread's products lie in all banks in turn */
    static constexpr int kTile  = kCsrBlock * kItems;
    static constexpr int kWarps = kCsrBlock / kWarp;

    struct Shared {
        Sum     product[kTile];
        int32_t row[kTile];
        Sum     warp_sum[kWarps];   /* of the row that a warp leaves open */
        bool    warp_ended[kWarps]; /* a row ended in the warp */
        Sum     open;               /* of the row that the tiles so far leave open */
        bool    last;
    };

    const spmm_csr_items_t &A;
    const CsrDense<Sum>    &dense;
    Shared                 &shared;
    const int               thread = (int)threadIdx.x;

    __device__ __forceinline__ CsrVector(const spmm_csr_items_t &format, const CsrDense<Sum> &other,
                                         Shared &mine)
        : A(format), dense(other), shared(mine)
    {
    }

    __device__ __forceinline__ void store(int32_t row, Sum sum) const
    {
        C *const c = (C *)dense.C + (dense.c_columns ? row : row * dense.ldc);

        sum *= dense.alpha;
        *c = Narrow<C>::from(dense.has_beta ? sum + dense.beta * widen<Sum>(*c) : sum);
    }

    /* Products of the next entries, of which there are @p left, in the order of entries. */
    __device__ __forceinline__ void multiply(uint32_t entry, int left)
    {
        int32_t col[kItems];
        Sum     value[kItems];

#pragma unroll
        for (int i = 0; i < kItems; i++) {
            const int at = i * kCsrBlock + thread;

            col[i] = at < left ? __ldcs(A.col + (entry + at)) : 0; /* row 0 of B is there */
            value[i] =
                at < left ? widen<Sum>(fetch_once((const T *)A.values + (entry + at))) : Sum{};
            shared.row[at] = at < left ? __ldcs(A.row + (entry + at)) : 0;
        }
#pragma unroll
        for (int i = 0; i < kItems; i++) {
            const int at = i * kCsrBlock + thread;
            const Sum b =
                widen<Sum>(fetch<Pack<T, 1>>((const T *)dense.B + col[i] * dense.ldb).at[0]);

            shared.product[at] = at < left ? value[i] * b : Sum{};
        }
    }

    /* Add up the sums of the threads in front of this one since a row last ended there.  Whole
     * blocks take part.
     * @param[in] sum    what the thread leaves open
     * @param[in] ended  a row ended in the thread */
    __device__ __forceinline__ Sum before(Sum sum, bool ended)
    {
        const int lane = thread % kWarp, warp = thread / kWarp;
        Sum       front;

#pragma unroll
        for (int step = 1; step < kWarp; step *= 2) {
            const Sum  other = shift_up(sum, step);
            const bool stops = __shfl_up_sync(kAllLanes, (int)ended, step) != 0;

            if (lane >= step) {
                sum   = ended ? sum : other + sum;
                ended = ended || stops;
            }
        }
        if (lane == kWarp - 1) {
            shared.warp_sum[warp]   = sum;
            shared.warp_ended[warp] = ended;
        }
        front                = shift_up(sum, 1);
        const bool own_front = __shfl_up_sync(kAllLanes, (int)ended, 1) != 0 && lane > 0;

        __syncthreads();
        Sum carry = shared.open;

        for (int w = 0; w < warp; w++) {
            carry = shared.warp_ended[w] ? shared.warp_sum[w] : carry + shared.warp_sum[w];
        }
        front = lane == 0 ? Sum{} : front;
        return own_front ? front : carry + front;
    }

    /* Rows that end among the products; shared.open is then of the row that none of them ends. */
    __device__ __forceinline__ void add_up()
    {
        Sum     sum = {}, head = {};
        int32_t first = 0; /* row that ends first: negative where one does */

#pragma unroll
        for (int i = 0; i < kItems; i++) {
            const int32_t row = shared.row[thread * kItems + i];

            sum += shared.product[thread * kItems + i];
            if (row < 0) {
                if (first < 0) {
                    store(row & INT32_MAX, sum);
                } else {
                    first = row;
                    head  = sum;
                }
                sum = {};
            }
        }
        const Sum front = before(sum, first < 0);

        if (first < 0) {
            store(first & INT32_MAX, front + head);
        }
        __syncthreads(); /* shared.open has been read */
        if (thread == kCsrBlock - 1) {
            shared.open = first < 0 ? sum : front + sum;
        }
        __syncthreads();
    }

    /* The sums of a split row so far; the last thread block of its row to arrive adds them up. */
    __device__ __forceinline__ void combine()
    {
        const int32_t          at      = A.item[blockIdx.x].split;
        const spmm_csr_split_t split   = A.split[at];
        Sum *const             partial = (Sum *)A.partial;
        using Word                     = typename CsrWord<Sum>::type;

        if (thread == 0) {
            __stcg((Word *)partial + blockIdx.x, *(const Word *)&shared.open);
            __threadfence();
            shared.last = atomicInc(A.arrived + (int64_t)at * A.n_slices,
                                    (unsigned)split.n_items - 1) == (unsigned)split.n_items - 1;
            __threadfence();
        }
        __syncthreads();
        if (shared.last && thread < kWarp) {
            Sum sum = {};

            for (int p = thread; p < split.n_items; p += kWarp) {
                sum += load_pack<Pack<Sum, 1>>(partial + split.item + p).at[0];
            }
#pragma unroll
            for (int step = kWarp / 2; step > 0; step /= 2) {
                sum += shift_down(sum, step);
            }
            if (thread == 0) {
                store(split.row, sum);
            }
        }
    }

    __device__ __forceinline__ void run(uint32_t entry, int n)
    {
        if (thread == 0) {
            shared.open = {};
        }
        for (int at = 0; at < n; at += kTile) {
            multiply(entry + (unsigned)at, n - at);
            __syncthreads();
            add_up();
        }
        if (blockIdx.x < (unsigned)A.n_partial) {
            combine();
        }
    }

    /** Rows without entries: [from, to) of the list. */
    __device__ __forceinline__ void run_empty(int64_t from, int64_t to) const
    {
        for (int64_t i = from + thread; i < to; i += kCsrBlock) {
            store(__ldcs(A.empty + i), Sum{});
        }
    }
};

/** @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <typename T, typename C, int kLanes, int kVector, int kLoads, int kUnroll, int kBlocks,
          CsrStore kStore, bool kEdge = false>
__global__ void __launch_bounds__(kCsrBlock, resident_blocks(kCsrBlock, kBlocks))
    csr_mm(const __grid_constant__ spmm_csr_items_t A,
           const __grid_constant__ CsrDense<typename CsrSum<T>::type> dense)
{
    using Group = CsrGroup<T, C, kLanes, kVector, kLoads, kUnroll, kStore, kEdge>;
    __shared__ typename Group::Shared shared;
    const int                         slice = dense.first + (int)blockIdx.y * Group::kWidth;

    if constexpr (kStore == CsrStore::kRows) {
        follow(dense);
    } else {
        let_next_begin();
    }
    if (blockIdx.x < (unsigned)A.n_items) {
        if constexpr (kStore == CsrStore::kTiles) {
            run_tile<C>(Group(A, dense, shared, slice), slice);
            return;
        }
        Group(A, dense, shared, slice).run(CsrPart::of(A));
    }
    if (kStore != CsrStore::kTiles && dense.share > 0) {
        const int64_t from = (int64_t)blockIdx.x * dense.share;

        if constexpr (kStore == CsrStore::kColumns) {
            follow_turn(dense);
        }
        Group(A, dense, shared, slice).run_empty(from, least(from + dense.share, A.n_empty));
    }
}

/** The product with one column. */
template <typename T, typename C>
__global__ void __launch_bounds__(kCsrBlock, resident_blocks(kCsrBlock, 8))
    csr_mv(const __grid_constant__ spmm_csr_items_t A,
           const __grid_constant__ CsrDense<typename CsrSum<T>::type> dense)
{
    using Vector = CsrVector<T, C>;
    __shared__ typename Vector::Shared shared;
    Vector                             vector(A, dense, shared);

    follow(dense);
    if (blockIdx.x < (unsigned)A.n_items) {
        const CsrPart part = CsrPart::of(A);

        vector.run(part.entry, part.n);
    }
    if (dense.share > 0) {
        const int64_t from = (int64_t)blockIdx.x * dense.share;

        vector.run_empty(from, least(from + dense.share, A.n_empty));
    }
}

/** The kernels for A and B of type T and C of type C. */
template <typename T, typename C> struct CsrKernels {
    using Sum    = typename CsrSum<T>::type;
    using Kernel = void (*)(spmm_csr_items_t, CsrDense<Sum>);

    /** How lanes read B and write C. */
    enum class Access {
        kSingle, /**< element by element */
        kHalf,   /**< 8 bytes at a time, but for the last columns */
        kEdge,   /**< 16 bytes, likewise */
        kWhole   /**< 16 bytes, of which n is a multiple */
    };

    struct Choice {
        Kernel  kernel;
        int64_t width;     /**< columns of a slice */
        int     items = 1; /**< of a thread block */
    };

    /** Kernels, narrow to wide. */
    struct List {
        const Choice *choice;
        int           number;
    };

    static constexpr int     kVector = 16 / (int)sizeof(T), kHalf = 8 / (int)sizeof(T);
    static constexpr int     kEmptyShare = 256;      /**< most empty rows of a thread block */
    static constexpr int64_t kSliceBytes = 48000000; /**< of B that L2 serves at its full rate */
    static constexpr size_t  kTileBytes  = 24000;    /**< most of a tile */
    static constexpr int     kFew        = 4;        /**< columns */

    /* Several rows of B under way per group, and registers for 40 warps on a multiprocessor.  Sums
     * of 16-bit types and of FP64 take more, and so do edges of FP32 in more than a few columns, of
     * which those that come by 8 bytes have more rows under way for it. */
    template <CsrStore kStore, int kElems, int kLanes, bool kEdge> static Choice pack()
    {
        constexpr bool kMore = sizeof(T) == 4 && kEdge && kStore == CsrStore::kRows &&
                               kLanes * kElems > SPMM_CSR_MANY_WARPS;
        constexpr int kBlocks = sizeof(T) == 4 && !kMore ? 5 : 4;
        constexpr int kUnroll = kMore && kElems == kHalf ? 8 : 4;

        return {csr_mm<T, C, kLanes, kElems, 1, kUnroll, kBlocks, kStore, kEdge>, kLanes * kElems};
    }

    /* Accesses of 16 bytes, or 8, narrow to wide. */
    template <CsrStore kStore, int kElems, bool kMasked> static List packs()
    {
        constexpr bool kEdge   = kMasked && kElems > 1;
        constexpr bool kAll    = kStore != CsrStore::kTiles || sizeof(Sum) == 8; /* else no room */
        constexpr int  kWidest = kAll ? 32 : 16;

        static const Choice choices[] = {
            pack<kStore, kElems, 4, kEdge>(),
            pack<kStore, kElems, 8, kEdge>(),
            pack<kStore, kElems, 16, kEdge>(),
            pack<kStore, kElems, kWidest, kEdge>(),
        };

        return {choices, kAll ? 4 : 3};
    }

    /* One element at a time, for any alignment and any n.  A group's access should have 64 bytes at
     * least, and a lane several of them. */
    template <CsrStore kStore> static List narrow()
    {
        constexpr bool kLong = sizeof(T) >= 8;
        constexpr int  kTwo = kLong ? 4 : 5, kFour = kLong ? 3 : 4; /* thread blocks */
        constexpr int  kTwice = kLong ? 2 : 1, kSome = 4 / kTwice;

        static const Choice choices[] = {
            {csr_mm<T, C, 4, 1, 1, 4, 5, kStore>, 4},
            {csr_mm<T, C, 8, 1, 1, 4, 5, kStore>, 8},
            {csr_mm<T, C, 8, 1, 2, 4, kTwo, kStore>, 16},
            {csr_mm<T, C, 8 * kTwice, 1, kSome, 4, 4, kStore>, 32},
            {csr_mm<T, C, 16 * kTwice, 1, kSome, 4, 4, kStore>, 64},
            {csr_mm<T, C, 32, 1, 4, 4, kFour, kStore>, 128},
        };

        return {choices, 6};
    }

    /* Where work items are rows, which row-major C alone is for. */
    static List rows(bool aligned)
    {
        constexpr int kBlocks = sizeof(T) == 4 ? 5 : 4, kOne = sizeof(T) >= 8 ? 3 : 4;

        static const Choice wide[] = {
            {csr_mm_rows<T, C, 4, kVector, 1, kBlocks>, 4 * kVector, kCsrBlock / 4},
            {csr_mm_rows<T, C, 8, kVector, 1, kBlocks>, 8 * kVector, kCsrBlock / 8},
            {csr_mm_rows<T, C, 16, kVector, 1, kBlocks>, 16 * kVector, kCsrBlock / 16},
            {csr_mm_rows<T, C, 32, kVector, 1, kBlocks>, 32 * kVector, kCsrBlock / 32},
        };
        static const Choice narrow[] = {
            {csr_mm_rows<T, C, 4, 1, 1, 5>, 4, kCsrBlock / 4},
            {csr_mm_rows<T, C, 16, 1, 1, 5>, 16, kCsrBlock / 16},
            {csr_mm_rows<T, C, 32, 1, 4, kOne>, 128, kCsrBlock / 32},
        };

        return aligned ? List{wide, 4} : List{narrow, 3};
    }

    static const Choice &splits(bool aligned)
    {
        static const Choice choices[] = {
            {csr_mm_splits<T, C, 1>, 32},
            {csr_mm_splits<T, C, kVector>, 32 * kVector},
        };

        return choices[aligned];
    }

    template <CsrStore kStore> static List all(Access access)
    {
        if constexpr (kHalf > 1) {
            if (access == Access::kHalf) {
                return packs<kStore, kHalf, true>();
            }
        }
        return access == Access::kWhole  ? packs<kStore, kVector, false>()
               : access == Access::kEdge ? packs<kStore, kVector, true>()
                                         : narrow<kStore>();
    }

    /* Whether rows of B, and of C unless it is column-major, begin where accesses of so many
     * elements may. */
    static bool begins(const spmm_operands_t &x, int elems)
    {
        const int64_t b = elems * (int64_t)sizeof(T), c = least(16, elems * (int64_t)sizeof(C));

        return fits(x.B, b) && fits(x.ldb * (int64_t)sizeof(T), b) &&
               (uint64_t)x.ldb * sizeof(T) <= UINT32_MAX &&
               (x.layout == SPMM_LAYOUT_MIXED ||
                (fits(x.C, c) && fits(x.ldc * (int64_t)sizeof(C), c)));
    }

    /* Few columns, and rows of B or C that begin at any address, go element by element; more
     * columns than one slice has are slower by 8 bytes. */
    static Access access_of(const spmm_operands_t &x)
    {
        if (begins(x, kVector) && fits(x.n, kVector)) {
            return Access::kWhole;
        }
        if (begins(x, kVector) && x.n > std::min(kVector, kFew)) {
            return Access::kEdge;
        }
        return kHalf > 1 && begins(x, kHalf) && x.n >= kHalf && x.n <= kWarp * kHalf
                   ? Access::kHalf
                   : Access::kSingle;
    }

    static bool is_aligned(const spmm_operands_t &x)
    {
        return access_of(x) == Access::kWhole;
    }

    /* The narrowest that takes all columns at once, or the widest.  Where the rows of B in use do
     * not fit into L2 but slices of them do, slices: each reads A again, which is little beside B.
     * Their rows have 128 bytes at least. */
    static const Choice &best(const spmm_csr_items_t &A, const spmm_operands_t &x)
    {
        static const Choice one    = {csr_mv<T, C>, 1};
        const Access        access = access_of(x);
        const bool aligned       = A.by_rows ? access == Access::kWhole : access != Access::kSingle;
        const List from          = A.by_rows                     ? rows(aligned)
                                   : x.layout == SPMM_LAYOUT_ROW ? all<CsrStore::kRows>(access)
                                   : A.tile_rows > 0             ? all<CsrStore::kTiles>(access)
                                                                 : all<CsrStore::kColumns>(access);
        const Choice *const list = from.choice;
        const int64_t       row  = A.used_cols * (int64_t)sizeof(T);
        int                 take = from.number - 1;

        while (take > 0 && tile_bytes(A, x, list[take]) > kTileBytes) {
            take--;
        }

        if (x.n == 1 && !A.by_rows) {
            return one;
        }
        while (take > 0 && list[take - 1].width >= x.n) {
            take--;
        }
        for (int k = take - 1; aligned && k > 0 && row * list[take].width > kSliceBytes; k--) {
            if (row * list[k].width <= kSliceBytes) {
                return list[k];
            }
        }
        return list[take];
    }

    /* Shared memory for the tile of a thread block. */
    static size_t tile_bytes(const spmm_csr_items_t &A, const spmm_operands_t &x,
                             const Choice &choice)
    {
        return x.layout == SPMM_LAYOUT_MIXED && x.n > 1 && A.tile_rows > 0
                   ? (size_t)choice.width * (size_t)(A.tile_rows + 1) * sizeof(Sum)
                   : 0;
    }

    /* Of A, the rows of B in use and C. */
    static bool stays(const spmm_csr_items_t &A, const spmm_operands_t &x)
    {
        const double entry = sizeof(T) + 2.0 * sizeof(int32_t), columns = (double)x.n;

        return (double)A.n_entries * entry +
                   columns * ((double)A.used_cols * sizeof(T) + (double)A.c_rows * sizeof(C)) <=
               SPMM_STAYS;
    }

    static CsrDense<Sum> dense_of(const spmm_csr_items_t &A, const spmm_operands_t &x)
    {
        return {x.B,
                x.C,
                x.ldb,
                x.ldc,
                (uint32_t)(x.ldb * (int64_t)sizeof(T)),
                Factor<Sum>::of(x.alpha),
                Factor<Sum>::of(x.beta),
                !is_zero(x.beta),
                x.layout == SPMM_LAYOUT_MIXED,
                false,
                stays(A, x),
                (int32_t)x.n,
                0,
                0};
    }

    static cudaError_t launch(const spmm_csr_items_t &A, const spmm_operands_t &x,
                              cudaStream_t stream)
    {
        const Choice &choice = best(A, x);
        const int64_t blocks =
            std::max(ceil_div(A.n_items, choice.items), ceil_div(A.n_empty, kEmptyShare));
        CsrDense<Sum> dense = dense_of(A, x);
        cudaError_t   code;

        if (x.n > INT32_MAX || (A.by_rows && x.layout != SPMM_LAYOUT_ROW)) {
            return cudaErrorInvalidValue;
        }
        dense.share =
            blocks > 0 && tile_bytes(A, x, choice) == 0 ? (int32_t)ceil_div(A.n_empty, blocks) : 0;
        code = run(choice, blocks, A, dense, x, stream);
        return A.by_rows && code == cudaSuccess ? run(splits(is_aligned(x)), A.n_splits, A, dense,
                                                      blocks > 0 ? in_turn(x) : x, stream)
                                                : code;
    }

    /* What follows the first kernel of a product. */
    static spmm_operands_t in_turn(spmm_operands_t x)
    {
        x.follows = SPMM_FOLLOWS_LAST;
        return x;
    }

    /* In all columns. */
    static cudaError_t run(const Choice &choice, int64_t blocks, const spmm_csr_items_t &A,
                           CsrDense<Sum> dense, spmm_operands_t x, cudaStream_t stream)
    {
        const int64_t step = choice.width * kMaxGridYZ;
        cudaError_t   code = cudaSuccess;

        for (int64_t j = 0; j < dense.n && blocks > 0 && code == cudaSuccess; j += step) {
            const int64_t slices = std::min(ceil_div(dense.n - j, choice.width), kMaxGridYZ);

            dense.first  = (int32_t)j;
            dense.beside = x.follows == SPMM_FOLLOWS_CONCURRENT;

            code = launch_first(x, true, tile_bytes(A, x, choice), choice.kernel,
                                dim3((unsigned)blocks, (unsigned)slices), dim3(kCsrBlock), stream,
                                A, dense);
            x    = in_turn(x);
        }
        return code;
    }

    /* Lanes that take a row of B at once, or all of a warp. */
    static cudaError_t launch_waiting(const spmm_csr_items_t &A, const spmm_csr_rows_t &rows,
                                      const spmm_operands_t &x, cudaStream_t stream)
    {
        const bool    aligned = is_aligned(x);
        const int64_t vector  = aligned ? kVector : 1;
        const int     lanes   = x.n <= 8 * vector ? 8 : kWarp;
        const int64_t slices  = ceil_div(x.n, lanes * vector);
        const int64_t steps   = rows.n_long * slices +
                              ceil_div((rows.n_rows - rows.n_long) * slices, kCsrBlock / kWarp);
        const auto kernel = waiting(aligned, lanes);

        if (x.layout != SPMM_LAYOUT_ROW || steps < 1 || steps > INT32_MAX || x.n > INT32_MAX) {
            return cudaErrorInvalidValue;
        }
        return launch_early(0, kernel, dim3((unsigned)least(steps, rows.most_blocks)),
                            dim3(kCsrBlock), stream, A, rows, dense_of(A, x), x.until);
    }

    static auto waiting(bool aligned, int lanes)
    {
        return aligned ? (lanes == 8 ? csr_mm_waits<T, C, 8, kVector>
                                     : csr_mm_waits<T, C, kWarp, kVector>)
                       : (lanes == 8 ? csr_mm_waits<T, C, 8, 1> : csr_mm_waits<T, C, kWarp, 1>);
    }

    static cudaError_t load()
    {
        const List  lists[] = {rows(false), rows(true)};
        cudaError_t code =
            preload(csr_mv<T, C>, splits(false).kernel, splits(true).kernel, waiting(false, 8),
                    waiting(false, kWarp), waiting(true, 8), waiting(true, kWarp));

        for (const List &list : lists) {
            code = code == cudaSuccess ? load_list(list) : code;
        }
        code = code == cudaSuccess ? load_all<CsrStore::kRows>() : code;
        code = code == cudaSuccess ? load_all<CsrStore::kColumns>() : code;
        return code == cudaSuccess ? load_all<CsrStore::kTiles>() : code;
    }

    static cudaError_t load_list(const List &list)
    {
        cudaError_t code = cudaSuccess;

        for (int k = 0; k < list.number && code == cudaSuccess; k++) {
            code = preload(list.choice[k].kernel);
        }
        return code;
    }

    template <CsrStore kStore> static cudaError_t load_all()
    {
        cudaError_t code = cudaSuccess;

        for (const Access access :
             {Access::kSingle, Access::kHalf, Access::kEdge, Access::kWhole}) {
            code = code == cudaSuccess ? load_list(all<kStore>(access)) : code;
        }
        return code;
    }
};

/** The product. */
template <typename T, typename C>
cudaError_t csr_product(const spmm_csr_items_t &A, const spmm_operands_t &x, cudaStream_t stream)
{
    return CsrKernels<T, C>::launch(A, x, stream);
}

/** The product of rows of B that are on their way. */
template <typename T, typename C>
cudaError_t csr_wait_product(const spmm_csr_items_t &A, const spmm_csr_rows_t &rows,
                             const spmm_operands_t &x, cudaStream_t stream)
{
    return CsrKernels<T, C>::launch_waiting(A, rows, x, stream);
}

/** Load the kernels of one pair of types. */
template <typename T, typename C> cudaError_t csr_preload()
{
    return CsrKernels<T, C>::load();
}

} // namespace spmmi

/** What CMake makes one .cu of for each line of instances.cmake, so that they compile side by
 *  side. */
#define SPMM_INSTANCE(T, C)                                                                        \
    template cudaError_t spmmi::csr_product<T, C>(const spmm_csr_items_t &,                        \
                                                  const spmm_operands_t &, cudaStream_t);          \
    template cudaError_t spmmi::csr_wait_product<T, C>(                                            \
        const spmm_csr_items_t &, const spmm_csr_rows_t &, const spmm_operands_t &, cudaStream_t); \
    template cudaError_t spmmi::csr_preload<T, C>();

#endif /* SPMM_CSR_GPU_LAUNCH_CUH */
