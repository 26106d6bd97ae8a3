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
static inline uint16_t attention_half(double x)
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

static inline double attention_value(uint16_t h)
{
    const int    exponent = h >> 10 & 31, fraction = h & 1023;
    const double x = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    return (h & 0x8000) != 0 ? -x : x;
}

enum { Q = 0, K, V, O };

/* Element of Q, K or V, in [-2, 2). */
static inline double attention_element(int which, int64_t row, int64_t col)
{
    return attention_value(
        attention_half(2.0 * random_element(row, 1000 * (which + (int64_t)1) + col)));
}

/* Row i of attention, dense and in FP64: softmax of q K^T / sqrt(head) where is_kept(), times V;
 * and the same of |V|, to which errors relate.  k and v [length x head], weight
 * [length] for itself. */
static inline void attention_row(int64_t i, int64_t length, int head, const double *q,
                                 const double *k, const double                    *v,
                                 int (*is_kept)(int64_t row, int64_t col), double *weight,
                                 double *out, double *size)
{
    double most = -(double)INFINITY, sum = 0.0;

    for (int64_t j = 0; j < length; j++) {
        weight[j] = -(double)INFINITY;
        if (is_kept(i, j)) {
            weight[j] = 0.0;
            for (int c = 0; c < head; c++) {
                weight[j] += q[c] * k[j * head + c] / sqrt(head);
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
            out[c] += weight[j] / sum * v[j * head + c];
            size[c] += weight[j] / sum * fabs(v[j * head + c]);
        }
    }
}

/* The largest |O - reference| / (P |V|) over some rows of this rank; O [rows x
 * head] on the device. */
static inline double attention_error(int64_t first, int64_t rows, int64_t length, int head,
                                     int (*is_kept)(int64_t row, int64_t col), const void *device)
{
    const size_t  bytes = sizeof(uint16_t) * (size_t)(rows * head);
    const int64_t step  = rows / 64 + 1;
    uint16_t     *out   = allocate(rows * head, sizeof *out);
    double       *k     = allocate(length * head, sizeof *k);
    double       *v     = allocate(length * head, sizeof *v);
    double       *row   = allocate(length + 3 * (int64_t)head, sizeof *row);
    double *const q = row + length, *const want = q + head, *const size = want + head, worst = 0.0;

    check(spmm_buffer_copy(ctx, out, device, bytes));
    for (int64_t i = 0; i < length * head; i++) {
        k[i] = attention_element(K, i / head, i % head);
        v[i] = attention_element(V, i / head, i % head);
    }
    for (int64_t i = 0; i < rows; i += step) {
        for (int c = 0; c < head; c++) {
            q[c] = attention_element(Q, first + i, c);
        }
        attention_row(first + i, length, head, q, k, v, is_kept, row, want, size);
        for (int c = 0; c < head; c++) {
            const double error = fabs(attention_value(out[i * head + c]) - want[c]) / size[c];

            worst = error <= worst ? worst : error; /* also where it is NaN */
        }
    }
    free(out);
    free(k);
    free(v);
    free(row);
    return worst;
}

/* Seconds of Q K^T and of its product with V by cuBLAS, FP16 with sums in FP32: @p rows rows by all
 * of K and V, without a softmax between them; 0: no GPU. */
static inline void attention_dense(int64_t rows, int64_t length, int head, int repeats,
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
