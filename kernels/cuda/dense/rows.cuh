/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.cuh  Shared by the kernels that move or add dense rows. */
#ifndef SPMM_ROWS_CUH
#define SPMM_ROWS_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "cuda/cuda_kernels.h"
#include "cuda/dense/complex.cuh"
#include "operands.h"

namespace spmmi
{

constexpr int     kWarp      = 32;
constexpr int     kBlock     = 256;
constexpr int     kPackBlock = 128;
constexpr int     kTile      = 32; /* rows and columns of a transposed tile */
constexpr int     kTileY     = 8;  /* threads per block along y; each serves kTile / kTileY */
constexpr int64_t kMaxGridX  = 2147483647;
constexpr int64_t kMaxGridYZ = 65535;

/** V elements that travel in one access. */
template <typename T, int V> struct alignas(sizeof(T) * V) Pack {
    using Element = T;
    T at[V];
};

/* Storage to the accumulator type and back, rounded to nearest even once. */
template <typename A> __device__ __forceinline__ A widen(double x)
{
    return (A)x;
}
template <typename A> __device__ __forceinline__ A widen(float x)
{
    return (A)x;
}
template <typename A> __device__ __forceinline__ A widen(__half x)
{
    return (A)__half2float(x);
}
template <typename A> __device__ __forceinline__ A widen(__nv_bfloat16 x)
{
    return (A)__bfloat162float(x);
}

template <typename A, typename T> __device__ __forceinline__ A widen(Complex<T> x)
{
    return x;
}

template <typename D> struct Narrow {
    static __device__ __forceinline__ D from(double x)
    {
        return (D)x;
    }
    static __device__ __forceinline__ D from(float x)
    {
        return (D)x;
    }
};
template <> struct Narrow<__half> {
    static __device__ __forceinline__ __half from(double x)
    {
        return __double2half(x);
    }
    static __device__ __forceinline__ __half from(float x)
    {
        return __float2half_rn(x);
    }
};
template <> struct Narrow<__nv_bfloat16> {
    static __device__ __forceinline__ __nv_bfloat16 from(double x)
    {
        return __double2bfloat16(x);
    }
    static __device__ __forceinline__ __nv_bfloat16 from(float x)
    {
        return __float2bfloat16_rn(x);
    }
};

template <typename T> struct Narrow<Complex<T>> {
    static __device__ __forceinline__ Complex<T> from(Complex<T> x)
    {
        return x;
    }
};

__host__ __device__ inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}
__host__ __device__ inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/** A block of kBlock threads over rows of @p width units: x along the row, y over rows. */
inline dim3 row_block(int64_t width)
{
    unsigned x = 1;

    while (x < (unsigned)kWarp && (int64_t)x < width) {
        x *= 2;
    }
    return dim3(x, kBlock / x);
}

/** Is @p bytes a multiple of @p unit? */
inline bool fits(int64_t bytes, int64_t unit)
{
    return bytes % unit == 0;
}
inline bool fits(const void *ptr, int64_t unit)
{
    return (uintptr_t)ptr % (uintptr_t)unit == 0;
}

/** A tile of kCols columns that a block of kBlock threads turns: which element of it a thread's
 *  access k is, along rows as column-major blocks have them or along columns as row-major ones. */
template <typename T, int kCols> struct TurnTile {
    static constexpr int kEach = 4; /* 8 and 16 were slower */
    static constexpr int kRows = kEach * kBlock / kCols;

    static __device__ __forceinline__ int row_down(int k)
    {
        return (k * kBlock + (int)threadIdx.x) % kRows;
    }
    static __device__ __forceinline__ int col_down(int k)
    {
        return (k * kBlock + (int)threadIdx.x) / kRows;
    }
    static __device__ __forceinline__ int row_across(int k)
    {
        return (k * kBlock + (int)threadIdx.x) / kCols;
    }
    static __device__ __forceinline__ int col_across(int k)
    {
        return (k * kBlock + (int)threadIdx.x) % kCols;
    }
};

/** The same of 4-byte elements where both sides allow accesses of 16 bytes, by kPackBlock threads:
 *  the tile has packs of consecutive rows, which lanes read or write down a column, and elements of
 *  consecutive columns, which a lane reads or writes across.  A column's packs are permuted so that
 *  lanes of neither way meet in a bank. */
template <int kCols, int kEachPack> struct TurnPacks {
    static constexpr int kEach   = kEachPack;
    static constexpr int kVector = 4;
    static constexpr int kDown   = kEach * kPackBlock / kCols; /* packs of a column */
    static constexpr int kRows   = kDown * kVector;
    static constexpr int kAcross = kCols / kVector; /* packs of a row */

    using Packs = Pack<unsigned, kVector>;

    Packs at[kCols][kDown];

    static __device__ __forceinline__ int pack_down(int k)
    {
        return (k * kPackBlock + (int)threadIdx.x) % kDown;
    }
    static __device__ __forceinline__ int col_down(int k)
    {
        return (k * kPackBlock + (int)threadIdx.x) / kDown;
    }
    static __device__ __forceinline__ int row_across(int k)
    {
        return (k * kPackBlock + (int)threadIdx.x) / kAcross;
    }
    static __device__ __forceinline__ int col_across(int k)
    {
        return (k * kPackBlock + (int)threadIdx.x) % kAcross * kVector;
    }
    __device__ __forceinline__ Packs &pack(int col, int down)
    {
        return at[col][down ^ (col / kVector % 8)];
    }
    __device__ __forceinline__ unsigned &element(int row, int col)
    {
        return pack(col, row / kVector).at[row % kVector];
    }
};

/** What a kernel does first that launch_early() launches: wait until all that is in front of it in
 *  its stream is done and seen.  Otherwise it waits for nothing. */
__device__ __forceinline__ void wait_for_earlier()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/** From here on, in all thread blocks, the next kernel of the stream may be launched early. */
__device__ __forceinline__ void let_next_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/** Launch with @p room bytes of dynamic shared memory and return this launch's error:
 *  cudaGetLastError() could blame it for an older one. */
template <typename... Params, typename... Args>
cudaError_t launch_with(size_t room, void (*kernel)(Params...), dim3 grid, dim3 block,
                        cudaStream_t stream, Args... args)
{
    cudaLaunchConfig_t config = {};

    config.gridDim          = grid;
    config.blockDim         = block;
    config.dynamicSmemBytes = room;
    config.stream           = stream;
    return cudaLaunchKernelEx(&config, kernel, Params(args)...);
}

/** For __launch_bounds__: @p wanted thread blocks of a multiprocessor, or as many as there is room
 *  for: 2048 threads, on 8.6 to 8.9 and from 11.0 on 1536 (CUDA programming guide). */
constexpr int resident_blocks(int threads, int wanted)
{
#if defined(__CUDA_ARCH__) &&                                                                      \
    ((__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100)
    const int room = 1536;
#else
    const int room = 2048;
#endif
    return wanted * threads <= room ? wanted : room / threads;
}

/** Whether @p kernel was made from code for 9.0 on, in which it waits itself.  All kernels are
 *  built for the same architectures: the current device is asked once by each thread, not at every
 *  launch. */
inline cudaError_t waits_itself(const void *kernel, bool *waits)
{
    static thread_local int  asked  = -1;
    static thread_local bool answer = false;
    int                      device;
    cudaFuncAttributes       made = {};
    cudaError_t              code = cudaGetDevice(&device);

    if (code == cudaSuccess && device != asked) {
        code   = cudaFuncGetAttributes(&made, kernel);
        asked  = code == cudaSuccess ? device : -1;
        answer = made.ptxVersion >= 90;
    }
    *waits = answer;
    return code;
}

/** The same for a kernel that calls wait_for_earlier() before it touches what others write: its
 *  thread blocks start while the last ones of the kernel in front of it in the stream run, which
 *  saves about a microsecond of a sequence of short ones.  Code for less than 9.0 does not wait
 *  itself, and so begins behind it, on a later GPU too. */
template <typename... Params, typename... Args>
cudaError_t launch_early(size_t room, void (*kernel)(Params...), dim3 grid, dim3 block,
                         cudaStream_t stream, Args... args)
{
    cudaLaunchConfig_t  config  = {};
    cudaLaunchAttribute early   = {};
    auto                capture = cudaStreamCaptureStatusNone; /* graphs have edges of their own */
    bool                waits   = false;
    const cudaError_t   code    = waits_itself((const void *)kernel, &waits);

    if (code != cudaSuccess) {
        return code;
    }
    (void)cudaStreamIsCapturing(stream, &capture);
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim                                   = grid;
    config.blockDim                                  = block;
    config.dynamicSmemBytes                          = room;
    config.stream                                    = stream;
    config.attrs                                     = &early;
    config.numAttrs = waits && capture == cudaStreamCaptureStatusNone ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, Params(args)...);
}

/** The first kernel of a product with operands @p x.
 *  @param waits  it calls wait_for_earlier() before all else, unless it runs beside the last one */
template <typename... Params, typename... Args>
cudaError_t launch_first(const spmm_operands_t &x, bool waits, size_t room,
                         void (*kernel)(Params...), dim3 grid, dim3 block, cudaStream_t stream,
                         Args... args)
{
    return x.follows == SPMM_FOLLOWS_CONCURRENT || (waits && x.follows == SPMM_FOLLOWS_LAST)
               ? launch_early(room, kernel, grid, block, stream, args...)
               : launch_with(room, kernel, grid, block, stream, args...);
}

/** The same without dynamic shared memory. */
template <typename... Params, typename... Args>
cudaError_t launch(void (*kernel)(Params...), dim3 grid, dim3 block, cudaStream_t stream,
                   Args... args)
{
    return launch_with(0, kernel, grid, block, stream, args...);
}

/** Load kernels now: a first launch would otherwise load its code lazily, which may wait for all
 *  work of the device, and execute must not wait. */
template <typename... Kernels> cudaError_t preload(Kernels *...kernels)
{
    cudaFuncAttributes attributes;
    cudaError_t        code = cudaSuccess;

    ((code = code == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernels) : code), ...);
    return code;
}

/** Let kernels have all the shared memory of a thread block, of which they get less without asking;
 *  NULL: no kernel. */
template <typename... Kernels> cudaError_t allow_shared(Kernels *...kernels)
{
    int         device = 0, most = 0;
    cudaError_t code = cudaGetDevice(&device);

    code = code == cudaSuccess
               ? cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device)
               : code;
    ((code = code == cudaSuccess && kernels != NULL
                 ? cudaFuncSetAttribute(kernels, cudaFuncAttributeMaxDynamicSharedMemorySize, most)
                 : code),
     ...);
    return code;
}

/** The kernels of rows.cu. */
cudaError_t preload_rows();
/** Those of rows_add.cu. */
cudaError_t preload_add();
/** Those of transpose.cu. */
cudaError_t preload_store();
/** Those of values.cu. */
cudaError_t preload_values();
/** Those of round.cu. */
cudaError_t preload_round();
/** That of push.cu. */
cudaError_t preload_push();
/** That of calibrate.cu which waits. */
cudaError_t preload_wait();

} // namespace spmmi

#endif /* SPMM_ROWS_CUH */
