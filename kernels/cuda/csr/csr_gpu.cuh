/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu.cuh
 *  CSR times dense on CUDA cores.  A thread block takes a work item of A: a run of entries, dealt
 *  out evenly to groups of kLanes lanes wherever rows begin and end.  A group walks its entries;
 *  each is a row of B, which its lanes read 16 bytes each, so that 8 lanes read 128 bytes in a run:
 *  L1 serves a quarter of a warp at a time.  Where a row ends its sums are stored and start again.
 *  The group that a row begins in stores it: what the groups behind it have of the row they leave
 *  in shared memory.  Parts of rows longer than a work item meet in global memory.
 */
#ifndef SPMM_CSR_GPU_CUH
#define SPMM_CSR_GPU_CUH

#include <type_traits>

#include "cuda/csr/csr_gpu_pack.cuh"

namespace spmmi
{

/* How the lanes of a group read entries and rows of B.  Where n ends within an access, the last
 * one to a row reads what lies behind the last column as well, and nobody uses it: up to 15 bytes
 * of the row's padding, but for the last row of B, which is not read beyond n. */

/** Whether what is left of an access to a row is read and stored in pieces: accesses of 16 bytes
 *  that have more than two elements. */
template <typename T> constexpr bool takes_pieces(int elems)
{
    return elems > 2 && elems * (int)sizeof(T) == 16;
}

/** The reading side of a group.
 *  @tparam kLanes   lanes that share a row of B
 *  @tparam kVector  elements of one access: 16 bytes, or 1 where alignment does not allow more
 *  @tparam kLoads   accesses of a lane to a row of B
 *  @tparam kUnroll  rows of B under way at a time
 *  @tparam kEdge    n may end within an access
 *  @tparam kPieces  which is then read in pieces of the last row of B, not one by one */
template <typename T, int kLanes, int kVector, int kLoads, int kUnroll, bool kEdge, bool kPieces>
struct CsrReader {
    using Sum  = typename CsrSum<T>::type;
    using Read = Pack<T, kVector>;
    static_assert(kUnroll <= kLanes && kLanes % kUnroll == 0, "a tile is whole batches");
    static_assert(!kEdge || (kVector > 1 && kLoads == 1), "an access of each lane");

    /** An entry for each lane. */
    struct Tile {
        int32_t col, row;
        Sum     value;
    };

    const spmm_csr_items_t &A;
    const CsrDense<Sum>    &dense;
    const int               lane, id; /**< in the group; of the group */
    const int               j0;       /**< first column of the lane */
    const T                *B;        /**< of that column */

    /* Lanes behind the last column read it again and store nothing: the address
     * is in use anyway. */
    __device__ __forceinline__ CsrReader(const spmm_csr_items_t &format, const CsrDense<Sum> &other,
                                         int slice)
        : A(format), dense(other), lane((int)(threadIdx.x % kLanes)),
          id((int)(threadIdx.x / kLanes)), j0(slice + lane * kVector),
          B((const T *)other.B + (kLoads == 1 ? min(j0, last_column(other.n)) : j0))
    {
        keep(B);
    }

    /** The first one of the last access to a row of B. */
    static __device__ __forceinline__ int last_column(int n)
    {
        return kEdge ? (n - 1) / kVector * kVector : n - kVector;
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

    /** The same of the last row, behind which there may be nothing: the columns that there are. */
    __device__ __forceinline__ void load_last_row(int32_t col, Read &to) const
    {
        const T *const row  = (const T *)((const char *)B + (uint64_t)(uint32_t)col * dense.stride);
        const int      mine = dense.n - min(j0, last_column(dense.n));

        if constexpr (kPieces) {
            to = mine < kVector ? load_first<kVector>(row, mine) : fetch<Read>(row);
        } else {
            to = {};
#pragma unroll
            for (int e = 0; e < kVector; e++) {
                if (e < mine) {
                    to.at[e] = fetch<Pack<T, 1>>(row + e).at[0];
                }
            }
        }
    }

    /** Whether the last row of B is among those of a tile of the warp. */
    __device__ __forceinline__ bool has_last_row(const Tile &tile) const
    {
        return kEdge && __any_sync(kAllLanes, tile.col == A.last_col);
    }

    /** Rows of B of which some are the last one.  Its pieces are put together, which waits for
     *  them: all other rows are under way then. */
    __device__ __forceinline__ void load_with_last(const Tile &tile, int at,
                                                   Read (&to)[kUnroll][kLoads]) const
    {
        if constexpr (kPieces) {
#pragma unroll
            for (int i = 0; i < kUnroll; i++) {
                const int32_t col = __shfl_sync(kAllLanes, tile.col, at + i, kLanes);

                if (col != A.last_col) {
                    load_row(col, to[i]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < kUnroll; i++) {
            const int32_t col = __shfl_sync(kAllLanes, tile.col, at + i, kLanes);

            if (!kPieces || col == A.last_col) {
                load_last_row(col, to[i][0]);
            }
        }
    }

    /** Rows of B of kUnroll entries from lane @p at on. */
    __device__ __forceinline__ void load_rows(const Tile &tile, int at, bool last,
                                              Read (&to)[kUnroll][kLoads]) const
    {
        if constexpr (kEdge) {
            if (last) {
                load_with_last(tile, at, to);
                return;
            }
        }
#pragma unroll
        for (int i = 0; i < kUnroll; i++) {
            load_row(__shfl_sync(kAllLanes, tile.col, at + i, kLanes), to[i]);
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
};

/* Column-major C: sums of consecutive rows wait in shared memory until a thread block has all of
 * them, and lanes then run along the columns. */

/** One sum to a shared address. */
__device__ __forceinline__ void put_shared(uint32_t at, float x)
{
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory");
}
__device__ __forceinline__ void put_shared(uint32_t at, double x)
{
    asm volatile("st.shared.f64 [%0], %1;" ::"r"(at), "d"(x) : "memory");
}
__device__ __forceinline__ void put_shared(uint32_t at, Complex<float> x)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(x.re), "f"(x.im) : "memory");
}
__device__ __forceinline__ void put_shared(uint32_t at, Complex<double> x)
{
    asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(at), "d"(x.re), "d"(x.im) : "memory");
}

/** Rows of C of a thread block, by columns.  Columns that the lanes of a group put at a time stand
 *  beside each other, and ld is odd, so that these lanes meet in no bank. */
template <typename Sum, int kLanes, int kVector> struct CsrTile {
    Sum     *at;        /**< [columns of the slice][ld] in shared memory */
    int      ld, first; /**< first row of C */
    uint32_t mine;      /**< shared address of the lane's first column in row 0 of C, if it were
                             there */

    CsrTile() = default; /* on devices, too */
    __device__ __forceinline__ CsrTile(Sum *room, int rows, int from, int lane)
        : at(room), ld(rows + 1), first(from),
          mine(shared_address(room) + (uint32_t)(lane * ld - first) * (uint32_t)sizeof(Sum))
    {
        keep(mine); /* or each row that ends would compute it again */
    }

    /** Element @p k of the lane, of row @p row of C. */
    __device__ __forceinline__ void put(int32_t row, int k, const Sum &x) const
    {
        put_shared(mine + (uint32_t)(k * kLanes * ld + row) * (uint32_t)sizeof(Sum), x);
    }

    /** Where column @p j of the slice stands. */
    static __device__ __forceinline__ int place(unsigned j)
    {
        return (int)((j / (kVector * kLanes) * kVector + j % kVector) * kLanes +
                     j / kVector % kLanes);
    }

    /** Clear @p columns where no row will come. */
    __device__ __forceinline__ void clear(int columns) const
    {
        for (int k = (int)threadIdx.x; k < columns * ld; k += kCsrBlock) {
            at[k] = {};
        }
        __syncthreads();
    }

    /** What a lane stores of a column, rows r, r + kWarp, ... up to @p rows, the first at @p c and
     *  from @p from: all under way at once. */
    template <int kSteps, bool kBeta, typename C>
    static __device__ __forceinline__ void store_column(const CsrDense<Sum> &dense, C *c,
                                                        const Sum *from, int r, int rows)
    {
        Sum x[kSteps];

#pragma unroll
        for (int k = 0; k < kSteps; k++) {
            if ((unsigned)(r + k * kWarp) < (unsigned)rows) {
                x[k] = from[k * kWarp];
            }
        }
#pragma unroll
        for (int k = 0; k < kSteps; k++) {
            if ((unsigned)(r + k * kWarp) < (unsigned)rows) {
                x[k] *= dense.alpha;
                if constexpr (kBeta) {
                    x[k] += dense.beta * widen<Sum>(c[k * kWarp]);
                }
                c[k * kWarp] = Narrow<C>::from(x[k]);
            }
        }
    }

    template <int kSteps, bool kBeta, typename C>
    __device__ __forceinline__ void store_columns(const CsrDense<Sum> &dense, int j, int columns,
                                                  int rows) const
    {
        constexpr int kWarps = kCsrBlock / kWarp;
        const int     lane = (int)threadIdx.x % kWarp, most = min(columns, dense.n - j);
        int           n = (int)threadIdx.x / kWarp;
        C            *c = (C *)dense.C + (j + n) * dense.ldc + first + lane;

        for (; n < most; n += kWarps, c += kWarps * dense.ldc) {
            store_column<kSteps, kBeta>(dense, c, at + place((unsigned)n) * ld + lane, lane, rows);
        }
    }

    /** alpha times @p rows rows, plus beta C, to columns [j, j + columns) of C. */
    template <typename C>
    __device__ __forceinline__ void store(const CsrDense<Sum> &dense, int j, int columns,
                                          int rows) const
    {
        constexpr int kSteps = SPMM_CSR_TILE / kWarp;

        __syncthreads();
        if (dense.has_beta) {
            store_columns<kSteps, true, C>(dense, j, columns, rows);
        } else if (rows <= SPMM_CSR_TILE / 4) {
            store_columns<kSteps / 4, false, C>(dense, j, columns, rows);
        } else if (rows <= SPMM_CSR_TILE / 2) {
            store_columns<kSteps / 2, false, C>(dense, j, columns, rows);
        } else {
            store_columns<kSteps, false, C>(dense, j, columns, rows);
        }
    }
};

/** Of kernels without tiles, which were measured with the registers that the compiler gives them
 *  beside these; nobody reads them. */
struct CsrNoTile {
    void *at;
    int   ld, first;
};

/** A work item of consecutive rows, whose C is stored by columns, or a part of a row. */
template <typename C, class Group> __device__ __forceinline__ void run_tile(Group group, int slice)
{
    extern __shared__ int4 room[];
    const int4             words = __ldg((const int4 *)(group.A.item + blockIdx.x));
    const bool             whole = words.z < 0;

    group.tile = {(typename Group::Sum *)room, group.A.tile_rows, words.w & INT32_MAX, group.lane};
    if (whole && words.w < 0) {
        group.tile.clear(Group::kWidth);
    }
    group.run(CsrPart(group.A, words.x, words.y));
    if (whole) {
        group.tile.template store<C>(group.dense, slice, Group::kWidth, -words.z);
    }
}

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

    __device__ __forceinline__ CsrGroup(const spmm_csr_items_t &format, const CsrDense<Sum> &other,
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

    /** The sums of a split row so far: all of its work items when this thread block is the last to
     *  arrive, and then they are added up. */
    __device__ __forceinline__ void combine()
    {
        const int32_t          row     = A.item[blockIdx.x].split;
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
                atomicInc(count, (unsigned)split.n_items - 1) == (unsigned)split.n_items - 1;
        }
        __syncthreads();
        if (!shared.last) {
            return;
        }
        __threadfence();
        add_partial(partial + (int64_t)split.item * sums_of_row(), split.n_items, kGroups);
        leave_sums();
        __syncthreads();
        if (id == 0) {
#pragma unroll 4
            for (int g = 1; g < min(kGroups, split.n_items); g++) {
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

    /** Work items id, id + step, ... of a row. */
    __device__ __forceinline__ void add_partial(const Sum *from, int n_items, int step)
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            sum[load] = {};
#pragma unroll 4
            for (int p = id; p < n_items && column(load) < dense.n; p += step) {
                add(sum[load], load_pack<Sums>(from + (int64_t)p * sums_of_row() + column(load)));
            }
        }
    }

    /** The work item, dealt out to the groups by multiples of kUnroll entries. */
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
