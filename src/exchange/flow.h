/* SPDX-License-Identifier: Apache-2.0 */
/** @file flow.h  What the rows of a halo plan take on the ways between ranks. */
#ifndef SPMM_EXCHANGE_FLOW_H
#define SPMM_EXCHANGE_FLOW_H

#include "device/device.h"
#include "exchange/halo.h"

/** Seconds of what this rank exchanges on ways of one kind, by what the context has measured; 0 on
 *  one node, where nothing is. */
double spmmi_way_s(const spmm_halo_t *halo, spmm_way_t way, size_t row_bytes,
                   const spmm_device_t *device);

/** Seconds of an exchange whose rows within nodes go at @p rate bytes/s in and out, while those
 *  between nodes go through this rank's adapter. */
double spmmi_ways_s(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device,
                    double rate);

#endif /* SPMM_EXCHANGE_FLOW_H */
