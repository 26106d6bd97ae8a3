/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_doctor.h"

#include <stdarg.h>

void driver_find(driver_checkup_t *checkup, driver_state_t state, const char *topic,
                 const char *advice, const char *format, ...)
{
    const bool        full = checkup->count == DRIVER_CHECKS;
    driver_finding_t *f    = &checkup->finding[full ? DRIVER_CHECKS - 1 : checkup->count];
    va_list           args;

    if (full && (state != DRIVER_CHECK_PROBLEM || f->state == DRIVER_CHECK_PROBLEM)) {
        return;
    }
    f->state = state;
    f->topic = topic;
    (void)snprintf(f->advice, sizeof f->advice, "%s", advice);
    va_start(args, format);
    (void)vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    checkup->count += !full;
}

const char *driver_state_name(driver_state_t state)
{
    return state == DRIVER_CHECK_GOOD      ? "good"
           : state == DRIVER_CHECK_MISSING ? "missing"
                                           : "problem";
}
