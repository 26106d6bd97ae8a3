/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_case.h  One transport on a pseudo-random halo, with rows whose bytes tell where
 *  they come from.  Runs on the CPU, or with SPMM_TEST_DEVICE=cuda on the GPUs that are visible. */
#ifndef SPMM_TEST_TRANSPORT_CASE_H
#define SPMM_TEST_TRANSPORT_CASE_H

#include "exchange/transport.h"
#include "halo_case.h"

/** A halo, its buffers and one transport on it. */
typedef struct {
    halo_case_t                 needs;
    spmm_halo_t                 peers; /**< which rows go where */
    const spmm_transport_ops_t *transport;
    void                       *state;
    unsigned char              *send_rows, *halo;          /**< host */
    void                       *device_send, *device_halo; /**< what is exchanged */
    size_t                      send_rows_bytes, halo_bytes;
} transport_case_t;

/** Opened by transport_case_device(); shared by all cases. */
extern spmm_device_t           device;
extern spmm_stream_t           stream;
extern spmm_transport_shared_t shared;

/** Open the device unless it is open; ends the program with 77 (skipped) where it is missing. */
void transport_case_device(void);
/** Close transports and device; @p kept allocations must be left. */
void transport_case_finish(int64_t kept);

/** A halo of @p n indices with everything but the state of the transport. */
void transport_case_prepare(transport_case_t *f, const spmm_transport_ops_t *transport, int64_t n,
                            double density, uint64_t seed, size_t max_row_bytes);
/** The same and create(). */
void transport_case_open(transport_case_t *f, const spmm_transport_ops_t *transport, int64_t n,
                         double density, uint64_t seed, size_t max_row_bytes);
void transport_case_close(transport_case_t *f);

/** Run @p test on each transport that works here. */
void transport_case_each(void (*test)(const spmm_transport_ops_t *transport));

/** Write the rows to send in exchange number @p round. */
spmm_exchange_t transport_case_fill(transport_case_t *f, spmm_direction_t direction, uint64_t round,
                                    size_t row_bytes);
/** Wait for the stream and compare what has arrived, then poison it. */
void transport_case_check(transport_case_t *f, const spmm_exchange_t *exchange, uint64_t round);
/** Both with begin() and end(), which must not allocate, in between. */
void transport_case_run(transport_case_t *f, spmm_direction_t direction, uint64_t round,
                        size_t row_bytes);

#endif /* SPMM_TEST_TRANSPORT_CASE_H */
