/* SPDX-License-Identifier: Apache-2.0 */
/** @file translate.c
 *  New indices by asking: each distinct index goes once to its original owner, who knows the new
 *  one.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/sort.h"
#include "partition/layout.h"

/* A piece takes four times its memory while it is sorted. */
enum { MOST_PIECES = 32, LEAST_PIECE = 1 << 18 /* indices */ };

/** What this rank asks the others, and what they ask it. */
typedef struct {
    uint64_t *index;    /**< [count] indices to translate, ascending */
    int64_t  *position; /**< [count] where each came from */
    int64_t  *ask;      /**< [n_ask] distinct indices, ascending and so in order of their owners;
                             then the new ones */
    int64_t  *asked;    /**< [n_asked] questions of the others, then the answers to them */
    int64_t   n_ask, n_asked;
    int64_t  *ask_count, *asked_count; /**< [size] */
} query_t;

static void free_query(query_t *q)
{
    spmmi_free_all(q->index, q->position, q->ask, q->asked, q->ask_count, q->asked_count);
}

static spmm_status_t sort_indices(spmm_env_t *env, int64_t count, const int64_t *index, query_t *q)
{
    SPMM_NEW(q->ask_count, env->size);
    SPMM_NEW(q->asked_count, env->size);
    SPMM_NEW(q->index, count);
    SPMM_NEW(q->position, count);
    if (q->ask_count == NULL || q->asked_count == NULL || q->index == NULL || q->position == NULL) {
        return spmmi_fail_memory(&env->err, count, 2 * sizeof *q->index, "indices to translate");
    }
    for (int64_t i = 0; i < count; i++) {
        q->index[i]    = (uint64_t)index[i];
        q->position[i] = i;
    }
    return spmmi_sort_u64_with(env, q->index, q->position, count);
}

static spmm_status_t list_questions(spmm_env_t *env, const spmm_layout_map_t *map, int64_t count,
                                    query_t *q)
{
    int64_t k = 0;

    /* A negative index is a huge key: it stands last. */
    if (count > 0 && q->index[count - 1] >= (uint64_t)map->n_global) {
        return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                          "index %" PRId64 " is to be translated, but indices are 0 to %" PRId64
                          ": please report it",
                          (int64_t)q->index[count - 1], map->n_global - 1);
    }
    for (int64_t i = 0; i < count; i++) {
        q->n_ask += i == 0 || q->index[i] != q->index[i - 1];
    }
    if (SPMM_NEW(q->ask, q->n_ask) == NULL) {
        return spmmi_fail_memory(&env->err, q->n_ask, sizeof *q->ask, "indices to translate");
    }
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || q->index[i] != q->index[i - 1]) {
            q->ask[k++] = (int64_t)q->index[i];
        }
    }
    k = 0;
    for (int p = 0; p < env->size; p++) {
        const int64_t start = k;

        while (k < q->n_ask && q->ask[k] < map->orig_offset[p + 1]) {
            k++;
        }
        q->ask_count[p] = k - start;
    }
    return SPMM_OK;
}

/* Questions go out, answers come back into q->ask. */
static spmm_status_t exchange(spmm_env_t *env, const spmm_layout_map_t *map, query_t *q)
{
    const int64_t first  = map->orig_offset[env->rank];
    spmm_status_t status = SPMM_OK;

    SPMM_TRY(spmmi_alltoall_counts(env, q->ask_count, q->asked_count, &q->n_asked));
    if (SPMM_NEW(q->asked, q->n_asked) == NULL) {
        status = spmmi_fail_memory(&env->err, q->n_asked, sizeof *q->asked, "indices to translate");
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(
        spmmi_alltoallv(env, q->ask, q->ask_count, q->asked, q->asked_count, sizeof *q->asked));
    for (int64_t i = 0; i < q->n_asked; i++) {
        q->asked[i] = map->new_index[q->asked[i] - first];
    }
    return spmmi_alltoallv(env, q->asked, q->asked_count, q->ask, q->ask_count, sizeof *q->asked);
}

/* Collective, agreed. */
static spmm_status_t translate_piece(spmm_env_t *env, const spmm_layout_map_t *map, int64_t count,
                                     int64_t *index)
{
    query_t       q = {0};
    spmm_status_t status;
    int64_t       k = -1;

    status = sort_indices(env, count, index, &q);
    if (status == SPMM_OK) {
        status = list_questions(env, map, count, &q);
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = exchange(env, map, &q);
    }
    if (status == SPMM_OK) {
        for (int64_t i = 0; i < count; i++) {
            k += i == 0 || q.index[i] != q.index[i - 1];
            index[q.position[i]] = q.ask[k];
        }
    }
    free_query(&q);
    return status;
}

spmm_status_t spmmi_layout_translate(spmm_env_t *env, const spmm_layout_map_t *map, int64_t count,
                                     int64_t *index)
{
    const int64_t piece  = count / MOST_PIECES < LEAST_PIECE ? LEAST_PIECE : count / MOST_PIECES;
    int64_t       pieces = (count + piece - 1) / piece;

    if (map->keep) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_allreduce(env, &pieces, 1, MPI_INT64_T, MPI_MAX));
    for (int64_t at = 0; pieces > 0; pieces--, at += piece) {
        const int64_t left = at < count ? count - at : 0;

        SPMM_TRY(translate_piece(env, map, left < piece ? left : piece, index + (count - left)));
    }
    return SPMM_OK;
}
