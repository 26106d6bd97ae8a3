/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan.h
 *  The plan, as its own layer sees it: what was asked for, and one part for each task.
 *
 *      create/      the steps of making a plan: options, exchange, buffers, choice of a schedule
 *      blocks/      entries of this rank: dealt to blocks, ordered, made into formats
 *      run/         the way of one product: schedules, passes over C, exchanges, captures
 *      update/      new values of A
 *      report/      statistics, timeline, explanation
 *      sddmm/       a plan of its own, on the blocks and the exchange of this one
 *      attention/   likewise
 */
#ifndef SPMM_PLAN_PLAN_H
#define SPMM_PLAN_PLAN_H

#include "base/scalar.h"
#include "device/phases.h"
#include "matrix/matrix.h"
#include "partition/layout.h"
#include "partition/partition.h"
#include "plan/blocks/block.h"
#include "plan/create/choose.h"
#include "plan/create/tuning_options.h"
#include "plan/run/capture.h"
#include "plan/run/products.h"
#include "plan/run/rows.h"
#include "plan/update/values.h"
#include "spmm_dist/plan.h"

/** The part of a plan that says what its last product was. */
typedef struct {
    uint64_t last_stream; /**< number of the stream that DONE was recorded on; 0: wait for DONE */
    bool     in_use;      /**< DONE has been recorded: streams may be at work on the buffers */
    bool     has_run;     /**< the last execute succeeded: all phases are of it */
    int64_t  last_n;      /**< columns of the last execute */
} spmm_plan_timing_t;

struct spmm_plan {
    spmm_env_t              *env; /**< borrowed from the context, as are the next three */
    const spmm_device_t     *device;
    spmm_transport_shared_t *shared;
    spmm_matrix_t           *A;
    spmm_matrix_user_t       user;   /**< links the plan to A for new values */
    int                      number; /**< among what its context has made: equal on all ranks */

    /* What was asked for, resolved: constant once options.c has filled it. */
    int64_t        n;         /**< most columns, times b_parts */
    int            b_parts;   /**< 2: A is real, B and C are complex and row-major, which are real
                                   blocks of twice the columns; else 1 */
    spmm_op_t      op;        /**< N or T */
    bool           conjugate; /**< op H: T with the values of A conjugated */
    spmm_layout_t  layout;
    spmm_type_t    ab_type, c_type; /**< as the caller has them; blocks may write another C */
    spmm_type_t    halo_type; /**< of exchanged rows: that of B, or for op T the accumulator's */
    spmm_type_t    sent_type; /**< in which they travel: of a part where they are complex; equal to
                                   halo_type: as they are */
    size_t         sent_size; /**< bytes of an element that travels */
    spmm_compute_t compute;
    bool           deterministic, profile, exact_nonfinite, reproducible;
    spmm_tuning_options_t tuning;
    bool                  measures; /**< engines of this rank are chosen by times */

    /** Op T and H of a reproducible plan: to the plan, and so with op N, the rows of A are those of
     *  the transposed A. */
    bool           flips;
    spmm_matrix_t *flipped; /**< that matrix, owned, while its entries are dealt; else NULL */

    spmm_partition_t  partition;
    spmm_layout_map_t rows, cols; /**< distributions of the rows and columns of A; of square A one,
                                       and its arrays are those of both; new
                                       indices are gone when there are blocks */

    spmm_plan_blocks_t     blocks;
    spmm_plan_exchange_t   exchange;
    spmm_plan_conversion_t conversion;
    spmm_plan_choice_t     choice;
    spmm_phases_t          phases; /**< events from spmmi_plan_make_exchange() on */
    spmm_plan_timing_t     timing;
    spmm_plan_values_t     values;
    size_t buffer_bytes; /**< of device memory besides formats and what the transport has */

    spmm_captures_t  *captures;     /**< owned; NULL: executes are not captured */
    const char       *captures_why; /**< though asked for; the end of a sentence, static; NULL: not
                                         asked */
    spmm_plan_stats_t stats;        /**< all but the times */
};

/** Number @p b, below SPMM_PLAN_BLOCKS: diagonal, off-diagonal, merged. */
static inline spmm_block_t *spmmi_plan_block(spmm_plan_t *plan, int b)
{
    return b == 0   ? &plan->blocks.diagonal
           : b == 1 ? &plan->blocks.off_diagonal
                    : &plan->blocks.merged.block;
}

/** Do rows travel in a shorter type? */
static inline bool spmmi_plan_rounds(const spmm_plan_t *plan)
{
    return plan->sent_type != plan->halo_type;
}

/** The matrix whose entries are dealt to blocks. */
static inline const spmm_matrix_t *spmmi_plan_matrix(const spmm_plan_t *plan)
{
    return plan->flips ? plan->flipped : plan->A;
}

/** What engines are asked about blocks of the plan: row-major blocks of @p n columns. */
static inline spmm_problem_t spmmi_plan_problem(const spmm_plan_t *plan, spmm_type_t c_type,
                                                int64_t n)
{
    return (spmm_problem_t){.ab_type       = plan->ab_type,
                            .c_type        = c_type,
                            .compute       = plan->compute,
                            .layout        = SPMM_LAYOUT_ROW,
                            .n             = n,
                            .deterministic = plan->deterministic,
                            .exact         = plan->exact_nonfinite,
                            .in_order      = plan->reproducible,
                            .shares        = plan->env->size > 1};
}

/** Type of C as a block writes it; @p merged: the merged block.  Where two blocks write the same
 *  rows, each writes a partial sum.  16 bits would round it, and FP16 may not hold it where the
 *  whole sum is finite. */
static inline spmm_type_t spmmi_plan_sum_type(const spmm_plan_t *plan, bool merged)
{
    const bool whole = plan->exchange.alone || merged;

    return whole ? plan->c_type : spmmi_accum_type(plan->c_type);
}

static inline bool spmmi_plan_has_one_map(const spmm_plan_t *plan)
{
    return plan->rows.offset == plan->cols.offset;
}

/** The failure that came first. */
static inline spmm_status_t spmmi_first_failure(spmm_status_t first, spmm_status_t second)
{
    return first != SPMM_OK ? first : second;
}

/** Where the rows of an operand live: the rows of A or its columns, by op. */
static inline const spmm_layout_map_t *spmmi_plan_map(const spmm_plan_t *plan,
                                                      spmm_operand_t     operand)
{
    const bool columns = (operand == SPMM_OPERAND_B) == (plan->op == SPMM_OP_N);

    return columns ? &plan->cols : &plan->rows;
}

#endif /* SPMM_PLAN_PLAN_H */
