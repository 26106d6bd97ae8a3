/* SPDX-License-Identifier: Apache-2.0 */
/** @file types.h
 *  Names shared by host C and CUDA sources.  Must not include <mpi.h>: kernels include this file.
 */
#ifndef SPMM_DIST_TYPES_H
#define SPMM_DIST_TYPES_H

#include <stddef.h>
#include <stdint.h>

/** Status of a call.  Zero is success; the values are ABI and never renumbered.  After a
 *  collective setup call every rank holds the same status and the same spmm_last_error(); but where
 *  communication itself failed, SPMM_ERR_COMM, and on some ranks alone, the others may wait in MPI:
 *  a program ends them by MPI_Abort(), as spmm_dist does. */
typedef enum {
    SPMM_OK              = 0,
    SPMM_ERR_ARGUMENT    = -1, /**< an argument is outside its documented range */
    SPMM_ERR_MEMORY      = -2, /**< a host or device allocation failed */
    SPMM_ERR_UNSUPPORTED = -3, /**< valid, but not built in or not possible on this device */
    SPMM_ERR_IO          = -4, /**< a file is missing, cut, malformed or could not be written */
    SPMM_ERR_DEVICE      = -5, /**< a CUDA call failed; destroy the context */
    SPMM_ERR_COMM        = -6, /**< an MPI or NCCL call failed or timed out; destroy the context */
    SPMM_ERR_RANGE       = -7, /**< an index or a value does not fit the type that must hold it */
    SPMM_ERR_INTERNAL    = -8  /**< a check of the library on itself failed: please report it */
} spmm_status_t;

/** Storage type of A, B and C. */
typedef enum {
    SPMM_TYPE_AUTO = 0, /**< choose for me: stated where it is used */
    SPMM_R_64F,         /**< IEEE double */
    SPMM_R_32F,         /**< IEEE single */
    SPMM_R_16F,         /**< IEEE half */
    SPMM_R_16BF,        /**< bfloat16 */
    SPMM_C_64F,         /**< real and imaginary part, two FP64: C's double complex, C++'s
                             std::complex<double>, Fortran's complex(c_double_complex) */
    SPMM_C_32F          /**< the same of two FP32 */
} spmm_type_t;

/** Arithmetic, by cuBLAS's names. */
typedef enum {
    SPMM_COMPUTE_AUTO = 0,     /**< 64F for FP64 storage, complex too, 32F for all others */
    SPMM_COMPUTE_64F,          /**< FP64 products and sums */
    SPMM_COMPUTE_32F,          /**< FP32-accurate products, FP32 sums */
    SPMM_COMPUTE_32F_FAST_TF32 /**< operands rounded to TF32, FP32 sums */
} spmm_compute_t;

/** Storage order of the dense blocks B and C. */
typedef enum {
    SPMM_LAYOUT_AUTO = 0, /**< row-major */
    SPMM_LAYOUT_ROW,      /**< element (i, j) at i * ld + j, ld >= n */
    SPMM_LAYOUT_COL       /**< element (i, j) at i + j * ld, ld >= local rows */
} spmm_layout_t;

/** op(A): A itself, its transpose, or its conjugate transpose, which of a real A is its
 *  transpose. */
typedef enum { SPMM_OP_N = 0, SPMM_OP_T, SPMM_OP_H } spmm_op_t;

/** Where a context computes. */
typedef enum {
    SPMM_DEVICE_AUTO = 0, /**< a CUDA device when built for it and one is visible, else the CPU */
    SPMM_DEVICE_CPU,
    SPMM_DEVICE_CUDA
} spmm_device_kind_t;

/** A cudaStream_t passed through C; NULL is the legacy default stream, also in programs compiled
 *  with --default-stream per-thread, which pass cudaStreamPerThread; ignored on the CPU. */
typedef void *spmm_stream_t;

#endif /* SPMM_DIST_TYPES_H */
