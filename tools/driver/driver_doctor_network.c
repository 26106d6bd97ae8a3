/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_doctor_network.c
 *  What lies between nodes: the adapters of each, and what one rank of it sends to and gets from
 *  one of every other node at the same time, by MPI from host memory.  Pairs take turns in which no
 *  node is in two of them.
 */
#include <dirent.h>
#include <math.h>
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
    MOST_NAMED = 8 /* nodes whose pairs are all named */
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

/** @p count messages of @p bytes each way at once. */
static double exchange(MPI_Comm comm, int peer, char *out, char *in, int bytes, int count)
{
    static MPI_Request request[2 * MOST];
    const double       start = MPI_Wtime();

    for (int m = 0; m < count; m++) {
        MPI_Irecv(in + (ptrdiff_t)m * bytes, bytes, MPI_BYTE, peer, TAG, comm, &request[m]);
    }
    for (int m = 0; m < count; m++) {
        MPI_Isend(out + (ptrdiff_t)m * bytes, bytes, MPI_BYTE, peer, TAG, comm,
                  &request[count + m]);
    }
    MPI_Waitall(2 * count, request, MPI_STATUSES_IGNORE);
    return MPI_Wtime() - start;
}

/** More messages until they take long; both know when. */
static void measure_pair(MPI_Comm comm, int peer, char *out, char *in, pair_t *pair)
{
    double took = 0.0;

    (void)exchange(comm, peer, out, in, 1, 1); /* connects */
    for (int t = 0; t < TURNS; t++) {
        pair->latency_s += exchange(comm, peer, out, in, 1, 1) / TURNS;
    }
    for (int count = 2; count <= MOST && took < long_enough_s; count *= 2) {
        double theirs = 0.0;

        took = exchange(comm, peer, out, in, PIECE, count);
        MPI_Sendrecv(&took, 1, MPI_DOUBLE, peer, TAG, &theirs, 1, MPI_DOUBLE, peer, TAG, comm,
                     MPI_STATUS_IGNORE);
        took       = took > theirs ? took : theirs;
        pair->rate = fmax(pair->rate, (double)count * PIECE / took);
    }
}

/** @p pair [n], of this node with each */
static void measure_all(MPI_Comm comm, int k, int n, char *buffer, pair_t *pair)
{
    for (int turn = 0; turn < n + n % 2 - 1; turn++) {
        const int peer = partner_of(k, turn, n);

        MPI_Barrier(comm);
        if (peer >= 0) {
            measure_pair(comm, peer, buffer, buffer + LAST_LONG, &pair[peer]);
        }
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

/** A line for each node, and one for each pair that is far slower than a quarter of them: of four
 *  nodes one that is slow slows half of the pairs. */
static void list_all(driver_checkup_t *x, const node_t *node, const pair_t *pair, int n,
                     double *scratch)
{
    double  fast;
    int64_t count = 0;

    for (int k = 0; k < n; k++) {
        for (int j = k + 1; j < n; j++) {
            scratch[count++] = pair[(ptrdiff_t)k * n + j].rate;
        }
        list_node(x, node, pair + (ptrdiff_t)k * n, k, n);
    }
    qsort(scratch, (size_t)count, sizeof *scratch, descending);
    fast = scratch[count / 4];
    for (int k = 0; k < n; k++) {
        for (int j = k + 1; j < n; j++) {
            const double rate = pair[(ptrdiff_t)k * n + j].rate;

            if (rate < 0.5 * fast) {
                driver_find(x, DRIVER_CHECK_MISSING, "network",
                            "look at the adapters and links of these nodes (ibstat, ip -s link), "
                            "and at what else runs there",
                            "%s and %s: %.3g GB/s, a quarter of all pairs have %.3g or more",
                            node[k].name, node[j].name, 1e-9 * rate, 1e-9 * fast);
            }
        }
    }
}

/** Of the first ranks of nodes.  Collective over these. */
static int check_between(driver_checkup_t *x, driver_job_t *job, MPI_Comm comm)
{
    int     n, k, length, bad;
    node_t  mine = {.name = ""}, *node;
    pair_t *pair, *all;
    char   *buffer;
    double *scratch;

    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &k);
    pair    = calloc((size_t)n, sizeof *pair);
    node    = driver_alloc(k == 0 ? n : 0, sizeof *node);
    all     = driver_alloc(k == 0 ? (int64_t)n * n : 0, sizeof *all);
    scratch = driver_alloc(k == 0 ? (int64_t)n * n : 0, sizeof *scratch);
    buffer  = calloc(2, LAST_LONG);
    bad     = pair == NULL || node == NULL || all == NULL || scratch == NULL || buffer == NULL;
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, comm);
    if (!bad && n > 1) {
        MPI_Get_processor_name(mine.name, &length);
        describe_adapters(mine.adapters, sizeof mine.adapters);
        measure_all(comm, k, n, buffer, pair);
        MPI_Gather(&mine, sizeof mine, MPI_BYTE, node, sizeof mine, MPI_BYTE, 0, comm);
        MPI_Gather(pair, n * (int)sizeof *pair, MPI_BYTE, all, n * (int)sizeof *pair, MPI_BYTE, 0,
                   comm);
        if (k == 0) {
            list_all(x, node, all, n, scratch);
        }
    }
    free(buffer);
    free(scratch);
    free(all);
    free(node);
    free(pair);
    return bad ? driver_fail_memory(job, 2, LAST_LONG, "messages between nodes") : DRIVER_GOOD;
}

int driver_check_network(driver_checkup_t *x, driver_job_t *job)
{
    MPI_Comm within, between;
    int      at, code = DRIVER_GOOD;

    MPI_Comm_split_type(job->comm, MPI_COMM_TYPE_SHARED, job->rank, MPI_INFO_NULL, &within);
    MPI_Comm_rank(within, &at);
    MPI_Comm_split(job->comm, at == 0 ? 0 : MPI_UNDEFINED, job->rank, &between);
    if (between != MPI_COMM_NULL) {
        code = check_between(x, job, between);
        MPI_Comm_free(&between);
    }
    MPI_Comm_free(&within);
    return driver_agree(job, code);
}
