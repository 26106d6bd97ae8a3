/* SPDX-License-Identifier: Apache-2.0 */
#include "device/network.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/hash.h"
#include "base/nodes.h"
#include "device/calibrate.h"

enum {
    PATH_BYTES = 1024,
    KEY_BYTES  = 96,
    ROUNDS     = 5,
    TURNS      = 8,  /* of short messages in a round, which one late rank disturbs less */
    BURST      = 16, /* messages at once */
    SHORT      = 8,  /* bytes */
    FIRST_LONG = 1 << 12,
    LAST_LONG  = 1 << 23,
    MOST_PEERS = 4 /* of a rank at once, which long messages go to */
};
static const double long_enough = 100e-3; /* s, beyond what buffers on the way take in */
static const double enough_s    = 1.0;    /* after which a round more tells no more */
static const char   title[]     = "spmm_dist network 1";

/* One adapter of 200 Gb/s a rank, and memory that ranks of a node share. */
static const spmm_network_t typical = {
    .latency_s = {1e-6, 5e-6}, .message_s = {0.5e-6, 1e-6}, .rate = {10e9, 22e9}, .alone = 22e9};

double spmmi_network_time(const spmm_network_t *network, spmm_way_t way, const spmm_load_t *load)
{
    const double shared = load->share / network->rate[way];

    if (load->messages == 0) {
        return 0.0;
    }
    return network->latency_s[way] + (double)(load->messages - 1) * network->message_s[way] +
           (way == SPMM_WITHIN ? load->bytes / network->rate[way]
                               : fmax(load->bytes / network->alone, shared));
}

/* Every rank sends to some and receives from others at the same time. */
typedef struct {
    spmm_env_t    *env;
    int            n_peers, most_peers; /* of this rank, of a rank */
    int            to[MOST_PEERS], from[MOST_PEERS];
    char          *out, *in; /* [LAST_LONG] */
    spmm_message_t message[2 * BURST];
} ring_t;

/* Of ranks of a node the one @p step further on; between nodes the rank of the same place so many
 * nodes further on, or as many again until a node has one. */
static int neighbour(const spmm_nodes_t *nodes, int rank, spmm_way_t way, int step)
{
    const int k = nodes->node[rank], at = nodes->index[rank];
    const int n = nodes->first[k + 1] - nodes->first[k];
    int       other;

    if (way == SPMM_WITHIN) {
        return nodes->rank[nodes->first[k] + (at + step + n) % n];
    }
    other = k;
    do {
        other = (other + step + nodes->count) % nodes->count;
    } while (nodes->first[other + 1] - nodes->first[other] <= at);
    return nodes->rank[nodes->first[other] + at];
}

/* All that are near, at most as many as @p most. */
static void find_peers(ring_t *ring, spmm_way_t way, int most)
{
    const spmm_env_t   *env   = ring->env;
    const spmm_nodes_t *nodes = &env->nodes;
    const int           mine  = nodes->node[env->rank];
    const int           units =
        way == SPMM_BETWEEN ? nodes->count : nodes->first[mine + 1] - nodes->first[mine];

    ring->n_peers    = 0;
    ring->most_peers = (way == SPMM_BETWEEN ? nodes->count : nodes->most) - 1;
    ring->most_peers = ring->most_peers < most ? ring->most_peers : most;
    for (int step = 1; step < units && step <= most; step++) {
        const int to = neighbour(nodes, env->rank, way, step);

        if (to != env->rank) {
            ring->to[ring->n_peers]     = to;
            ring->from[ring->n_peers++] = neighbour(nodes, env->rank, way, -step);
        }
    }
}

/* @p count messages to each.  Not agreed. */
static spmm_status_t post(ring_t *ring, int count, size_t bytes, int *posted)
{
    spmm_env_t *env = ring->env;

    for (int k = 0; k < count * ring->n_peers; k++) {
        SPMM_TRY(spmmi_irecv(env, env->comm, ring->in + (size_t)k * bytes, bytes,
                             ring->from[k % ring->n_peers], SPMM_TAG_RING, ring->message, posted));
    }
    for (int k = 0; k < count * ring->n_peers; k++) {
        SPMM_TRY(spmmi_isend(env, env->comm, ring->out, bytes, ring->to[k % ring->n_peers],
                             SPMM_TAG_RING, ring->message, posted));
    }
    return SPMM_OK;
}

/* Seconds of this rank for @p turns turns, of a single one until all have had theirs: ranks that
 * start late get what others had sent before.  Collective, agreed. */
static spmm_status_t pass(ring_t *ring, int turns, int count, size_t bytes, double *seconds)
{
    spmm_env_t   *env   = ring->env;
    const double  start = spmmi_now();
    double        end;
    spmm_status_t status = SPMM_OK;
    int           posted = 0;

    for (int t = 0; t < turns && status == SPMM_OK && ring->n_peers > 0; t++) {
        posted = 0;
        status = post(ring, count, bytes, &posted);
        if (status == SPMM_OK) {
            status = spmmi_wait_messages(env, posted, ring->message, spmmi_now(),
                                         "measuring the network");
        }
    }
    end      = spmmi_now();
    status   = spmmi_agree(env, status);
    *seconds = (turns > 1 ? end : spmmi_now()) - start;
    if (status != SPMM_OK && spmmi_abandon(env, posted, ring->message, 0.1)) {
        spmmi_alloc_keep(ring->out, LAST_LONG);
        spmmi_alloc_keep(ring->in, LAST_LONG);
    }
    return status;
}

/* Seconds of a turn: of the slowest rank in the best round.  Collective, agreed. */
static spmm_status_t time_turn(ring_t *ring, int turns, int count, size_t bytes, double *seconds)
{
    double sum = 0.0;

    *seconds = INFINITY;
    for (int round = 0; round < ROUNDS && sum < enough_s; round++) {
        double took = 0.0;

        SPMM_TRY(pass(ring, turns, count, bytes, &took));
        SPMM_TRY(spmmi_allreduce(ring->env, &took, 1, MPI_DOUBLE, MPI_MAX));
        *seconds = fmin(*seconds, took / turns);
        sum += took;
    }
    return SPMM_OK;
}

/* Longer messages until one takes long enough, so that neither a slow network is waited for nor a
 * fast one, or ranks that wait for a core, measured by latencies.  Of the last three lengths the
 * best rate counts: beyond some length MPI asks the receiver first, and on a slow network the
 * question waits behind what is under way.  Collective, agreed. */
static spmm_status_t measure_rate(ring_t *ring, double latency_s, double *rate)
{
    const size_t limit   = spmmi_message_limit(ring->env); /* a message in one part */
    const size_t room    = LAST_LONG / MOST_PEERS;
    const size_t most    = limit < room ? limit : room;
    double       best[3] = {0.0}, took = 0.0, before = 0.0;
    size_t       bytes = FIRST_LONG < most ? FIRST_LONG : most;

    for (bool more = true; more; bytes *= 2) {
        const double sent = (double)bytes * ring->most_peers;

        SPMM_TRY(time_turn(ring, 1, 1, bytes, &took));
        best[0] = best[1];
        best[1] = best[2];
        best[2] = sent / fmax(took - latency_s, 0.5 * took);
        more    = 2 * bytes <= most && took < enough_s &&
               (took < long_enough || took < 1.5 * before || before == 0.0);
        before = took;
    }
    *rate = fmax(best[0], fmax(best[1], best[2]));
    return SPMM_OK;
}

/* Collective, agreed. */
static spmm_status_t measure_way(ring_t *ring, spmm_way_t way, spmm_network_t *network)
{
    const spmm_nodes_t *nodes = &ring->env->nodes;
    double              one, burst;

    find_peers(ring, way, 1);
    SPMM_TRY(time_turn(ring, TURNS, 1, SHORT, &one));
    SPMM_TRY(time_turn(ring, TURNS, BURST, SHORT, &burst));
    network->latency_s[way] = one;
    network->message_s[way] = fmax(burst - one, 0.0) / (BURST - 1);
    find_peers(ring, way, MOST_PEERS);
    SPMM_TRY(measure_rate(ring, one, &network->rate[way]));
    if (way == SPMM_BETWEEN && nodes->index[ring->env->rank] > 0) {
        ring->n_peers = 0;
    }
    return way == SPMM_BETWEEN ? measure_rate(ring, one, &network->alone) : SPMM_OK;
}

/* Collective, agreed. */
static spmm_status_t measure(spmm_env_t *env, spmm_network_t *network)
{
    ring_t        ring   = {.env = env};
    spmm_status_t status = SPMM_OK;

    SPMM_NEW_ZERO(ring.out, LAST_LONG);
    SPMM_NEW_ZERO(ring.in, LAST_LONG);
    if (ring.out == NULL || ring.in == NULL) {
        status = spmmi_fail_memory(&env->err, LAST_LONG, 2, "measuring the network");
    }
    status = spmmi_agree(env, status);
    for (int way = 0; way < SPMM_WAYS && status == SPMM_OK; way++) {
        if (way == SPMM_BETWEEN || env->nodes.most > 1) {
            status = measure_way(&ring, (spmm_way_t)way, network);
        }
    }
    spmmi_free_all(ring.out, ring.in);
    return status;
}

/* Which ranks run where tells one network from another. */
static bool find_path(const spmm_env_t *env, char path[PATH_BYTES])
{
    uint64_t hash = 0;
    char     key[KEY_BYTES];

    for (int p = 0; p < env->size; p++) {
        hash = spmmi_hash_text(hash, env->hosts[p]);
        hash = spmmi_hash_bytes(hash, &env->nodes.node[p], sizeof env->nodes.node[p]);
    }
    (void)snprintf(key, sizeof key, "network-%d-ranks-%d-nodes-%016llx", env->size,
                   env->nodes.count, (unsigned long long)hash);
    return spmmi_calibrate_path(key, path, PATH_BYTES);
}

/* Nanoseconds and bytes per second. */
enum { NUMBERS = 3 * SPMM_WAYS + 1 };

static void list_numbers(double value[NUMBERS], spmm_rate_t rate[NUMBERS])
{
    static const char *const names[NUMBERS] = {"latency-within",  "message-within",  "rate-within",
                                               "latency-between", "message-between", "rate-between",
                                               "alone-between"};

    for (int k = 0; k < NUMBERS; k++) {
        const bool is_rate = k % 3 == 2 || k == NUMBERS - 1;

        rate[k] = (spmm_rate_t){names[k], is_rate ? 1e3 : -1.0, is_rate ? 1e15 : 1e12, &value[k]};
    }
}

static bool load(const char *path, spmm_network_t *network)
{
    double      value[NUMBERS];
    spmm_rate_t rate[NUMBERS];

    list_numbers(value, rate);
    if (!spmmi_rates_load(path, title, NUMBERS, rate)) {
        return false;
    }
    for (int way = 0; way < SPMM_WAYS; way++) {
        network->latency_s[way] = 1e-9 * value[3 * way];
        network->message_s[way] = 1e-9 * value[3 * way + 1];
        network->rate[way]      = value[3 * way + 2];
    }
    network->alone = value[NUMBERS - 1];
    return true;
}

static bool store(const char *path, const spmm_network_t *network)
{
    double      value[NUMBERS];
    spmm_rate_t rate[NUMBERS];

    list_numbers(value, rate);
    for (int way = 0; way < SPMM_WAYS; way++) {
        value[3 * way]     = 1e9 * network->latency_s[way];
        value[3 * way + 1] = 1e9 * network->message_s[way];
        value[3 * way + 2] = network->rate[way];
    }
    value[NUMBERS - 1] = network->alone;
    return spmmi_rates_store(path, title, NUMBERS, rate);
}

/* Rank 0 says where the numbers come from. */
spmm_status_t spmmi_network_open(spmm_device_t *device)
{
    spmm_env_t    *env     = device->env;
    spmm_network_t network = typical;
    char           path[PATH_BYTES];
    bool           has_path = false;
    int            known    = 1;

    if (env->nodes.count <= 1) {
        return SPMM_OK;
    }
    if (env->rank == 0 && spmmi_calibrate_wanted()) {
        has_path = find_path(env, path);
        known    = has_path && load(path, &network);
    }
    SPMM_TRY(spmmi_bcast(env, &known, sizeof known, 0));
    if (!known) {
        SPMM_TRY(measure(env, &network));
    }
    SPMM_TRY(spmmi_bcast(env, &network, sizeof network, 0));
    if (has_path && !known && !store(path, &network)) {
        spmmi_log(env, "the rates of the network could not be kept in %s", path);
    }
    device->network = network;
    spmmi_log(env,
              "a rank's way between nodes: %.3g us and %.3g bytes/s, within one: %.3g us and %.3g",
              1e6 * network.latency_s[SPMM_BETWEEN], network.rate[SPMM_BETWEEN],
              1e6 * network.latency_s[SPMM_WITHIN], network.rate[SPMM_WITHIN]);
    return SPMM_OK;
}
