/* SPDX-License-Identifier: Apache-2.0 */
/** @file clock_device.h  The CPU with a clock that only tests move, so that times are exact. */
#ifndef SPMM_CLOCK_DEVICE_H
#define SPMM_CLOCK_DEVICE_H

#include "device/device.h"

/** What events record, in seconds. */
extern double clock_device_now;
/** Until when the device has come: later events are not done; INFINITY: all are. */
extern double clock_device_seen;

void clock_device_open(spmm_device_t *device);

#endif /* SPMM_CLOCK_DEVICE_H */
