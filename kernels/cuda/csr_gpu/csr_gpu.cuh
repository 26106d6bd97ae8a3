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

#include "cuda/csr_gpu/csr_gpu_pack.cuh"

namespace spmmi
{

/** One group of a thread block, for one slice of columns.
 *  @tparam C        type of C
 *  @tparam kLanes   lanes that share a row of B
 *  @tparam kVector  elements of one access: 16 bytes, or 1 where alignment does not allow more
 *  @tparam kLoads   accesses of a lane to a row of B
 *  @tparam kUnroll  rows of B under way at a time
 *  @tparam kColumns C is column-major */
template <typename T, typename C, int kLanes, int kVector, int kLoads, int kUnroll, bool kColumns>
struct CsrGroup {
    static constexpr int kGroups = kCsrBlock / kLanes;
    static constexpr int kWidth  = kLanes * kVector * kLoads;
    /* The first lane of each group of a warp. */
    static constexpr unsigned kSameLane = kAllLanes / (kAllLanes >> (kWarp - kLanes));
    using Sum                           = typename CsrSum<T>::type;
    using Sums                          = Pack<Sum, kVector>;
    using Read                          = Pack<T, kVector>;
    using Shared                        = CsrShared<Sum, kVector, kLoads, kGroups>;
    static_assert(kUnroll <= kLanes && kLanes % kUnroll == 0, "a tile is whole batches");

    /** An entry for each lane. */
    struct Tile {
        int32_t col, row;
        Sum     value;
    };

    const spmm_csr_pieces_t &A;
    const CsrDense<Sum>     &dense;
    Shared                  &shared;
    const int                lane, id;            /**< in the group; of the group */
    const int                j0;                  /**< first column of the lane */
    const T                 *B;                   /**< of that column */
    bool                     head        = false; /**< in a row that began in a group before */
    Sums                     sum[kLoads] = {};
    CsrTile<Sum>             tile        = {}; /**< kColumns: where rows of C go, if anywhere */

    /* Lanes behind the last column read it again and store nothing: the address
     * is in use anyway. */
    __device__ __forceinline__ CsrGroup(const spmm_csr_pieces_t &format, const CsrDense<Sum> &other,
                                        Shared &mine, int slice)
        : A(format), dense(other), shared(mine), lane((int)(threadIdx.x % kLanes)),
          id((int)(threadIdx.x / kLanes)), j0(slice + lane * kVector),
          B((const T *)other.B + (kLoads == 1 ? min(j0, other.n - kVector) : j0))
    {
        keep(B);
    }

    __device__ __forceinline__ int column(int load) const
    {
        return j0 + load * kLanes * kVector;
    }

    __device__ __forceinline__ void load_row(int32_t col, Read (&to)[kLoads]) const
    {
        const char *row;

        if constexpr (kVector > 1) {
            row = (const char *)B + (uint64_t)(uint32_t)col * dense.stride;
        } else {
            row = (const char *)(B + col * dense.ldb);
        }
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            if (kLoads == 1 || column(load) < dense.n) {
                to[load] = fetch<Read>(row + load * kLanes * (int)sizeof(Read));
            } else {
                to[load] = {};
            }
        }
    }

    /** The next kLanes of the @p left entries from @p entry on. */
    __device__ __forceinline__ Tile load_tile(uint32_t entry, int left) const
    {
        const uint32_t at   = entry + (unsigned)lane;
        Tile           tile = {}; /* row 0 of B is there to read */

        if (lane < left) {
            tile.col   = __ldcs(A.col + at);
            tile.row   = __ldcs(A.row + at);
            tile.value = widen<Sum>(fetch_once((const T *)A.values + at));
        }
        return tile;
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
        if constexpr (kColumns) {
            if (tile.at != NULL) {
                put_tile(row);
            } else {
                store_columns(row);
            }
            return;
        }
        C *const c = (C *)dense.C + row * dense.ldc;

#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            Sums &x = sum[load];

            if (column(load) >= dense.n) {
                continue;
            }
#pragma unroll
            for (int e = 0; e < kVector; e++) {
                x.at[e] *= dense.alpha;
            }
            if (dense.has_beta) {
                const auto old = load_pack<Pack<C, kVector>>(c + column(load));

#pragma unroll
                for (int e = 0; e < kVector; e++) {
                    x.at[e] = fma(dense.beta, widen<Sum>(old.at[e]), x.at[e]);
                }
            }
            put(c + column(load), x, dense.c_stays);
        }
    }

    /** To the tile that the thread block stores when all its rows are there. */
    __device__ __forceinline__ void put_tile(int32_t row) const
    {
#pragma unroll
        for (int k = 0; k < kLoads * kVector; k++) {
            const int j = (lane + k / kVector * kLanes) * kVector + k % kVector;

            tile.at[j * tile.ld + row - tile.first] = sum[k / kVector].at[k % kVector];
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
                if (column(load) < dense.n) {
                    const Sum x = dense.alpha * sum[load].at[e];

                    *at = Narrow<C>::from(dense.has_beta ? x + dense.beta * widen<Sum>(*at) : x);
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
     *  @param[in] ends  bit at + i of the warp's lanes: the row of entry i ends there */
    __device__ __forceinline__ void batch(const Tile &tile, int at, int left, unsigned ends)
    {
        Read b[kUnroll][kLoads];
        Sum  a[kUnroll];

#pragma unroll
        for (int i = 0; i < kUnroll; i++) {
            load_row(__shfl_sync(kAllLanes, tile.col, at + i, kLanes), b[i]);
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
     *  @return the row of C of its last entry, negative where that row ends; -1 without entries */
    __device__ __forceinline__ int32_t walk(Tile tile, uint32_t entry, int left)
    {
        const bool any = left > 0;

        /* No group of the warp has more left than its first. */
        for (int most; (most = __shfl_sync(kAllLanes, left, 0)) > 0;) {
            const Tile next = load_tile(entry + kLanes, left - kLanes);
            unsigned   ends = __ballot_sync(kAllLanes, tile.row < 0);

#pragma unroll 1
            for (int at = 0; at < kLanes && at < most; at += kUnroll) {
                batch(tile, at, left - at, ends);
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
            put_partial(partial + (int64_t)blockIdx.x * dense.n);
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
        add_partial(partial + (int64_t)split.piece * dense.n, split.n_pieces, kGroups);
        leave_sums();
        __syncthreads();
        if (id == 0) {
#pragma unroll 4
            for (int g = 1; g < min(kGroups, split.n_pieces); g++) {
                take_sums(g * kLanes + lane);
            }
            store(split.row);
        }
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
                add(sum[load], load_pack<Sums>(from + (int64_t)p * dense.n + column(load)));
            }
        }
    }

    /** The piece, dealt out to the groups by multiples of kUnroll entries. */
    __device__ __forceinline__ void run(uint32_t entry, int n)
    {
        constexpr int  kStep = kGroups * kUnroll;
        const int      share = (n + kStep - 1) / kStep * kUnroll, at = id * share;
        const int      count = max(0, min(n - at, share));
        const uint32_t first = entry + (unsigned)at;

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
        const int32_t tail = walk(tile, first, count);

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
