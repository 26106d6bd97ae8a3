/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_read.cuh
 *  How the lanes of a group read entries and rows of B.  Where n ends within an access, the last
 *  one to a row reads what lies behind the last column as well, and nobody uses it: up to 15 bytes
 *  of the row's padding, but for the last row of B, which is not read beyond n.
 */
#ifndef SPMM_CSR_GPU_READ_CUH
#define SPMM_CSR_GPU_READ_CUH

#include "cuda/csr_gpu/csr_gpu_pack.cuh"

namespace spmmi
{

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

    const spmm_csr_pieces_t &A;
    const CsrDense<Sum>     &dense;
    const int                lane, id; /**< in the group; of the group */
    const int                j0;       /**< first column of the lane */
    const T                 *B;        /**< of that column */

    /* Lanes behind the last column read it again and store nothing: the address
     * is in use anyway. */
    __device__ __forceinline__ CsrReader(const spmm_csr_pieces_t &format,
                                         const CsrDense<Sum> &other, int slice)
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

} // namespace spmmi

#endif /* SPMM_CSR_GPU_READ_CUH */
