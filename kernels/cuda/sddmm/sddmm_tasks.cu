/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_tasks.cu
 *  SDDMM on CUDA cores: 8 lanes share a task, up to 8 entries of one row of the mask, and every
 *  lane has its 16 bytes of each 128 of the rows (FPU-based subwarp tiling, vectorSparse,
 *  section 6.1, where a lane holds a whole tile of sums: here 8).  All rows of Y are on the way
 *  at a time.  The sums of 8 entries over 8 lanes are added up by 7 shuffles instead of 24: in
 *  each step a lane gives away one half of its sums and keeps the other, until lane e has that
 *  of entry e.
 */
#include "cuda/sddmm/sddmm.h"
#include "cuda/windows/tc_common.cuh"
#include "cuda/windows/tc_half.cuh"

namespace spmmi
{
namespace
{

constexpr int kTask     = SPMM_SDDMM_TASK;
constexpr int kThreads  = 128;
constexpr int kTasks    = kThreads / kTask; /* of a thread block at a time */
constexpr int kResident = 5; /* thread blocks of a multiprocessor, at least: no spills yet */

template <typename In> using SumOf = std::conditional_t<std::is_same_v<In, double>, double, float>;

/* The lane's share of kElems columns from one row. */
template <typename In, int kElems> __device__ __forceinline__ Pack<In, kElems> read(const In *from)
{
    Pack<In, kElems> values;

    if constexpr (sizeof(In) * kElems == 16) {
        const uint4 raw = __ldg((const uint4 *)from);

        memcpy(&values, &raw, sizeof raw);
    } else {
        values.at[0] = *from;
    }
    return values;
}

/** Each of kLanes lanes has its share of kSums sums, as many or more.  kLanes - 1 of kSums shares
 *  are shuffled, since in each step a lane gives away one half of its sums and keeps the other.
 *  @param[in,out] sum  becomes sums kSums / kLanes * lane on, over all lanes */
template <int kLanes, typename T, int kSums>
__device__ __forceinline__ void sums_of_lane(T (&sum)[kSums], int lane)
{
#pragma unroll
    for (int step = kLanes / 2, half = kSums / 2; step > 0; step /= 2, half /= 2) {
        const bool upper = (lane & step) != 0;

#pragma unroll
        for (int e = 0; e < half; e++) {
            const T give = upper ? sum[e] : sum[e + half];
            const T keep = upper ? sum[e + half] : sum[e];

            sum[e] = keep + __shfl_xor_sync(0xffffffffu, give, step);
        }
    }
}

/* One task, as its 8 lanes see it. */
struct Task {
    int row, first, count;
    int col; /* of entry `lane`; 0 past the last */
};

__device__ __forceinline__ Task task_at(const spmm_sddmm_tasks_t &mask, int64_t t, int64_t end)
{
    Task task = {0, 0, 0, 0};

    if (t < end) {
        task.row   = __ldg(mask.row + t);
        task.first = __ldg(mask.first + t);
        task.count = __ldg(mask.first + t + 1) - task.first;
    }
    return task;
}

__device__ __forceinline__ int column_of(const spmm_sddmm_tasks_t &mask, const Task &task, int lane)
{
    return lane < task.count ? __ldg(mask.col + task.first + lane) : 0;
}

template <typename In, typename Out, int kElems> struct Dots {
    using T = SumOf<In>;

    const spmm_sddmm_args_t &args;
    const int                lane; /* of the 8 */
    T                        sum[kTask];

    /* Rows of the task from column `at` on. */
    struct Rows {
        const In *x, *y[kTask];
    };

    __device__ __forceinline__ Rows rows_of(const Task &task, int64_t at) const
    {
        Rows rows = {(const In *)args.X + task.row * args.ldx + at, {}};

#pragma unroll
        for (int e = 0; e < kTask; e++) {
            const int64_t col = __shfl_sync(0xffffffffu, task.col, e, kTask);

            rows.y[e] = (const In *)args.Y + col * args.ldy + at;
            keep(rows.y[e]); /* or each load would start with a multiplication */
        }
        return rows;
    }

    /* The next kWidth columns of x and of the rows of Y that the task has. */
    template <int kWidth> __device__ __forceinline__ void add(const Rows &rows, int count)
    {
        Pack<In, kWidth> row[kTask];
        T                wide[kWidth];

#pragma unroll
        for (int e = 0; e < kTask; e++) {
            row[e] = {};
            if (e < count) {
                row[e] = read<In, kWidth>(rows.y[e]);
            }
        }
        const Pack<In, kWidth> own = read<In, kWidth>(rows.x);
#pragma unroll
        for (int j = 0; j < kWidth; j++) {
            wide[j] = widen<T>(own.at[j]);
        }
#pragma unroll
        for (int e = 0; e < kTask; e++) {
#pragma unroll
            for (int j = 0; j < kWidth; j++) {
                sum[e] = fma(wide[j], widen<T>(row[e].at[j]), sum[e]);
            }
        }
    }

    __device__ __forceinline__ void run(const spmm_sddmm_tasks_t &mask, const Task &task)
    {
        const int64_t full = args.k - args.k % kElems; /* columns in whole shares */
        Rows          rows = rows_of(task, lane * kElems);

#pragma unroll
        for (int e = 0; e < kTask; e++) {
            sum[e] = 0;
        }
        if (task.count > 0) {
#pragma unroll 1
            for (int64_t at = lane * kElems; at < full; at += kTask * kElems) {
                add<kElems>(rows, task.count);
                rows.x += kTask * kElems;
#pragma unroll
                for (int e = 0; e < kTask; e++) {
                    rows.y[e] += kTask * kElems;
                }
            }
        }
        if (full < args.k) { /* fewer than 8 columns are left */
            rows = rows_of(task, full + lane);
            if (task.count > 0 && full + lane < args.k) {
                add<1>(rows, task.count);
            }
        }

        sums_of_lane<SPMM_SDDMM_TASK>(sum, lane);

        const T mine = (T)args.alpha * sum[0];

        if (lane < task.count) {
            const int     e  = task.first + lane;
            const int64_t at = mask.place == NULL ? e : __ldg(mask.place + e);
            Out *const    s  = (Out *)args.S + at;

            *s = Narrow<Out>::from(args.beta == 0.0 ? mine : mine + (T)args.beta * widen<T>(*s));
        }
    }
};

/* A thread block has consecutive tasks: neighbouring rows of the mask often name the same rows
 * of Y, which L1 then holds.  Columns are read one task ahead, rows and counts two: a task
 * starts with its loads of Y. */
template <typename In, typename Out, int kElems>
__global__ void __launch_bounds__(kThreads, resident_blocks(kThreads, kResident))
    sddmm_tasks(spmm_sddmm_tasks_t mask, spmm_sddmm_args_t args, int64_t chunk)
{
    const int             lane = (int)threadIdx.x % kTask;
    const int64_t         own  = (int)threadIdx.x / kTask;
    const int64_t         from = blockIdx.x * chunk, end = least(from + chunk, mask.n_tasks);
    Dots<In, Out, kElems> dots = {args, lane, {}};
    Task                  now  = task_at(mask, from + own, end);
    Task                  next = task_at(mask, from + own + kTasks, end);

    now.col = column_of(mask, now, lane);
    for (int64_t t = from; t < end; t += kTasks) { /* all lanes of a warp go round alike */
        const Task later = task_at(mask, t + own + 2 * kTasks, end);

        next.col = column_of(mask, next, lane);
        dots.run(mask, now);
        now  = next;
        next = later;
    }
}

template <typename In> bool is_aligned(const spmm_sddmm_args_t &a)
{
    return fits(a.X, 16) && fits(a.Y, 16) && fits(a.ldx * (int64_t)sizeof(In), 16) &&
           fits(a.ldy * (int64_t)sizeof(In), 16);
}

template <typename In, typename Out>
cudaError_t run(const spmm_sddmm_tasks_t &mask, const spmm_sddmm_args_t &args, cudaStream_t stream)
{
    constexpr int kElems = 16 / (int)sizeof(In), kBlocks = 32; /* of a multiprocessor, all in all */
    const int64_t most = least(ceil_div(mask.n_tasks, kTasks), (int64_t)args.n_sm * kBlocks);

    if (most == 0) {
        return cudaSuccess;
    }
    const int64_t chunk = ceil_div(ceil_div(mask.n_tasks, most), kTasks) * kTasks;
    const dim3    grid((unsigned)ceil_div(mask.n_tasks, chunk)), block(kThreads);

    return is_aligned<In>(args)
               ? launch(sddmm_tasks<In, Out, kElems>, grid, block, stream, mask, args, chunk)
               : launch(sddmm_tasks<In, Out, 1>, grid, block, stream, mask, args, chunk);
}

template <typename In, typename Out> cudaError_t load()
{
    return preload(sddmm_tasks<In, Out, 16 / (int)sizeof(In)>, sddmm_tasks<In, Out, 1>);
}

} // namespace

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_tasks_preload(void)
{
    using namespace spmmi;
    cudaError_t code = load<double, double>();

    code = code == cudaSuccess ? load<float, float>() : code;
    return code != cudaSuccess ? code : for_all_half_types([](auto types) {
        using Types = decltype(types);

        return load<typename Types::Half, typename Types::Out>();
    });
}

extern "C" cudaError_t spmmi_cuda_sddmm_tasks(const spmm_sddmm_tasks_t *mask,
                                              const spmm_sddmm_args_t *args, cudaStream_t stream)
{
    if (args->type == SPMM_R_32F && args->s_type == SPMM_R_32F) {
        return spmmi::run<float, float>(*mask, *args, stream);
    }
    if (args->type == SPMM_R_64F && args->s_type == SPMM_R_64F) {
        return spmmi::run<double, double>(*mask, *args, stream);
    }
    return spmmi::for_half_types(args->type, args->s_type, [&](auto types) {
        using Types = decltype(types);

        return spmmi::run<typename Types::Half, typename Types::Out>(*mask, *args, stream);
    });
}
