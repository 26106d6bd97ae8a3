/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_pack.cuh
 *  What the CSR kernels are made of: accesses to memory, the dense side, and what the groups of a
 *  thread block share.
 */
#ifndef SPMM_CSR_GPU_PACK_CUH
#define SPMM_CSR_GPU_PACK_CUH

#include <utility>

#include "cuda/dense/first.cuh"
#include "cuda/windows/tc_common.cuh"
#include "engine/csr/csr_gpu_args.h"

namespace spmmi
{

constexpr int      kCsrBlock = 256;
constexpr unsigned kAllLanes = 0xffffffffu;

template <typename T> struct CsrSum {
    using type = float;
};
template <> struct CsrSum<double> {
    using type = double;
};
template <typename T> struct CsrSum<Complex<T>> {
    using type = Complex<T>;
};

/** What one access reads or writes of an element. */
template <typename T> struct CsrWord {
    using type = T;
};
template <> struct CsrWord<Complex<float>> {
    using type = float2;
};
template <> struct CsrWord<Complex<double>> {
    using type = double2;
};

template <typename T> __device__ __forceinline__ T fetch_once(const T *from)
{
    using Word      = typename CsrWord<T>::type;
    const Word word = __ldcs((const Word *)from);

    return *(const T *)&word;
}

/** The element that lane @p from of @p width lanes holds. */
template <typename T> __device__ __forceinline__ T share(T x, int from, int width)
{
    return __shfl_sync(kAllLanes, x, from, width);
}
template <typename T> __device__ __forceinline__ Complex<T> share(Complex<T> x, int from, int width)
{
    return {share(x.re, from, width), share(x.im, from, width)};
}

/** That of the lane @p by in front of this one, or behind it. */
template <typename T> __device__ __forceinline__ T shift_up(T x, int by)
{
    return __shfl_up_sync(kAllLanes, x, by);
}
template <typename T> __device__ __forceinline__ Complex<T> shift_up(Complex<T> x, int by)
{
    return {shift_up(x.re, by), shift_up(x.im, by)};
}
template <typename T> __device__ __forceinline__ T shift_down(T x, int by)
{
    return __shfl_down_sync(kAllLanes, x, by);
}
template <typename T> __device__ __forceinline__ Complex<T> shift_down(Complex<T> x, int by)
{
    return {shift_down(x.re, by), shift_down(x.im, by)};
}

/** The dense side and what one launch covers of it. */
template <typename Sum> struct CsrDense {
    const void *B; /**< row-major, as C unless c_columns */
    void       *C;
    int64_t     ldb, ldc;
    uint32_t    stride; /**< bytes of a row of B, where accesses have 16 bytes */
    Sum         alpha, beta;
    bool        has_beta;  /**< beta != 0: C is read */
    bool        c_columns; /**< C is column-major */
    bool        beside;    /**< runs beside the kernel in front of it */
    bool        c_stays;   /**< L2 has room for C until the next product writes or reads it */
    int32_t     n;
    int32_t     first; /**< column of the first slice; blockIdx.y counts from there */
    int32_t     share; /**< rows without entries for each thread block along x */
};

/** How sums of a row get to C. */
enum class CsrStore {
    kRows,    /**< row-major */
    kColumns, /**< column-major, element by element */
    kTiles    /**< column-major, from tiles of consecutive rows in shared memory */
};

/** What kernels of a product do first. */
template <typename Sum> __device__ __forceinline__ void follow(const CsrDense<Sum> &dense)
{
    if (!dense.beside) {
        wait_for_earlier();
    }
    let_next_begin();
}

/** What those with column-major C do in place of that, at last before they read B.  The kernel in
 *  front of them is of the same product, and let them begin when all in front of it had ended: A is
 *  there, and what of A they read first arrives while B is turned. */
template <typename Sum> __device__ __forceinline__ void follow_turn(const CsrDense<Sum> &dense)
{
    if (!dense.beside) {
        wait_for_earlier();
    }
}

/** 0, in the register that x is in: as a new value it would cost a copy where it is not cleared. */
__device__ __forceinline__ void clear(float &x)
{
    asm volatile("mov.f32 %0, 0f00000000;" : "+f"(x));
}
__device__ __forceinline__ void clear(double &x)
{
    asm volatile("mov.f64 %0, 0d0000000000000000;" : "+d"(x));
}
template <typename T> __device__ __forceinline__ void clear(Complex<T> &x)
{
    clear(x.re);
    clear(x.im);
}

/** Read-only data, through L1. */
template <typename P> __device__ __forceinline__ P fetch(const void *from)
{
    P x;

    if constexpr (sizeof(P) == 16) {
        *(int4 *)&x = __ldg((const int4 *)from);
    } else if constexpr (sizeof x.at != sizeof x.at[0]) {
        static_assert(sizeof(P) == 8, "one element, 8 or 16 bytes");
        *(int2 *)&x = __ldg((const int2 *)from);
    } else {
        using Word    = typename CsrWord<typename P::Element>::type;
        *(Word *)x.at = __ldg((const Word *)from);
    }
    return x;
}

/* Whole packs where they are multiples of 8 bytes; the address is one of 16, or of 8. */
template <typename P> __device__ __forceinline__ P load_pack(const void *from)
{
    P x;

    if constexpr (sizeof(P) % 16 == 0) {
#pragma unroll
        for (int k = 0; k < (int)(sizeof(P) / 16); k++) {
            ((int4 *)&x)[k] = __ldcg((const int4 *)from + k);
        }
    } else if constexpr (sizeof x.at != sizeof x.at[0]) {
        static_assert(sizeof(P) == 8, "one element, 8 bytes or a multiple of 16");
        *(int2 *)&x = __ldcg((const int2 *)from);
    } else {
        using Word    = typename CsrWord<typename P::Element>::type;
        *(Word *)x.at = __ldcg((const Word *)from);
    }
    return x;
}

template <typename Word>
__device__ __forceinline__ void store_once(Word *to, const Word &x, bool stays)
{
    if (stays) {
        *to = x;
    } else {
        __stcs(to, x);
    }
}

/* @p stays as CsrDense.c_stays: else C should not push B out of L2. */
template <typename P>
__device__ __forceinline__ void store_pack(void *to, const P &x, bool stays = false)
{
    if constexpr (sizeof(P) % 16 == 0) {
#pragma unroll
        for (int k = 0; k < (int)(sizeof(P) / 16); k++) {
            store_once((int4 *)to + k, ((const int4 *)&x)[k], stays);
        }
    } else if constexpr (sizeof x.at != sizeof x.at[0]) {
        store_once((int2 *)to, *(const int2 *)&x, stays);
    } else {
        using Word = typename CsrWord<typename P::Element>::type;
        store_once((Word *)to, *(const Word *)x.at, stays);
    }
}

/** Packs of 16 bytes of a lane's part of a row of C, each as store_left() says. */
template <typename C, typename Sum, int kVector, int... kPacks>
__device__ __forceinline__ void store_packs(const CsrDense<Sum> &dense, C *to,
                                            const Pack<C, kVector> &x, int j0,
                                            std::integer_sequence<int, kPacks...>)
{
    (store_left<(int)sizeof(C), 16 * kPacks>((char *)to + 16 * kPacks, four_words<kPacks>(x), j0,
                                             dense.n, dense.c_stays),
     ...);
}

/** alpha times what a lane has of a row, from column @p j0 on, plus beta C: a whole access, or the
 *  columns that there are in pieces.  Overwrites @p x. */
template <typename C, typename Sum, int kVector>
__device__ __forceinline__ void store_some(const CsrDense<Sum> &dense, C *to, Pack<Sum, kVector> &x,
                                           int j0)
{
    Pack<C, kVector> narrow;

    keep(to); /* or each piece would compute it again */
    __builtin_assume(__isGlobal(to));
#pragma unroll
    for (int e = 0; e < kVector; e++) {
        x.at[e] *= dense.alpha;
    }
    if (dense.has_beta) {
        const int        rest = dense.n % kVector; /* columns of the last access */
        Pack<C, kVector> old  = {};

        if (j0 + kVector <= dense.n) {
            old = load_pack<Pack<C, kVector>>(to);
        } else if (j0 < dense.n) {
            old = load_first<kVector>(to, rest);
        }
#pragma unroll
        for (int e = 0; e < kVector; e++) {
            x.at[e] = fma(dense.beta, widen<Sum>(old.at[e]), x.at[e]);
        }
    }
#pragma unroll
    for (int e = 0; e < kVector; e++) {
        narrow.at[e] = Narrow<C>::from(x.at[e]);
    }
    store_packs(dense, to, narrow, j0, std::make_integer_sequence<int, (int)sizeof narrow / 16>());
}

/** What a thread block takes of the entries. */
struct CsrPart {
    uint32_t entry;
    int      n;
    bool     last; /**< the last row of B may be among theirs */

    /** @param first, second  words of spmm_csr_item_t */
    __device__ __forceinline__ CsrPart(const spmm_csr_items_t &A, int first, int second)
        : entry((uint32_t)first), n(second & INT32_MAX), last(!A.is_marked || second < 0)
    {
    }

    static __device__ __forceinline__ CsrPart of(const spmm_csr_items_t &A)
    {
        const int2 words = __ldg((const int2 *)(A.item + blockIdx.x));

        return {A, words.x, words.y};
    }
};

/** What a group hands to the groups before it. */
enum : unsigned char {
    kOwnRow,   /**< nothing: it starts with a row of its own, or has no entries */
    kThrough,  /**< sums of a row that goes on behind it */
    kRowEnded, /**< sums of a row that ends in it */
};

template <typename Sum, int kVector, int kLoads, int kGroups> struct CsrShared {
    Pack<Sum, kVector> sum[kLoads][kCsrBlock]; /**< of each thread */
    unsigned char      status[kGroups < kWarp ? kWarp : kGroups];
    bool               last;
};

} // namespace spmmi

#endif /* SPMM_CSR_GPU_PACK_CUH */
