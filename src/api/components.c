/* SPDX-License-Identifier: Apache-2.0 */
/** @file components.c  The tables of engines, transports, partitioners and schedules, for lists. */
#include "api/context.h"
#include "engine/engine.h"
#include "partition/partition.h"
#include "plan/schedule/schedule.h"

static spmm_status_t describe(int index, int count, const char *name, const char *description,
                              int built, spmm_component_info_t *info)
{
    const spmm_component_info_t mine = {.name = name, .description = description, .built = built};

    if (name == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "there is no component %d: there are %d", index,
                          count);
    }
    return spmmi_give_info(NULL, &mine, sizeof mine, info, "component info");
}

#define SPMM_DESCRIBE(table, count)                                                                \
    (index < 0 || index >= (count)                                                                 \
         ? describe(index, (count), NULL, NULL, 0, info)                                           \
         : describe(index, (count), (table)[index]->name, (table)[index]->description,             \
                    (table)[index]->built, info))

spmm_status_t spmm_engine_info(int index, spmm_component_info_t *info)
{
    return SPMM_DESCRIBE(spmmi_engines, spmmi_n_engines);
}

spmm_status_t spmm_transport_info(int index, spmm_component_info_t *info)
{
    return SPMM_DESCRIBE(spmmi_transports, spmmi_n_transports);
}

spmm_status_t spmm_partitioner_info(int index, spmm_component_info_t *info)
{
    return SPMM_DESCRIBE(spmmi_partitioners, spmmi_n_partitioners);
}

/* All are part of every build. */
spmm_status_t spmm_schedule_info(int index, spmm_component_info_t *info)
{
    const bool known = index >= 0 && index < spmmi_n_schedules;

    return describe(index, spmmi_n_schedules, known ? spmmi_schedules[index]->name : NULL,
                    known ? spmmi_schedules[index]->description : NULL, 1, info);
}
