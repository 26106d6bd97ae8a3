/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_device.h"

#include <math.h>

#include "test_main.h"

double                   clock_device_now, clock_device_seen;
static spmm_device_ops_t ops;

struct spmm_event {
    double when;
};

static spmm_status_t event_create(const spmm_device_t *on, bool timed, spmm_event_t **event)
{
    assert_true(timed);
    if (SPMM_NEW_ZERO(*event, 1) == NULL) {
        return spmmi_fail_memory(&on->env->err, 1, sizeof **event, "an event");
    }
    return SPMM_OK;
}

static void event_destroy(const spmm_device_t *on, spmm_event_t *event)
{
    spmmi_free(event);
}

static spmm_status_t event_record(const spmm_device_t *on, spmm_event_t *event,
                                  spmm_stream_t stream)
{
    event->when = clock_device_now;
    return SPMM_OK;
}

static spmm_status_t event_query(const spmm_device_t *on, const spmm_event_t *event, bool *done)
{
    *done = event->when <= clock_device_seen;
    return SPMM_OK;
}

static spmm_status_t event_elapsed(const spmm_device_t *on, spmm_event_t *from, spmm_event_t *to,
                                   double *seconds)
{
    *seconds = to->when - from->when;
    return SPMM_OK;
}

void clock_device_open(spmm_device_t *device)
{
    spmm_assert_ok(spmmi_device_open(&spmm_test_env, SPMM_DEVICE_CPU, NULL, device));
    ops               = *device->ops;
    ops.event_create  = event_create;
    ops.event_destroy = event_destroy;
    ops.event_record  = event_record;
    ops.event_query   = event_query;
    ops.event_elapsed = event_elapsed;
    clock_device_seen = INFINITY;
    device->ops       = &ops;
}
