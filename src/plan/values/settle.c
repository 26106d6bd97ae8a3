/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/values/settle.h"

#include "plan/plan.h"

/* The list of the winner takes the first place, as its format does; the others belong to what is
 * freed. */
void spmmi_plan_end_tries(spmm_plan_t *plan)
{
    for (int b = 0; b < SPMM_PLAN_BLOCKS; b++) {
        spmm_block_t      *block  = spmmi_plan_block(plan, b);
        spmm_value_list_t *list   = &plan->values.list[b * SPMM_MOST_TRIES];
        const int          winner = spmmi_block_settle(block);
        spmm_value_list_t  first;

        if (winner < 0) {
            continue;
        }
        first        = list[winner];
        list[winner] = list[0];
        list[0]      = first;
        for (int k = 1; k < SPMM_MOST_TRIES; k++) {
            plan->device->ops->release(plan->device, list[k].source);
            list[k] = (spmm_value_list_t){.source = NULL};
        }
        spmmi_block_end_tries(block);
    }
}
