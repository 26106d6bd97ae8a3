/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/assemble_exchange.h"

#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "cpu/cpu_kernels.h"

/* Entries in messages of one round, and the least of a piece that waits for its round. */
enum { ROUND_ENTRIES = 1 << 20, LEAST_PIECE = 256, PIECES_OF_A_PEER = 8 };

/* What a rank sends and gets. */
typedef struct {
    int64_t      *send_count, *recv_count; /* [size] each of a round, one block */
    spmm_bag_t   *to;                      /* [size] entries for each rank */
    int64_t       capacity;                /* of their pieces */
    char         *send;                    /* [size * capacity] of a round */
    int64_t       rounds;
    spmm_piece_t *got; /* [rounds * size] what came in each round from each rank */
} traffic_t;

/* Entries of some pieces of the bag, which are freed, to the bags of their owners.  Local. */
static spmm_status_t deal_pieces(spmm_error_t *err, const spmm_matrix_t *A, int64_t capacity,
                                 spmm_bag_t *bag, int64_t from, int64_t end, spmm_bag_t *to)
{
    const size_t size  = spmmi_bag_entry_size(bag);
    int          owner = 0;

    for (int64_t p = from; p < end; p++) {
        const spmm_piece_t *piece = &bag->piece[p];

        for (int64_t k = 0, run; k < piece->count; k += run) {
            const int64_t row = spmmi_bag_get(piece->data, bag->wide, k).row;

            if (row < A->row_offset[owner] || row >= A->row_offset[owner + 1]) {
                owner = spmmi_owner(A->row_offset, A->env->size, row);
            }
            for (run = 1; k + run < piece->count; run++) {
                const int64_t next = spmmi_bag_get(piece->data, bag->wide, k + run).row;

                if (next < A->row_offset[owner] || next >= A->row_offset[owner + 1]) {
                    break;
                }
            }
            SPMM_TRY(spmmi_bag_put(err, &to[owner], (const char *)piece->data + (size_t)k * size,
                                   run, capacity));
        }
        spmmi_piece_free(&bag->piece[p]);
    }
    return SPMM_OK;
}

/* Deal the entries to the bags of their owners, in order; each thread a part of the pieces. */
static spmm_status_t deal(spmm_env_t *env, const spmm_matrix_t *A, traffic_t *traffic,
                          spmm_bag_t *bag)
{
    const int     wanted = spmmi_cpu_team(env->threads), size = env->size;
    const int     team = wanted < bag->n ? wanted : (int)bag->n;
    const int64_t even = bag->count / ((int64_t)PIECES_OF_A_PEER * size * (team + 1));
    spmm_bag_t   *part;
    spmm_status_t status = SPMM_OK;

    traffic->capacity = even < ROUND_ENTRIES / size ? even : ROUND_ENTRIES / size;
    traffic->capacity = traffic->capacity < LEAST_PIECE ? LEAST_PIECE : traffic->capacity;
    if (SPMM_NEW_ZERO(part, (int64_t)team * size) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)team * size, sizeof *part, "bags of entries");
    }
#pragma omp parallel for schedule(static, 1) num_threads(team) if (team > 1)
    for (int t = 0; t < team; t++) {
        spmm_error_t  err = {0};
        spmm_status_t mine;

        for (int p = 0; p < size; p++) {
            part[t * size + p].wide = bag->wide;
        }
        mine = deal_pieces(&err, A, traffic->capacity, bag, spmmi_even_share(bag->n, team, t),
                           spmmi_even_share(bag->n, team, t + 1), part + (int64_t)t * size);
        if (mine != SPMM_OK) {
#pragma omp critical
            status = spmmi_fail(&env->err, mine, "%s", err.text);
        }
    }
    for (int k = 0; k < team * size && status == SPMM_OK; k++) {
        status = spmmi_bag_take(&env->err, &traffic->to[k % size], &part[k]);
    }
    for (int k = 0; k < team * size; k++) {
        spmmi_bag_free(&part[k]);
    }
    spmmi_free(part);
    spmmi_bag_free(bag);
    return status;
}

static spmm_status_t prepare_rounds(spmm_env_t *env, traffic_t *traffic, size_t size)
{
    traffic->send = spmmi_alloc((int64_t)env->size * traffic->capacity, size);
    if (traffic->send == NULL || SPMM_NEW_ZERO(traffic->got, traffic->rounds * env->size) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)env->size * traffic->capacity, size,
                                 "matrix entries to send");
    }
    return SPMM_OK;
}

/* One piece for each peer; what a rank has for itself stays.  Collective, agreed. */
static spmm_status_t run_round(spmm_env_t *env, traffic_t *traffic, int64_t round, size_t size)
{
    spmm_piece_t *got   = traffic->got + round * env->size;
    spmm_piece_t *first = &got[env->rank == 0]; /* of a peer: owns what all sent */
    char         *to    = traffic->send;
    int64_t       total;
    spmm_status_t status = SPMM_OK;

    for (int p = 0; p < env->size; p++) {
        const bool    sends = p != env->rank && round < traffic->to[p].n;
        spmm_piece_t *piece = sends ? &traffic->to[p].piece[round] : NULL;

        traffic->send_count[p] = sends ? piece->count : 0;
        if (sends) {
            memcpy(to, piece->data, (size_t)piece->count * size);
            to += (size_t)piece->count * size;
            spmmi_piece_free(piece);
        }
    }
    SPMM_TRY(spmmi_alltoall_counts(env, traffic->send_count, traffic->recv_count, &total));
    first->block = spmmi_alloc(total, size);
    if (first->block == NULL) {
        status = spmmi_fail_memory(&env->err, total, size, "matrix entries to receive");
    }
    SPMM_TRY(spmmi_agree(env, status));
    to = first->block;
    for (int p = 0; p < env->size; p++) {
        got[p].data  = to;
        got[p].count = traffic->recv_count[p];
        to += (size_t)got[p].count * size;
    }
    return spmmi_alltoallv(env, traffic->send, traffic->send_count, first->block,
                           traffic->recv_count, size);
}

/* All that came, in the order of the ranks it came from. */
static spmm_status_t gather(spmm_env_t *env, traffic_t *traffic, spmm_bag_t *bag)
{
    for (int p = 0; p < env->size; p++) {
        for (int64_t r = 0; r < traffic->rounds && p != env->rank; r++) {
            spmm_piece_t *piece = &traffic->got[r * env->size + p];

            SPMM_TRY(spmmi_bag_add(&env->err, bag, *piece));
            piece->block = NULL;
        }
        if (p == env->rank) {
            SPMM_TRY(spmmi_bag_take(&env->err, bag, &traffic->to[p]));
        }
    }
    return SPMM_OK;
}

static void traffic_free(const spmm_env_t *env, traffic_t *traffic)
{
    for (int64_t k = 0; traffic->got != NULL && k < traffic->rounds * env->size; k++) {
        spmmi_piece_free(&traffic->got[k]);
    }
    for (int p = 0; traffic->to != NULL && p < env->size; p++) {
        spmmi_bag_free(&traffic->to[p]);
    }
    spmmi_free_all(traffic->send_count, traffic->to, traffic->send, traffic->got);
}

static spmm_status_t prepare(spmm_env_t *env, const spmm_matrix_t *A, traffic_t *traffic,
                             spmm_bag_t *bag)
{
    if (SPMM_NEW_ZERO(traffic->to, env->size) == NULL ||
        SPMM_NEW_ZERO(traffic->send_count, 2 * (int64_t)env->size) == NULL) {
        return spmmi_fail_memory(&env->err, env->size, sizeof *traffic->to, "bags of entries");
    }
    traffic->recv_count = traffic->send_count + env->size;
    for (int p = 0; p < env->size; p++) {
        traffic->to[p].wide = bag->wide;
    }
    SPMM_TRY(deal(env, A, traffic, bag));
    for (int p = 0; p < env->size; p++) {
        if (p != env->rank && traffic->to[p].n > traffic->rounds) {
            traffic->rounds = traffic->to[p].n;
        }
    }
    return SPMM_OK;
}

/* Collective, agreed. */
static spmm_status_t run(spmm_env_t *env, const spmm_matrix_t *A, traffic_t *traffic,
                         spmm_bag_t *bag)
{
    const size_t size = spmmi_bag_entry_size(bag);

    SPMM_TRY(spmmi_agree(env, prepare(env, A, traffic, bag)));
    SPMM_TRY(spmmi_allreduce(env, &traffic->rounds, 1, MPI_INT64_T, MPI_MAX));
    SPMM_TRY(spmmi_agree(env, prepare_rounds(env, traffic, size)));
    for (int64_t round = 0; round < traffic->rounds; round++) {
        SPMM_TRY(run_round(env, traffic, round, size));
    }
    return spmmi_agree(env, gather(env, traffic, bag));
}

spmm_status_t spmmi_assemble_exchange(const spmm_matrix_t *A, spmm_bag_t *bag)
{
    traffic_t     traffic = {0};
    spmm_status_t status  = SPMM_OK;

    if (A->env->size > 1) {
        status = run(A->env, A, &traffic, bag);
    }
    traffic_free(A->env, &traffic);
    return status;
}
