/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/run/schedule.h"

#include <string.h>

#define SPMM_SCHEDULE(x) extern const spmm_schedule_t spmmi_schedule_##x;
#include "plan/run/schedule_list.h"
#undef SPMM_SCHEDULE

const spmm_schedule_t *spmmi_schedule_find(const char *name)
{
    static const spmm_schedule_t *const all[] = {
#define SPMM_SCHEDULE(x) &spmmi_schedule_##x,
#include "plan/run/schedule_list.h"
#undef SPMM_SCHEDULE
    };
    int s = 0;

    while (strcmp(all[s]->name, name) != 0) {
        s++;
    }
    return all[s];
}
