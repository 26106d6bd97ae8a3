/* SPDX-License-Identifier: Apache-2.0 */
/** @file calibrate.cu
 *  To time with: a wait, and random rows of 512 bytes, one a warp and 16 bytes a lane: what
 *  tensor-core and CSR kernels do to B, without what they do with it.
 */
#include "cuda/cuda_kernels.h"
#include "cuda/dense/rows.cuh"

namespace
{

constexpr int kWarp = 32, kThreads = 256, kFlight = 8; /* loads of a warp in flight */
constexpr int kRowBytes = kWarp * (int)sizeof(uint4);

/* Full avalanche on 32 bits (Wellons, "lowbias32"). */
__device__ __forceinline__ uint32_t mix(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* @p never is a number that the rows do not add up to: keeps the loads. */
__global__ void __launch_bounds__(kThreads)
    gather(const uint4 *rows, uint32_t n_rows, int rounds, uint32_t never, uint4 *sink)
{
    const uint32_t warp = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
    const uint32_t lane = threadIdx.x % kWarp;
    uint4          sum  = make_uint4(0, 0, 0, 0);

    for (int round = 0; round < rounds; round++) {
        uint4 row[kFlight];

#pragma unroll
        for (int k = 0; k < kFlight; k++) {
            const uint32_t at = mix((warp * rounds + round) * kFlight + k);

            row[k] = __ldg(rows + (size_t)__umulhi(at, n_rows) * kWarp + lane);
        }
#pragma unroll
        for (int k = 0; k < kFlight; k++) {
            sum.x += row[k].x;
            sum.y ^= row[k].y;
            sum.z += row[k].z;
            sum.w ^= row[k].w;
        }
    }
    if (sum.x + sum.y + sum.z + sum.w == never) {
        *sink = sum;
    }
}

/* One thread that watches the clock. */
__global__ void wait(uint64_t ns)
{
    uint64_t start, now;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < ns);
}

} // namespace

cudaError_t spmmi::preload_wait()
{
    return preload(wait);
}

extern "C" cudaError_t spmmi_cuda_delay(double seconds, cudaStream_t stream)
{
    const double most = 1e-3;

    return seconds > 0.0 ? spmmi::launch(wait, dim3(1), dim3(1), stream,
                                         1e9 * (seconds < most ? seconds : most))
                         : cudaSuccess;
}

extern "C" cudaError_t spmmi_cuda_gather_probe(void *memory, size_t set, size_t bytes,
                                               cudaStream_t stream)
{
    constexpr int  kRounds = 16;
    const size_t   block   = (size_t)(kThreads / kWarp) * kRounds * kFlight * kRowBytes;
    const unsigned blocks  = (unsigned)((bytes + block - 1) / block);

    return spmmi::launch(gather, dim3(blocks), dim3(kThreads), stream, (const uint4 *)memory,
                         set / kRowBytes, kRounds, 1u, (uint4 *)memory);
}
