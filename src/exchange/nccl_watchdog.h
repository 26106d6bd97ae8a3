/* SPDX-License-Identifier: Apache-2.0 */
/** @file nccl_watchdog.h
 *  A thread that aborts an NCCL communicator when an exchange stalls, for contexts with a timeout.
 *
 *  The clock of an exchange runs while it is the oldest unfinished one and its stream has reached
 *  it: a deep queue of products, or a long kernel before the exchange, is no stall; a peer that has
 *  not come yet is one.  Each rank watches for itself; those that wait for an aborted rank time out
 *  in turn.
 */
#ifndef SPMM_EXCHANGE_NCCL_WATCHDOG_H
#define SPMM_EXCHANGE_NCCL_WATCHDOG_H

#include "device/device.h"

#if defined(SPMM_HAVE_CUDA) && defined(SPMM_HAVE_NCCL)
#include <nccl.h>

typedef struct spmm_nccl_watchdog spmm_nccl_watchdog_t;

/** Watch @p comm, which the watchdog may abort from now on.  The timeout is that of device->env. */
spmm_status_t spmmi_nccl_watchdog_start(const spmm_device_t *device, ncclComm_t comm,
                                        spmm_nccl_watchdog_t **watchdog);

/** Before an exchange is enqueued on @p stream: keeps the watchdog off the communicator until
 *  leave().  On failure, also an earlier one, nothing is held. */
spmm_status_t spmmi_nccl_watchdog_enter(spmm_nccl_watchdog_t *watchdog, cudaStream_t stream);
/** After it; a @p status other than SPMM_OK aborts the communicator.  Returns @p status. */
spmm_status_t spmmi_nccl_watchdog_leave(spmm_nccl_watchdog_t *watchdog, cudaStream_t stream,
                                        spmm_status_t status);

/** SPMM_ERR_COMM once the communicator was aborted. */
spmm_status_t spmmi_nccl_watchdog_check(spmm_nccl_watchdog_t *watchdog);

/** End the thread and free the watchdog.  Returns whether the communicator was aborted: then it
 *  must not be used, nor destroyed. */
bool spmmi_nccl_watchdog_stop(spmm_nccl_watchdog_t *watchdog);
#endif

#endif /* SPMM_EXCHANGE_NCCL_WATCHDOG_H */
