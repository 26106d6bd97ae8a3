/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_doctor_network.c
 *  What lies between nodes: the adapters of each, and what one rank of it sends to and gets from
 *  one of every other node at the same time, by MPI from host memory.  Pairs take turns in which no
 *  node is in two of them.
 */
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver_doctor.h"

enum {
    TAG        = 7,
    TURNS      = 16,      /* of short messages */
    PIECE      = 1 << 15, /* bytes of a long one, which no MPI known asks for first over TCP */
    MOST       = 1 << 10, /* of those at once */
    LAST_LONG  = PIECE * MOST,
    MOST_NAMED = 8,  /* nodes whose pairs are all named */
    MOST_SLOW  = 16, /* slow pairs by name */
    MOST_MET   = 512 /* ranks that are all met, each by a connection that is a file to TCP */
};
static const double long_enough_s = 50e-3;

/** A node, as its first rank sees it; gathered as bytes. */
typedef struct {
    char name[MPI_MAX_PROCESSOR_NAME];
    char adapters[DRIVER_CHECK_TEXT / 2];
} node_t;

/** Of a pair, as one of the two sees it; 0: of a node with itself. */
typedef struct {
    double rate, latency_s; /**< bytes/s each way while both send */
} pair_t;

/** What the first rank of a node measures with. */
typedef struct {
    driver_job_t *job;
    MPI_Comm      comm;     /**< of the first ranks; null on all others, which only wait */
    int           n, k;     /**< nodes; which of them this one is */
    node_t       *node;     /**< [n], owned, as what follows */
    pair_t       *pair;     /**< [n], of this node with each */
    pair_t       *all;      /**< [n, n] on rank 0 */
    double       *scratch;  /**< [n * n] there */
    char         *out, *in; /**< [LAST_LONG] each, one allocation */
} between_t;

static void read_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");

    text[0] = '\0';
    if (file != NULL) {
        if (fgets(text, (int)size, file) == NULL) {
            text[0] = '\0';
        }
        (void)fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
}

/** "mlx5_0 400 Gb/sec (4X NDR), ...; GPUDirect RDMA: ..." */
static void describe_adapters(char *text, size_t size)
{
    DIR                 *folder = opendir("/sys/class/infiniband");
    const struct dirent *entry;
    size_t               used = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL && used < size) {
        char path[400], rate[64];

        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/rate", entry->d_name);
        read_line(path, rate, sizeof rate);
        used += (size_t)snprintf(text + used, size - used, "%s%s %s", used > 0 ? ", " : "",
                                 entry->d_name, rate);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    if (used == 0) {
        (void)snprintf(text, size, "no adapter for RDMA: TCP, or what the launcher brings");
    } else if (used < size) {
        (void)snprintf(text + used, size - used, "; GPUDirect RDMA: %s",
                       access("/sys/module/nvidia_peermem", F_OK) == 0
                           ? "module nvidia_peermem is loaded"
                           : "no module nvidia_peermem, so by DMA-BUF or not at all");
    }
}

/** The node that node @p k meets in turn @p turn of the n - 1 (n even), or n of a tournament; -1:
 *  it rests. */
static int partner_of(int k, int turn, int n)
{
    const int m     = n + n % 2 - 1;
    const int other = k == m                              ? turn
                      : ((2 * turn - k) % m + m) % m == k ? m
                                                          : (2 * turn - k + 2 * m) % m;

    return other < n ? other : -1;
}

/** Half of the timeout: the sentence of a pair comes before that of ranks which wait for it. */
static void wait_for_pair(between_t *b, int peer, int count, MPI_Request request[])
{
    char late[2 * MPI_MAX_PROCESSOR_NAME + 40];

    (void)snprintf(late, sizeof late, "a message between nodes %s and %s", b->node[b->k].name,
                   b->node[peer].name);
    driver_wait(b->job, count, request, b->job->timeout_s / 2.0, late);
}

/** @p count messages of @p bytes each way at once. */
static double exchange(between_t *b, int peer, int bytes, int count)
{
    static MPI_Request request[2 * MOST];
    const double       start = MPI_Wtime();

    for (int m = 0; m < count; m++) {
        MPI_Irecv(b->in + (ptrdiff_t)m * bytes, bytes, MPI_BYTE, peer, TAG, b->comm, &request[m]);
    }
    for (int m = 0; m < count; m++) {
        MPI_Isend(b->out + (ptrdiff_t)m * bytes, bytes, MPI_BYTE, peer, TAG, b->comm,
                  &request[count + m]);
    }
    wait_for_pair(b, peer, 2 * count, request);
    return MPI_Wtime() - start;
}

/** The longer of the two times. */
static double longer(between_t *b, int peer, double took)
{
    MPI_Request request[2];
    double      theirs = 0.0;

    MPI_Irecv(&theirs, 1, MPI_DOUBLE, peer, TAG, b->comm, &request[0]);
    MPI_Isend(&took, 1, MPI_DOUBLE, peer, TAG, b->comm, &request[1]);
    wait_for_pair(b, peer, 2, request);
    return fmax(took, theirs);
}

/** More messages until they take long; both know when. */
static void measure_pair(between_t *b, int peer)
{
    pair_t *pair = &b->pair[peer];
    double  took = 0.0;

    (void)exchange(b, peer, 1, 1); /* connects */
    for (int t = 0; t < TURNS; t++) {
        pair->latency_s += exchange(b, peer, 1, 1) / TURNS;
    }
    for (int count = 2; count <= MOST && took < long_enough_s; count *= 2) {
        took       = longer(b, peer, exchange(b, peer, PIECE, count));
        pair->rate = fmax(pair->rate, (double)count * PIECE / took);
    }
}

static void list_node(driver_checkup_t *x, const node_t *node, const pair_t *pair, int k, int n)
{
    char   text[DRIVER_CHECK_TEXT] = "";
    size_t used                    = 0;
    int    slow = k == 0 ? 1 : 0, fast = slow;

    driver_find(x, DRIVER_CHECK_GOOD, "adapters", "", "%s: %s", node[k].name, node[k].adapters);
    for (int j = 0; j < n; j++) {
        if (j != k && n <= MOST_NAMED && used < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.3g",
                                     used > 0 ? ", " : "", node[j].name, 1e-9 * pair[j].rate);
        }
        slow = j != k && pair[j].rate < pair[slow].rate ? j : slow;
        fast = j != k && pair[j].rate > pair[fast].rate ? j : fast;
    }
    if (n > MOST_NAMED) {
        (void)snprintf(text, sizeof text, "%.60s %.3g, the slowest, to %.60s %.3g", node[slow].name,
                       1e-9 * pair[slow].rate, node[fast].name, 1e-9 * pair[fast].rate);
    }
    driver_find(x, DRIVER_CHECK_GOOD, "network", "",
                "%s: GB/s each way by MPI between one rank and one of %s; %.3g us to %s",
                node[k].name, text, 1e6 * pair[slow].latency_s, node[slow].name);
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/** Pairs that are far slower than a quarter of all, the first of them by name: of four nodes one
 *  that is slow slows half of the pairs. */
static void list_slow(driver_checkup_t *x, const between_t *b)
{
    const char *const advice = "look at the adapters and links of these nodes (ibstat, ip -s link),"
                               " and at what else runs there";
    double            fast;
    int64_t           count = 0, slow = 0;

    for (int k = 0; k < b->n; k++) {
        for (int j = k + 1; j < b->n; j++) {
            b->scratch[count++] = b->all[(ptrdiff_t)k * b->n + j].rate;
        }
    }
    qsort(b->scratch, (size_t)count, sizeof *b->scratch, descending);
    fast = b->scratch[count / 4];
    for (int k = 0; k < b->n; k++) {
        for (int j = k + 1; j < b->n; j++) {
            const double rate = b->all[(ptrdiff_t)k * b->n + j].rate;

            if (rate < 0.5 * fast && slow++ < MOST_SLOW) {
                driver_find(x, DRIVER_CHECK_MISSING, "network", advice,
                            "%s and %s: %.3g GB/s, a quarter of all pairs have %.3g or more",
                            b->node[k].name, b->node[j].name, 1e-9 * rate, 1e-9 * fast);
            }
        }
    }
    if (slow > MOST_SLOW) {
        driver_find(x, DRIVER_CHECK_MISSING, "network", advice,
                    "and %" PRId64 " more pairs below %.3g GB/s", slow - MOST_SLOW, 0.5e-9 * fast);
    }
}

static int reserve(between_t *b)
{
    const int64_t square = b->k == 0 ? (int64_t)b->n * b->n : 0;

    if (b->comm == MPI_COMM_NULL) {
        return DRIVER_GOOD;
    }
    b->node    = driver_alloc(b->n, sizeof *b->node);
    b->pair    = calloc((size_t)b->n, sizeof *b->pair);
    b->all     = driver_alloc(square, sizeof *b->all);
    b->scratch = driver_alloc(square, sizeof *b->scratch);
    b->out     = calloc(2, LAST_LONG);
    if (b->node == NULL || b->pair == NULL || b->all == NULL || b->scratch == NULL ||
        b->out == NULL) {
        return driver_fail_memory(b->job, 2, LAST_LONG, "messages between nodes");
    }
    b->in = b->out + LAST_LONG;
    return DRIVER_GOOD;
}

static void gather_nodes(between_t *b)
{
    node_t      mine = {.name = ""};
    int         length;
    MPI_Request request;

    MPI_Get_processor_name(mine.name, &length);
    describe_adapters(mine.adapters, sizeof mine.adapters);
    MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, b->node, sizeof mine, MPI_BYTE, b->comm, &request);
    driver_wait(b->job, 1, &request, b->job->timeout_s, "the name of a node");
}

static void gather_pairs(between_t *b)
{
    const int   size = b->n * (int)sizeof *b->pair;
    MPI_Request request;

    MPI_Igather(b->pair, size, MPI_BYTE, b->all, size, MPI_BYTE, 0, b->comm, &request);
    driver_wait(b->job, 1, &request, b->job->timeout_s, "what a node measured");
}

/** All turns, each of which all ranks begin together, and wait for within the timeout. */
static int measure_all(between_t *b)
{
    const bool first = b->comm != MPI_COMM_NULL;

    if (first) {
        gather_nodes(b);
    }
    for (int turn = 0; turn < b->n + b->n % 2 - 1; turn++) {
        const int peer = first ? partner_of(b->k, turn, b->n) : -1;
        const int code = driver_agree(b->job, DRIVER_GOOD);

        if (code != DRIVER_GOOD) {
            return code;
        }
        if (peer >= 0) {
            measure_pair(b, peer);
        }
    }
    if (first) {
        gather_pairs(b);
    }
    return DRIVER_GOOD;
}

static int check_between(driver_checkup_t *x, between_t *b)
{
    int code = driver_agree(b->job, reserve(b));

    code = code == DRIVER_GOOD ? measure_all(b) : code;
    if (code == DRIVER_GOOD && b->job->rank == 0) {
        list_slow(x, b);
        for (int k = 0; k < b->n; k++) {
            list_node(x, b->node, b->all + (ptrdiff_t)k * b->n, k, b->n);
        }
    }
    free(b->node);
    free(b->pair);
    free(b->all);
    free(b->scratch);
    free(b->out);
    return code;
}

/** "ranks 6, 7": those whose request is not done; "": none. */
static void list_unheard(int size, MPI_Request request[], char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (int p = 0; p < size; p++) {
        int done;

        MPI_Test(&request[p], &done, MPI_STATUS_IGNORE);
        if (!done && used < room) {
            used +=
                (size_t)snprintf(text + used, room - used, "%s %d", used > 0 ? "," : "ranks", p);
        }
    }
}

void driver_check_reach(driver_job_t *job, double timeout_s)
{
    static MPI_Request request[MOST_MET];
    const int          size  = job->size <= MOST_MET ? job->size : 0;
    const double       start = MPI_Wtime();
    char               unheard[DRIVER_TEXT / 2], name[MPI_MAX_PROCESSOR_NAME];
    int                length, done = size == 0;

    for (int p = 0; p < size; p++) {
        MPI_Request sent;

        MPI_Irecv(NULL, 0, MPI_BYTE, p, TAG, job->comm, &request[p]);
        MPI_Isend(NULL, 0, MPI_BYTE, p, TAG, job->comm, &sent);
        MPI_Request_free(&sent); /* who waits for it in vain says so */
    }
    while (!done && MPI_Wtime() - start < timeout_s) {
        MPI_Testall(size, request, &done, MPI_STATUSES_IGNORE);
    }
    list_unheard(size, request, unheard, sizeof unheard);
    if (unheard[0] != '\0') {
        MPI_Get_processor_name(name, &length);
        (void)driver_fail(job, DRIVER_OTHER,
                          "on %s no message came from %s within %g s: late, gone, or out of "
                          "reach of this node (firewall, routes, the interface that MPI takes)",
                          name, unheard, timeout_s);
        driver_lost(job);
    }
}

int driver_check_network(driver_checkup_t *x, driver_job_t *job)
{
    between_t b = {.job = job, .comm = MPI_COMM_NULL};
    MPI_Comm  within;
    int       at, code = DRIVER_GOOD;

    MPI_Comm_split_type(job->comm, MPI_COMM_TYPE_SHARED, job->rank, MPI_INFO_NULL, &within);
    MPI_Comm_rank(within, &at);
    MPI_Comm_split(job->comm, at == 0 ? 0 : MPI_UNDEFINED, job->rank, &b.comm);
    if (b.comm != MPI_COMM_NULL) {
        MPI_Comm_size(b.comm, &b.n);
        MPI_Comm_rank(b.comm, &b.k);
    }
    MPI_Bcast(&b.n, 1, MPI_INT, 0, job->comm); /* rank 0 is the first of its node */
    if (b.n > 1) {
        code = check_between(x, &b);
    }
    if (b.comm != MPI_COMM_NULL) {
        MPI_Comm_free(&b.comm);
    }
    MPI_Comm_free(&within);
    return driver_agree(job, code);
}
