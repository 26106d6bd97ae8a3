/* SPDX-License-Identifier: Apache-2.0 */
/** @file move.h  Dense blocks between the caller's distribution and the plan's. */
#ifndef SPMM_PLAN_MOVE_H
#define SPMM_PLAN_MOVE_H

#include "partition/layout.h"
#include "spmm_dist/plan.h"

/** spmm_plan_scatter() (to_plan) and spmm_plan_gather() (else).  Collective, agreed. */
spmm_status_t spmmi_plan_move(spmm_plan_t *plan, spmm_operand_t operand, bool to_plan, int64_t n,
                              const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                              spmm_stream_t stream);

/** Make the list of original indices of an operand's rows, where it is not there.  Local. */
spmm_status_t spmmi_plan_list_rows(spmm_plan_t *plan, spmm_operand_t operand);

#endif /* SPMM_PLAN_MOVE_H */
