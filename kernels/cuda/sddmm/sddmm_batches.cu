/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_batches.cu
 *  SDDMM of unstructured masks in FP16 and BF16: a warp takes 32 entries, whatever their rows of
 *  Y, and the 8 rows of X at most that they are in (sddmm_mma.cuh).  Of the 8 products of a row
 *  of Y only the one with the entry's own row of X is kept: the tensor cores, idle otherwise,
 *  save the conversions, the multiplications and the shuffles that 8 lanes for an entry take on
 *  CUDA cores, so that what is left are the loads.  Of pairs two are kept, which a lane has side by
 *  side.
 *
 *  Batches come by panels of columns whose rows of Y fit L1 (sddmm_panels.c).  One thread block
 *  fills a multiprocessor and takes a run of batches, warp by warp: all of it works on one panel
 *  at a time.
 */
#include "cuda/sddmm/sddmm_mma.cuh"
#include "cuda/tc/tc_half.cuh"

namespace spmmi
{
namespace
{

constexpr int kBatch   = SPMM_SDDMM_BATCH;
constexpr int kRows    = SPMM_SDDMM_BATCH_ROWS;
constexpr int kThreads = 640; /* as many as registers allow without spills */

/* What lane l reads of a batch. */
template <int kHeight> struct Batch {
    int entry;          /* number l */
    int place[kHeight]; /* of it */
    int row;            /* of X: number l % 8 */
};

template <int kHeight>
__device__ __forceinline__ Batch<kHeight> batch_at(const spmm_sddmm_batches_t &mask, int b,
                                                   int lane)
{
    const int64_t  at = (int64_t)b * kBatch + lane;
    Batch<kHeight> batch;

    batch.entry = __ldg(mask.entry + at);
    batch.row   = __ldg(mask.row + (int64_t)b * kRows + lane % kRows);
    if constexpr (kHeight == 2) {
        const int2 both = __ldg((const int2 *)mask.place + at);

        batch.place[0] = both.x;
        batch.place[1] = both.y;
    } else {
        batch.place[0] = __ldg(mask.place + at);
    }
    return batch;
}

/* The sums of entry `lane`, which lane 4 (lane % 8) + q / 2 has, q the number of its first row of
 * X. */
template <int kHeight, class Product>
__device__ __forceinline__ void own_sums(const Product &product, const int (&entry)[kSddmmParts],
                                         int own, int lane, float (&sum)[kHeight])
{
    const int from = 4 * (lane & 7) + (own & (kRows - 1)) / 2;

#pragma unroll
    for (int p = 0; p < kSddmmParts; p++) {
        const float *const pair = product.sum[p / 2][0] + 2 * (p % 2);

#pragma unroll
        for (int h = 0; h < kHeight; h++) {
            const bool  second = kHeight == 2 ? h == 1 : (entry[p] & 1) != 0;
            const float x      = __shfl_sync(0xffffffffu, second ? pair[1] : pair[0], from);

            sum[h] = lane >> 3 == p ? x : sum[h];
        }
    }
}

/* Rows in whole lines: a line of each of its 5 rows, as lane 4 g + t takes it.  There is always
 * a row to read: what it gives where no entry is, no one takes. */
template <typename In> struct Lines {
    const char *x[2], *y[2]; /* where the halves that it reads first and second begin in row 0 */
    uint32_t    ldx, ldy;    /* bytes to the next row: an address is one multiplication */

    __device__ __forceinline__ Lines(const spmm_sddmm_args_t &args, int g, int t)
        : ldx((uint32_t)args.ldx * (uint32_t)sizeof(In)),
          ldy((uint32_t)args.ldy * (uint32_t)sizeof(In))
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int at = 16 * t + kSddmmLine / 2 * ((g + half) & 1);

            x[half] = (const char *)args.X + at;
            y[half] = (const char *)args.Y + at;
        }
    }

    /* Line by line; @p at: bytes before this one. */
    template <class Product>
    __device__ __forceinline__ void
    add_line(int64_t at, uint32_t row, const uint32_t (&col)[kSddmmParts], Product &product) const
    {
        const bool odd = (product.g & 1) != 0;
        uint4      of[kSddmmParts + 1][2];
        Piece      of_x[1], of_y[kSddmmParts];

#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
            for (int p = 0; p < kSddmmParts; p++) {
                of[p][half] = __ldg((const uint4 *)(y[half] + at + (uint64_t)col[p] * ldy));
            }
            of[kSddmmParts][half] = __ldg((const uint4 *)(x[half] + at + (uint64_t)row * ldx));
        }
#pragma unroll
        for (int p = 0; p < kSddmmParts; p++) {
            of_y[p] = put_right(of[p][0], of[p][1], odd);
        }
        of_x[0] = put_right(of[kSddmmParts][0], of[kSddmmParts][1], odd);
        product.take(of_x, of_y);
    }
};

/* Products of the 32 rows of Y of a batch and its rows of X. */
template <typename In, Read kHow, class Product>
__device__ __forceinline__ void multiply(const spmm_sddmm_args_t &args, const Lines<In> &lines,
                                         int row, const int (&entry)[kSddmmParts], Product &product)
{
    if constexpr (kHow == Read::kWhole) {
        const int64_t bytes = args.k * (int64_t)sizeof(In);
        uint32_t      col[kSddmmParts];

        product.clear();
#pragma unroll
        for (int p = 0; p < kSddmmParts; p++) {
            col[p] = (uint32_t)max(entry[p], 0) / kRows;
        }
#pragma unroll 1
        for (int64_t at = 0; at < bytes; at += kSddmmLine) {
            lines.add_line(at, (uint32_t)row, col, product);
        }
    } else {
        const In *const x[1] = {(const In *)args.X + row * args.ldx};
        const In       *y[kSddmmParts];

#pragma unroll
        for (int p = 0; p < kSddmmParts; p++) {
            y[p] = entry[p] < 0 ? NULL : (const In *)args.Y + entry[p] / kRows * args.ldy;
        }
        product.multiply(x, y, args.k);
    }
}

/* kWhole: rows in whole lines at multiples of 16 bytes; kEdge: in others; kNarrow: at any
 * address. */
template <typename In, typename Out, Read kHow, int kHeight>
__global__ void __launch_bounds__(kThreads, 1)
    sddmm_batches(spmm_sddmm_batches_t mask, spmm_sddmm_args_t args, int chunk)
{
    constexpr int   kStep = kThreads / kWarp;
    const int       lane  = (int)(threadIdx.x % kWarp);
    const int       end   = min((int)(blockIdx.x + 1) * chunk, mask.n_batches);
    int             b     = (int)blockIdx.x * chunk + (int)(threadIdx.x / kWarp);
    const Lines<In> lines(args, lane >> 2, lane & 3);
    Batch<kHeight>  next                               = {-1, {}, 0};
    SddmmProduct<In, 1, kHow != Read::kNarrow> product = {lane >> 2, lane & 3, {}};

    if (b < end) {
        next = batch_at<kHeight>(mask, b, lane);
    }
    for (; b < end; b += kStep) {
        const Batch<kHeight> now = next;
        const int            row = __shfl_sync(0xffffffffu, now.row, product.g);
        int                  entry[kSddmmParts];
        float                sum[kHeight] = {};

#pragma unroll
        for (int p = 0; p < kSddmmParts; p++) {
            entry[p] = __shfl_sync(0xffffffffu, now.entry, 8 * p + product.g);
        }
        if (b + kStep < end) {
            next = batch_at<kHeight>(mask, b + kStep, lane);
        }
        multiply<In, kHow>(args, lines, row, entry, product);
        own_sums<kHeight>(product, entry, now.entry, lane, sum);
#pragma unroll
        for (int h = 0; h < kHeight; h++) {
            const float fresh = (float)args.alpha * sum[h];
            Out *const  s     = (Out *)args.S + now.place[h];

            if (now.entry >= 0 && (kHeight == 1 || now.place[h] >= 0)) {
                *s = Narrow<Out>::from(
                    args.beta == 0.0 ? fresh : fresh + (float)args.beta * widen<float>(*s));
            }
        }
    }
}

template <typename In, typename Out, int kHeight>
cudaError_t run(const spmm_sddmm_batches_t &mask, const spmm_sddmm_args_t &args,
                cudaStream_t stream)
{
    if (mask.n_batches == 0) {
        return cudaSuccess;
    }
    const int64_t chunk = ceil_div(mask.n_batches, args.n_sm); /* of 2^28 at most */
    const dim3    grid((unsigned)ceil_div(mask.n_batches, chunk));
    const bool    wide   = sddmm_is_wide<In>(args) && sddmm_has_short_rows<In>(args);
    auto *const   kernel = !wide ? sddmm_batches<In, Out, Read::kNarrow, kHeight>
                           : fits(args.k * (int64_t)sizeof(In), kSddmmLine)
                               ? sddmm_batches<In, Out, Read::kWhole, kHeight>
                               : sddmm_batches<In, Out, Read::kEdge, kHeight>;

    return launch(kernel, grid, dim3(kThreads), stream, mask, args, (int)chunk);
}

template <typename In, typename Out, int kHeight> cudaError_t load()
{
    return preload_cached(sddmm_batches<In, Out, Read::kWhole, kHeight>,
                          sddmm_batches<In, Out, Read::kEdge, kHeight>,
                          sddmm_batches<In, Out, Read::kNarrow, kHeight>);
}

} // namespace

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_batches_preload(void)
{
    using namespace spmmi;
    return for_all_half_types([](auto types) {
        using Types            = decltype(types);
        const cudaError_t code = load<typename Types::Half, typename Types::Out, 1>();

        return code != cudaSuccess ? code : load<typename Types::Half, typename Types::Out, 2>();
    });
}

extern "C" cudaError_t spmmi_cuda_sddmm_batches(const spmm_sddmm_batches_t *mask,
                                                const spmm_sddmm_args_t *args, cudaStream_t stream)
{
    return spmmi::for_half_types(args->type, args->s_type, [&](auto types) {
        using Types = decltype(types);

        return mask->height == 2
                   ? spmmi::run<typename Types::Half, typename Types::Out, 2>(*mask, *args, stream)
                   : spmmi::run<typename Types::Half, typename Types::Out, 1>(*mask, *args, stream);
    });
}
