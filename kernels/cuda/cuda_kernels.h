/* SPDX-License-Identifier: Apache-2.0 */
/** @file cuda_kernels.h
 *  Launchers of the CUDA kernels.  They enqueue on @p stream of the current device, allocate
 *  nothing and return the launch error; empty shapes are success.
 */
#ifndef SPMM_CUDA_KERNELS_H
#define SPMM_CUDA_KERNELS_H

#include <cuda_runtime_api.h>

#include "cuda/exchange/push_args.h"
#include "sddmm_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load all kernels on the current device, so that no launch has to;
 *  cudaErrorNoKernelImageForDevice when this build holds no code for it. */
cudaError_t spmmi_cuda_probe(void);

cudaError_t spmmi_cuda_gather_rows(const spmm_gather_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_scatter_rows(const spmm_scatter_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_scatter_add_rows(const spmm_scatter_add_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_store_columns(const spmm_store_args_t *args, cudaStream_t stream);

/** Read about @p bytes in random rows of 512 bytes out of the first @p set bytes of @p memory, all
 *  zeros: to be timed. */
cudaError_t spmmi_cuda_gather_probe(void *memory, size_t set, size_t bytes, cudaStream_t stream);

/** Wait on the device, 1 ms at most. */
cudaError_t spmmi_cuda_delay(double seconds, cudaStream_t stream);

/** C[row_map[i], j] = sum[i, j] + beta * C[row_map[i], j], i < n_rows, j < n; beta == 0 does not
 *  read C. */
typedef struct {
    const void    *sum;      /**< [n_rows x n] of sum_type in the layout of C; NULL: zeros */
    spmm_type_t    sum_type; /**< 64F or 32F */
    int64_t        ld_sum;
    const int32_t *row_map; /**< [n_rows], no row twice; NULL: the identity */
    int64_t        n_rows, n;
    double         beta;
    void          *C;
    spmm_type_t    c_type;
    int64_t        ldc;
    spmm_layout_t  layout; /**< ROW or COL, of C and sum */
} spmm_merge_args_t;

cudaError_t spmmi_cuda_merge_rows(const spmm_merge_args_t *args, cudaStream_t stream);

/** C = alpha * A * B + beta * C on tensor cores.  Entries that A does not store take no part, also
 *  where B holds Inf or NaN.  Results have the same bits from run to run.  The arrays of A and
 *  @p work are device memory; for BitTCF with SPMM_TC_PAD blocks of it behind col and bits. */
cudaError_t spmmi_cuda_bittcf_mm(const spmm_bittcf_arrays_t *A, const spmm_tc_work_t *work,
                                 const spmm_tc_mm_args_t *args, cudaStream_t stream);
/** Warps of the HRPB kernel that a multiprocessor holds at a time, for 16-byte access. */
cudaError_t spmmi_cuda_hrpb_resident(int32_t panel_rows, spmm_compute_t compute, int *warps);
cudaError_t spmmi_cuda_hrpb_mm(const spmm_hrpb_arrays_t *A, const spmm_tc_work_t *work,
                               const spmm_tc_mm_args_t *args, cudaStream_t stream);

/** A of FP16 or BF16, as args->x.ab_type says of B; C of that type or FP32.
 *  @param[in] tasks  taken where there are any and B, C and n suit them; else @p work is */
cudaError_t spmmi_cuda_cvse_mm(const spmm_cvse_arrays_t *A, const spmm_cvse_short_t *tasks,
                               const spmm_tc_work_t *work, const spmm_tc_mm_args_t *args,
                               cudaStream_t stream);

/** The same for BCSR; pieces are of panels. */
cudaError_t spmmi_cuda_bcsr_mm(const spmm_bcsr_arrays_t *A, const spmm_tc_work_t *work,
                               const spmm_tc_mm_args_t *args, cudaStream_t stream);
/** Values and metadata of A from those of CSR: the bits that spmmi_bcsr_fill() gives.
 *  @param[in]  values  [nnz] device memory
 *  @param[out] to      what A->values is to be */
cudaError_t spmmi_cuda_bcsr_fill(const spmm_bcsr_arrays_t *A, const void *values, void *to,
                                 cudaStream_t stream);

/** A product on CUDA cores, of CSR in pieces: FP64 computes in FP64, all other types in FP32, 32F and
 *  32F_FAST_TF32 alike; C in the type of A and B or, for 16-bit ones, FP32.  Products of one A must
 *  not run at the same time. */
cudaError_t spmmi_cuda_csr_mm(const spmm_csr_pieces_t *A, const spmm_operands_t *x,
                              cudaStream_t stream);

/** Dot products of rows of X and Y at the entries of a mask, device memory; all of its places are
 *  written, nothing else.  The same bits from run to run. */
cudaError_t spmmi_cuda_sddmm_tasks(const spmm_sddmm_tasks_t *mask, const spmm_sddmm_args_t *args,
                                   cudaStream_t stream);
/** The same on tensor cores, X and Y of FP32, FP16 or BF16. */
cudaError_t spmmi_cuda_sddmm_tiles(const spmm_sddmm_tiles_t *mask, const spmm_sddmm_args_t *args,
                                   cudaStream_t stream);
/** The same for entries in batches of 32 in 8 rows, on tensor cores, X and Y of FP16 or BF16. */
cudaError_t spmmi_cuda_sddmm_batches(const spmm_sddmm_batches_t *mask,
                                     const spmm_sddmm_args_t *args, cudaStream_t stream);
/** The same for batches of 8 in 1, X and Y of FP32 or FP64. */
cudaError_t spmmi_cuda_sddmm_panels(const spmm_sddmm_batches_t *mask, const spmm_sddmm_args_t *args,
                                    cudaStream_t stream);
cudaError_t spmmi_cuda_row_softmax(const spmm_softmax_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_place_values(const spmm_place_args_t *args, cudaStream_t stream);

/** Write rows to peers and wait for theirs, on the device. */
cudaError_t spmmi_cuda_push(const spmm_push_args_t *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_KERNELS_H */
