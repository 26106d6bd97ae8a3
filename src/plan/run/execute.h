/* SPDX-License-Identifier: Apache-2.0 */
/** @file execute.h
 *  The way of one product.
 *
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
#ifndef SPMM_PLAN_EXECUTE_H
#define SPMM_PLAN_EXECUTE_H

#include <stdbool.h>

#include "operands.h"
#include "spmm_dist/plan.h"

/** Enqueue one product by the plan's schedule, captured where the plan captures.
 *  @param[in] x  checked */
spmm_status_t spmmi_plan_execute(spmm_plan_t *plan, const spmm_operands_t *x);
/** An execute is refused before it begins.  Local. */
void spmmi_plan_skip(spmm_plan_t *plan);
/** SPMM_ERR_ARGUMENT where this rank has skipped executes and the transport would take the rows of
 *  one for those of another.  Local. */
spmm_status_t spmmi_plan_check_sequence(const spmm_plan_t *plan);
/** Find out whether all ranks have skipped the same number of executes.  Collective, agreed. */
spmm_status_t spmmi_plan_resync(spmm_plan_t *plan);

/** Wait on the host for the last execute, and for values taken; its errors are returned. */
spmm_status_t spmmi_plan_wait_idle(spmm_plan_t *plan);

/** Does the off-diagonal block of the product that is about to be enqueued wait itself?  Local. */
bool spmmi_plan_waits_itself(spmm_plan_t *plan, const spmm_operands_t *x);
/** Is the product that is about to be enqueued in line?  Local. */
bool spmmi_plan_runs_in_line(const spmm_plan_t *plan, const spmm_operands_t *x);
/** The plan is idle and goes. */
void spmmi_plan_end_waits(spmm_plan_t *plan);

/** Rows of this rank, or of others, packed where they were received. */
typedef struct {
    const void *rows;
    int64_t     ld, n; /**< in elements of the type of A */
} spmm_pass_operand_t;

enum { SPMM_PASS_OPERANDS = 3 };

/** What a plan without a product, made by spmmi_plan_build_exchange(), does with its blocks. */
typedef struct {
    spmm_pass_operand_t operand[SPMM_PASS_OPERANDS]; /**< that travel, one behind the other */
    int                 count;
    const void         *self, *args;
    /** @p operand NULL: the diagonal block, else the off-diagonal block with what was received. */
    spmm_status_t (*run)(const void *self, const void *args, const spmm_pass_operand_t *operand,
                         spmm_stream_t stream);
} spmm_pass_t;

/** Enqueue the work on the diagonal block while rows travel, then that on the off-diagonal one. */
spmm_status_t spmmi_plan_run_pass(spmm_plan_t *plan, const spmm_pass_t *pass, spmm_stream_t stream);

#endif /* SPMM_PLAN_EXECUTE_H */
