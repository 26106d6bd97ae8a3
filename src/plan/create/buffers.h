/* SPDX-License-Identifier: Apache-2.0 */
/** @file buffers.h  Device memory that execute needs besides the formats. */
#ifndef SPMM_PLAN_BUFFERS_H
#define SPMM_PLAN_BUFFERS_H

#include "plan/blocks/block.h"

/** Allocate lists, events and the comm stream.  Local. */
spmm_status_t spmmi_plan_make_buffers(spmm_plan_t *plan);
void          spmmi_plan_free_buffers(spmm_plan_t *plan);
/** Allocate rows to exchange, and copies of B and C; @p merged: for a merged block.  Local. */
spmm_status_t spmmi_plan_make_rows(spmm_plan_t *plan, bool merged);
/** Allocate what the blocks write in place of a C of 16 bits, if they do, once their formats are
 *  there.  Local. */
spmm_status_t spmmi_plan_make_sum(spmm_plan_t *plan, bool merged);
/** Bytes of device memory of all of it. */
size_t spmmi_plan_buffer_bytes(const spmm_plan_t *plan);

#endif /* SPMM_PLAN_BUFFERS_H */
