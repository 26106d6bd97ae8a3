/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_panels.cu
 *  SDDMM of unstructured masks in FP32 and FP64 on CUDA cores: 4 lanes share a batch of 8
 *  entries of one row.  A lane has its 16 bytes of each half line, all 8 rows of Y are on the
 *  way at a time, and 6 shuffles add up 8 sums over 4 lanes.  Fewer lanes for a batch than
 *  sddmm_tasks.cu has are fewer instructions for lists, addresses and sums.
 *
 *  Batches come by panels of columns whose rows of Y fit L1 (engine/sddmm_panels.c).  One thread
 *  block fills a multiprocessor and takes a run of batches, warp by warp: all of it works on one
 *  panel at a time. Loads come from L1 then, so that instructions count: an address is one
 *  multiplication, lines are constant distances from it.  Rows longer than 4 lines come in
 *  slices, which keeps panels wide.
 */
#include "cuda/sddmm/sddmm_sums.cuh"

namespace spmmi
{
namespace
{

constexpr int kBatch   = SPMM_SDDMM_TASK; /* entries */
constexpr int kLanes   = 4;               /* that share them */
constexpr int kMine    = kBatch / kLanes; /* results of a lane */
constexpr int kHalf    = 64;              /* bytes of a row that they take at a time */
constexpr int kThreads = 512;             /* as many as registers allow without spills */

/* What a lane reads of a batch. */
struct Batch {
    int  row;         /* of X */
    int  col[kBatch]; /* rows of Y; -1: no more */
    int2 place;       /* of entries 2 lane and 2 lane + 1 */
};

__device__ __forceinline__ Batch batch_at(const spmm_sddmm_batches_t &mask, uint32_t b, int lane)
{
    const int4 *const from = (const int4 *)(mask.entry + (int64_t)b * kBatch);
    const int4        low = __ldg(from), high = __ldg(from + 1);

    return {__ldg(mask.row + b),
            {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w},
            __ldg((const int2 *)(mask.place + (int64_t)b * kBatch) + lane)};
}

/* Entries, which come before what is none. */
__device__ __forceinline__ int count_of(const Batch &batch)
{
    int count = kBatch;

#pragma unroll
    for (int e = 0; e < kBatch; e++) {
        count += batch.col[e] >> 31;
    }
    return count;
}

template <typename T, bool kWide> struct Dots {
    static constexpr int kElems = 16 / (int)sizeof(T);
    using Row                   = Pack<T, kElems>;

    const int   lane; /* of the 4 */
    const int   odd;  /* is their number in the warp? */
    const char *x, *y[kBatch];
    T           sum[kBatch];

    __device__ __forceinline__ void start(const spmm_sddmm_args_t &args, const Batch &batch,
                                          int64_t at)
    {
        using Bytes     = std::conditional_t<kWide, uint32_t, uint64_t>; /* to the next row */
        const Bytes ldx = (Bytes)args.ldx * (Bytes)sizeof(T);
        const Bytes ldy = (Bytes)args.ldy * (Bytes)sizeof(T);

        x = (const char *)args.X + at + (uint64_t)(uint32_t)batch.row * ldx;
#pragma unroll
        for (int e = 0; e < kBatch; e++) {
            y[e] = (const char *)args.Y + at + (uint64_t)(uint32_t)batch.col[e] * ldy;
            keep(y[e]); /* or each load would start with a multiplication */
            sum[e] = 0;
        }
    }

    /* Half a line, @p at bytes on; what is read for an entry that is not there is what was read
     * before, and of no use. */
    __device__ __forceinline__ void add_half(const Batch &batch, int at, Row (&row)[kBatch])
    {
#pragma unroll
        for (int e = 0; e < kBatch; e++) {
            if (batch.col[e] >= 0) {
                const uint4 raw = __ldg((const uint4 *)(y[e] + at));

                memcpy(&row[e], &raw, sizeof raw);
            }
        }
        const uint4 raw = __ldg((const uint4 *)(x + at));
        Row         own;

        memcpy(&own, &raw, sizeof raw);
#pragma unroll
        for (int e = 0; e < kBatch; e++) {
#pragma unroll
            for (int j = 0; j < kElems; j++) {
                sum[e] = fma(own.at[j], row[e].at[j], sum[e]);
            }
        }
    }

    /* @p halves, an even number, of up to kMost.  A quarter of a warp, which L1 serves at a time,
     * has two rows: the odd one is half a line ahead, and its last half is its first. */
    template <int kMost>
    __device__ __forceinline__ void add_halves(const Batch &batch, int halves, Row (&row)[kBatch])
    {
#pragma unroll
        for (int i = 0; i + 1 < kMost; i++) {
            if (i + 1 < halves) {
                add_half(batch, i * kHalf, row);
            }
        }
        if (halves > 0) {
            const int last = odd != 0 ? -kHalf : (halves - 1) * kHalf;

            add_half(batch, last, row);
        }
    }

    /* Element by element from byte @p from of the slice to @p to. */
    __device__ __forceinline__ void add_rest(const Batch &batch, int from, int to)
    {
#pragma unroll 1
        for (int at = from + lane * (int)sizeof(T); at < to; at += kLanes * (int)sizeof(T)) {
            const int begin = first_byte(); /* where x and y point to */
            const T   own   = __ldg((const T *)(x + at - begin));

#pragma unroll
            for (int e = 0; e < kBatch; e++) {
                if (batch.col[e] >= 0) {
                    sum[e] = fma(own, __ldg((const T *)(y[e] + at - begin)), sum[e]);
                }
            }
        }
    }

    __device__ __forceinline__ int first_byte() const
    {
        return kWide ? lane * 16 + odd * kHalf : 0;
    }
};

/* Sums of all lanes: each has two entries. */
template <typename T, class Dots>
__device__ __forceinline__ void store_sums(const spmm_sddmm_args_t &args, const Batch &batch,
                                           Dots &dots, T beta)
{
    const int place[kMine] = {batch.place.x, batch.place.y};
    const int count        = count_of(batch);

    sums_of_lane<kLanes>(dots.sum, dots.lane);
#pragma unroll
    for (int i = 0; i < kMine; i++) {
        const T  fresh = (T)args.alpha * dots.sum[i];
        T *const s     = (T *)args.S + place[i];

        if (kMine * dots.lane + i < count) {
            *s = beta == (T)0 ? fresh : fresh + beta * *s;
        }
    }
}

/* Bytes [at, at + bytes) of the rows for batches [first, end), by all warps of the thread block;
 * a step past the last of 2^31 batches fits an unsigned number.
 * @p kWhole: halves of lines that make up all of them, 0: any number. */
template <typename T, bool kWide, int kWhole>
__device__ __forceinline__ void run_slice(const spmm_sddmm_batches_t &mask,
                                          const spmm_sddmm_args_t &args, int64_t at, int bytes,
                                          uint32_t first, uint32_t end)
{
    constexpr int  kStep = kThreads / kLanes;
    constexpr int  kMost = kWhole > 0 ? kWhole : SPMM_SDDMM_SLICE / kHalf;
    const T        beta  = at == 0 ? (T)args.beta : (T)1; /* a lane adds to what it left there */
    Dots<T, kWide> dots  = {
         (int)(threadIdx.x % kLanes), (int)(threadIdx.x / kLanes % 2), NULL, {}, {}};
    const int                    halves = kWhole > 0 ? kWhole : kWide ? bytes / (2 * kHalf) * 2 : 0;
    typename Dots<T, kWide>::Row row[kBatch] = {};
    Batch                        next        = {0, {-1, -1, -1, -1, -1, -1, -1, -1}, {}};
    uint32_t                     b           = first + threadIdx.x / kLanes;
    uint32_t base = first + threadIdx.x / kWarp * (kWarp / kLanes); /* b of the warp's lane 0 */

    if (b < end) {
        next = batch_at(mask, b, dots.lane);
    }
    for (; base < end; b += kStep, base += kStep) {
        const Batch now = next;

#pragma unroll
        for (int e = 0; e < kBatch; e++) {
            next.col[e] = -1;
        }
        if (b + kStep < end) {
            next = batch_at(mask, b + kStep, dots.lane);
        }
        dots.start(args, now, at + dots.first_byte());
        if (now.col[0] >= 0) {
            dots.template add_halves<kMost>(now, halves, row);
            if (kWhole == 0) {
                dots.add_rest(now, halves * kHalf, bytes);
            }
        }
        store_sums<T>(args, now, dots, beta);
    }
}

template <typename T, bool kWide>
__global__ void __launch_bounds__(kThreads, 1)
    sddmm_panels(spmm_sddmm_batches_t mask, spmm_sddmm_args_t args, uint32_t chunk)
{
    const uint32_t first = blockIdx.x * chunk;
    const uint32_t end   = min(first + chunk, (uint32_t)mask.n_batches);
    const int64_t  all   = args.k * (int64_t)sizeof(T);

#pragma unroll 1
    for (int64_t at = 0; at < all; at += SPMM_SDDMM_SLICE) {
        const int bytes = (int)least(all - at, SPMM_SDDMM_SLICE);

        if (kWide && bytes == SPMM_SDDMM_SLICE) {
            run_slice<T, kWide, SPMM_SDDMM_SLICE / kHalf>(mask, args, at, bytes, first, end);
        } else if (kWide && bytes == SPMM_SDDMM_SLICE / 2) {
            run_slice<T, kWide, SPMM_SDDMM_SLICE / 2 / kHalf>(mask, args, at, bytes, first, end);
        } else {
            run_slice<T, kWide, 0>(mask, args, at, bytes, first, end);
        }
    }
}

template <typename T>
cudaError_t run(const spmm_sddmm_batches_t &mask, const spmm_sddmm_args_t &a, cudaStream_t stream)
{
    const int64_t size = (int64_t)sizeof(T), most = (int64_t)UINT32_MAX / size;

    if (mask.n_batches == 0) {
        return cudaSuccess;
    }
    const int64_t chunk = ceil_div(mask.n_batches, a.n_sm);
    const dim3    grid((unsigned)ceil_div(mask.n_batches, chunk));
    const bool    wide = fits(a.X, 16) && fits(a.Y, 16) && fits(a.ldx * size, 16) &&
                      fits(a.ldy * size, 16) && a.ldx <= most && a.ldy <= most;

    return launch(wide ? sddmm_panels<T, true> : sddmm_panels<T, false>, grid, dim3(kThreads),
                  stream, mask, a, chunk);
}

} // namespace

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_panels_preload(void)
{
    using namespace spmmi;
    const cudaError_t code = preload_cached(sddmm_panels<float, true>, sddmm_panels<float, false>);

    return code != cudaSuccess
               ? code
               : preload_cached(sddmm_panels<double, true>, sddmm_panels<double, false>);
}

extern "C" cudaError_t spmmi_cuda_sddmm_panels(const spmm_sddmm_batches_t *mask,
                                               const spmm_sddmm_args_t *args, cudaStream_t stream)
{
    return args->s_type != args->type ? cudaErrorInvalidValue
           : args->type == SPMM_R_64F ? spmmi::run<double>(*mask, *args, stream)
           : args->type == SPMM_R_32F ? spmmi::run<float>(*mask, *args, stream)
                                      : cudaErrorInvalidValue;
}
