/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_new_values.c  New values that are on their way when something else uses the formats:
 *  other streams, and new values of the matrix, which the host writes.  The later ones win. */
#include "plan_case.h"

#include "api/context.h"
#include "plan/plan.h"

enum { MOST_CALLS = 64 };

static spmm_matrix_t *A;
static spmm_plan_t   *plan;

/* Row r: an entry in column r and, but on rank 0, one in column 0.  All values are 1. */
void spmm_test_set_up(void)
{
    const int64_t n = spmm_test_env.rank == 0 ? 1 : 2, row_ptr[] = {0, n};
    const int64_t col[]   = {0, spmm_test_env.rank};
    const double  value[] = {1.0, 1.0};

    open_context();
    spmm_assert_ok(spmm_matrix_create_csr(ctx, 1, 1, row_ptr, col, value, SPMM_R_64F, &A));
}

void spmm_test_tear_down(void)
{
    test_context_destroy(&plan, &A, NULL);
    close_context();
}

/* The calls of the device layer, a letter each: DONE recorded, waited for; a stream synchronised; a
 * format refilled by the host. */
static char                     calls[MOST_CALLS];
static spmm_device_ops_t        device_ops;
static const spmm_device_ops_t *real_device;
static spmm_engine_ops_t        engine_ops;
static const spmm_engine_ops_t *real_engine;

static void note(char what)
{
    const size_t n = strlen(calls);

    assert_true(n + 1 < sizeof calls);
    calls[n] = what;
}

static spmm_status_t noted_record(const spmm_device_t *device, spmm_event_t *event,
                                  spmm_stream_t stream)
{
    if (event == plan->phases.events[0].sync[SPMM_PHASE_DONE]) {
        note('d');
    }
    return real_device->event_record(device, event, stream);
}

static spmm_status_t noted_wait(const spmm_device_t *device, spmm_stream_t stream,
                                const spmm_event_t *event)
{
    if (event == plan->phases.events[0].sync[SPMM_PHASE_DONE]) {
        note('w');
    }
    return real_device->stream_wait(device, stream, event);
}

static spmm_status_t noted_sync(const spmm_device_t *device, spmm_stream_t stream)
{
    note('s');
    return real_device->stream_sync(device, stream);
}

static spmm_status_t noted_refill(void *format, const void *values)
{
    note('f');
    return spmmi_engine_refill(real_engine, plan->device, SPMM_R_64F, format, values);
}

/* On the CPU nothing is ever on its way, so what is asked of the device is looked at. */
static void test_host_waits_for_values(void **state)
{
    const double values[] = {2.0, 3.0};
    void        *device;

    plan                         = test_context_plan(A, 1, .tuning = "measure=no");
    device                       = to_device(values, sizeof values);
    real_device                  = ctx->device.ops;
    real_engine                  = plan->blocks.diagonal.engine;
    device_ops                   = *real_device;
    engine_ops                   = *real_engine;
    device_ops.event_record      = noted_record;
    device_ops.stream_wait       = noted_wait;
    device_ops.stream_sync       = noted_sync;
    engine_ops.refill            = noted_refill;
    ctx->device.ops              = &device_ops;
    plan->blocks.diagonal.engine = &engine_ops;
    memset(calls, 0, sizeof calls);
    spmm_assert_ok(spmm_plan_update_values(plan, device, NULL));
    assert_int_equal(calls[strlen(calls) - 1], 'd');
    spmm_assert_ok(spmm_matrix_update_values(A, values));
    ctx->device.ops              = real_device;
    plan->blocks.diagonal.engine = real_engine;
    if (strstr(calls, "dwsf") == NULL) {
        print_error("calls: %s\n", calls);
        fail();
    }
    spmm_assert_ok(spmm_buffer_free(ctx, &device));
}

/* On GPUs values wait behind some milliseconds of work while the host gives the matrix others. */
static void test_later_values_win(void **state)
{
    const double         first[] = {2.0, 2.0}, later[] = {5.0, 5.0}, one = 1.0;
    const spmm_device_t *on = &ctx->device;
    spmm_stream_t        stream, other;
    void                *values, *B, *C;
    double               got = 0.0;

    plan   = test_context_plan(A, 1, .engine = spmm_test_on_gpu() ? "csr-gpu" : "csr-cpu");
    values = to_device(first, sizeof first);
    B      = to_device(&one, sizeof one);
    C      = to_device(&one, sizeof one);
    spmm_assert_ok(on->ops->stream_create(on, false, &stream));
    spmm_assert_ok(on->ops->stream_create(on, false, &other));
    spmm_assert_ok(spmm_plan_update_values(plan, values, stream)); /* makes its lists */
    for (int round = 0; round < 2; round++) {
        const double want = (spmm_test_env.rank == 0 ? 1.0 : 2.0) * (round == 0 ? 5.0 : 2.0);

        for (int k = 0; k < 20; k++) {
            spmm_assert_ok(on->ops->delay(on, 1e-3, stream));
        }
        spmm_assert_ok(spmm_plan_update_values(plan, values, stream));
        if (round == 0) {
            spmm_assert_ok(spmm_matrix_update_values(A, later));
        }
        spmm_assert_ok(spmm_execute(plan, 1, 1.0, B, 1, 0.0, C, 1, other));
        spmm_assert_ok(spmm_stream_synchronize(ctx, other));
        spmm_assert_ok(spmm_buffer_copy(ctx, &got, C, sizeof got));
        assert_true(got == want);
    }
    on->ops->stream_destroy(on, stream);
    on->ops->stream_destroy(on, other);
    test_context_free(ctx, &values, &B, &C);
}

SPMM_TESTS(test_host_waits_for_values, test_later_values_win);
