/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 4 DEVICE cuda ENV NCCL_NVLS_ENABLE=0 */
/** @file test_transport.c  Every transport that works on the device: the CPU, or with
 *  SPMM_TEST_DEVICE=cuda the GPUs that are visible (77, skipped, where none is). */
#include "transport_case.h"

#include "base/comm.h"

static void both_directions(const spmm_transport_ops_t *transport)
{
    transport_case_t f;

    transport_case_open(&f, transport, 400, 0.3, 1, 48);
    for (uint64_t round = 0; round < 20; round++) {
        transport_case_run(&f, round % 3 == 1 ? SPMM_HALO_REVERSE : SPMM_HALO_FORWARD, round,
                           round % 2 == 0 ? 48 : 2 + 2 * round);
    }
    transport_case_close(&f);
}

static void no_peers(const spmm_transport_ops_t *transport)
{
    transport_case_t f;

    transport_case_open(&f, transport, 100, 0.0, 2, 16);
    transport_case_run(&f, SPMM_HALO_FORWARD, 0, 16);
    transport_case_run(&f, SPMM_HALO_REVERSE, 1, 16);
    transport_case_close(&f);
    transport_case_open(&f, transport, 0, 1.0, 3, 16);
    transport_case_run(&f, SPMM_HALO_FORWARD, 0, 16);
    transport_case_close(&f);
}

static void copy_in(void *to, const void *from, size_t bytes)
{
    spmm_assert_ok(device.ops->copy(&device, to, from, bytes, stream));
    spmm_assert_ok(device.ops->stream_sync(&device, stream));
}

/* Rows read where they lie, apart and out of order, on even ranks, at @p shift bytes into them;
 * other ranks pack.  Then the other way round, with the next content. */
static void in_place(const spmm_transport_ops_t *transport)
{
    enum { ROW = 48, LD = 80, ROOM = 1 << 20 };
    transport_case_t f;
    void            *home = NULL;
    unsigned char   *spread;

    if (!transport->packs) {
        return;
    }
    spmm_assert_ok(device.ops->alloc(&device, ROOM, &home));
    transport_case_open(&f, transport, 300, 0.4, 11, ROW);
    assert_non_null(SPMM_NEW_ZERO(spread, ROOM));
    for (uint64_t round = 0; round < 24; round++) {
        const size_t    shift = round % 4 == 0 ? 0 : round % 4 == 1 ? 2 : round % 4 == 2 ? 16 : 8;
        const size_t    bytes = ROW - 2 * (round / 4);
        spmm_exchange_t exchange = transport_case_fill(&f, SPMM_HALO_FORWARD, round, bytes);

        for (int64_t k = 0; k < spmmi_halo_send_rows(&f.peers); k++) {
            memcpy(spread + shift + (size_t)f.peers.send_row[k] * LD,
                   f.send_rows + (size_t)k * bytes, bytes);
        }
        copy_in(home, spread, ROOM);
        if ((spmm_test_env.rank + (int)round) % 2 == 0) {
            exchange.in_place = (char *)home + shift;
            exchange.ld_bytes = LD;
            copy_in(f.device_send, spread, f.send_rows_bytes); /* not what is to arrive */
        }
        spmm_assert_ok(transport->begin(f.state, &exchange, stream));
        spmm_assert_ok(transport->end(f.state, &exchange, stream));
        transport_case_check(&f, &exchange, round);
    }
    spmmi_free(spread);
    transport_case_close(&f);
    device.ops->release(&device, home);
}

/* From few to many bytes and back, in units of 16, 8, 4 and 2, over thresholds of transports, and
 * with fewer thread blocks than make one tile of nccl-push for each warp. */
static void sizes(const spmm_transport_ops_t *transport)
{
    static const size_t bytes[] = {512, 8, 40, 504, 16, 6, 512, 132, 24, 256};
    transport_case_t    f;

    transport_case_open(&f, transport, 1200, 0.5, 12, 512);
    for (uint64_t round = 0; round < 20; round++) {
        shared.push = (spmm_push_limits_t){.max_blocks        = round % 3 == 0 ? 1 : 0,
                                           .low_latency_bytes = round % 4 == 3 ? -1 : 0};
        transport_case_run(&f, round % 3 == 2 ? SPMM_HALO_REVERSE : SPMM_HALO_FORWARD, round,
                           bytes[round % (sizeof bytes / sizeof bytes[0])]);
    }
    shared.push = (spmm_push_limits_t){0};
    transport_case_close(&f);
}

/* Several exchanges enqueued before the host looks at any: later ones may not overtake. */
static void back_to_back(const spmm_transport_ops_t *transport)
{
    enum { PLANS = 3 };
    transport_case_t f[PLANS];
    spmm_exchange_t  exchange[PLANS];

    for (int k = 0; k < PLANS; k++) {
        transport_case_open(&f[k], transport, 200 + 50 * k, 0.5, 9, 64);
        exchange[k] = transport_case_fill(&f[k], k == 1 ? SPMM_HALO_REVERSE : SPMM_HALO_FORWARD,
                                          (uint64_t)k, 64);
    }
    for (int repeat = 0; repeat < 5; repeat++) {
        for (int k = 0; k < PLANS; k++) {
            spmm_assert_ok(transport->begin(f[k].state, &exchange[k], stream));
            spmm_assert_ok(transport->end(f[k].state, &exchange[k], stream));
        }
    }
    for (int k = 0; k < PLANS; k++) {
        transport_case_check(&f[k], &exchange[k], (uint64_t)k);
        transport_case_close(&f[k]);
    }
}

static bool is_mpi(const spmm_transport_ops_t *transport)
{
    return strncmp(transport->name, "mpi-", 4) == 0;
}

static void split_messages(const spmm_transport_ops_t *transport)
{
    size_t           host = 0, split_host = 0, device_bytes = 1;
    transport_case_t f;

    if (!is_mpi(transport)) {
        return;
    }
    transport_case_open(&f, transport, 60, 0.7, 4, 40);
    transport->bytes(f.state, &host, &device_bytes);
    transport_case_close(&f);
    spmm_test_env.message_limit = 64;
    assert_int_equal(spmmi_message_count(&spmm_test_env, 0), 0);
    assert_int_equal(spmmi_message_count(&spmm_test_env, 64), 1);
    assert_int_equal(spmmi_message_count(&spmm_test_env, 65), 2);
    transport_case_open(&f, transport, 60, 0.7, 4, 40);
    transport->bytes(f.state, &split_host, &device_bytes);
    assert_true(split_host > host || spmm_test_env.size == 1);
    assert_int_equal(device_bytes, 0);
    transport_case_run(&f, SPMM_HALO_FORWARD, 0, 40);
    transport_case_run(&f, SPMM_HALO_REVERSE, 1, 24);
    transport_case_run(&f, SPMM_HALO_FORWARD, 2, 8);
    transport_case_close(&f);
    spmm_test_env.message_limit = 0;
}

/* Two plans with exchanges in flight at once, begun in different orders on different ranks: only
 * tags keep their messages, of equal sizes, apart. */
static void plans_do_not_mix(const spmm_transport_ops_t *transport)
{
    const bool       even = spmm_test_env.rank % 2 == 0;
    transport_case_t f[2];
    spmm_exchange_t  exchange[2];

    if (!is_mpi(transport)) {
        return; /* NCCL matches by order alone */
    }
    for (int k = 0; k < 2; k++) {
        transport_case_open(&f[k], transport, 200, 0.5, 5, 32);
        exchange[k] = transport_case_fill(&f[k], SPMM_HALO_FORWARD, (uint64_t)k, 32);
    }
    for (int k = 0; k < 2; k++) {
        const int which = even ? k : 1 - k;

        spmm_assert_ok(transport->begin(f[which].state, &exchange[which], stream));
    }
    for (int k = 0; k < 2; k++) {
        spmm_assert_ok(transport->end(f[k].state, &exchange[k], stream));
        transport_case_check(&f[k], &exchange[k], (uint64_t)k);
    }
    transport_case_close(&f[0]);
    transport_case_close(&f[1]);
}

/* Creation that fails on one rank leaves nothing behind, and tags in step. */
static void memory(const spmm_transport_ops_t *transport)
{
    int              failures = 0;
    transport_case_t f;
    spmm_status_t    status;

    transport_case_prepare(&f, transport, 100, 0.5, 7, 16);
    do {
        const int64_t before = spmmi_alloc_get_stats().live;

        spmmi_alloc_inject(spmm_test_env.rank == 0 ? failures : -1);
        status = transport->create(&shared, &f.peers, 16, &f.state);
        spmmi_alloc_inject(-1);
        if (status != SPMM_OK) { /* on other ranks than 0 only where creation agrees */
            assert_int_equal(status, SPMM_ERR_MEMORY);
            assert_int_equal(spmmi_alloc_get_stats().live, before);
            f.state = NULL;
        }
        status = spmmi_agree(&spmm_test_env, status);
        if (status != SPMM_OK) {
            transport->destroy(f.state);
            spmmi_error_clear(&spmm_test_env.err);
        }
    } while (status != SPMM_OK && ++failures < 20);
    assert_in_range(failures, spmm_test_env.size > 1 ? 2 : 1, 19);
    transport_case_run(&f, SPMM_HALO_FORWARD, 0, 16);
    transport_case_close(&f);
}

/* Does this rank receive from rank 0? */
static bool waits_for_first(const spmm_halo_t *halo)
{
    return halo->n_recv_peers > 0 && halo->recv_peer[0] == 0;
}

/* Allocations that stay for good, since MPI may come back to them. */
static int64_t kept;

/* Rank 0 stays away: its peers get an error in time, and the plan refuses to go on.  The timeout
 * of NCCL must also cover making its communicator. */
static void late_rank(const spmm_transport_ops_t *transport)
{
    const int64_t live = spmmi_alloc_get_stats().live;
    int64_t       left;
    /* Long enough for messages between ranks that are in time, however slow their first one is. */
    const double            timeout = !is_mpi(transport)                           ? 10.0
                                      : strcmp(transport->name, "mpi-device") == 0 ? 3.0
                                                                                   : 0.2;
    spmm_transport_shared_t late    = {.env = &spmm_test_env, .device = &device};
    transport_case_t        f;
    spmm_exchange_t         exchange;

    transport_case_prepare(&f, transport, 100, 0.5, 8, 16);
    spmm_test_env.timeout_s = timeout;
    spmm_assert_ok(transport->create(&late, &f.peers, 16, &f.state));
    exchange = transport_case_fill(&f, SPMM_HALO_FORWARD, 0, 16);
    spmm_assert_ok(device.ops->stream_sync(&device, stream));
    if (spmm_test_env.rank != 0) {
        spmm_assert_ok(transport->begin(f.state, &exchange, stream));
    }
    if (waits_for_first(&f.peers)) {
        const double  start  = spmmi_now();
        spmm_status_t status = transport->end(f.state, &exchange, stream);

        if (status == SPMM_OK) {
            spmm_assert_ok(device.ops->stream_sync(&device, stream));
            status = transport->check(&late);
        }
        assert_int_equal(status, SPMM_ERR_COMM);
        assert_true(spmmi_now() - start < timeout + 5.0);
        assert_non_null(strstr(spmm_test_env.err.text, "within the timeout of "));
        spmmi_error_clear(&spmm_test_env.err);
        spmm_assert_error(transport->begin(f.state, &exchange, stream), SPMM_ERR_COMM,
                          "destroy the ");
    }
    /* A peer that is not done yet may read this rank's device memory directly. */
    MPI_Barrier(spmm_test_env.comm);
    transport_case_close(&f);
    MPI_Barrier(spmm_test_env.comm);
    if (transport->close != NULL) {
        transport->close(&late);
    }
    left = spmmi_alloc_get_stats().live - live;
    assert_in_range(left, 0, spmm_test_env.unfinished ? 2 : 0); /* pinned rows, both sides */
    kept += left;
    spmm_test_env.unfinished = false;
    spmm_test_env.timeout_s  = 0.0;
}

static void test_close(void **state)
{
    transport_case_device();
    transport_case_finish(kept);
}

static void test_transports(void **state)
{
    void (*const tests[])(const spmm_transport_ops_t *transport) = {
        both_directions, no_peers,         in_place, sizes,    back_to_back,
        split_messages,  plans_do_not_mix, memory,   late_rank};

    for (size_t k = 0; k < sizeof tests / sizeof tests[0]; k++) {
        transport_case_each(tests[k]);
    }
}

SPMM_TESTS(test_transports, test_close);
