/* SPDX-License-Identifier: Apache-2.0 */
/** @file block_dense.h
 *  The dense operations of a block eigensolver on row-major blocks that lie where the context
 *  computes: cuBLAS on GPUs, plain loops on CPUs.  Small matrices (Gram, coefficients) are the
 *  host's.  All blocks are this rank's rows; nothing here communicates.
 */
#ifndef BLOCK_DENSE_H
#define BLOCK_DENSE_H

#include "example.h"
#ifdef EXAMPLES_WITH_CUBLAS
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#endif

/* Without cuBLAS a program with these operations asks for a CPU context. */
#ifdef EXAMPLES_WITH_CUBLAS
#define BLOCK_DEVICE SPMM_DEVICE_AUTO
static cublasHandle_t block_cublas = NULL; /* NULL: on CPUs */
static void          *block_small  = NULL; /* room for one small matrix on the device */

static inline void block_check(cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS) {
        (void)fprintf(stderr, "%s\n", cublasGetStatusString(status));
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}
#else
#define BLOCK_DEVICE SPMM_DEVICE_CPU
#endif

/* After the context; small matrices have most elements at most. */
static inline void block_open(size_t most)
{
#ifdef EXAMPLES_WITH_CUBLAS
    spmm_context_info_t info = {.struct_size = sizeof info};

    check(spmm_context_get_info(ctx, &info));
    if (strcmp(info.device, "cuda") == 0) {
        if (cudaSetDevice(info.device_ordinal) != cudaSuccess) {
            (void)fprintf(stderr, "cannot set device %d\n", info.device_ordinal);
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
        check(spmm_buffer_alloc(ctx, sizeof(double) * most, &block_small));
        block_check(cublasCreate(&block_cublas)); /* works in the default stream, as we do */
    }
#else
    (void)most;
#endif
}

/* Before the context goes. */
static inline void block_close(void)
{
#ifdef EXAMPLES_WITH_CUBLAS
    if (block_cublas != NULL) {
        block_check(cublasDestroy(block_cublas));
        check(spmm_buffer_free(ctx, &block_small));
        block_cublas = NULL;
    }
#endif
}

/* G = A^T B: A and B [rows x q] with leading dimension ld, G [q x q] on the host. */
static inline void block_gram(int64_t rows, int q, const double *A, const double *B, int ld,
                              double *G)
{
    memset(G, 0, sizeof(double) * (size_t)(q * q));
#ifdef EXAMPLES_WITH_CUBLAS
    if (block_cublas != NULL && rows > 0) {
        const double one = 1.0, zero = 0.0;

        /* To cuBLAS, which stores by columns, every row-major matrix is its transpose. */
        block_check(cublasDgemm(block_cublas, CUBLAS_OP_N, CUBLAS_OP_T, q, q, (int)rows, &one, B,
                                ld, A, ld, &zero, block_small, q));
        check(spmm_stream_synchronize(ctx, NULL));
        check(spmm_buffer_copy(ctx, G, block_small, sizeof(double) * (size_t)(q * q)));
        return;
    }
#endif
    for (int64_t i = 0; i < rows; i++) {
        for (int a = 0; a < q; a++) {
            for (int b = 0; b < q; b++) {
                G[a * q + b] += A[i * ld + a] * B[i * ld + b];
            }
        }
    }
}

/* C = A Y + beta C: A [rows x q], Y [q x m] on the host, C [rows x m]; A and C share no element,
 * but may lie side by side in one block. */
static inline void block_multiply(int64_t rows, int q, int m, const double *A, int lda,
                                  const double *Y, double beta, double *C, int ldc)
{
#ifdef EXAMPLES_WITH_CUBLAS
    if (block_cublas != NULL && rows > 0) {
        const double one = 1.0;

        check(spmm_stream_synchronize(ctx, NULL)); /* an earlier product may read block_small */
        check(spmm_buffer_copy(ctx, block_small, Y, sizeof(double) * (size_t)(q * m)));
        block_check(cublasDgemm(block_cublas, CUBLAS_OP_N, CUBLAS_OP_N, m, (int)rows, q, &one,
                                block_small, m, A, lda, &beta, C, ldc));
        return;
    }
#endif
    for (int64_t i = 0; i < rows; i++) {
        for (int j = 0; j < m; j++) {
            C[i * ldc + j] = beta == 0.0 ? 0.0 : beta * C[i * ldc + j];
        }
        for (int a = 0; a < q; a++) {
            for (int j = 0; j < m; j++) {
                C[i * ldc + j] += A[i * lda + a] * Y[a * m + j];
            }
        }
    }
}

#endif /* BLOCK_DENSE_H */
