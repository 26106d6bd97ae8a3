/* SPDX-License-Identifier: Apache-2.0 */
/** @file first.cuh
 *  The first elements of an access where a row ends within it: a half, a quarter, ... of the access
 *  each, where its bit of the number of elements is set, so that seven elements take three
 *  accesses.  Words in registers are chosen by number alone, since an address of one would put all
 *  into local memory.
 *
 *  store_left() does the same for C where registers are short.
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

/** 16 bytes of registers. */
struct FourWords {
    uint32_t at[4];
};

/** 16 bytes number kPack of a pack. */
template <int kPack, typename P> __device__ __forceinline__ FourWords four_words(const P &x)
{
    FourWords y;

#pragma unroll
    for (int k = 0; k < 4; k++) {
        y.at[k] = ((const uint32_t *)&x)[4 * kPack + k];
    }
    return y;
}

/* Predicates: all 16 bytes lie in front of the last column; some of them do; p, q: a piece of so
 * many bytes does.  Registers: left, bytes in front of the last column; v, the word that the next
 * piece begins with; at, where it goes. */
#define SPMM_STORE_LEFT_WORDS                                                                      \
    "{\n\t"                                                                                        \
    ".reg .pred all, some, p, q;\n\t"                                                              \
    ".reg .b32 left, v, u;\n\t"                                                                    \
    ".reg .b64 at, by;\n\t"                                                                        \
    "sub.s32 left, %6, %5;\n\t"                                                                    \
    "mad.lo.s32 left, left, %8, -%9;\n\t"                                                          \
    "setp.ge.s32 all, left, 16;\n\t"                                                               \
    "setp.gt.and.s32 some, left, 0, !all;\n\t"                                                     \
    "setp.eq.and.s32 p, %7, 0, all;\n\t"                                                           \
    "@p st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};\n\t"                                           \
    "setp.ne.and.s32 p, %7, 0, all;\n\t"                                                           \
    "@p st.global.v4.b32 [%0], {%1, %2, %3, %4};\n\t"                                              \
    "and.b32 u, left, 8;\n\t"                                                                      \
    "setp.ne.and.b32 p, u, 0, some;\n\t"                                                           \
    "@p st.global.v2.b32 [%0], {%1, %2};\n\t"                                                      \
    "cvt.u64.u32 by, u;\n\t"                                                                       \
    "add.u64 at, %0, by;\n\t"                                                                      \
    "selp.b32 v, %3, %1, p;\n\t"                                                                   \
    "and.b32 u, left, 4;\n\t"                                                                      \
    "setp.ne.and.b32 q, u, 0, some;\n\t"                                                           \
    "@q st.global.b32 [at], v;\n\t"
#define SPMM_STORE_LEFT_HALF                                                                       \
    ".reg .b16 half;\n\t"                                                                          \
    "cvt.u64.u32 by, u;\n\t"                                                                       \
    "add.u64 at, at, by;\n\t"                                                                      \
    "selp.b32 u, %4, %2, p;\n\t"                                                                   \
    "selp.b32 v, u, v, q;\n\t"                                                                     \
    "and.b32 u, left, 2;\n\t"                                                                      \
    "setp.ne.and.b32 q, u, 0, some;\n\t"                                                           \
    "cvt.u16.u32 half, v;\n\t"                                                                     \
    "@q st.global.b16 [at], half;\n\t"
#define SPMM_STORE_LEFT_ARGS                                                                       \
    ::"l"(to), "r"(x.at[0]), "r"(x.at[1]), "r"(x.at[2]), "r"(x.at[3]), "r"(j), "r"(n),             \
        "r"((int)stays), "n"(kSize), "n"(kFirst) : "memory"

/** Of 16 bytes of a row of C those in front of column @p n: one store of 16 bytes, or one each of
 *  8, 4 and 2.  Where rows end in an innermost loop no register is left for what depends on the
 *  lane alone; so it is found out here each time, in instructions of which the compiler keeps
 *  nothing.
 *  @tparam kSize   bytes of an element
 *  @tparam kFirst  bytes of the lane in front of these
 *  @param  to      a multiple of 16
 *  @param  j       first column of the lane
 *  @param  stays   else the stores are streaming */
template <int kSize, int kFirst>
__device__ __forceinline__ void store_left(void *to, const FourWords &x, int j, int n, bool stays)
{
    static_assert(kSize == 2 || kSize == 4, "an element is a word or half of one");
    if constexpr (kSize == 4) {
        asm volatile(SPMM_STORE_LEFT_WORDS "}" SPMM_STORE_LEFT_ARGS);
    } else {
        asm volatile(SPMM_STORE_LEFT_WORDS SPMM_STORE_LEFT_HALF "}" SPMM_STORE_LEFT_ARGS);
    }
}

#undef SPMM_STORE_LEFT_WORDS
#undef SPMM_STORE_LEFT_HALF
#undef SPMM_STORE_LEFT_ARGS

} // namespace spmmi

#endif /* SPMM_FIRST_CUH */
