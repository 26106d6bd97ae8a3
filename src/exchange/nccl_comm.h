/* SPDX-License-Identifier: Apache-2.0 */
/** @file nccl_comm.h  The NCCL communicator of a context, and one exchange over it. */
#ifndef SPMM_EXCHANGE_NCCL_COMM_H
#define SPMM_EXCHANGE_NCCL_COMM_H

#include "exchange/transport.h"

#if defined(SPMM_HAVE_CUDA) && defined(SPMM_HAVE_NCCL)
#include <nccl.h>

/** Make shared->nccl unless it is there.  Collective, agreed. */
spmm_status_t spmmi_nccl_open(spmm_transport_shared_t *shared);
/** Free shared->nccl.  Collective; NULL-safe. */
void spmmi_nccl_close(spmm_transport_shared_t *shared);

/** Enqueue one group of sends and receives on @p stream.  Does not wait for the stream. */
spmm_status_t spmmi_nccl_exchange(spmm_transport_shared_t *shared, const spmm_exchange_side_t *from,
                                  const spmm_exchange_side_t *to, size_t row_bytes,
                                  spmm_stream_t stream);

/** Is multicast off for all communicators of this process, as far as we made them, or can it still
 *  be turned off? */
bool spmmi_nccl_is_without_nvls(void);
bool spmmi_nccl_may_be_without_nvls(void);
/** A peer is lost: spmmi_nccl_close() will not wait for it. */
void spmmi_nccl_abandon(spmm_transport_shared_t *shared);

/** SPMM_ERR_COMM once the communicator failed.  Does not wait. */
spmm_status_t spmmi_nccl_check(spmm_transport_shared_t *shared);

/** The communicator, for other calls than exchanges; NULL unless open. */
ncclComm_t spmmi_nccl_comm(const spmm_transport_shared_t *shared);
/** Wait until the host's part of such a call, of @p what, is done: within the timeout. */
spmm_status_t spmmi_nccl_settle(const spmm_transport_shared_t *shared, ncclResult_t code,
                                const char *what);
#endif

#endif /* SPMM_EXCHANGE_NCCL_COMM_H */
