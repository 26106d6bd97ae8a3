/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder_case.h  A product of bench_ladder, and whoever computes it. */
#ifndef LADDER_CASE_H
#define LADDER_CASE_H

#include <cuda_runtime_api.h>

#include "device/device_cuda.h"
#include "ladder_tiles.h"
#include "matrix/csr.h"

/** C = A * B, A and B of FP16.  Dense arrays have rows of zeros up to whole tiles of any contender. */
typedef struct {
    const spmm_device_t *device;   /**< borrowed, as are block and tiles */
    const spmm_csr_t    *block;    /**< A, of type 16F */
    ladder_tiles_t       tiles[2]; /**< device arrays, widths 16 and 32 */
    int64_t              n, b_rows, c_rows;
    const float         *host_B; /**< [b_rows x n] */
    void                *B;  /**< [b_rows x n] FP16, row-major, device memory, as are the others */
    void                *Bt; /**< [n x b_rows] */
    void                *C;  /**< [c_rows x n], row-major, of the contender's c_type */
    cudaStream_t         stream;
} ladder_case_t;

typedef struct ladder_contender ladder_contender_t;

/** One line of the table for each matrix and width. */
struct ladder_contender {
    const char *name;
    int         kind;   /**< a step, or what open() makes of it */
    spmm_type_t c_type; /**< 16F or 32F */
    /** SPMM_ERR_UNSUPPORTED: cannot take the case, the sentence says why. */
    spmm_status_t (*open)(const ladder_contender_t *who, const ladder_case_t *c, void **state);
    /** Enqueue the product. */
    spmm_status_t (*run)(const ladder_contender_t *who, const ladder_case_t *c, void *state);
    void (*close)(const ladder_contender_t *who, const ladder_case_t *c,
                  void *state); /**< NULL-safe */
};

/** A line of it. */
typedef struct {
    const char *name;
    double      seconds, error; /**< error: of the worst sum over that of its magnitudes */
} ladder_result_t;

enum { LADDER_WARMUP = 3 };
#define LADDER_BOUND 2e-3 /**< of the error, for C in FP16 */

/** Allocate and draw B and C of c->n columns.
 *  @param[out] host_B  c->host_B; to be given to ladder_close_operands(), also after a failure */
spmm_status_t ladder_open_operands(ladder_case_t *c, float **host_B);
void          ladder_close_operands(ladder_case_t *c, float *host_B);

enum { LADDER_ARRAYS = 12 };

/** Device copies of the tiles; owned[] are to be released, also after a failure. */
spmm_status_t ladder_upload(const spmm_device_t *device, const ladder_host_t *h,
                            void *owned[LADDER_ARRAYS], ladder_tiles_t *tiles);

/** Median of @p iterations products after LADDER_WARMUP, of fewer where they take long, and the error
 *  against FP64 sums of sampled rows. */
spmm_status_t ladder_compete(const ladder_contender_t *who, const ladder_case_t *c,
                             int64_t iterations, ladder_result_t *result);

/** The trial in TF32, without and with 2:4 tiles. */
enum { LADDER_TF32 = 2 };
extern const ladder_contender_t ladder_tf32[LADDER_TF32];

/** cuSPARSE in BSR of 16 x 16, FP16 and FP32, and cuBLAS on all of A. */
extern const ladder_contender_t ladder_peers[];
extern const int                ladder_n_peers;

#endif /* LADDER_CASE_H */
