/* SPDX-License-Identifier: Apache-2.0 */
/** @file strips.cu  Which of the kernels of strips runs a product. */
#include <algorithm>

#include "cuda/csr/strips.h"
#include "cuda/windows/tc_common.cuh"
#include "engine/csr/strips_args.h"

namespace spmmi
{

/* A in strips of rows times column-major B.  A thread block copies the rows of B that its strip
 * uses to shared memory, a slice of columns at a time, and turns them on the way: all lanes of a
 * warp run along the rows of B in global memory, and shared memory holds them by rows.  Groups of
 * lanes add up one row of A each.  Sums lie by columns in shared memory, from where they are
 * stored along the columns of C.  Several thread blocks of a multiprocessor hide each other's
 * accesses.  Issue slots and L1 are what it is short of: hence places instead of numbers of rows,
 * and pointers that step. */

constexpr int kStripBlock = 256;

/** The dense side, and what one launch covers of it. */
template <typename T> struct StripDense {
    const T *B;
    T       *C;
    int64_t  ldb, ldc;
    T        alpha, beta;
    bool     has_beta; /**< beta != 0: C is read */
    int32_t  n;
    int32_t  slices; /**< of a thread block, at most */
};

/** @tparam kLanes  that share a row of B in shared memory, 16 bytes each: columns of a slice */
template <typename T, int kLanes> struct Strip {
    static constexpr int kVector = 16 / (int)sizeof(T);
    static constexpr int kWidth  = kLanes * kVector;
    static constexpr int kGroups = kStripBlock / kLanes;
    static constexpr int kLd     = SPMM_STRIP_ROWS + 2; /* lanes store neighbouring columns */
    static constexpr int kPlace  = 64;                  /* bytes for a row of B */
    static_assert(SPMM_STRIP_COLS <= kStripBlock, "a thread copies one row of B");

    const spmm_strips_args_t &A;
    const StripDense<T>      &dense;
    const spmm_strip_t        strip;
    const int                 thread = (int)threadIdx.x;
    const uint32_t            tile; /**< shared address of [most_cols][kPlace] */
    T *const                  out;  /**< [kWidth][kLd] sums */
    T                        *value;
    uint16_t                 *index; /**< places */
    uint16_t                 *ptr;
    const int32_t             col; /**< the thread's row of B */

    /* Copies are of whole words of 16 bytes, which begin up to one earlier. */
    static __host__ __device__ size_t room_of(int n, size_t size)
    {
        return ((size_t)n * size + 31) / 16 * 16;
    }

    static __host__ __device__ size_t room(const spmm_strips_args_t &A)
    {
        return (size_t)A.most_cols * kPlace + (size_t)kWidth * kLd * sizeof(T) +
               room_of(A.most_entries, sizeof(T)) + room_of(A.most_entries, sizeof(uint16_t)) +
               room_of(SPMM_STRIP_ROWS + 1, sizeof(uint16_t));
    }

    __device__ __forceinline__ Strip(const spmm_strips_args_t &format, const StripDense<T> &other,
                                     const spmm_strip_t &mine, char *shared)
        : A(format), dense(other), strip(mine), tile(shared_address(shared)),
          out((T *)(shared + format.most_cols * kPlace)), value(out + kWidth * kLd),
          index((uint16_t *)((char *)value + room_of(format.most_entries, sizeof(T)))),
          ptr((uint16_t *)((char *)index + room_of(format.most_entries, sizeof(uint16_t)))),
          col(thread < mine.n_cols ? __ldg(format.col + mine.col + thread) : 0)
    {
    }

    /* Where row @p k of B lies; its 16 bytes of lane l are at place(k) ^ 16 l.  Rows that are 128
     * bytes apart lie in the same banks, hence the exchange. */
    static __device__ __forceinline__ int place(int k)
    {
        return k * kPlace | (k / 2 % 4 * 16);
    }

    /** Start to copy what the strip uses of the columns from @p j on. */
    __device__ __forceinline__ void fetch_b(int j) const
    {
        const T  *from = dense.B + col + j * dense.ldb;
        const int to   = place(thread);

        if (thread >= strip.n_cols) {
            return;
        }
        if (j + kWidth <= dense.n) {
#pragma unroll
            for (int n = 0; n < kWidth; n++, from += dense.ldb) {
                cp_async_at<sizeof(T)>(tile + (to ^ (n / kVector * 16)) + n % kVector * sizeof(T),
                                       from);
            }
        } else {
#pragma unroll
            for (int n = 0; n < kWidth; n++, from += dense.ldb) {
                cp_async_at<sizeof(T)>(tile + (to ^ (n / kVector * 16)) + n % kVector * sizeof(T),
                                       from, j + n < dense.n);
            }
        }
    }

    /* The words that have @p n elements to @p to, which moves by as many as are before them. */
    template <typename V>
    __device__ __forceinline__ void fetch_words(V *&to, const V *from, int n) const
    {
        const int   past  = (int)((uintptr_t)from % 16);
        const char *word  = (const char *)from - past;
        const int   bytes = past + n * (int)sizeof(V);

        for (int at = thread * 16; at < bytes; at += kStripBlock * 16) {
            cp_async<16>((char *)to + at, word + at);
        }
        to += past / (int)sizeof(V);
    }

    __device__ __forceinline__ void fetch_entries()
    {
        fetch_words(value, (const T *)A.values + strip.entry, strip.n_entries);
        fetch_words(index, A.index + strip.entry, strip.n_entries);
        fetch_words(ptr, A.ptr + strip.ptr, strip.n_sums + 1);
    }

    /* Numbers of rows of B to their places, by the threads that copied them. */
    __device__ __forceinline__ void place_entries() const
    {
        const int past = (int)((uintptr_t)index % 16);

        for (int at = thread * 16; at < past + strip.n_entries * 2; at += kStripBlock * 16) {
            uint16_t *const word = (uint16_t *)((char *)index - past + at);

#pragma unroll
            for (int i = 0; i < 8; i++) {
                word[i] = (uint16_t)place(word[i] % SPMM_STRIP_COLS);
            }
        }
    }

    __device__ __forceinline__ void add_up() const
    {
        const int lane = thread % kLanes * 16;

        for (int r = thread / kLanes; r < strip.n_sums; r += kGroups) {
            const int end          = ptr[r + 1];
            T         sum[kVector] = {};

#pragma unroll 4
            for (int e = ptr[r]; e < end; e++) {
                const int4 b = load_shared<int4>(tile + (index[e] ^ lane));
                const T    a = value[e];

#pragma unroll
                for (int i = 0; i < kVector; i++) {
                    sum[i] = fma(a, ((const T *)&b)[i], sum[i]);
                }
            }
#pragma unroll
            for (int i = 0; i < kVector; i++) {
                out[(lane / (int)sizeof(T) + i) * kLd + r] = sum[i];
            }
        }
    }

    __device__ __forceinline__ void store(T sum, T *c) const
    {
        sum *= dense.alpha;
        *c = dense.has_beta ? fma(dense.beta, *c, sum) : sum;
    }

    __device__ __forceinline__ int64_t row_of_c(int row) const
    {
        return A.row_map == NULL ? row : __ldg(A.row_map + row);
    }

    /** The sums of a work item so far; the last thread block of its row to arrive adds them up. */
    __device__ __forceinline__ void combine(int j, bool &last) const
    {
        const spmm_strip_split_t split   = A.split[strip.split];
        T *const                 partial = (T *)A.partial + j + thread;
        const bool               mine    = thread < kWidth && j + thread < dense.n;

        if (mine) {
            T sum = {};

            for (int r = 0; r < strip.n_sums; r++) {
                sum += out[thread * kLd + r];
            }
            __stcg(partial + (int64_t)strip.item * dense.n, sum);
        }
        __threadfence();
        __syncthreads();
        if (thread == 0) {
            uint32_t *const count = A.arrived + (int64_t)strip.split * A.n_slices + j / kWidth;

            last = atomicInc(count, (unsigned)split.n_items - 1) == (unsigned)split.n_items - 1;
        }
        __syncthreads();
        if (last && mine) {
            T sum = {};

            __threadfence();
#pragma unroll 8
            for (int p = 0; p < split.n_items; p++) {
                sum += __ldcg(partial + (int64_t)(split.item + p) * dense.n);
            }
            store(sum, dense.C + row_of_c(strip.row) + (j + thread) * dense.ldc);
        }
    }

    /* Lanes begin where a sector does. */
    __device__ __forceinline__ void store_all(int j) const
    {
        constexpr int kSector = 32 / (int)sizeof(T);

#pragma unroll 1
        for (int n = thread / kWarp; n < kWidth && j + n < dense.n; n += kStripBlock / kWarp) {
            T *const       c    = dense.C + (j + n) * dense.ldc;
            const T *const from = out + n * kLd;
            const int      past = (int)((uintptr_t)(c + strip.row) / sizeof(T) % kSector);
            int            r    = thread % kWarp - past;

            if (A.row_map == NULL) {
                T *const to = c + strip.row;

#pragma unroll
                for (int k = 0; k <= SPMM_STRIP_ROWS / kWarp; k++, r += kWarp) {
                    if ((unsigned)r < strip.n_sums) {
                        store(from[r], to + r);
                    }
                }
            } else {
                for (; r < strip.n_sums; r += kWarp) {
                    if (r >= 0) {
                        store(from[r], c + __ldg(A.row_map + strip.row + r));
                    }
                }
            }
        }
    }

    /** Slices from column @p j to @p end: rows of B are on their way while sums are stored. */
    __device__ __forceinline__ void run(int j, int end, bool &last)
    {
        fetch_entries();
        cp_async_commit();
        fetch_b(j);
        cp_async_commit();
        cp_async_wait<1>();
        place_entries();
        for (; j < end; j += kWidth) {
            cp_async_wait<0>();
            __syncthreads();
            add_up();
            __syncthreads();
            if (j + kWidth < end) {
                fetch_b(j + kWidth);
                cp_async_commit();
            }
            if (strip.split >= 0) {
                combine(j, last);
            } else {
                store_all(j);
            }
        }
    }
};

/* What the plan has made once is read before the kernel waits for those in front of it. */
template <typename T, int kLanes>
__global__ void __launch_bounds__(kStripBlock, resident_blocks(kStripBlock, 6))
    strips_mm(const __grid_constant__ spmm_strips_args_t A,
              const __grid_constant__ StripDense<T> dense)
{
    extern __shared__ int4 shared[];
    __shared__ bool        last;
    constexpr int          kWidth = Strip<T, kLanes>::kWidth;
    const int              j      = (int)blockIdx.y * dense.slices * kWidth;
    int4                   words[2];

    words[0] = __ldg((const int4 *)(A.strip + blockIdx.x));
    words[1] = __ldg((const int4 *)(A.strip + blockIdx.x) + 1);
    Strip<T, kLanes> strip(A, dense, *(const spmm_strip_t *)words, (char *)shared);
    wait_for_earlier();
    let_next_begin();
    strip.run(j, min(j + dense.slices * kWidth, dense.n), last);
}

namespace
{

template <typename T, int kLanes>
cudaError_t launch_strips(const spmm_strips_args_t &A, const spmm_operands_t &x,
                          cudaStream_t stream)
{
    using Kernel          = Strip<T, kLanes>;
    const int64_t slices  = ceil_div(x.n, Kernel::kWidth);
    constexpr int kBlocks = 16; /* of a multiprocessor, in all */
    const int64_t wanted  = ceil_div((int64_t)kBlocks * A.n_sm, A.n_strips);
    const int64_t each    = ceil_div(slices, std::min({wanted, slices, (int64_t)kMaxGridYZ}));
    StripDense<T> dense   = {};

    dense.B        = (const T *)x.B;
    dense.C        = (T *)x.C;
    dense.ldb      = x.ldb;
    dense.ldc      = x.ldc;
    dense.alpha    = Factor<T>::of(x.alpha);
    dense.beta     = Factor<T>::of(x.beta);
    dense.has_beta = !is_zero(x.beta);
    dense.n        = (int32_t)x.n;
    dense.slices   = (int32_t)each;
    return launch_early(Kernel::room(A), strips_mm<T, kLanes>,
                        dim3((unsigned)A.n_strips, (unsigned)ceil_div(slices, each)),
                        dim3(kStripBlock), stream, A, dense);
}

template <typename T>
cudaError_t launch_strips(const spmm_strips_args_t &A, const spmm_operands_t &x,
                          cudaStream_t stream)
{
    if (x.n > INT32_MAX / 2) {
        return cudaErrorInvalidValue;
    }
    return x.n * (int64_t)sizeof(T) <= SPMM_STRIP_SLICE ? launch_strips<T, 2>(A, x, stream)
                                                        : launch_strips<T, 4>(A, x, stream);
}

template <typename T, int kLanes> cudaError_t preload_strips()
{
    spmm_strips_args_t most = {};
    const cudaError_t  code = preload(strips_mm<T, kLanes>);

    most.most_cols    = SPMM_STRIP_COLS;
    most.most_entries = SPMM_STRIP_ENTRIES;
    return code == cudaSuccess ? cudaFuncSetAttribute(strips_mm<T, kLanes>,
                                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                      (int)Strip<T, kLanes>::room(most))
                               : code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_strips_preload(void)
{
    cudaError_t (*const load[])() = {
        spmmi::preload_strips<double, 2>, spmmi::preload_strips<double, 4>,
        spmmi::preload_strips<float, 2>, spmmi::preload_strips<float, 4>};
    cudaError_t code = cudaSuccess;

    for (size_t k = 0; k < sizeof load / sizeof *load && code == cudaSuccess; k++) {
        code = load[k]();
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_strips_mm(const spmm_strips_args_t *A, const spmm_operands_t *x,
                                            cudaStream_t stream)
{
    if (A->n_strips == 0 || x->n <= 0) {
        return cudaSuccess;
    }
    switch (A->type) {
    case SPMM_R_64F:
        return spmmi::launch_strips<double>(*A, *x, stream);
    case SPMM_R_32F:
        return spmmi::launch_strips<float>(*A, *x, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
