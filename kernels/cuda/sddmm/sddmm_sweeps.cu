/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_sweeps.cu
 *  The squares of sddmm_squares.cu on devices of capability 9.0, for results in the 16 bits of X
 *  and Y.  A thread block sweeps over couples of squares, as a rule of one band of 256 rows:
 *
 *  - The rows of X stay in shared memory.  One warp asks for the rows of Y of the next squares,
 *    128 rows by 64 columns at a time, by a tensor map, as places of a ring get free.
 *  - Four warps by four multiply 64 rows each with wgmma, sums in registers.
 *  - A warp then has 16 rows of a square.  It rounds them to a place of its own in shared memory,
 *    where its lanes find the entries of that strip.  Lists are read during the products.
 *
 *  Warps wait for nobody but their three neighbours in wgmma, so that some are at their entries
 *  while others keep the tensor cores busy.
 */
#include "cuda/sddmm/sddmm.h"
#include "cuda/windows/tc_bulk.cuh"
#include "cuda/windows/tc_half.cuh"
#include "cuda/windows/tc_wgmma.cuh"

namespace spmmi
{
namespace
{

constexpr int kSide    = SPMM_SDDMM_SQUARE;
constexpr int kStrip   = SPMM_SDDMM_STRIP;
constexpr int kTeams   = 4; /* of four warps */
constexpr int kTeam    = 4 * kWarp;
constexpr int kWarps   = 4 * kTeams;             /* that multiply */
constexpr int kThreads = kWarps * kWarp + kTeam; /* one team fetches, by one of its threads */
constexpr int kMany = 112, kFew = 32;    /* registers of those that multiply, and of those */
constexpr int kBand   = kWarps * kStrip; /* rows of X */
constexpr int kSlab   = 64;              /* columns of X and Y at a time: lines of 128 bytes */
constexpr int kLine   = kSlab * 2;
constexpr int kSlabX  = kBand * kLine; /* bytes */
constexpr int kSlabY  = kSide * kLine;
constexpr int kPlace  = kStrip * kSide * 2; /* for the results of a warp */
constexpr int kStages = 10; /* places for slabs of Y, and for halves of those of X */
constexpr int kAlign  = 1024;
constexpr int kBars   = 2 * kStages * 8;
constexpr int kShared = kAlign + kStages * kSlabY + kWarps * kPlace + kBars;
constexpr int kGroup  = 4; /* entries of a lane that are put together */
constexpr int kGroups = 2; /* of them, that are read during the products */

static_assert(kBand == 2 * kSide && kSlabX == 2 * kSlabY, "a couple of squares is a band");
static_assert(kStages - 2 * SPMM_SDDMM_SWEPT / kSlab >= 2, "places for slabs of Y are left");

/** Shared memory: slabs of X, the ring, places for results, barriers. */
struct Room {
    uint32_t x, ring, place, full, empty;
    int      slabs, stages;

    __device__ __forceinline__ Room(uint32_t shared, int64_t k)
    {
        slabs  = (int)((k + kSlab - 1) / kSlab);
        stages = kStages - 2 * slabs;
        x      = (shared + kAlign - 1) / kAlign * kAlign;
        ring   = x + slabs * kSlabX;
        place  = x + kStages * kSlabY;
        full   = place + kWarps * kPlace;
        empty  = full + kStages * 8;
    }
};

/* Rows of Y of couples [c, end), as one lane asks for them. */
__device__ __forceinline__ void ask_for_y(const CUtensorMap &map, const spmm_sddmm_squares_t &mask,
                                          const Room &room, int c, int end)
{
    Turn turn;

    for (; c < end; c++) {
        const int col = __ldg(mask.corner + 4 * c + 1);

        for (int s = 0; s < room.slabs; s++, turn.next(room.stages)) {
            const uint32_t full = room.full + 8 * turn.stage;

            barrier_wait(room.empty + 8 * turn.stage, turn.parity ^ 1);
            barrier_expect(full, kSlabY);
            copy_box(room.ring + turn.stage * kSlabY, map, col, s * kSlab, full);
        }
    }
}

/* What a warp has to know of its strip of a couple, one fact to a lane: first entry, end, row of
 * the couple.  An address that all lanes share would be waited for at once. */
__device__ __forceinline__ int fact_of(const spmm_sddmm_squares_t &mask, int c, int warp, int lane)
{
    return __ldg(lane == 2 ? mask.corner + 4 * c
                           : mask.first + (int64_t)c * kWarps + warp + lane % 2);
}

__device__ __forceinline__ int told(int fact, int lane)
{
    return __shfl_sync(0xffffffffu, fact, lane);
}

template <typename Half> struct Sweep {
    const spmm_sddmm_squares_t &mask;
    const spmm_sddmm_args_t    &args;
    const Room                 &room;
    const int                   lane, warp, team;
    const uint32_t              place; /* of the warp, for its results */
    const float                 alpha;
    unsigned short *const       S;
    float                       sum[kSide / 2];

    __device__ __forceinline__ Sweep(const spmm_sddmm_squares_t &m, const spmm_sddmm_args_t &a,
                                     const Room &r)
        : mask(m), args(a), room(r), lane((int)threadIdx.x % kWarp),
          warp(told((int)threadIdx.x / kWarp, 0)), team(warp / 4), place(r.place + warp * kPlace),
          alpha((float)a.alpha), S((unsigned short *)a.S)
    {
    }

    /* The four warps of a team. */
    __device__ __forceinline__ void meet() const
    {
        asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(1 + team), "n"(kTeam) : "memory");
    }

    /* The team's rows of the band from row @p band on; zeros where there are none. */
    __device__ __forceinline__ void load_x(int band) const
    {
        constexpr int kPieces = kLine / 16, kStep = kTeam / kPieces;
        const int     piece = lane % kPieces;

        meet(); /* nobody multiplies with those before */
#pragma unroll 1
        for (int line = (int)threadIdx.x % kTeam / kPieces; line < kBand / kTeams; line += kStep) {
            const int         at = team * (kBand / kTeams) + line, i = band + at;
            const bool        is  = i < mask.n_rows;
            const int         row = !is || mask.row_map == NULL ? i : __ldg(mask.row_map + i);
            const Half *const x   = (const Half *)args.X + row * args.ldx;

            for (int s = 0; s < room.slabs; s++) {
                const int64_t  j  = s * kSlab + 8 * piece;
                const uint32_t to = room.x + s * kSlabX + at * kLine + (piece ^ at % 8) * 16;

                cp_async_at<16>(to, is && j < args.k ? x + j : NULL, is && j < args.k);
            }
        }
        cp_async_commit();
        cp_async_wait<0>();
        show_to_copies();
        meet();
    }

    /* 64 rows of X by 128 of Y. */
    __device__ __forceinline__ void multiply(Turn &turn)
    {
        const uint64_t x    = wgmma_side(room.x + team * (kSlabX / kTeams));
        int            last = 0;

        for (int s = 0; s < room.slabs; s++, turn.next(room.stages)) {
            const uint64_t from = x + s * (kSlabX >> 4);
            const uint64_t y    = wgmma_side(room.ring + turn.stage * kSlabY);

            barrier_wait(room.full + 8 * turn.stage, turn.parity);
            wgmma_begin();
#pragma unroll
            for (int k = 0; k < kSlab / 16; k++) {
                wgmma_m64n128k16<Half>(sum, from + 2 * k, y + 2 * k, s + k);
            }
            wgmma_commit();
            if (s > 0) {
                wgmma_wait<1>();
                release(last);
            }
            last = turn.stage;
        }
        wgmma_finish(sum);
        release(last);
    }

    __device__ __forceinline__ void release(int stage) const
    {
        if (lane == 0) {
            barrier_arrive(room.empty + 8 * stage);
        }
    }

    /* Rounded results to the place of the warp: words of rows turned so that no eight share a
     * bank.  Lane l names row l % 8 + l / 8 % 2 * 8 of columns l / 16 * 8 on. */
    __device__ __forceinline__ void round()
    {
        const int      r  = lane % 8;
        const uint32_t to = place + (r + lane / 8 % 2 * 8) * (2 * kSide) + (r ^ lane / 16) * 16;

        if (alpha != 1.0f) {
#pragma unroll
            for (int i = 0; i < kSide / 2; i++) {
                sum[i] *= alpha;
            }
        }
#pragma unroll
        for (int j = 0; j < kSide / 8; j += 2) {
            uint32_t word[4];

#pragma unroll
            for (int i = 0; i < 4; i++) {
                const Half pair[2] = {Narrow<Half>::from(sum[4 * j + 2 * i]),
                                      Narrow<Half>::from(sum[4 * j + 2 * i + 1])};

                memcpy(&word[i], pair, sizeof word[i]);
            }
            store_lines((to ^ (uint32_t)(j % 8 * 16)) + j / 8 * kLine, word);
        }
        __syncwarp();
    }

    /* Entries number @p e, kWarp on, and so on of S; of those @p at places of the strip the first
     * @p left are there, at steps of kWarp.  Lane l knows the shift of row l % 16. */
    __device__ __forceinline__ void put(int e, const int (&at)[kGroup], int shift, int left) const
    {
        unsigned short bits[kGroup];
        int            to[kGroup];

#pragma unroll
        for (int i = 0; i < kGroup; i++) {
            const int turned = at[i] % (kStrip * kSide) ^ at[i] / kSide % 8 * 8;

            asm volatile("ld.shared.b16 %0, [%1];"
                         : "=h"(bits[i])
                         : "r"(place + 2 * turned)
                         : "memory");
            to[i] = e + i * kWarp + told(shift, at[i] / kSide % kStrip);
        }
#pragma unroll
        for (int i = 0; i < kGroup; i++) {
            if (i * kWarp < left) {
                S[to[i]] = bits[i];
            }
        }
    }

    /* Their places in the strip; 0: none. */
    __device__ __forceinline__ static void read(const uint16_t *list, int (&at)[kGroup], int left)
    {
#pragma unroll
        for (int i = 0; i < kGroup; i++) {
            at[i] = i * kWarp < left ? __ldg(list + i * kWarp) : 0;
        }
    }

    __device__ __forceinline__ void run(int c, int end)
    {
        Turn turn;
        int  band = -1, next = fact_of(mask, c, warp, lane);

        for (; c < end; c++) {
            const int       row = told(next, 2), mine = told(next, 0) + lane;
            const int       left  = told(next, 1) - mine; /* from this lane's first on */
            const uint16_t *list  = mask.entry + mine;
            const int64_t   strip = (int64_t)c * kWarps + warp;
            const int       shift = __ldg(mask.shift + strip * kStrip + lane % kStrip);
            int             at[kGroups][kGroup];

            keep(list);
#pragma unroll
            for (int i = 0; i < kGroups; i++) {
                read(list + i * kGroup * kWarp, at[i], left - i * kGroup * kWarp);
            }
            next = fact_of(mask, min(c + 1, end - 1), warp, lane);
            if (row != band) {
                band = row;
                load_x(band);
            }
            multiply(turn);
            round();
#pragma unroll
            for (int i = 0; i < kGroups; i++) {
                const int gone = i * kGroup * kWarp;

                if (gone < left + lane) {
                    put(mine + gone, at[i], shift, left - gone);
                }
            }
            for (int gone = kGroups * kGroup * kWarp; gone < left + lane; gone += kGroup * kWarp) {
                read(list + gone, at[0], left - gone);
                put(mine + gone, at[0], shift, left - gone);
            }
            __syncwarp();
        }
    }
};

template <typename Half>
__global__ void __launch_bounds__(kThreads, 1)
    sddmm_sweeps(const __grid_constant__ CUtensorMap          map,
                 const __grid_constant__ spmm_sddmm_squares_t mask,
                 const __grid_constant__ spmm_sddmm_args_t    args)
{
    if (!kHasWgmma) {
        return;
    }
    extern __shared__ unsigned char shared[];
    const Room                      room(shared_address(shared), args.k);
    const int64_t                   couples = mask.n_squares / 2;
    const int                       c       = (int)(couples * blockIdx.x / gridDim.x);
    const int                       end     = (int)(couples * (blockIdx.x + 1) / gridDim.x);
    const int                       warp    = (int)threadIdx.x / kWarp;

    if (threadIdx.x == kWarps * kWarp) {
        prefetch_map(map);
        for (int s = 0; s < room.stages; s++) {
            barrier_init(room.full + 8 * s, 1);
            barrier_init(room.empty + 8 * s, kWarps);
        }
        show_to_copies();
    }
    __syncthreads();
    if (warp < kWarps) {
        take_registers<kMany>();
        Sweep<Half>(mask, args, room).run(c, end);
    } else {
        keep_registers<kFew>();
        if (threadIdx.x == kWarps * kWarp) {
            ask_for_y(map, mask, room, c, end);
        }
    }
}

template <typename Half>
cudaError_t run(const spmm_sddmm_squares_t &mask, const spmm_sddmm_args_t &args,
                cudaStream_t stream)
{
    CUtensorMap map;

    if (!make_box_map(args.Y, mask.n_cols, args.k, args.ldy, kSide, kSlab, &map)) {
        *args.no_map = true;
        return cudaErrorNotSupported;
    }
    return launch_with(kShared, sddmm_sweeps<Half>,
                       dim3((unsigned)least(mask.n_squares / 2, args.n_sm)), dim3(kThreads), stream,
                       map, mask, args);
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_sweeps_preload(void)
{
    using namespace spmmi;
    const cudaError_t code = preload(sddmm_sweeps<__half>, sddmm_sweeps<__nv_bfloat16>);

    (void)tensor_map_encoder();
    return code != cudaSuccess ? code
                               : allow_shared(sddmm_sweeps<__half>, sddmm_sweeps<__nv_bfloat16>);
}

extern "C" bool spmmi_cuda_sddmm_sweeps_built(void)
{
#ifdef SPMM_SM90A
    return true;
#else
    return false;
#endif
}

extern "C" cudaError_t spmmi_cuda_sddmm_sweeps(const spmm_sddmm_squares_t *mask,
                                               const spmm_sddmm_args_t *args, cudaStream_t stream)
{
    using namespace spmmi;
    if (!spmmi_cuda_sddmm_sweeps_built() || args->cc != 90 || args->k > SPMM_SDDMM_SWEPT ||
        args->beta != 0.0 || args->s_type != args->type || mask->shift == NULL) {
        return cudaErrorNotSupported;
    }
    return args->type == SPMM_R_16F ? spmmi::run<__half>(*mask, *args, stream)
                                    : spmmi::run<__nv_bfloat16>(*mask, *args, stream);
}
