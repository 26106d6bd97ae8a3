/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_rows.cu
 *  Sparse attention and its gradients on CUDA cores, all types: a warp has a row and a head, its
 *  lanes every 32nd column, and takes four entries at a time, whose loads and shuffles then
 *  overlap.  Sums of 128 columns stay in registers; a head with more comes in runs, each of which
 *  computes the scores again.
 */
#include "cuda/attention/attention.h"
#include "cuda/dense/rows.cuh"

namespace spmmi
{
namespace
{

constexpr int      kLanes = 4;              /* columns of a lane in a run */
constexpr int      kRun   = kLanes * kWarp; /* columns */
constexpr int      kOnce  = 4;              /* entries at a time */
constexpr unsigned kAll   = 0xffffffffu;

__device__ __forceinline__ float exp_of(float x)
{
    return expf(x);
}
__device__ __forceinline__ double exp_of(double x)
{
    return exp(x);
}
__device__ __forceinline__ float log_of(float x)
{
    return logf(x);
}
__device__ __forceinline__ double log_of(double x)
{
    return log(x);
}

/** The row and head of a warp. */
struct Place {
    int64_t i, head; /* row of Q or, of the transpose, of K */
    int64_t from, to;
    int     lane;

    __device__ __forceinline__ Place(const spmm_attention_rows_t &mask, int64_t heads)
    {
        const int64_t t = ((int64_t)blockIdx.x * kBlock + threadIdx.x) / kWarp, row = t / heads;

        lane = (int)threadIdx.x % kWarp;
        head = t % heads;
        i = from = to = -1;
        if (row < mask.n_rows) {
            i    = mask.row_map == NULL ? row : __ldg(mask.row_map + row);
            from = __ldg(mask.row_ptr + row);
            to   = __ldg(mask.row_ptr + row + 1);
        }
    }
};

/** Four columns of the row, those beyond its end repeat the last. */
struct Columns {
    int64_t at[kOnce];

    __device__ __forceinline__ Columns(const spmm_attention_rows_t &mask, int64_t e, int64_t to)
    {
#pragma unroll
        for (int u = 0; u < kOnce; u++) {
            at[u] = __ldg(mask.col + (e + u < to ? e + u : to - 1));
        }
    }
};

/* <x, row at[u] of Y>, in all lanes. */
template <typename T, typename X>
__device__ __forceinline__ void dots(const X *x, const X *Y, int64_t ld, const Columns &j,
                                     int64_t k, int lane, T (&sum)[kOnce])
{
#pragma unroll
    for (int u = 0; u < kOnce; u++) {
        sum[u] = 0;
    }
    for (int64_t c = lane; c < k; c += kWarp) {
        const T xc = widen<T>(x[c]);

#pragma unroll
        for (int u = 0; u < kOnce; u++) {
            sum[u] += xc * widen<T>(Y[j.at[u] * ld + c]);
        }
    }
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) {
#pragma unroll
        for (int u = 0; u < kOnce; u++) {
            sum[u] += __shfl_xor_sync(kAll, sum[u], step);
        }
    }
}

/** A run of columns of a row of sums. */
template <typename T, typename X> struct Run {
    T sum[kLanes];

    __device__ __forceinline__ void start(const X *from, bool resume, int64_t c, int64_t k)
    {
#pragma unroll
        for (int l = 0; l < kLanes; l++) {
            sum[l] = resume && c + l * kWarp < k ? widen<T>(from[c + l * kWarp]) : (T)0;
        }
    }
    __device__ __forceinline__ void scale(T factor)
    {
#pragma unroll
        for (int l = 0; l < kLanes; l++) {
            sum[l] *= factor;
        }
    }
    __device__ __forceinline__ void add(T weight, const X *row, int64_t c, int64_t k)
    {
#pragma unroll
        for (int l = 0; l < kLanes; l++) {
            sum[l] += c + l * kWarp < k ? weight * widen<T>(row[c + l * kWarp]) : (T)0;
        }
    }
    __device__ __forceinline__ void store(X *to, int64_t c, int64_t k) const
    {
#pragma unroll
        for (int l = 0; l < kLanes; l++) {
            if (c + l * kWarp < k) {
                to[c + l * kWarp] = Narrow<X>::from(sum[l]);
            }
        }
    }
};

template <typename X, typename T>
__global__ void __launch_bounds__(kBlock)
    attention_rows(spmm_attention_rows_t mask, spmm_attention_args_t a)
{
    const Place p(mask, a.heads);

    if (p.i < 0 || (p.from == p.to && a.resume)) {
        return;
    }
    const X *const q = (const X *)a.Q + p.i * a.ldq + p.head * a.k;
    const X *const K = (const X *)a.K + p.head * a.k, *const V = (const X *)a.V + p.head * a.k;
    X *const o      = (X *)a.O + p.i * a.ldo + p.head * a.k;
    T *const lse    = (T *)a.lse + p.i * a.heads + p.head;
    const T  before = a.resume ? *lse : -(T)INFINITY;
    T        most = 0, all = 0;

    for (int64_t c0 = 0; c0 < a.k; c0 += kRun) {
        const int64_t c = c0 + p.lane;
        Run<T, X>     run;

        most = before;
        all  = before == -(T)INFINITY ? (T)0 : (T)1;
        run.start(o, all != (T)0, c, a.k);
        for (int64_t e = p.from; e < p.to; e += kOnce) {
            const Columns j(mask, e, p.to);
            T             score[kOnce], now = most;

            dots(q, K, a.ldk, j, a.k, p.lane, score);
#pragma unroll
            for (int u = 0; u < kOnce; u++) {
                score[u] = e + u < p.to ? (T)a.scale * score[u] : -(T)INFINITY;
                now      = score[u] > now ? score[u] : now;
            }
            if (now > most) {
                const T factor = exp_of(most - now);

                run.scale(factor);
                all *= factor;
                most = now;
            }
#pragma unroll
            for (int u = 0; u < kOnce; u++) {
                const T weight = score[u] == -(T)INFINITY ? (T)0 : exp_of(score[u] - most);

                if (e + u < p.to && weight != (T)0) {
                    run.add(weight, V + j.at[u] * a.ldv, c, a.k);
                    all += weight;
                }
            }
        }
        run.scale(all == (T)0 ? (T)0 : (T)1 / all);
        run.store(o, c, a.k);
    }
    __syncwarp();
    if (p.lane == 0) {
        *lse = all == (T)0 ? -(T)INFINITY : most + log_of(all);
    }
}

template <typename X, typename T>
__global__ void __launch_bounds__(kBlock) attention_stats(spmm_attention_stats_t a)
{
    const int64_t t = ((int64_t)blockIdx.x * kBlock + threadIdx.x) / kWarp, i = t / a.heads;
    const int     lane = (int)threadIdx.x % kWarp;

    if (i >= a.n_rows) {
        return;
    }
    const int64_t at    = i * a.ldo + t % a.heads * a.k;
    T *const      stats = (T *)a.stats + i * 2 * a.heads + t % a.heads;
    T             sum   = 0;

    for (int64_t c = lane; c < a.k; c += kWarp) {
        sum += widen<T>(((const X *)a.O)[at + c]) * widen<T>(((const X *)a.dO)[at + c]);
    }
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(kAll, sum, step);
    }
    if (lane == 0) {
        stats[0]       = ((const T *)a.lse)[t];
        stats[a.heads] = sum;
    }
}

/* Of row i of Q, whose stats these are. */
template <typename T>
__device__ __forceinline__ void slopes(const spmm_attention_gradient_t &a, T lse, T mean, T score,
                                       T slope, T &p, T &s)
{
    p = exp_of((T)a.scale * score - lse);
    s = (T)a.scale * p * (slope - mean);
}

template <typename X, typename T>
__global__ void __launch_bounds__(kBlock)
    attention_query(spmm_attention_rows_t mask, spmm_attention_gradient_t a)
{
    const Place p(mask, a.heads);

    if (p.i < 0 || (p.from == p.to && a.resume)) {
        return;
    }
    const int64_t  h = p.head * a.k;
    const X *const q = (const X *)a.Q + p.i * a.ldq + h, *const d =
                                                             (const X *)a.dO + p.i * a.ldo + h;
    const X *const K = (const X *)a.K + h, *const V = (const X *)a.V + h;
    X *const       dq    = (X *)a.dQ + p.i * a.ldq + h;
    const T *const stats = (const T *)a.stats + p.i * 2 * a.heads + p.head;
    const T        lse = stats[0], mean = stats[a.heads];

    for (int64_t c0 = 0; c0 < a.k; c0 += kRun) {
        const int64_t c = c0 + p.lane;
        Run<T, X>     run;

        run.start(dq, a.resume, c, a.k);
        for (int64_t e = p.from; e < p.to; e += kOnce) {
            const Columns j(mask, e, p.to);
            T             score[kOnce], slope[kOnce], weight, s;

            dots(q, K, a.ldk, j, a.k, p.lane, score);
            dots(d, V, a.ldv, j, a.k, p.lane, slope);
#pragma unroll
            for (int u = 0; u < kOnce; u++) {
                slopes(a, lse, mean, score[u], slope[u], weight, s);
                if (e + u < p.to) {
                    run.add(s, K + j.at[u] * a.ldk, c, a.k);
                }
            }
        }
        run.store(dq, c, a.k);
    }
}

template <typename X, typename T>
__global__ void __launch_bounds__(kBlock)
    attention_key(spmm_attention_rows_t mask, spmm_attention_gradient_t a)
{
    const Place p(mask, a.heads);

    if (p.i < 0 || (p.from == p.to && a.resume)) {
        return;
    }
    const int64_t  h = p.head * a.k;
    const X *const k = (const X *)a.K + p.i * a.ldk + h, *const v =
                                                             (const X *)a.V + p.i * a.ldv + h;
    const X *const Q = (const X *)a.Q + h, *const D = (const X *)a.dO + h;
    X *const dk = (X *)a.dK + p.i * a.ldk + h, *const dv = (X *)a.dV + p.i * a.ldv + h;
    const T *const stats = (const T *)a.stats + p.head;

    for (int64_t c0 = 0; c0 < a.k; c0 += kRun) {
        const int64_t c = c0 + p.lane;
        Run<T, X>     of_k, of_v;

        of_k.start(dk, a.resume, c, a.k);
        of_v.start(dv, a.resume, c, a.k);
        for (int64_t e = p.from; e < p.to; e += kOnce) {
            const Columns i(mask, e, p.to);
            T             score[kOnce], slope[kOnce], weight, s;

            dots(k, Q, a.ldq, i, a.k, p.lane, score);
            dots(v, D, a.ldo, i, a.k, p.lane, slope);
#pragma unroll
            for (int u = 0; u < kOnce; u++) {
                const T *const of_i = stats + i.at[u] * 2 * a.heads;

                slopes(a, of_i[0], of_i[a.heads], score[u], slope[u], weight, s);
                if (e + u < p.to) {
                    of_k.add(s, Q + i.at[u] * a.ldq, c, a.k);
                    of_v.add(weight, D + i.at[u] * a.ldo, c, a.k);
                }
            }
        }
        of_k.store(dk, c, a.k);
        of_v.store(dv, c, a.k);
    }
}

/** The kernels of one type: X of storage, T of sums. */
template <typename X, typename T> struct Kernels {
    static constexpr auto *rows  = attention_rows<X, T>;
    static constexpr auto *stats = attention_stats<X, T>;
    static constexpr auto *query = attention_query<X, T>;
    static constexpr auto *key   = attention_key<X, T>;
};

template <class Work> cudaError_t for_type(spmm_type_t type, Work work)
{
    switch (type) {
    case SPMM_R_64F:
        return work(Kernels<double, double>());
    case SPMM_R_32F:
        return work(Kernels<float, float>());
    case SPMM_R_16F:
        return work(Kernels<__half, float>());
    case SPMM_R_16BF:
        return work(Kernels<__nv_bfloat16, float>());
    default:
        return cudaErrorInvalidValue;
    }
}

/* A warp for each row and head, with the kernel that @p pick takes of the type's. */
template <class Pick, class Args, class... Mask>
cudaError_t run(int64_t rows, const Args &args, cudaStream_t stream, Pick pick, const Mask &...mask)
{
    const int64_t blocks = ceil_div(rows * args.heads, kBlock / kWarp);

    if (blocks > kMaxGridX) {
        return cudaErrorInvalidValue;
    }
    return blocks == 0 ? cudaSuccess : for_type(args.type, [&](auto of) {
        return launch(pick(of), dim3((unsigned)blocks), dim3(kBlock), stream, mask..., args);
    });
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_attention_rows_preload(void)
{
    using namespace spmmi;
    const spmm_type_t all[] = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF};
    cudaError_t       code  = cudaSuccess;

    for (const spmm_type_t type : all) {
        code = code != cudaSuccess ? code : for_type(type, [](auto of) {
            return preload(of.rows, of.stats, of.query, of.key);
        });
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_attention_rows(const spmm_attention_rows_t *mask,
                                                 const spmm_attention_args_t *args,
                                                 cudaStream_t                 stream)
{
    return spmmi::run(
        mask->n_rows, *args, stream, [](auto of) { return of.rows; }, *mask);
}

extern "C" cudaError_t spmmi_cuda_attention_stats(const spmm_attention_stats_t *args,
                                                  cudaStream_t                  stream)
{
    return spmmi::run(args->n_rows, *args, stream, [](auto of) { return of.stats; });
}

extern "C" cudaError_t spmmi_cuda_attention_query(const spmm_attention_rows_t     *mask,
                                                  const spmm_attention_gradient_t *args,
                                                  cudaStream_t                     stream)
{
    return spmmi::run(
        mask->n_rows, *args, stream, [](auto of) { return of.query; }, *mask);
}

extern "C" cudaError_t spmmi_cuda_attention_key(const spmm_attention_rows_t     *mask,
                                                const spmm_attention_gradient_t *args,
                                                cudaStream_t                     stream)
{
    return spmmi::run(
        mask->n_rows, *args, stream, [](auto of) { return of.key; }, *mask);
}
