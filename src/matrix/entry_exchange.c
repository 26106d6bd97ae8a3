/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/entry_exchange.h"

#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "cpu/cpu_kernels.h"

/* Entries of a message, of which both sides know the number from their total. */
enum { MESSAGE_ENTRIES = 1 << 16 };

/* At most so much is on its way at a time, so that what was sent is freed while the rest waits. */
enum { IN_FLIGHT_BYTES = 64 << 20, IN_FLIGHT_MESSAGES = 1024 };

/* What a rank sends and receives. */
typedef struct {
    int64_t        *send_count, *recv_count; /* [size] entries, one block */
    spmm_bag_t     *to;  /* [size] entries for each rank, in pieces of MESSAGE_ENTRIES */
    spmm_piece_t   *got; /* [size] from each rank, in one block of memory */
    void           *block;
    spmm_message_t *message; /* on their way */
    spmm_piece_t  **sent;    /* [n_sent] those on their way */
    int             n_messages, n_sent;
    size_t          bytes; /* of messages on their way */
} traffic_t;

static int64_t messages_of(int64_t count)
{
    return (count + MESSAGE_ENTRIES - 1) / MESSAGE_ENTRIES;
}

/* How many entries from entry @p k of a piece on go to one rank, *owner: first the last one's. */
static int64_t run_of(const spmm_matrix_t *A, const spmm_piece_t *piece, bool wide, int64_t k,
                      int *owner)
{
    int64_t row = spmmi_bag_get(piece->data, wide, k).row, run = 1;

    if (row < A->row_offset[*owner] || row >= A->row_offset[*owner + 1]) {
        *owner = spmmi_owner(A->row_offset, A->env->size, row);
    }
    for (; k + run < piece->count; run++) {
        row = spmmi_bag_get(piece->data, wide, k + run).row;
        if (row < A->row_offset[*owner] || row >= A->row_offset[*owner + 1]) {
            break;
        }
    }
    return run;
}

/* Add up the entries for each rank in pieces [from, end). */
static void count_pieces(const spmm_matrix_t *A, const spmm_bag_t *bag, int64_t from, int64_t end,
                         int64_t *count)
{
    int owner = 0;

    for (int64_t p = from; p < end; p++) {
        for (int64_t k = 0, run; k < bag->piece[p].count; k += run) {
            run = run_of(A, &bag->piece[p], bag->wide, k, &owner);
            count[owner] += run;
        }
    }
}

/* Copy the entries of pieces [from, end), which are freed, to entries next[] of each rank on. */
static void copy_pieces(const spmm_matrix_t *A, const spmm_bag_t *bag, int64_t from, int64_t end,
                        int64_t *next, const spmm_bag_t *to)
{
    const size_t size  = spmmi_bag_entry_size(bag);
    int          owner = 0;

    for (int64_t p = from; p < end; p++) {
        const spmm_piece_t *piece = &bag->piece[p];

        for (int64_t k = 0, part; k < piece->count; k += part) {
            int64_t run = run_of(A, piece, bag->wide, k, &owner);

            for (part = 0; run > 0;) {
                const spmm_piece_t *here = &to[owner].piece[next[owner] / MESSAGE_ENTRIES];
                const int64_t       at   = next[owner] % MESSAGE_ENTRIES;
                const int64_t       fits = here->count - at < run ? here->count - at : run;

                memcpy((char *)here->data + (size_t)at * size,
                       (const char *)piece->data + (size_t)(k + part) * size, (size_t)fits * size);
                next[owner] += fits;
                part += fits;
                run -= fits;
            }
        }
        spmmi_piece_free(&bag->piece[p]);
    }
}

/* Pieces for the entries to each rank. */
static spmm_status_t alloc_pieces(spmm_env_t *env, traffic_t *traffic, const spmm_bag_t *bag)
{
    for (int p = 0; p < env->size; p++) {
        traffic->to[p].wide = bag->wide;
        for (int64_t left = traffic->send_count[p]; left > 0; left -= MESSAGE_ENTRIES) {
            SPMM_TRY(spmmi_bag_grow(&env->err, &traffic->to[p],
                                    left < MESSAGE_ENTRIES ? left : MESSAGE_ENTRIES));
        }
    }
    return SPMM_OK;
}

/* The entries to the bags of their owners, in order, each thread a part of the pieces: a counting
 * sort. */
static spmm_status_t sort_by_owner(spmm_env_t *env, const spmm_matrix_t *A, traffic_t *traffic,
                                   spmm_bag_t *bag)
{
    const int     wanted = spmmi_cpu_team(env->threads), size = env->size;
    const int     team = wanted < bag->n ? wanted : (int)bag->n;
    int64_t      *next; /* [team][size] */
    spmm_status_t status;

    if (SPMM_NEW_ZERO(next, (int64_t)team * size) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)team * size, sizeof *next,
                                 "numbers of entries");
    }
#pragma omp parallel for schedule(static, 1) num_threads(team) if (team > 1)
    for (int t = 0; t < team; t++) {
        count_pieces(A, bag, spmmi_even_share(bag->n, team, t),
                     spmmi_even_share(bag->n, team, t + 1), next + (int64_t)t * size);
    }
    for (int k = 0; k < team * size; k++) {
        const int64_t count = next[k];

        next[k] = traffic->send_count[k % size];
        traffic->send_count[k % size] += count;
    }
    status = alloc_pieces(env, traffic, bag);
#pragma omp parallel for schedule(static, 1) num_threads(team) if (team > 1)
    for (int t = 0; t < (status == SPMM_OK ? team : 0); t++) {
        copy_pieces(A, bag, spmmi_even_share(bag->n, team, t),
                    spmmi_even_share(bag->n, team, t + 1), next + (int64_t)t * size, traffic->to);
    }
    spmmi_free(next);
    spmmi_bag_free(bag);
    return status;
}

static spmm_status_t prepare_send(spmm_env_t *env, const spmm_matrix_t *A, traffic_t *traffic,
                                  spmm_bag_t *bag)
{
    if (SPMM_NEW_ZERO(traffic->to, env->size) == NULL ||
        SPMM_NEW_ZERO(traffic->got, env->size) == NULL ||
        SPMM_NEW_ZERO(traffic->send_count, 2 * (int64_t)env->size) == NULL) {
        return spmmi_fail_memory(&env->err, env->size, sizeof *traffic->to, "bags of entries");
    }
    traffic->recv_count = traffic->send_count + env->size;
    return sort_by_owner(env, A, traffic, bag);
}

/* Room for what comes, and for the messages. */
static spmm_status_t prepare_receive(spmm_env_t *env, traffic_t *traffic, size_t size)
{
    const int64_t parts = spmmi_message_count(env, MESSAGE_ENTRIES * size);
    const int64_t most  = IN_FLIGHT_MESSAGES + 2 * parts;
    int64_t       total = 0;

    for (int p = 0; p < env->size; p++) {
        total += p == env->rank ? 0 : traffic->recv_count[p];
    }
    traffic->block = spmmi_alloc(total, size);
    if (traffic->block == NULL) {
        return spmmi_fail_memory(&env->err, total, size, "matrix entries to receive");
    }
    total = 0;
    for (int p = 0; p < env->size; p++) {
        traffic->got[p].data  = (char *)traffic->block + (size_t)total * size;
        traffic->got[p].count = p == env->rank ? 0 : traffic->recv_count[p];
        total += traffic->got[p].count;
    }
    if (SPMM_NEW(traffic->message, most) == NULL || SPMM_NEW(traffic->sent, most) == NULL) {
        return spmmi_fail_memory(&env->err, most, sizeof *traffic->message, "messages");
    }
    return SPMM_OK;
}

/* Wait for what is on its way. */
static spmm_status_t arrive(spmm_env_t *env, traffic_t *traffic)
{
    const double slow = 1e8; /* bytes per second that every network moves, beyond the timeout */

    SPMM_TRY(spmmi_wait_messages(env, traffic->n_messages, traffic->message,
                                 spmmi_now() + (double)traffic->bytes / slow,
                                 "an exchange of matrix entries"));
    for (int k = 0; k < traffic->n_sent; k++) {
        spmmi_piece_free(traffic->sent[k]);
    }
    traffic->n_messages = traffic->n_sent = 0;
    traffic->bytes                        = 0;
    return SPMM_OK;
}

/* Message @p m to rank @p to and from rank @p from, where they have so many. */
static spmm_status_t post(spmm_env_t *env, traffic_t *traffic, int to, int from, int64_t m,
                          size_t size)
{
    const int64_t left = traffic->got[from].count - m * MESSAGE_ENTRIES;

    if (left > 0) {
        const int64_t count = left < MESSAGE_ENTRIES ? left : MESSAGE_ENTRIES;
        char *const   at = (char *)traffic->got[from].data + (size_t)(m * MESSAGE_ENTRIES) * size;

        traffic->bytes += (size_t)count * size;
        SPMM_TRY(spmmi_irecv(env, env->comm, at, (size_t)count * size, from, SPMM_TAG_ENTRIES,
                             traffic->message, &traffic->n_messages));
    }
    if (m < traffic->to[to].n) {
        spmm_piece_t *const piece = &traffic->to[to].piece[m];

        traffic->bytes += (size_t)piece->count * size;
        traffic->sent[traffic->n_sent++] = piece;
        SPMM_TRY(spmmi_isend(env, env->comm, piece->data, (size_t)piece->count * size, to,
                             SPMM_TAG_ENTRIES, traffic->message, &traffic->n_messages));
    }
    return SPMM_OK;
}

/* In step s a rank sends to the rank s above and receives from the one s below.  A rank that waits
 * for messages has posted all of earlier steps, and these have arrived: so of the earliest message
 * that has not, both ends are posted, however many each rank has on their way. */
static spmm_status_t travel(spmm_env_t *env, traffic_t *traffic, size_t size)
{
    for (int step = 1; step < env->size; step++) {
        const int     to      = (int)(((int64_t)env->rank + step) % env->size);
        const int     from    = (int)(((int64_t)env->rank + env->size - step) % env->size);
        const int64_t sends   = traffic->to[to].n;
        const int64_t arrives = messages_of(traffic->got[from].count);

        for (int64_t m = 0; m < sends || m < arrives; m++) {
            SPMM_TRY(post(env, traffic, to, from, m, size));
            if (traffic->bytes >= IN_FLIGHT_BYTES || traffic->n_messages >= IN_FLIGHT_MESSAGES) {
                SPMM_TRY(arrive(env, traffic));
            }
        }
    }
    return arrive(env, traffic);
}

/* All that came, in the order of the ranks it came from. */
static spmm_status_t gather(spmm_env_t *env, traffic_t *traffic, spmm_bag_t *bag)
{
    for (int p = 0; p < env->size; p++) {
        if (p == env->rank) {
            SPMM_TRY(spmmi_bag_take(&env->err, bag, &traffic->to[p]));
        } else if (traffic->got[p].count > 0) {
            traffic->got[p].block = traffic->block; /* the first of them owns it */
            SPMM_TRY(spmmi_bag_add(&env->err, bag, traffic->got[p]));
            traffic->block = NULL;
        }
    }
    return SPMM_OK;
}

/* After a failure messages may still be on their way. */
static void abandon(spmm_env_t *env, traffic_t *traffic, size_t size)
{
    if (!spmmi_abandon(env, traffic->n_messages, traffic->message, 0.1)) {
        return;
    }
    for (int k = 0; k < traffic->n_sent; k++) {
        spmmi_alloc_keep(traffic->sent[k]->block, (size_t)traffic->sent[k]->count * size);
    }
    for (int p = 0; p < env->size; p++) {
        spmmi_alloc_keep(traffic->got[p].data, (size_t)traffic->got[p].count * size);
    }
}

static void traffic_free(const spmm_env_t *env, traffic_t *traffic)
{
    for (int p = 0; traffic->to != NULL && p < env->size; p++) {
        spmmi_bag_free(&traffic->to[p]);
    }
    spmmi_free_all(traffic->send_count, traffic->to, traffic->got, traffic->block, traffic->message,
                   traffic->sent);
}

/* Collective, agreed. */
static spmm_status_t run(spmm_env_t *env, const spmm_matrix_t *A, traffic_t *traffic,
                         spmm_bag_t *bag)
{
    const size_t  size = spmmi_bag_entry_size(bag);
    spmm_status_t status;

    SPMM_TRY(spmmi_agree(env, prepare_send(env, A, traffic, bag)));
    SPMM_TRY(spmmi_alltoall(env, traffic->send_count, traffic->recv_count, sizeof(int64_t)));
    SPMM_TRY(spmmi_agree(env, prepare_receive(env, traffic, size)));
    status = travel(env, traffic, size);
    status = spmmi_agree(env, status);
    if (status != SPMM_OK) {
        abandon(env, traffic, size);
        return status;
    }
    return spmmi_agree(env, gather(env, traffic, bag));
}

spmm_status_t spmmi_exchange_entries(const spmm_matrix_t *A, spmm_bag_t *bag)
{
    traffic_t     traffic = {0};
    spmm_status_t status  = SPMM_OK;

    if (A->env->size > 1) {
        status = run(A->env, A, &traffic, bag);
    }
    traffic_free(A->env, &traffic);
    return status;
}
