/* SPDX-License-Identifier: Apache-2.0 */
/** @file peer_args.h  What host and kernels know of GPUs that reach each other's memory. */
#ifndef SPMM_CUDA_PEER_ARGS_H
#define SPMM_CUDA_PEER_ARGS_H

#include <stdint.h>

enum {
    SPMM_PEER_RANKS = 16,  /**< most ranks */
    SPMM_PEER_ALIGN = 4096 /**< bytes that rows of a window begin at a multiple of */
};

/** Pinned host memory of a context: why an exchange gave up. */
typedef struct {
    uint32_t failed;               /**< written last */
    int32_t  peer;                 /**< that did not come, or has other rows in mind */
    uint32_t came[2], expected[2]; /**< bytes of a row, step; equal where it did not come */
} spmm_peer_report_t;

/** What a kernel needs that waits for peers. */
typedef struct {
    uint32_t           *failed;     /**< device: set once any exchange of the context gave up */
    spmm_peer_report_t *report;     /**< pinned host memory */
    uint64_t            timeout_ns; /**< 0: none */
} spmm_peer_watch_t;

#endif /* SPMM_CUDA_PEER_ARGS_H */
