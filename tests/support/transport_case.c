/* SPDX-License-Identifier: Apache-2.0 */
#include "transport_case.h"

#include "base/comm.h"

spmm_device_t           device;
spmm_stream_t           stream;
spmm_transport_shared_t shared = {.env = &spmm_test_env, .device = &device};

void transport_case_device(void)
{
    const bool    on_cuda = spmm_test_on_gpu();
    spmm_status_t status;

    if (device.ops != NULL) {
        return;
    }
    status = spmmi_device_open(&spmm_test_env, on_cuda ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU, NULL,
                               &device);
    if (on_cuda && status == SPMM_ERR_UNSUPPORTED) {
        spmm_test_skip(spmm_test_env.err.text);
    }
    spmm_assert_ok(status);
    spmm_assert_ok(device.ops->stream_create(&device, true, &stream));
}

void transport_case_finish(int64_t kept)
{
    for (int t = 0; t < spmmi_n_transports; t++) {
        if (spmmi_transports[t]->close != NULL) {
            spmmi_transports[t]->close(&shared);
        }
    }
    assert_null(shared.nccl);
    assert_null(shared.peer_space);
    device.ops->stream_destroy(&device, stream);
    spmmi_device_close(&device);
    assert_int_equal(spmmi_alloc_get_stats().live, kept);
}

void transport_case_prepare(transport_case_t *f, const spmm_transport_ops_t *transport, int64_t n,
                            double density, uint64_t seed, size_t max_row_bytes)
{
    f->needs     = halo_case_make(n, density, seed);
    f->transport = transport;
    f->state     = NULL;
    spmm_assert_ok(spmmi_halo_create(&spmm_test_env, f->needs.offset, f->needs.need,
                                     f->needs.n_need, &f->peers));
    f->send_rows_bytes = (size_t)spmmi_halo_send_rows(&f->peers) * max_row_bytes;
    f->halo_bytes      = (size_t)spmmi_halo_recv_rows(&f->peers) * max_row_bytes;
    assert_non_null(SPMM_NEW(f->send_rows, (int64_t)f->send_rows_bytes));
    assert_non_null(SPMM_NEW(f->halo, (int64_t)f->halo_bytes));
    memset(f->send_rows, 0xee, f->send_rows_bytes);
    memset(f->halo, 0xee, f->halo_bytes);
    spmm_assert_ok(device.ops->alloc(&device, f->send_rows_bytes, &f->device_send));
    spmm_assert_ok(device.ops->alloc(&device, f->halo_bytes, &f->device_halo));
}

void transport_case_open(transport_case_t *f, const spmm_transport_ops_t *transport, int64_t n,
                         double density, uint64_t seed, size_t max_row_bytes)
{
    transport_case_prepare(f, transport, n, density, seed, max_row_bytes);
    spmm_assert_ok(f->transport->create(&shared, &f->peers, max_row_bytes, &f->state));
}

void transport_case_close(transport_case_t *f)
{
    f->transport->destroy(f->state);
    device.ops->release(&device, f->device_send);
    device.ops->release(&device, f->device_halo);
    spmmi_halo_free(&f->peers);
    spmmi_free_all(f->send_rows, f->halo);
    halo_case_free(&f->needs);
}

void transport_case_each(void (*test)(const spmm_transport_ops_t *transport))
{
    char why[SPMM_WHY];

    transport_case_device();
    for (int t = 0; t < spmmi_n_transports; t++) {
        if (spmmi_transports[t]->supports(&shared, why)) {
            test(spmmi_transports[t]);
        }
    }
}

/* Byte @p b of the row of global index @p index, as rank @p from sends it in exchange @p round. */
static unsigned char expected(uint64_t round, int from, int64_t index, size_t b)
{
    return (unsigned char)spmmi_hash2(round * 64 + (uint64_t)from, index, (int64_t)b);
}

/* Write (or check) the ghost rows, sent by their owners or by this rank: row i is needs.need[i]. */
static void visit_halo(transport_case_t *f, bool check, uint64_t round, bool by_owner,
                       size_t row_bytes)
{
    for (int64_t i = 0; i < f->needs.n_need; i++) {
        const int from = by_owner
                             ? spmmi_owner(f->needs.offset, spmm_test_env.size, f->needs.need[i])
                             : spmm_test_env.rank;

        for (size_t b = 0; b < row_bytes; b++) {
            unsigned char      *at   = &f->halo[(size_t)i * row_bytes + b];
            const unsigned char want = expected(round, from, f->needs.need[i], b);

            if (check) {
                assert_int_equal(*at, want);
            }
            *at = check ? 0xee : want;
        }
    }
}

/* The same for send rows, whose order follows from the needs of all ranks. */
static void visit_send_rows(transport_case_t *f, bool check, uint64_t round, bool by_owner,
                            size_t row_bytes)
{
    const int64_t first = f->needs.offset[spmm_test_env.rank];
    const int64_t end   = f->needs.offset[spmm_test_env.rank + 1];
    size_t        at    = 0;

    for (int p = 0; p < spmm_test_env.size; p++) {
        for (int64_t i = first; i < end; i++) {
            for (size_t b = 0; halo_case_needs(&f->needs, p, i) && b < row_bytes; b++, at++) {
                const unsigned char want = expected(round, by_owner ? spmm_test_env.rank : p, i, b);

                if (check) {
                    assert_int_equal(f->send_rows[at], want);
                }
                f->send_rows[at] = check ? 0xee : want;
            }
        }
    }
    assert_int_equal(at, (size_t)spmmi_halo_send_rows(&f->peers) * row_bytes);
}

static void copy(void *dst, const void *src, size_t bytes)
{
    spmm_assert_ok(device.ops->copy(&device, dst, src, bytes, stream));
}

/* Every other round rows come to where the transport wants them, if it cares. */
static spmm_exchange_t use_target_rows(const transport_case_t *f, uint64_t round,
                                       spmm_exchange_t exchange)
{
    const spmm_transport_ops_t *ops = f->transport;
    void *rows                      = round % 2 == 1 || ops->target_rows == NULL || f->state == NULL
                                          ? NULL
                                          : ops->target_rows(f->state);

    if (rows != NULL && exchange.direction == SPMM_HALO_FORWARD) {
        copy(rows, f->halo, f->halo_bytes);
        exchange.halo = rows;
    } else if (rows != NULL) {
        copy(rows, f->send_rows, f->send_rows_bytes);
        exchange.send_rows = rows;
    }
    return exchange;
}

spmm_exchange_t transport_case_fill(transport_case_t *f, spmm_direction_t direction, uint64_t round,
                                    size_t row_bytes)
{
    if (direction == SPMM_HALO_FORWARD) {
        visit_send_rows(f, false, round, true, row_bytes);
    } else {
        visit_halo(f, false, round, false, row_bytes);
    }
    copy(f->device_send, f->send_rows, f->send_rows_bytes);
    copy(f->device_halo, f->halo, f->halo_bytes);
    return use_target_rows(f, round,
                           (spmm_exchange_t){.direction = direction,
                                             .send_rows = f->device_send,
                                             .halo      = f->device_halo,
                                             .row_bytes = row_bytes});
}

void transport_case_check(transport_case_t *f, const spmm_exchange_t *exchange, uint64_t round)
{
    copy(f->send_rows, exchange->send_rows, f->send_rows_bytes);
    copy(f->halo, exchange->halo, f->halo_bytes);
    spmm_assert_ok(device.ops->stream_sync(&device, stream));
    spmm_assert_ok(spmmi_transport_check(&shared));
    if (exchange->direction == SPMM_HALO_FORWARD) {
        visit_halo(f, true, round, true, exchange->row_bytes);
    } else {
        visit_send_rows(f, true, round, false, exchange->row_bytes);
    }
}

void transport_case_run(transport_case_t *f, spmm_direction_t direction, uint64_t round,
                        size_t row_bytes)
{
    const spmm_exchange_t exchange = transport_case_fill(f, direction, round, row_bytes);
    const int64_t         calls    = spmmi_alloc_get_stats().calls;

    spmm_assert_ok(f->transport->begin(f->state, &exchange, stream));
    spmm_assert_ok(f->transport->end(f->state, &exchange, stream));
    assert_int_equal(spmmi_alloc_get_stats().calls, calls);
    transport_case_check(f, &exchange, round);
}
