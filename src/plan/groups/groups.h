/* SPDX-License-Identifier: Apache-2.0 */
/** @file groups.h
 *  Column groups: groups of successive ranks each have a copy of A and multiply a part of the
 *  columns.  The plan is one of the ranks of its group, over a communicator of its own; nothing but
 *  making it, moving blocks and new values crosses groups.
 */
#ifndef SPMM_PLAN_GROUPS_H
#define SPMM_PLAN_GROUPS_H

#include "exchange/transport.h"
#include "matrix/matrix.h"
#include "spmm_dist/plan.h"

typedef struct spmm_plan_groups spmm_plan_groups_t;
struct spmm_plan_groups {
    spmm_transport_shared_t *outer; /**< of the context, borrowed */
    spmm_matrix_t           *whole; /**< the caller's A, borrowed */
    spmm_matrix_user_t       user;  /**< links the plan to it for new values */
    int                      count; /**< groups */
    int                      mine;  /**< that of this rank */
    int                      ranks; /**< of a group: mine has the outer ranks mine * ranks and on */
    int64_t                  n;     /**< columns planned, of all groups */

    spmm_env_t              env;    /**< of the group; comm and nodes are owned */
    spmm_device_t           device; /**< the context's, with that env */
    spmm_transport_shared_t shared; /**< with what transports make for the group */
    spmm_matrix_t          *A;      /**< the group's copy, owned: rows of `count` successive outer
                                         ranks are one rank's */
    void (*close)(spmm_plan_groups_t *groups); /**< frees all of it, after the plan */
};

/** Columns that group @p group has of @p n, and the first of them.  The first n % count groups have
 *  one more than the others. */
int64_t spmmi_groups_columns(const spmm_plan_groups_t *groups, int group, int64_t n);
int64_t spmmi_groups_first(const spmm_plan_groups_t *groups, int group, int64_t n);

/** The rank of the context in @p group that stands for this one. */
static inline int spmmi_groups_rank(const spmm_plan_groups_t *groups, int group)
{
    return group * groups->ranks + groups->outer->env->rank / groups->count;
}

/** A plan of options->column_groups groups; SPMM_COLUMN_GROUPS_AUTO may be none.  Collective,
 *  agreed. */
spmm_status_t spmmi_groups_build(spmm_transport_shared_t *shared, spmm_matrix_t *A, int64_t n,
                                 const spmm_plan_options_t *options, spmm_plan_t **plan);

/** The group's copy of A, and its values anew.  Collective, agreed. */
spmm_status_t spmmi_groups_copy(spmm_plan_groups_t *groups);
spmm_status_t spmmi_groups_copy_values(spmm_plan_groups_t *groups);

/** Rows of this rank in the caller's distribution of an operand.  @return the first of them */
int64_t spmmi_groups_original(const spmm_plan_t *plan, spmm_operand_t operand, int64_t *rows);

/** spmmi_plan_move() for blocks of @p n columns of all groups in the caller's distribution and of
 *  this group's part of them in the plan's.  Collective, agreed. */
spmm_status_t spmmi_groups_move(spmm_plan_t *plan, spmm_operand_t operand, bool to_plan, int64_t n,
                                const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                                spmm_stream_t stream);

#endif /* SPMM_PLAN_GROUPS_H */
