/* SPDX-License-Identifier: Apache-2.0 */
/** @file move.h  Dense blocks between the caller's distribution and the plan's. */
#ifndef SPMM_PLAN_MOVE_H
#define SPMM_PLAN_MOVE_H

#include <stdbool.h>

#include "device/device.h"
#include "operands.h"
#include "partition/layout.h"

/** spmm_plan_scatter() (to_plan) and spmm_plan_gather() (else): rows of type x->ab_type, from x->B
 *  to x->C.  Collective, agreed. */
spmm_status_t spmmi_move_rows(const spmm_device_t *device, const spmm_layout_map_t *map,
                              bool to_plan, const spmm_operands_t *x);

#endif /* SPMM_PLAN_MOVE_H */
