/* SPDX-License-Identifier: Apache-2.0 */
/** @file panel_format.cuh
 *  Panels on the device, and the ring in shared memory that rows of B come through.
 */
#ifndef SPMM_PANEL_FORMAT_CUH
#define SPMM_PANEL_FORMAT_CUH

#include "cuda/hrpb/hrpb.cuh"
#include "cuda/tc/tc_bulk.cuh"
#include "cuda/tc/tc_wgmma.cuh"
#include "engine/panel/args.h"

namespace spmmi
{

/** The format as tc_common.cuh wants it. */
struct Panel {
    using T                      = float;
    using In                     = float;
    using Out                    = float;
    static constexpr int kHeight = SPMM_PANEL_HEIGHT;

    int32_t              n_rows, n_windows, n_panels;
    const int32_t       *panel_step, *col, *window_start;
    const unsigned char *packed;

    __device__ float exact(int32_t window, int32_t row, const float *B, int64_t ldb,
                           int64_t j) const;
};

/** Where a tile stands and what it multiplies, as its header says. */
struct PanelHeader {
    uint32_t places[2]; /* of columns 0 to 3 and 4 to 7 */
    uint32_t about;     /* step and units */
    uint32_t counts;

    __host__ __device__ uint32_t step() const
    {
        return about & 0xffffu;
    }
    __host__ __device__ uint32_t bytes() const
    {
        return (about >> 16) * SPMM_PANEL_UNIT;
    }
};

__device__ inline float Panel::exact(int32_t window, int32_t row, const float *B, int64_t ldb,
                                     int64_t j) const
{
    const unsigned char *tile = packed + (int64_t)window_start[window] * SPMM_PANEL_UNIT;
    const unsigned char *end  = packed + (int64_t)window_start[window + 1] * SPMM_PANEL_UNIT;
    const int64_t        step = panel_step[window / SPMM_PANEL_WINDOWS] - SPMM_PANEL_SPAN;
    float                sum  = 0.0f;

    while (tile < end) {
        const uint64_t *bits = (const uint64_t *)tile;
        const auto     *head = (const PanelHeader *)(tile + SPMM_PANEL_PLACES);
        const float    *from = (const float *)(tile + SPMM_PANEL_VALUES);
        const int32_t  *list = col + (step + head->step()) * SPMM_PANEL_STEP;

        for (int half = 0; half < 2; half++) {
            int32_t columns[4];

            for (int c = 0; c < 4; c++) {
                columns[c] = list[head->places[half] >> 8 * c & 0xffu];
            }
            sum = exact_in_brick(bits[half], from, row, columns, B, ldb, j, sum);
            from += __popcll(bits[half]);
        }
        tile += head->bytes();
    }
    return sum;
}

/** The largest of a warp's numbers, or the one that all have, which branches then need not ask each
 *  lane for. */
__device__ __forceinline__ int same_in_warp(int x)
{
    return __reduce_max_sync(0xffffffffu, x);
}

/** What a lane takes of a tile, in one register.  A shuffle brings it, lest the compiler ask for
 *  the number of the thread in every tile, which takes long. */
struct PanelLane {
    uint32_t packed;

    /* Its column of a half; its 8 bytes of 16 columns, of eight; its bit of a word of bits. */
    __device__ __forceinline__ PanelLane(int column, int eight, int bit)
        : packed(__shfl_sync(0xffffffffu,
                             (0x4440u + column) | (uint32_t)eight << 20 | (uint32_t)bit << 27,
                             (int)threadIdx.x % kWarp))
    {
    }
    /* Of four bytes that of its column. */
    __device__ __forceinline__ uint32_t pick(uint32_t bytes) const
    {
        uint32_t one;

        asm("prmt.b32 %0, %1, 0, %2;" : "=r"(one) : "r"(bytes), "r"(packed));
        return one;
    }
    __device__ __forceinline__ uint32_t bytes() const
    {
        return packed >> 17 & 0x38u;
    }
    /* @p bits so far to the left that its bit is the sign. */
    __device__ __forceinline__ uint32_t sign(uint32_t bits) const
    {
        return bits << (kWarp - 1 - (packed >> 27));
    }
};

/** Sizes of a kernel.  Of a thread block four warps copy rows of B; each of the others multiplies a
 *  window.
 *  @tparam kWidth   columns of B: 128 or 64
 *  @tparam kStages  steps in shared memory
 *  @tparam kBlocks  thread blocks of a multiprocessor */
template <int kWidth_, int kStages_, int kBlocks_> struct PanelShape {
    static constexpr int kWidth = kWidth_, kStages = kStages_, kBlocks = kBlocks_;
    static constexpr int kWindows = SPMM_PANEL_WINDOWS, kCopiers = 4;
    static constexpr int kStep = SPMM_PANEL_STEP, kSpan = SPMM_PANEL_SPAN;
    static constexpr int kThreads = (kWindows + kCopiers) * kWarp;
    static constexpr int kRow     = kWidth * 4; /* bytes */
    static constexpr int kStage   = kStep * kRow;
    static constexpr int kRing    = kStages * kStage;
    static constexpr int kLanes   = kWidth / 4;      /* that copy a row, 16 bytes each */
    static constexpr int kAtOnce  = kWarp / kLanes;  /* rows of a copy */
    static constexpr int kCopies  = kStep / kAtOnce; /* of a lane for a step */
    static constexpr int kBytes   = kRing + 2 * kStages * 8;

    /* Registers of a thread: at first, of those that copy, of those that multiply. */
    static constexpr int kRegisters = 65536 / (kThreads * kBlocks) / 8 * 8;
    static constexpr int kFew       = 24;
    static constexpr int kMany =
        ((kWindows + kCopiers) * kRegisters - kCopiers * kFew) / kWindows / 8 * 8;

    static_assert(kStages > kSpan && kStages >= kCopiers,
                  "a step is released before it is waited for");
};

} // namespace spmmi

#endif /* SPMM_PANEL_FORMAT_CUH */
