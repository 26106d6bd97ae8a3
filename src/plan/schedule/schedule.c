/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/schedule/schedule.h"

#include <string.h>

#define SPMM_SCHEDULE(x) extern const spmm_schedule_t spmmi_schedule_##x;
#include "plan/schedule/schedule_list.h"
#undef SPMM_SCHEDULE

const spmm_schedule_t *const spmmi_schedules[] = {
#define SPMM_SCHEDULE(x) &spmmi_schedule_##x,
#include "plan/schedule/schedule_list.h"
#undef SPMM_SCHEDULE
};
const int spmmi_n_schedules = (int)(sizeof spmmi_schedules / sizeof spmmi_schedules[0]);

const spmm_schedule_t *spmmi_schedule_find(const char *name)
{
    for (int s = 0; s < spmmi_n_schedules; s++) {
        if (strcmp(spmmi_schedules[s]->name, name) == 0) {
            return spmmi_schedules[s];
        }
    }
    return NULL;
}
