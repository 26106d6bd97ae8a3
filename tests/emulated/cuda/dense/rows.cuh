/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.cuh  In place of kernels/cuda/dense/rows.cuh: what push.cuh and its users need of
 *  CUDA C++. */
#ifndef SPMM_ROWS_CUH
#define SPMM_ROWS_CUH

#include <string.h>

#include "emulated/gpu.h"

#define __device__
#define __forceinline__ inline
/* gpu.c gives each block its own values of all that is in this section. */
#define __shared__ static __attribute__((section("emulated_shared")))

struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}

struct gpu_place_t {
    unsigned x;
};
#define threadIdx (gpu_place_t{unsigned(gpu_thread())})
#define blockDim  (gpu_place_t{unsigned(GPU_THREADS)})

static inline void __syncthreads()
{
    bool any, all;

    gpu_barrier(true, &any, &all);
}
static inline int __syncthreads_and(int p)
{
    bool any, all;

    gpu_barrier(p != 0, &any, &all);
    return all;
}
static inline int __syncthreads_or(int p)
{
    bool any, all;

    gpu_barrier(p != 0, &any, &all);
    return any;
}

static inline void __syncwarp()
{
    (void)gpu_warp(0);
}
static inline unsigned __ballot_sync(unsigned, int p)
{
    const uint64_t *lane = gpu_warp(p != 0);
    unsigned        bits = 0;

    for (int k = 0; k < GPU_LANES; k++) {
        bits |= unsigned(lane[k]) << k;
    }
    return bits;
}
static inline int __all_sync(unsigned, int p)
{
    return __ballot_sync(~0u, p) == ~0u;
}
static inline unsigned __reduce_add_sync(unsigned, unsigned value)
{
    const uint64_t *lane = gpu_warp(value);
    unsigned        sum  = 0;

    for (int k = 0; k < GPU_LANES; k++) {
        sum += unsigned(lane[k]);
    }
    return sum;
}
template <typename T> static inline T __shfl_sync(unsigned, T value, int from)
{
    return T(gpu_warp(uint64_t(value))[from % GPU_LANES]);
}

static inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}
template <typename T> static inline T __ldg(const T *from)
{
    return *from;
}
template <typename T> static inline T __ldcg(const T *from)
{
    T value;

    if (uintptr_t(from) % sizeof(T) != 0) {
        __builtin_trap();
    }
    gpu_perhaps_give_way(); /* rows take their time */
    memcpy((void *)&value, (const void *)from, sizeof value);
    return value;
}
static inline unsigned atomicAdd(unsigned *at, unsigned value)
{
    const unsigned before = *at;

    *at = before + value;
    gpu_perhaps_give_way();
    return before;
}
static inline unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value)
{
    const unsigned before = *at;

    *at = before == expected ? value : before;
    return before;
}
static inline void __threadfence() {}

namespace spmmi
{
constexpr int kWarp = GPU_LANES;
}

#endif /* SPMM_ROWS_CUH */
