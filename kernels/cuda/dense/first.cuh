/* SPDX-License-Identifier: Apache-2.0 */
/** @file first.cuh
 *  The first elements of an access where a row ends within it: a half, a quarter, ... of the access
 *  each, where its bit of the number of elements is set, so that seven elements take three
 *  accesses.  Words in registers are chosen by number alone, since an address of one would put all
 *  into local memory.
 */
#ifndef SPMM_FIRST_CUH
#define SPMM_FIRST_CUH

#include "cuda/dense/rows.cuh"

namespace spmmi
{

/** An access of kBytes, as words of 4 bytes, the last of them perhaps half. */
template <int kBytes> struct First {
    static constexpr int kWords = (kBytes + 3) / 4;

    uint32_t at[kWords];

    static __device__ __forceinline__ First load(const char *from)
    {
        First x;

        if constexpr (kBytes == 2) {
            x.at[0] = __ldcg((const uint16_t *)from);
        } else if constexpr (kBytes == 4) {
            x.at[0] = __ldcg((const uint32_t *)from);
        } else if constexpr (kBytes == 8) {
            const uint2 v = __ldcg((const uint2 *)from);

            x.at[0] = v.x, x.at[1] = v.y;
        } else {
            const uint4 v = __ldcg((const uint4 *)from);

            x.at[0] = v.x, x.at[1] = v.y, x.at[2] = v.z, x.at[3] = v.w;
        }
        return x;
    }

    __device__ __forceinline__ void store(char *to) const
    {
        if constexpr (kBytes == 2) {
            *(uint16_t *)to = (uint16_t)at[0];
        } else if constexpr (kBytes == 4) {
            *(uint32_t *)to = at[0];
        } else if constexpr (kBytes == 8) {
            *(uint2 *)to = make_uint2(at[0], at[1]);
        } else {
            *(uint4 *)to = make_uint4(at[0], at[1], at[2], at[3]);
        }
    }
};

/** Pieces of kBytes, and smaller ones, of @p bytes of a pack of kWords. */
template <int kBytes, int kLeast, int kWords>
__device__ __forceinline__ void store_pieces(char *to, const uint32_t (&x)[kWords], int bytes)
{
    if constexpr (kBytes >= kLeast) {
        const int     before = bytes & (4 * kWords - 2 * kBytes); /* larger pieces in front of it */
        First<kBytes> piece;

#pragma unroll
        for (int i = 0; i < First<kBytes>::kWords; i++) {
            piece.at[i] = x[i];
#pragma unroll
            for (int at = 2 * kBytes; at < 4 * kWords; at += 2 * kBytes) {
                piece.at[i] = before == at ? x[at / 4 + i] : piece.at[i];
            }
        }
        if ((bytes & kBytes) != 0) {
            piece.store(to + before);
        }
        store_pieces<kBytes / 2, kLeast>(to, x, bytes);
    }
}

template <int kBytes, int kLeast, int kWords>
__device__ __forceinline__ void load_pieces(const char *from, uint32_t (&x)[kWords], int bytes)
{
    if constexpr (kBytes >= kLeast) {
        const int before = bytes & (4 * kWords - 2 * kBytes);

        if ((bytes & kBytes) != 0) {
            const First<kBytes> piece = First<kBytes>::load(from + before);

#pragma unroll
            for (int at = 0; at < 4 * kWords; at += 2 * kBytes) {
#pragma unroll
                for (int i = 0; i < First<kBytes>::kWords; i++) {
                    x[at / 4 + i] = before == at ? piece.at[i] : x[at / 4 + i];
                }
            }
        }
        load_pieces<kBytes / 2, kLeast>(from, x, bytes);
    }
}

/** The first @p some elements of @p x, fewer than all; nothing for 0.
 *  @param to  aligned as an access of all is */
template <typename T, int kAll>
__device__ __forceinline__ void store_first(T *to, const Pack<T, kAll> &x, int some)
{
    constexpr int kWords = (int)sizeof x / 4;
    uint32_t      words[kWords];

#pragma unroll
    for (int k = 0; k < kWords; k++) {
        words[k] = ((const uint32_t *)&x)[k];
    }
    store_pieces<(int)sizeof x / 2, (int)sizeof(T)>((char *)to, words, some * (int)sizeof(T));
}

/** The first @p some elements, fewer than all, past L1; behind them zeros. */
template <int kAll, typename T>
__device__ __forceinline__ Pack<T, kAll> load_first(const T *from, int some)
{
    constexpr int kWords        = (int)sizeof(Pack<T, kAll>) / 4;
    uint32_t      words[kWords] = {};
    Pack<T, kAll> x;

    load_pieces<(int)sizeof x / 2, (int)sizeof(T)>((const char *)from, words,
                                                   some * (int)sizeof(T));
#pragma unroll
    for (int k = 0; k < kWords; k++) {
        ((uint32_t *)&x)[k] = words[k];
    }
    return x;
}

} // namespace spmmi

#endif /* SPMM_FIRST_CUH */
