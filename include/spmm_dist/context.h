/* SPDX-License-Identifier: Apache-2.0 */
/** @file context.h
 *  The context: a communicator, the device of this rank, the log and the last error.
 *
 *  Rules that hold for every function of the library:
 *  - it returns spmm_status_t (or a plain value where it cannot fail), never aborts, never prints;
 *  - outputs come last and are written only on SPMM_OK;
 *  - "Collective" means that every rank of the context calls it, in the same order, with equal
 *    values of all arguments not described as local; all ranks return the same status.  Where calls
 *    of set-up differ, it is SPMM_ERR_ARGUMENT and a sentence that names argument and rank; but one
 *    file may be read by a different path on each rank, unless the context checks calls;
 *  - elements of arrays lie at multiples of their size; for a complex one on CPUs a multiple of the
 *    size of its real part will do;
 *  - a context is used by one thread at a time, together with all matrices, plans and buffers made
 *    from it; distinct contexts may be used concurrently when MPI was initialised with
 *    MPI_THREAD_MULTIPLE.  On several GPUs NCCL demands that all ranks issue the products of
 *    several contexts in one order: from threads of their own use transport mpi-host;
 *  - on CUDA contexts a call may leave the context's device as the current one of the thread, as
 *    cudaSetDevice() would: a program that works on several sets its own again;
 *  - device arrays that a call without a stream reads must be complete: it orders itself behind the
 *    legacy default stream only, not behind streams made with cudaStreamNonBlocking;
 *  - structs with a struct_size grow only at their end: callers compiled with a shorter one are
 *    served.
 */
#ifndef SPMM_DIST_CONTEXT_H
#define SPMM_DIST_CONTEXT_H

#include <mpi.h>
#include <stdio.h>

#include "spmm_dist/export.h"
#include "spmm_dist/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Incomplete types, not pointer typedefs: `const spmm_plan_t *` then means a const plan. */
typedef struct spmm_context spmm_context_t; /**< communicator + device */
typedef struct spmm_matrix  spmm_matrix_t;  /**< A, distributed by rows */
typedef struct spmm_plan    spmm_plan_t;    /**< A, n, options -> partition, formats, exchange */

/** Receives one finished line without a newline.  Called on the thread that called the library. */
typedef void (*spmm_log_fn_t)(void *user, const char *line);

/** Zero in any field means "choose for me".  Equal on all ranks, but where it says local and for
 *  the log.  On a GPU a context keeps freed memory of formats and trials for its next plans, up to
 *  1/32 of the device's, until it is destroyed. */
typedef struct {
    size_t             struct_size; /**< set by SPMM_CONTEXT_OPTIONS_INIT */
    spmm_device_kind_t device;      /**< AUTO is the CPU where any rank sees no GPU */
    const int         *cuda_device; /**< local, read during the call: a CUDA ordinal; NULL: of
                                         the visible devices one that the fewest ranks before this
                                         one on its node took, the first of these */
    spmm_log_fn_t      log;         /**< progress lines; NULL: none (SPMM_DEBUG=1: stderr) */
    void              *log_user;    /**< handed to @p log */
    double timeout_s; /**< > 0: an exchange of an execute that takes longer, since a rank is late or
                           gone, is SPMM_ERR_COMM on every rank that waits for it: from
                           spmm_execute() or, with transports nccl and nccl-push, the next
                           call on the context.  Set-up waits for a rank 5 s longer, and an
                           hour longer for rank 0 where it works alone: METIS, gzip, .smtx */
    int    nccl_ctas; /**< most thread blocks, each on a multiprocessor of its own, that
                                       one exchange of transport nccl may take from the products
                                       that run meanwhile, 1 .. 64; 0: NCCL's choice (at most 32 as
                                       of 2.28).  Fewer than the links need slow the exchange
                                       down */
    int    check;     /**< local; nonzero on any rank, or SPMM_CHECK=1 in its environment: products,
                           new values and spmm_plan_resync(), too, compare their arguments over the
                           ranks first, in one small reduction, and so wait for all ranks; all ranks
                           get the refusal of one.  Other collective calls always do so, but those
                           that destroy compare nothing */
    int    ranks_per_node; /**< > 0: so many successive ranks are taken for a node, whatever
                                       machines they run on; 0: ranks that MPI says can share
                                       memory are one */
} spmm_context_options_t;

/** "Choose for me" in every field. */
#define SPMM_CONTEXT_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(spmm_context_options_t), SPMM_DEVICE_AUTO, NULL, NULL, NULL, 0.0, 0, 0, 0           \
    }

/** What a context runs on. */
typedef struct {
    size_t      struct_size;    /**< set by the caller to sizeof(spmm_context_info_t) */
    int         rank, size;     /**< of the context's communicator */
    const char *device;         /**< "cpu" or "cuda" */
    const char *device_name;    /**< e.g. "NVIDIA H200"; owned by the context */
    int         device_ordinal; /**< the CUDA ordinal; 0 on CPUs */
    int         node, nodes;    /**< that of this rank, counted from 0; how many there are */
    size_t      host_bytes;     /**< pinned for copies to the device; 0 on CPUs, as the next */
    size_t      device_bytes;   /**< kept for the formats of the next plans */
} spmm_context_info_t;

/** Create a context on a duplicate of @p comm.  Collective, between MPI_Init and MPI_Finalize; the
 *  caller keeps @p comm.  After MPI_Finalize, calls that communicate return SPMM_ERR_ARGUMENT.
 *  The first context on a kind of GPU measures its rates and keeps them in a file below the home
 *  directory: SPMM_CACHE_DIR names another place, SPMM_CALIBRATE=0 does without.  So does the first
 *  on the same ranks of several nodes with the latency and rate between ranks.
 *  @param[in]  comm     intra-communicator, one rank per device
 *  @param[in]  options  NULL for defaults
 *  @param[out] ctx      release with spmm_context_destroy()
 *  @return SPMM_ERR_UNSUPPORTED when the device asked for is not built in or not visible */
SPMM_API spmm_status_t spmm_context_create(MPI_Comm comm, const spmm_context_options_t *options,
                                           spmm_context_t **ctx);

/** Collective, before MPI_Finalize.  Frees *ctx and sets it to NULL; NULL in is success.  Matrices
 *  and plans made from it must be gone: otherwise, and after MPI_Finalize, SPMM_ERR_ARGUMENT and
 *  nothing is freed.  Buffers must be freed before, too, since spmm_buffer_free() takes the
 *  context. */
SPMM_API spmm_status_t spmm_context_destroy(spmm_context_t **ctx);

/** Not collective. */
SPMM_API spmm_status_t spmm_context_get_info(const spmm_context_t *ctx, spmm_context_info_t *info);

/** Not collective.  The sentence of the last failure on @p ctx, or on a matrix or plan of it, ""
 *  when there was none or a later call succeeded; with NULL, of the last failure on this thread:
 *  for a context that could not be created, and for calls that got NULL for a handle.  Valid until
 *  the next such call. */
SPMM_API const char *spmm_last_error(const spmm_context_t *ctx);

/** Static English text for @p status; never NULL, also for unknown values. */
SPMM_API const char *spmm_status_string(spmm_status_t status);

/** "MAJOR.MINOR.PATCH" of the library in use. */
SPMM_API const char *spmm_version(void);

/** Bytes of one element of @p type; 0 for SPMM_TYPE_AUTO and unknown values. */
SPMM_API size_t spmm_type_size(spmm_type_t type);

/** Memory that execute can use: device memory on CUDA contexts, host memory on CPU ones.  Not
 *  collective.  @p bytes == 0 gives a pointer that may only be freed. */
SPMM_API spmm_status_t spmm_buffer_alloc(spmm_context_t *ctx, size_t bytes, void **buffer);
/** Frees *buffer and sets it to NULL; NULL in is success.  Not collective; work on it must be
 *  done. */
SPMM_API spmm_status_t spmm_buffer_free(spmm_context_t *ctx, void **buffer);
/** Copy between host memory and buffers, either way; done when it returns.  In the order of the
 *  default stream: synchronise with the streams that write @p src or read @p dst before. */
SPMM_API spmm_status_t spmm_buffer_copy(spmm_context_t *ctx, void *dst, const void *src,
                                        size_t bytes);
/** Wait until all work of @p stream is done and report its errors.  Not collective. */
SPMM_API spmm_status_t spmm_stream_synchronize(spmm_context_t *ctx, spmm_stream_t stream);

/** An engine, a transport, a partitioner or a schedule as `--list-engines` and
 *  the like print it. */
typedef struct {
    size_t      struct_size; /**< set by the caller to sizeof(spmm_component_info_t) */
    const char *name;        /**< what options and the command line take; static storage */
    const char *description; /**< one line; static storage */
    int         built;       /**< 0: this build lacks what it needs */
} spmm_component_info_t;

/** Describe component @p index, counted from 0.  SPMM_ERR_ARGUMENT past the last one. */
SPMM_API spmm_status_t spmm_engine_info(int index, spmm_component_info_t *info);
/** Likewise for transports. */
SPMM_API spmm_status_t spmm_transport_info(int index, spmm_component_info_t *info);
/** Likewise for partitioners. */
SPMM_API spmm_status_t spmm_partitioner_info(int index, spmm_component_info_t *info);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_DIST_CONTEXT_H */
