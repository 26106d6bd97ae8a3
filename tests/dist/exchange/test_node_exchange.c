/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 3 4 8 */
/** @file test_node_exchange.c  Node-aware exchanges on made-up nodes: what arrives, what is added,
 *  what crosses between nodes, and how they end where a rank fails. */
#include "transport_case.h"

#include "base/nodes.h"
#include "exchange/node/node_exchange.h"

enum { COLUMNS = 5, ROW_BYTES = COLUMNS * sizeof(double) };

/** A pseudo-random halo and a node-aware exchange of it. */
typedef struct {
    halo_case_t           needs;
    spmm_halo_t           flat, halo; /**< halo: with the send rows of node */
    spmm_node_exchange_t *node;
    spmm_direction_t      direction;
    double               *send_rows, *rows; /**< [send rows, recv rows x COLUMNS] */
} case_t;

static const int shapes[][8] = {{0, 0, 2, 2, 4, 4, 6, 6}, /* pairs of successive ranks */
                                {0, 0, 0, 3, 3, 3, 6, 6}, /* of 3, 3 and 2 ranks, or 3 and 1 */
                                {0, 1, 0, 1, 0, 1, 0, 1}, /* two, dealt out in turn */
                                {0, 1, 1, 1, 1, 1, 1, 1}, /* one rank and all others */
                                {0, 0, 2, 0, 0, 2, 0, 7}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Fills env->nodes; false: they are not grouped, as of 2 ranks in most shapes. */
static bool make_nodes(int shape)
{
    spmm_assert_ok(spmmi_nodes_create(&spmm_test_env.err, spmm_test_env.size, shapes[shape],
                                      &spmm_test_env.nodes));
    if (!spmmi_nodes_are_grouped(&spmm_test_env.nodes)) {
        spmmi_nodes_free(&spmm_test_env.nodes);
        return false;
    }
    return true;
}

static const spmm_transport_ops_t *transport(void)
{
    return spmmi_transport_find("mpi-host");
}

static spmm_status_t create(case_t *c)
{
    const spmm_node_exchange_need_t need = {.flat      = &c->flat,
                                            .offset    = c->needs.offset,
                                            .need      = c->needs.need,
                                            .direction = c->direction,
                                            .type      = SPMM_R_64F,
                                            .row_bytes = ROW_BYTES};

    SPMM_TRY(spmmi_node_exchange_create(&shared, transport(), &need, &c->node));
    SPMM_TRY(spmmi_node_exchange_open(c->node));
    return spmmi_agree(&spmm_test_env, spmmi_node_exchange_take_send_rows(c->node, &c->halo));
}

static void prepare(case_t *c, spmm_direction_t direction, int64_t n, double density)
{
    spmm_env_t *env = &spmm_test_env;

    *c = (case_t){.needs = halo_case_make(n, density, 7), .direction = direction};
    spmm_assert_ok(
        spmmi_halo_create(env, c->needs.offset, c->needs.need, c->needs.n_need, &c->flat));
    spmm_assert_ok(
        spmmi_halo_create(env, c->needs.offset, c->needs.need, c->needs.n_need, &c->halo));
}

static void alloc_rows(case_t *c)
{
    assert_non_null(SPMM_NEW(c->send_rows, spmmi_halo_send_rows(&c->halo) * COLUMNS));
    assert_non_null(SPMM_NEW(c->rows, spmmi_halo_recv_rows(&c->halo) * COLUMNS));
}

static void close_case(case_t *c)
{
    spmmi_node_exchange_destroy(c->node);
    spmmi_free_all(c->send_rows, c->rows);
    spmmi_halo_free(&c->flat);
    spmmi_halo_free(&c->halo);
    halo_case_free(&c->needs);
}

/* Small whole numbers, so that sums are exact in any order. */
static double value(int round, int rank, int64_t index, int column)
{
    return (double)(spmmi_hash2((uint64_t)(round * 100 + rank), index, column) % 1000);
}

static int64_t own_index(const case_t *c, int64_t k)
{
    return c->needs.offset[spmm_test_env.rank] + c->halo.send_row[k];
}

static void exchange_rows(const case_t *c, int round, int n)
{
    const spmm_exchange_t x     = {.direction = c->direction,
                                   .send_rows = c->send_rows,
                                   .halo      = c->rows,
                                   .row_bytes = (size_t)n * sizeof(double),
                                   .step      = (uint32_t)round % SPMM_MOST_CHUNKS};
    const int64_t         calls = spmmi_alloc_get_stats().calls;

    spmm_assert_ok(spmmi_node_exchange_begin(c->node, &x, stream));
    spmm_assert_ok(spmmi_node_exchange_end(c->node, &x, stream));
    assert_int_equal(spmmi_alloc_get_stats().calls, calls);
}

static void run_forward(const case_t *c, int round, int n)
{
    for (int64_t k = 0; k < spmmi_halo_send_rows(&c->halo); k++) {
        for (int j = 0; j < n; j++) {
            c->send_rows[k * n + j] = value(round, 0, own_index(c, k), j);
        }
    }
    exchange_rows(c, round, n);
    for (int64_t i = 0; i < c->needs.n_need; i++) {
        for (int j = 0; j < n; j++) {
            assert_true(c->rows[i * n + j] == value(round, 0, c->needs.need[i], j));
        }
    }
}

/* The sums that come for a row of this rank, over its places among the send rows, are those of
 * all ranks that hold one. */
static void run_back(const case_t *c, int round, int n)
{
    const int64_t first = c->needs.offset[spmm_test_env.rank];
    const int64_t n_own = c->needs.offset[spmm_test_env.rank + 1] - first;
    double       *sum;

    assert_non_null(SPMM_NEW_ZERO(sum, n_own * n));
    for (int64_t i = 0; i < c->needs.n_need; i++) {
        for (int j = 0; j < n; j++) {
            c->rows[i * n + j] = value(round, spmm_test_env.rank, c->needs.need[i], j);
        }
    }
    exchange_rows(c, round, n);
    for (int64_t k = 0; k < spmmi_halo_send_rows(&c->halo); k++) {
        for (int j = 0; j < n; j++) {
            sum[c->halo.send_row[k] * n + j] += c->send_rows[k * n + j];
        }
    }
    for (int64_t i = 0; i < n_own * n; i++) {
        for (int p = 0; p < spmm_test_env.size; p++) {
            sum[i] -= halo_case_needs(&c->needs, p, first + i / n)
                          ? value(round, p, first + i / n, (int)(i % n))
                          : 0.0;
        }
        assert_true(sum[i] == 0.0);
    }
    spmmi_free(sum);
}

/* Does a rank of @p node need the row? */
static bool node_needs(const case_t *c, int node, int64_t index)
{
    const spmm_nodes_t *nodes = &spmm_test_env.nodes;
    bool                needs = false;

    for (int at = nodes->first[node]; at < nodes->first[node + 1]; at++) {
        needs = needs || halo_case_needs(&c->needs, nodes->rank[at], index);
    }
    return needs;
}

/* Rows of @p node that @p other needs. */
static int64_t rows_between(const case_t *c, int node, int other)
{
    const spmm_nodes_t *nodes = &spmm_test_env.nodes;
    int64_t             count = 0;

    for (int at = nodes->first[node]; at < nodes->first[node + 1]; at++) {
        const int rank = nodes->rank[at];

        for (int64_t i = c->needs.offset[rank]; i < c->needs.offset[rank + 1]; i++) {
            count += node_needs(c, other, i);
        }
    }
    return count;
}

static int ranks_of(int node)
{
    return spmm_test_env.nodes.first[node + 1] - spmm_test_env.nodes.first[node];
}

/* Each row once for each other node; rows of two nodes spread evenly over as many pairs of ranks as
 * the smaller has ranks; no rank has more than one message for a node. */
static void check_flow(const case_t *c)
{
    const spmm_nodes_t *nodes           = &spmm_test_env.nodes;
    const int           me              = nodes->node[spmm_test_env.rank];
    spmm_halo_flow_t    flow[SPMM_WAYS] = {{0}};
    int64_t             all[2] = {0}, most[2] = {0};

    spmmi_node_exchange_flow(c->node, flow);
    for (int other = 0; other < nodes->count; other++) {
        const int lanes = ranks_of(me) < ranks_of(other) ? ranks_of(me) : ranks_of(other);

        if (other != me) {
            const int64_t out = rows_between(c, me, other), in = rows_between(c, other, me);

            all[0] += out;
            all[1] += in;
            most[0] += (out + lanes - 1) / lanes;
            most[1] += (in + lanes - 1) / lanes;
        }
    }
    assert_true(flow[SPMM_BETWEEN].rows_out <= most[0]);
    assert_true(flow[SPMM_BETWEEN].rows_in <= most[1]);
    assert_true(flow[SPMM_BETWEEN].messages_out < nodes->count);
    assert_true(flow[SPMM_BETWEEN].messages_in < nodes->count);
    for (int k = 0; k < nodes->count; k++) {
        int64_t sum[2] = {k == me ? flow[SPMM_BETWEEN].rows_out : 0,
                          k == me ? flow[SPMM_BETWEEN].rows_in : 0};

        spmm_assert_ok(spmmi_allreduce(&spmm_test_env, sum, 2, MPI_INT64_T, MPI_SUM));
        assert_true(k != me || (sum[0] == all[0] && sum[1] == all[1]));
    }
}

static void check_case(spmm_direction_t direction, int64_t n, double density)
{
    case_t c;

    prepare(&c, direction, n, density);
    spmm_assert_ok(create(&c));
    alloc_rows(&c);
    check_flow(&c);
    for (int round = 0; round < 6; round++) {
        if (direction == SPMM_HALO_FORWARD) {
            run_forward(&c, round, round % 3 == 1 ? 1 : COLUMNS);
        } else {
            run_back(&c, round, round % 3 == 1 ? 1 : COLUMNS);
        }
    }
    close_case(&c);
}

static void test_rows(void **state)
{
    transport_case_device();
    for (int shape = 0; shape < SHAPES; shape++) {
        if (!make_nodes(shape)) {
            continue;
        }
        for (int d = 0; d < 2; d++) {
            const spmm_direction_t direction = d == 0 ? SPMM_HALO_FORWARD : SPMM_HALO_REVERSE;

            check_case(direction, 300, 0.3);
            check_case(direction, 211, 0.02);
            check_case(direction, 60, 1.0);
            check_case(direction, 80, 0.0);
            check_case(direction, 1, 1.0);
        }
        spmmi_nodes_free(&spmm_test_env.nodes);
    }
}

static void test_what_is_refused(void **state)
{
    char why[SPMM_WHY];

    assert_false(spmmi_node_exchange_supports(&spmm_test_env, transport(), why));
    assert_non_null(strstr(why, "needs several nodes"));
    if (make_nodes(2)) {
        assert_true(spmmi_node_exchange_supports(&spmm_test_env, transport(), why));
        assert_string_equal(why, "");
        for (int t = 0; t < spmmi_n_transports; t++) {
            if (spmmi_transports[t]->packs) {
                assert_false(
                    spmmi_node_exchange_supports(&spmm_test_env, spmmi_transports[t], why));
                assert_non_null(strstr(why, "needs another transport"));
            }
        }
        spmmi_nodes_free(&spmm_test_env.nodes);
    }
}

/* Rank 0 is at another step.  All whose rows pass it get an error, none waits for ever, and the
 * exchange stays refused. */
static void test_out_of_step(void **state)
{
    for (int d = 0; d < 2; d++) {
        case_t          c;
        spmm_exchange_t x;
        spmm_status_t   status;
        int             failed;

        if (!make_nodes(0)) {
            return;
        }
        prepare(&c, d == 0 ? SPMM_HALO_FORWARD : SPMM_HALO_REVERSE, 200, 0.5);
        spmm_assert_ok(create(&c));
        alloc_rows(&c);
        x = (spmm_exchange_t){.direction = c.direction,
                              .send_rows = c.send_rows,
                              .halo      = c.rows,
                              .row_bytes = ROW_BYTES,
                              .step      = spmm_test_env.rank == 0 ? SPMM_MOST_CHUNKS : 0};
        memset(c.send_rows, 0, (size_t)spmmi_halo_send_rows(&c.halo) * ROW_BYTES);
        memset(c.rows, 0, (size_t)spmmi_halo_recv_rows(&c.halo) * ROW_BYTES);
        status = spmmi_node_exchange_begin(c.node, &x, stream);
        if (status == SPMM_OK) {
            status = spmmi_node_exchange_end(c.node, &x, stream);
        }
        failed = status != SPMM_OK;
        if (failed) {
            assert_int_equal(status, SPMM_ERR_COMM);
            assert_true(strstr(spmm_test_env.err.text, "is out of step with rank") != NULL ||
                        strstr(spmm_test_env.err.text, "has no rows to pass on") != NULL);
            spmmi_error_clear(&spmm_test_env.err);
            spmm_assert_error(spmmi_node_exchange_begin(c.node, &x, stream), SPMM_ERR_COMM,
                              "an earlier exchange of this plan failed");
        }
        MPI_Barrier(spmm_test_env.comm);
        MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, spmm_test_env.comm);
        assert_true(failed >= 2);
        close_case(&c);
        spmm_test_env.unfinished = false;
        spmmi_nodes_free(&spmm_test_env.nodes);
    }
}

SPMM_TESTS(test_rows, test_what_is_refused, test_out_of_step);
