/* SPDX-License-Identifier: Apache-2.0 */
/** @file network.h
 *  What the ways between ranks cost, where there are several nodes: measured once between the hosts
 *  by MPI, all ranks at the same time, and kept in a file as the rates of a device are.
 */
#ifndef SPMM_DEVICE_NETWORK_H
#define SPMM_DEVICE_NETWORK_H

#include "device/device.h"

/** Fill device->network from the file, by measuring for some 0.1 s, on a slow network some s, or
 *  with SPMM_CALIBRATE=0 by typical costs; on one node it stays zero.  Collective, agreed: equal on
 *  all ranks. */
spmm_status_t spmmi_network_open(spmm_device_t *device);

/** What a rank sends or receives at once on ways of one kind. */
typedef struct {
    int64_t messages;
    double  bytes;
    double  share; /**< bytes, too: the mean of the ranks of its node */
} spmm_load_t;

/** Seconds, 0 without messages: the first one takes the latency, each further one what it keeps the
 *  rank busy, and bytes their rate: between nodes that of the rank's way or of its node's adapter,
 *  whichever is longer busy (the max-rate model of Gropp, Olson and Samfass, EuroMPI 2016). */
double spmmi_network_time(const spmm_network_t *network, spmm_way_t way, const spmm_load_t *load);

#endif /* SPMM_DEVICE_NETWORK_H */
