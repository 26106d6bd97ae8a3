/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu.cuh
 *  CSR times dense on CUDA cores.  A thread block takes a piece of A: a run of entries, dealt out
 *  evenly to groups of kLanes lanes wherever rows begin and end.  A group walks its entries; each
 *  is a row of B, which its lanes read 16 bytes each, so that 8 lanes read 128 bytes in a run: L1
 *  serves a quarter of a warp at a time.  Where a row ends its sums are stored and start again.
 *  The group that a row begins in stores it: what the groups behind it have of the row they leave
 *  in shared memory.  Parts of rows longer than a piece meet in global memory.
 */
#ifndef SPMM_CSR_GPU_CUH
#define SPMM_CSR_GPU_CUH

#include <type_traits>

#include "cuda/csr_gpu/csr_gpu_read.cuh"
#include "cuda/csr_gpu/csr_gpu_tile.cuh"

namespace spmmi
{

/** One group of a thread block, for one slice of columns.
 *  @tparam C        type of C */
template <typename T, typename C, int kLanes, int kVector, int kLoads, int kUnroll, CsrStore kStore,
          bool kEdge = false>
struct CsrGroup : CsrReader<T, kLanes, kVector, kLoads, kUnroll, kEdge,
                            kStore == CsrStore::kRows && takes_pieces<T>(kVector)> {
    static constexpr bool kByRow  = kStore == CsrStore::kRows;
    static constexpr bool kPieces = kByRow && takes_pieces<T>(kVector);
    using Reader                  = CsrReader<T, kLanes, kVector, kLoads, kUnroll, kEdge, kPieces>;
    static constexpr int kGroups  = kCsrBlock / kLanes;
    static constexpr int kWidth   = kLanes * kVector * kLoads;
    /* The first lane of each group of a warp. */
    static constexpr unsigned kSameLane = kAllLanes / (kAllLanes >> (kWarp - kLanes));
    using Sum                           = typename Reader::Sum;
    using Sums                          = Pack<Sum, kVector>;
    using Read                          = typename Reader::Read;
    using Tile                          = typename Reader::Tile;
    using Shared                        = CsrShared<Sum, kVector, kLoads, kGroups>;
    using Room =
        std::conditional_t<kStore == CsrStore::kTiles, CsrTile<Sum, kLanes, kVector>, CsrNoTile>;
    using Reader::A, Reader::dense, Reader::lane, Reader::id, Reader::j0;
    using Reader::column, Reader::last_column, Reader::load_tile;

    Shared &shared;
    bool    head        = false; /**< in a row that began in a group before */
    Sums    sum[kLoads] = {};
    Room    tile        = {}; /**< kTiles: where rows of C go */

    __device__ __forceinline__ CsrGroup(const spmm_csr_pieces_t &format, const CsrDense<Sum> &other,
                                        Shared &mine, int slice)
        : Reader(format, other, slice), shared(mine)
    {
    }

    __device__ __forceinline__ void leave_sums()
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            shared.sum[load][threadIdx.x] = sum[load];
        }
    }

    /** Add what thread @p from of the block left. */
    __device__ __forceinline__ void take_sums(int from)
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            add(sum[load], shared.sum[load][from]);
        }
    }

    static __device__ __forceinline__ void add(Sums &to, const Sums &x)
    {
#pragma unroll
        for (int e = 0; e < kVector; e++) {
            to.at[e] += x.at[e];
        }
    }

    /** Row @p row of C = alpha sum + beta C.  Overwrites the sums, which saves registers. */
    __device__ __forceinline__ void store(int32_t row)
    {
        if constexpr (kStore == CsrStore::kTiles) {
            put_tile(row);
            return;
        } else if constexpr (kStore == CsrStore::kColumns) {
            store_columns(row);
            return;
        }
        C *const c = (C *)dense.C + row * dense.ldc;

        if constexpr (kEdge && kPieces) {
            store_some(dense, c + j0, sum[0], j0);
        } else {
#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                if (column(load) >= dense.n) {
                    continue;
                }
                if constexpr (kEdge) {
                    store_edge(c + j0, sum[load]);
                } else {
                    store_whole(c + column(load), sum[load]);
                }
            }
        }
    }

    __device__ __forceinline__ void store_whole(C *to, Sums &x) const
    {
#pragma unroll
        for (int e = 0; e < kVector; e++) {
            x.at[e] *= dense.alpha;
        }
        if (dense.has_beta) {
            const auto old = load_pack<Pack<C, kVector>>(to);

#pragma unroll
            for (int e = 0; e < kVector; e++) {
                x.at[e] = fma(dense.beta, widen<Sum>(old.at[e]), x.at[e]);
            }
        }
        put(to, x, dense.c_stays);
    }

    /** The columns of the lane that there are, one by one.  Lanes do not part: rows end often. */
    __device__ __forceinline__ void store_edge(C *to, Sums &x) const
    {
        const int  some  = dense.n - j0;
        const bool whole = some >= kVector;

#pragma unroll
        for (int e = 0; e < kVector; e++) {
            x.at[e] *= dense.alpha;
            if (dense.has_beta && e < some) {
                const auto old = load_pack<Pack<C, 1>>(to + e);

                x.at[e] = fma(dense.beta, widen<Sum>(old.at[0]), x.at[e]);
            }
        }
        if (whole) {
            put(to, x, dense.c_stays);
        }
#pragma unroll
        for (int e = 0; e < kVector - 1; e++) {
            if (!whole && e < some) {
                to[e] = Narrow<C>::from(x.at[e]);
            }
        }
    }

    __device__ __forceinline__ void store_one(C *to, const Sum &sum) const
    {
        const Sum x = dense.alpha * sum;

        *to = Narrow<C>::from(dense.has_beta ? fma(dense.beta, widen<Sum>(*to), x) : x);
    }

    /** To the tile that the thread block stores when all its rows are there. */
    __device__ __forceinline__ void put_tile(int32_t row) const
    {
#pragma unroll
        for (int k = 0; k < kLoads * kVector; k++) {
            tile.put(row, k, sum[k / kVector].at[k % kVector]);
        }
    }

    /** The same in column-major C, element by element. */
    __device__ __forceinline__ void store_columns(int32_t row) const
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            C *at = (C *)dense.C + row + column(load) * dense.ldc;

#pragma unroll
            for (int e = 0; e < kVector; e++, at += dense.ldc) {
                if (column(load) + (kEdge ? e : 0) < dense.n) {
                    store_one(at, sum[load].at[e]);
                }
            }
        }
    }

    static __device__ __forceinline__ void put(C *to, const Sums &x, bool stays)
    {
        if constexpr (sizeof(C) == sizeof(Sum)) {
            store_pack(to, x, stays);
        } else {
            Pack<C, kVector> narrow;

#pragma unroll
            for (int e = 0; e < kVector; e++) {
                narrow.at[e] = Narrow<C>::from(x.at[e]);
            }
            store_pack(to, narrow, stays);
        }
    }

    /** The sums are all of @p row that this group has. */
    __device__ __forceinline__ void end_row(int32_t row)
    {
        if (head) {
            leave_sums();
            head              = false;
            shared.status[id] = kRowEnded;
        } else {
            store(row & INT32_MAX);
        }
        clear_sums();
    }

    __device__ __forceinline__ void clear_sums()
    {
#pragma unroll
        for (int k = 0; k < kLoads * kVector; k++) {
            clear(sum[k / kVector].at[k % kVector]);
        }
    }

    /** kUnroll entries from lane @p at on, of which the group may have only @p left.
     *  @param[in] ends  bit at + i of the warp's lanes: the row of entry i ends there
     *  @param[in] last  has_last_row() */
    __device__ __forceinline__ void batch(const Tile &tile, int at, int left, unsigned ends,
                                          bool last = false)
    {
        Read b[kUnroll][kLoads];
        Sum  a[kUnroll];

        this->load_rows(tile, at, last, b);
#pragma unroll
        for (int i = 0; i < kUnroll; i++) {
            a[i] = share(tile.value, at + i, kLanes);
        }
#pragma unroll
        for (int i = 0; i < kUnroll; i++) {
            if (i < left) {
#pragma unroll
                for (int k = 0; k < kLoads * kVector; k++) {
                    Sum &to = sum[k / kVector].at[k % kVector];

                    to = fma(a[i], widen<Sum>(b[i][k / kVector].at[k % kVector]), to);
                }
            }
            if ((ends & kSameLane << i) != 0) { /* in any group of the warp */
                const int32_t row = __shfl_sync(kAllLanes, tile.row, at + i, kLanes);

                if (row < 0) {
                    end_row(row);
                }
            }
        }
    }

    /** All of the group's entries, of which @p tile has the first.  Lanes of a warp stay together.
     *  @param[in] named  they may name the last row of B
     *  @return the row of C of its last entry, negative where that row ends; -1 without entries */
    __device__ __forceinline__ int32_t walk(Tile tile, uint32_t entry, int left, bool named)
    {
        const bool any = left > 0;

        /* No group of the warp has more left than its first. */
        for (int most; (most = __shfl_sync(kAllLanes, left, 0)) > 0;) {
            const Tile next = load_tile(entry + kLanes, left - kLanes);
            unsigned   ends = __ballot_sync(kAllLanes, tile.row < 0);
            const bool last = named && this->has_last_row(tile);

#pragma unroll 1
            for (int at = 0; at < kLanes && at < most; at += kUnroll) {
                batch(tile, at, left - at, ends, last);
                ends >>= kUnroll % kWarp;
            }
            tile = next;
            entry += kLanes;
            left -= kLanes;
        }
        return any ? __ldg(A.row + (entry + (unsigned)left - 1)) : -1;
    }

    /** Threads of the first lanes of the groups that continue the row which this one leaves open:
     *  how many there are.  Whole warps take part. */
    __device__ __forceinline__ int followers() const
    {
        constexpr int kWords  = (kGroups + kWarp - 1) / kWarp;
        uint64_t      through = 0, ended = 0;

#pragma unroll
        for (int w = 0; w < kWords; w++) {
            const unsigned char theirs = shared.status[w * kWarp + (int)threadIdx.x % kWarp];

            through |= (uint64_t)__ballot_sync(kAllLanes, theirs == kThrough) << (w * kWarp);
            ended |= (uint64_t)__ballot_sync(kAllLanes, theirs == kRowEnded) << (w * kWarp);
        }
        if (id + 1 >= kGroups) {
            return 0;
        }
        through >>= id + 1;
        ended >>= id + 1;
        const int count = __ffsll((long long)~through) - 1;

        return count + (int)(ended >> count & 1);
    }

    /** The sums of a split row so far: all of its pieces when this thread block is the last to
     *  arrive, and then they are added up. */
    __device__ __forceinline__ void combine()
    {
        const int32_t          row     = A.piece[blockIdx.x].split;
        const spmm_csr_split_t split   = A.split[row];
        Sum *const             partial = (Sum *)A.partial;

        if (id == 0) {
            put_partial(partial + (int64_t)blockIdx.x * sums_of_row());
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            const int       slice = dense.first / kWidth + (int)blockIdx.y;
            uint32_t *const count = A.arrived + (int64_t)row * A.n_slices + slice;

            shared.last =
                atomicInc(count, (unsigned)split.n_pieces - 1) == (unsigned)split.n_pieces - 1;
        }
        __syncthreads();
        if (!shared.last) {
            return;
        }
        __threadfence();
        add_partial(partial + (int64_t)split.piece * sums_of_row(), split.n_pieces, kGroups);
        leave_sums();
        __syncthreads();
        if (id == 0) {
#pragma unroll 4
            for (int g = 1; g < min(kGroups, split.n_pieces); g++) {
                take_sums(g * kLanes + lane);
            }
            if constexpr (kStore == CsrStore::kTiles) { /* it has no tile */
                store_columns(split.row);
            } else {
                store(split.row);
            }
        }
    }

    /** Sums of a part of a row, whole accesses. */
    __device__ __forceinline__ int sums_of_row() const
    {
        return kEdge ? last_column(dense.n) + kVector : dense.n;
    }

    __device__ __forceinline__ void put_partial(Sum *to) const
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            if (column(load) < dense.n) {
                store_pack(to + column(load), sum[load]);
            }
        }
    }

    /** Pieces id, id + step, ... of a row. */
    __device__ __forceinline__ void add_partial(const Sum *from, int n_pieces, int step)
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            sum[load] = {};
#pragma unroll 4
            for (int p = id; p < n_pieces && column(load) < dense.n; p += step) {
                add(sum[load], load_pack<Sums>(from + (int64_t)p * sums_of_row() + column(load)));
            }
        }
    }

    /** The piece, dealt out to the groups by multiples of kUnroll entries. */
    __device__ __forceinline__ void run(const CsrPart &part)
    {
        constexpr int  kStep = kGroups * kUnroll;
        const int      share = (part.n + kStep - 1) / kStep * kUnroll, at = id * share;
        const int      count = max(0, min(part.n - at, share));
        const uint32_t first = part.entry + (unsigned)at;

        const bool    after = id > 0 && count > 0;
        const int32_t row   = after ? __ldg(A.row + (first - 1)) : -1;
        const Tile    tile  = load_tile(first, count); /* both under way at once */

        head = row >= 0;
        if (lane == 0) {
            shared.status[id] = head ? kThrough : kOwnRow;
        }
        if (threadIdx.x >= kGroups && threadIdx.x < kWarp) {
            shared.status[threadIdx.x] = kOwnRow; /* groups that there are not */
        }
        __syncwarp(); /* all lanes of a group may write its status */
        if constexpr (!kByRow) {
            follow_turn(dense);
        }
        const int32_t tail = walk(tile, first, count, part.last);

        if (head) {
            leave_sums();
        }
        __syncthreads();
        const int  more  = followers();
        const bool whole = blockIdx.x >= (unsigned)A.n_partial;

        if (tail >= 0 && !head) {
#pragma unroll 4
            for (int g = 1; g <= more; g++) {
                take_sums((int)threadIdx.x + g * kLanes);
            }
            if (whole) {
                store(tail);
            }
        }
        if (!whole) {
            combine();
        }
    }

    /** Rows without entries: [from, to) of the list. */
    __device__ __forceinline__ void run_empty(int64_t from, int64_t to)
    {
        for (int64_t i = from + id; i < to; i += kGroups) {
            clear_sums();
            store(__ldcs(A.empty + i));
        }
    }
};

} // namespace spmmi

#endif /* SPMM_CSR_GPU_CUH */
