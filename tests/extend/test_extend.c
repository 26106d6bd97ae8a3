/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_extend.c
 *  The worked examples of docs/how-to/extend.md do what those of the library do: whole plans with
 *  each of them against the dense product, and the transport on its own.
 */
#include "plan_case.h"

#include "engine/engine.h"
#include "partition/partition.h"
#include "transport_case.h"

static const shape_t shapes[] = {
    {200, 200, 9, 17}, /* several stripes, a full row */
    {150, 61, 5, -1},  {61, 150, 5, 3}, {40, 40, 0, -1}, {1, 1, 1, -1},
};

static void check_all(const char *engine, const char *partition)
{
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int v = 0; v < 8; v += 1 + (int)(s > 0)) {
            product_t p = {.type = SPMM_R_64F, .n = 1, .planned_n = 9, .pad = v % 3, .alpha = -1.5};

            p.n           = v < 4 ? 1 : 9;
            p.beta        = v < 4 ? 0.0 : 0.5;
            p.o.op        = v % 2 == 0 ? SPMM_OP_N : SPMM_OP_T;
            p.o.layout    = v / 2 % 2 == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL;
            p.o.partition = partition;
            p.o.engine    = engine;
            (void)check_plan(&shapes[s], &p);
        }
    }
}

static void test_engine(void **state)
{
    assert_non_null(spmmi_engine_find("octet"));
    open_context();
    check_all("octet", NULL);
    close_context();
}

static void test_partitioner(void **state)
{
    open_context();
    check_all(NULL, "stripes");
    check_all("octet", "stripes");
    close_context();
}

static void exchange(const spmm_transport_ops_t *transport)
{
    transport_case_t f;

    transport_case_open(&f, transport, 400, 0.3, 1, 48);
    for (uint64_t round = 0; round < 10; round++) {
        transport_case_run(&f, round % 3 == 1 ? SPMM_HALO_REVERSE : SPMM_HALO_FORWARD, round, 48);
    }
    transport_case_close(&f);
}

static void test_transport(void **state)
{
    const spmm_transport_ops_t *late = spmmi_transport_find("mpi-late");

    assert_non_null(late);
    transport_case_device();
    exchange(late);
}

/* A plan over it, and the names in what --list-... print. */
static void test_names(void **state)
{
    /* The transport is one for rows in host memory. */
    const char           *transport = getenv("SPMM_TEST_DEVICE") == NULL ? "mpi-late" : NULL;
    spmm_plan_options_t   o         = SPMM_PLAN_OPTIONS_INIT;
    spmm_component_info_t info      = {.struct_size = sizeof info};
    spmm_plan_stats_t     stats     = {.struct_size = sizeof stats};
    spmm_matrix_t        *A;
    spmm_plan_t          *plan;
    bool                  found = false;

    for (int k = 0; spmm_transport_info(k, &info) == SPMM_OK; k++) {
        found = found || strcmp(info.name, "mpi-late") == 0;
    }
    assert_true(found);
    open_context();
    o.engine    = "octet";
    o.transport = transport;
    o.partition = "stripes";
    spmm_assert_ok(spmm_matrix_generate(ctx, "rmat:scale=9,degree=6", SPMM_R_64F, 1, &A));
    spmm_assert_ok(spmm_plan_create(A, 3, &o, &plan));
    spmm_assert_ok(spmm_plan_get_stats(plan, &stats));
    assert_string_equal(stats.engine, "octet");
    assert_true(transport == NULL || strcmp(stats.transport, transport) == 0);
    assert_string_equal(stats.partition, "stripes");
    test_context_destroy(&plan, &A, NULL);
    close_context();
}

SPMM_TESTS(test_engine, test_partitioner, test_transport, test_names);
