/* SPDX-License-Identifier: Apache-2.0 */
/** @file nccl_window.h  What host code asks of NCCL's device API, free of NCCL's types. */
#ifndef SPMM_CUDA_NCCL_WINDOW_H
#define SPMM_CUDA_NCCL_WINDOW_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Ranks whose memory those of @p comm, an ncclComm_t with a registered window, can load from. */
int spmmi_nccl_team_size(void *comm);

/** address[p] = window of rank p as this rank sees it, p < n_ranks <= 1024, all ranks being of one
 *  such team.  @p window is an ncclWindow_t, @p address device memory. */
cudaError_t spmmi_nccl_peer_addresses(void *window, int n_ranks, void **address,
                                      cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_NCCL_WINDOW_H */
