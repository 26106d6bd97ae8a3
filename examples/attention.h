/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.h
 *  What sparse_attention needs beside the library: FP16 numbers, the reference, and on GPUs the two
 *  dense products of cuBLAS to compare with.
 */
#ifndef ATTENTION_H
#define ATTENTION_H

#include "example.h"
#ifdef EXAMPLES_WITH_CUBLAS
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#endif

/* Rounded to nearest even; |x| below 65504 or 0, no subnormal results. */
static inline uint16_t half_from(double x)
{
    const float f    = (float)x;
    uint32_t    bits = 0;

    memcpy(&bits, &f, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u;
    if ((bits & 0x7fffffffu) < 0x38800000u) { /* below 2^-14 */
        return (uint16_t)sign;
    }
    bits = (bits & 0x7fffffffu) - 0x38000000u;
    return (uint16_t)(sign | (bits + 0x0fffu + (bits >> 13 & 1u)) >> 13);
}

static inline double half_value(uint16_t h)
{
    const int    exponent = h >> 10 & 31, fraction = h & 1023;
    const double x = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    return (h & 0x8000) != 0 ? -x : x;
}

/* Row @p i of attention, dense and in FP64: softmax of scale * Q_i K^T where is_kept(), times V; and
 * the same of |V|, to which errors relate.  K and V [length x head], weight [length] for the caller. */
static inline void reference_row(int64_t i, int64_t length, int head, double scale, const double *q,
                                 const double *K, const double                    *V,
                                 int (*is_kept)(int64_t row, int64_t col), double *weight,
                                 double *out, double *size)
{
    double most = -(double)INFINITY, sum = 0.0;

    for (int64_t j = 0; j < length; j++) {
        weight[j] = -(double)INFINITY;
        if (is_kept(i, j)) {
            weight[j] = 0.0;
            for (int c = 0; c < head; c++) {
                weight[j] += scale * q[c] * K[j * head + c];
            }
        }
        most = fmax(most, weight[j]);
    }
    for (int64_t j = 0; j < length; j++) {
        weight[j] = exp(weight[j] - most);
        sum += weight[j];
    }
    memset(out, 0, sizeof *out * (size_t)head);
    memset(size, 0, sizeof *size * (size_t)head);
    for (int64_t j = 0; j < length; j++) {
        for (int c = 0; c < head && weight[j] > 0.0; c++) {
            out[c] += weight[j] / sum * V[j * head + c];
            size[c] += weight[j] / sum * fabs(V[j * head + c]);
        }
    }
}

/* Seconds of Q K^T and of its product with V by cuBLAS, FP16 with sums in FP32: @p rows rows by all of
 * K and V, without a softmax between them; 0: no GPU. */
static inline void time_dense(int64_t rows, int64_t length, int head, int repeats,
                              double seconds[2])
{
    seconds[0] = seconds[1] = 0.0;
#ifdef EXAMPLES_WITH_CUBLAS
    spmm_context_info_t info = {.struct_size = sizeof info};
    const float         one = 1.0F, zero = 0.0F;
    const int           m = (int)rows, n = (int)length;
    cublasHandle_t      cublas = NULL;
    cublasStatus_t      code   = CUBLAS_STATUS_SUCCESS;
    void               *q = NULL, *k = NULL, *s = NULL;

    check(spmm_context_get_info(ctx, &info));
    if (strcmp(info.device, "cuda") != 0 || rows == 0) {
        return;
    }
    (void)cudaSetDevice(info.device_ordinal); /* cublasCreate() says what is wrong */
    check(spmm_buffer_alloc(ctx, 2 * (size_t)(rows * head), &q));
    check(spmm_buffer_alloc(ctx, 2 * (size_t)(length * head), &k));
    check(spmm_buffer_alloc(ctx, 2 * (size_t)(rows * length), &s));
    (void)cudaMemset(q, 0, 2 * (size_t)(rows * head));
    (void)cudaMemset(k, 0, 2 * (size_t)(length * head));
    code = cublasCreate(&cublas);
    for (int step = 0; step < 2; step++) {
        double from = 0.0;

        for (int r = -3; r < repeats && code == CUBLAS_STATUS_SUCCESS; r++) {
            if (r == 0) {
                check(spmm_stream_synchronize(ctx, NULL));
                from = MPI_Wtime();
            }
            /* To cuBLAS, which stores by columns, every row-major matrix is its transpose. */
            code = step == 0
                       ? cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, n, m, head, &one, k,
                                      CUDA_R_16F, head, q, CUDA_R_16F, head, &zero, s, CUDA_R_16F,
                                      n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT)
                       : cublasGemmEx(cublas, CUBLAS_OP_N, CUBLAS_OP_N, head, m, n, &one, k,
                                      CUDA_R_16F, head, s, CUDA_R_16F, n, &zero, q, CUDA_R_16F,
                                      head, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
        }
        check(spmm_stream_synchronize(ctx, NULL));
        seconds[step] = (MPI_Wtime() - from) / repeats;
    }
    if (code != CUBLAS_STATUS_SUCCESS) {
        (void)fprintf(stderr, "%s\n", cublasGetStatusString(code));
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    (void)cublasDestroy(cublas);
    check(spmm_buffer_free(ctx, &q));
    check(spmm_buffer_free(ctx, &k));
    check(spmm_buffer_free(ctx, &s));
#else
    (void)rows;
    (void)length;
    (void)head;
    (void)repeats;
#endif
}

#endif /* ATTENTION_H */
