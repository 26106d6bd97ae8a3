/* SPDX-License-Identifier: Apache-2.0 */
/** @file overlap.h
 *  Off-diagonal blocks that wait themselves for their rows.  The kernel comes right behind that of
 *  the diagonal block and looks at a word which the exchange writes last (spmm_until_t).  So there
 *  is no event between two streams on the way, and no launch behind the exchange.
 *
 *  Whoever waits on the device must not keep from it what is waited for.  The exchange is enqueued
 *  first, so that it has run where kernels run one at a time (tools, debuggers, one queue for all
 *  streams).  Else blocks that wait leave half of the multiprocessors free, of one product at a
 *  time.  An exchange that gives up says that it is over, too.
 *
 *  Products in line need no second stream and no event at all.  The kernel of the exchange comes
 *  first, and lets the diagonal block run concurrently.  The off-diagonal block follows: it waits
 *  itself, or by the order of the stream for both.
 */
#ifndef SPMM_PLAN_OVERLAP_H
#define SPMM_PLAN_OVERLAP_H

#include <stdbool.h>

#include "operands.h"
#include "plan/blocks/block.h"
#include "spmm_dist/plan.h"

/** May formats of @p block be made for it?  Local: ranks may differ. */
bool spmmi_plan_may_wait(const spmm_plan_t *plan, const spmm_block_t *block);
/** Does the off-diagonal block of the product that is about to be enqueued wait itself?  Local. */
bool spmmi_plan_halo_waits(spmm_plan_t *plan, const spmm_operands_t *x);
/** Is the product that is about to be enqueued in line?  Local; bits are the same. */
bool spmmi_plan_runs_in_line(const spmm_plan_t *plan, const spmm_operands_t *x);
/** The plan is idle and goes. */
void spmmi_plan_end_waits(spmm_plan_t *plan);

#endif /* SPMM_PLAN_OVERLAP_H */
