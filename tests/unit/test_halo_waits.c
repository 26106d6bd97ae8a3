/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_halo_waits.c  Which products have an off-diagonal block that waits itself for its
 *  rows, and which are in line.  The plan has nothing but what the answer is made of. */

#include <math.h>

#include "plan/blocks/formats.h"
#include "plan/plan.h"
#include "plan/run/execute.h"
#include "test_main.h"

enum { STREAMS = 3, N = 8 };

static uint64_t numbers[STREAMS] = {0, 5, 7}; /* by stream; 0: not known */
static int64_t  recv_ptr[2];                  /* of one peer */
static bool     captured, ended, lets;

static bool stream_id(const spmm_device_t *device, spmm_stream_t stream, uint64_t *id)
{
    (void)device;
    *id = numbers[(uintptr_t)stream];
    return *id != 0;
}

static bool is_captured(const spmm_device_t *device, spmm_stream_t stream)
{
    (void)device, (void)stream;
    return captured;
}

static spmm_status_t event_query(const spmm_device_t *device, const spmm_event_t *event, bool *done)
{
    (void)device;
    assert_non_null(event);
    *done = ended;
    return SPMM_OK;
}

static spmm_until_t arrival(const void *state)
{
    (void)state;
    return (spmm_until_t){NULL, 0};
}

static bool lets_begin(const void *state)
{
    assert_non_null(state);
    return lets;
}

static double cost(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *at)
{
    (void)halo, (void)at;
    assert_int_equal(row_bytes, 4 * N);
    return 8e-6;
}

static char                    place[2][STREAMS]; /* what pointers point to */
static const spmm_device_ops_t device_ops = {
    .stream_id = stream_id, .is_captured = is_captured, .event_query = event_query};
static const spmm_device_t        device = {.ops = &device_ops, .kind = SPMM_DEVICE_CUDA};
static const spmm_transport_ops_t tells  = {.arrival    = arrival,
                                            .lets_begin = lets_begin,
                                            .cost       = cost},
                                  silent;
static const spmm_engine_ops_t can_wait = {.facts = {.waits = 4, .follows = true}}, cannot;
static spmm_transport_shared_t shared;

/* One of which all products wait. */
static spmm_plan_t plan_of(int which)
{
    spmm_plan_t plan = {.device = &device, .shared = &shared, .n = N, .op = SPMM_OP_N};

    plan.layout                                 = SPMM_LAYOUT_ROW;
    plan.ab_type                                = SPMM_R_32F;
    plan.exchange.transport                     = &tells;
    plan.exchange.state                         = &place[which][0];
    plan.exchange.ghost_rows                    = &place[which][1];
    plan.exchange.peer_rows                     = &place[which][1];
    plan.exchange.halo.recv_ptr                 = recv_ptr;
    plan.exchange.halo.n_recv_peers             = 1;
    plan.blocks.off_diagonal.nnz                = 100;
    plan.blocks.off_diagonal.pattern.max_row    = 4;
    plan.blocks.off_diagonal.problem.waits      = true;
    plan.blocks.off_diagonal.engine             = &can_wait;
    plan.blocks.diagonal.engine                 = &can_wait;
    plan.sent_size                              = 4;
    plan.phases.events[0].sync[SPMM_PHASE_DONE] = (spmm_event_t *)(void *)&place[which][2];
    return plan;
}

static bool answer(spmm_plan_t *plan, uintptr_t stream)
{
    const spmm_operands_t x = {.n = N, .layout = SPMM_LAYOUT_ROW, .stream = (spmm_stream_t)stream};

    spmmi_plan_decide(plan);
    return spmmi_plan_waits_itself(plan, &x);
}

static void reset(void)
{
    memset(&shared, 0, sizeof shared);
    captured = false;
    ended    = false;
    lets     = true;

    recv_ptr[1] = 50;
}

/* Each alone keeps a product from waiting. */
static void test_conditions(void **state)
{
    enum { CASES = 15 };

    (void)state;
    for (int k = 0; k < CASES; k++) {
        spmm_plan_t plan = plan_of(0);

        reset();
        plan.op                  = k == 1 ? SPMM_OP_T : SPMM_OP_N;
        plan.layout              = k == 2 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
        plan.deterministic       = k == 3;
        plan.profile             = k == 4;
        plan.captures            = k == 5 ? (spmm_captures_t *)(void *)&place[0][0] : NULL;
        plan.exchange.transport  = k == 6 ? &silent : &tells;
        plan.exchange.state      = k == 7 ? NULL : plan.exchange.state; /* a node-aware exchange */
        plan.exchange.ghost_rows = k == 8 ? &place[1][1] : plan.exchange.ghost_rows;
        plan.blocks.off_diagonal.nnz    = k == 9 ? 0 : k == 10 ? (8 << 20) / (4 * N) + 1 : 100;
        plan.blocks.off_diagonal.engine = k == 11 ? &cannot : k == 12 ? NULL : &can_wait;
        captured                        = k == 13;
        recv_ptr[1]                     = k == 14 ? (384 << 10) / (4 * N) + 1 : 50;
        assert_int_equal(answer(&plan, 1), k == 0);
    }
}

static void test_switches(void **state)
{
    spmm_plan_t plan = plan_of(0);

    (void)state;
    reset();
    assert_true(spmmi_plan_may_wait(&plan, &plan.blocks.off_diagonal));
    assert_false(spmmi_plan_may_wait(&plan, &plan.blocks.diagonal));
    assert_false(answer(&plan, 0));                 /* a stream without a number */
    plan.blocks.off_diagonal.problem.waits = false; /* the format was not built for it */
    assert_false(answer(&plan, 1));
    plan.blocks.off_diagonal.problem.waits   = true;
    plan.blocks.off_diagonal.pattern.max_row = 5;
    assert_false(answer(&plan, 1));
    plan.blocks.off_diagonal.pattern.max_row = 4;
    assert_true(answer(&plan, 1));
    shared.push.waits = -1;
    assert_false(answer(&plan, 1));
}

/* Another stream has its turn when the product that waited last is over, or its plan gone. */
static void test_streams(void **state)
{
    spmm_plan_t one = plan_of(0), other = plan_of(1);

    (void)state;
    reset();
    assert_true(answer(&one, 1));
    assert_true(answer(&one, 1));
    assert_true(answer(&other, 1));
    assert_false(answer(&one, 2));
    spmmi_plan_end_waits(&one); /* the last was of the other one */
    assert_false(answer(&one, 2));
    ended = true;
    assert_true(answer(&one, 2));
    ended = false;
    assert_false(answer(&other, 1));
    spmmi_plan_end_waits(&one);
    assert_true(answer(&other, 1));
}

static bool in_line(spmm_plan_t *plan)
{
    const spmm_operands_t x = {.n = N, .layout = SPMM_LAYOUT_ROW};

    spmmi_plan_decide(plan);
    return spmmi_plan_runs_in_line(plan, &x);
}

/* Large halos, deterministic plans and streams without a number keep no product from it. */
static void test_in_line(void **state)
{
    enum { CASES = 18 };

    (void)state;
    for (int k = 0; k < CASES; k++) {
        spmm_plan_t plan = plan_of(0);

        reset();
        plan.deterministic              = true;
        plan.op                         = k == 1 ? SPMM_OP_T : SPMM_OP_N;
        plan.layout                     = k == 2 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
        plan.profile                    = k == 4;
        plan.captures                   = k == 5 ? (spmm_captures_t *)(void *)&place[0][0] : NULL;
        plan.exchange.transport         = k == 6 ? &silent : &tells;
        plan.exchange.state             = k == 7 ? NULL : plan.exchange.state;
        plan.exchange.ghost_rows        = k == 8 ? &place[1][1] : plan.exchange.ghost_rows;
        plan.blocks.off_diagonal.nnz    = k == 9 ? 0 : INT32_MAX;
        plan.blocks.diagonal.engine     = k == 10 ? &cannot : k == 12 ? NULL : &can_wait;
        plan.blocks.off_diagonal.engine = k == 11 ? &cannot : k == 13 ? NULL : &can_wait;
        captured                        = k == 14;
        lets                            = k != 15;

        plan.blocks.diagonal.measured_s  = k == 16 ? 11e-6 : k == 17 ? 9e-6 : (double)NAN;
        plan.blocks.diagonal.predicted_s = k == 17 || k == 3 ? 11e-6 : 9e-6;
        assert_int_equal(in_line(&plan), k == 0 || k == 17);
    }
}

SPMM_TESTS(test_conditions, test_switches, test_streams, test_in_line);
