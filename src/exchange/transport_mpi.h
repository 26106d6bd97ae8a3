/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_mpi.h  The messages of one exchange in flight, for transports over MPI. */
#ifndef SPMM_EXCHANGE_TRANSPORT_MPI_H
#define SPMM_EXCHANGE_TRANSPORT_MPI_H

#include "base/comm.h"
#include "exchange/transport.h"

typedef struct {
    spmm_env_t        *env;      /**< borrowed */
    const spmm_halo_t *halo;     /**< borrowed */
    MPI_Comm           comm;     /**< owned: of this plan alone, so that whatever comes from a peer
                                      is a step of it; MPI_COMM_NULL on one rank */
    spmm_message_t    *messages; /**< [capacity], owned: for the largest exchange */
    int64_t            capacity;
    int                count;  /**< in flight */
    bool               failed; /**< messages were abandoned: no exchange may follow */
} spmm_mpi_messages_t;

/** Collective, agreed. */
spmm_status_t spmmi_mpi_messages_create(spmm_env_t *env, const spmm_halo_t *halo,
                                        size_t max_row_bytes, spmm_mpi_messages_t **messages);
/** Abandons messages in flight, which only a failure leaves: see spmmi_abandon().  Before their
 *  rows are freed.  NULL-safe. */
void spmmi_mpi_messages_free(spmm_mpi_messages_t *messages);

/** Post all receives, then all sends, of an exchange whose pointers MPI can read and write.
 *  Allocates nothing. */
spmm_status_t spmmi_mpi_messages_post(spmm_mpi_messages_t   *messages,
                                      const spmm_exchange_t *exchange);
/** Wait for all of them, up to the timeout of the context.  Rows of another length or step than
 *  @p exchange has here are SPMM_ERR_COMM. */
spmm_status_t spmmi_mpi_messages_wait(spmm_mpi_messages_t   *messages,
                                      const spmm_exchange_t *exchange);
/** Host memory that they take. */
size_t spmmi_mpi_messages_bytes(const spmm_mpi_messages_t *messages);

#endif /* SPMM_EXCHANGE_TRANSPORT_MPI_H */
