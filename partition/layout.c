/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/layout.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/sort.h"

static spmm_status_t alloc_map(spmm_env_t *env, const int64_t *orig_offset, spmm_layout_map_t *map)
{
    const int64_t n_ranks = (int64_t)env->size + 1;

    map->n_global = orig_offset[env->size];
    map->n_orig   = (int32_t)(orig_offset[env->rank + 1] - orig_offset[env->rank]);
    SPMM_NEW(map->offset, n_ranks);
    SPMM_NEW(map->orig_offset, n_ranks);
    SPMM_NEW_ZERO(map->send_count, env->size);
    SPMM_NEW_ZERO(map->recv_count, env->size);
    if (!map->keep) {
        SPMM_NEW(map->new_index, map->n_orig);
        SPMM_NEW(map->send_row, map->n_orig);
    }
    if (map->offset == NULL || map->orig_offset == NULL || map->send_count == NULL ||
        map->recv_count == NULL ||
        (!map->keep && (map->new_index == NULL || map->send_row == NULL))) {
        return spmmi_fail_memory(&env->err, map->n_orig, sizeof *map->new_index, "a layout");
    }
    memcpy(map->orig_offset, orig_offset, (size_t)n_ranks * sizeof *orig_offset);
    return SPMM_OK;
}

static spmm_status_t alloc_orig(spmm_env_t *env, int64_t n_local, spmm_layout_map_t *map)
{
    if (n_local > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "rank %d would own %" PRId64
                          " rows, more than 2^31 - 1: use more ranks or another partition",
                          env->rank, n_local);
    }
    map->n_local = (int32_t)n_local;
    if (SPMM_NEW(map->orig, n_local) == NULL) {
        return spmmi_fail_memory(&env->err, n_local, sizeof *map->orig, "a layout");
    }
    return SPMM_OK;
}

static void fill_identity(const spmm_env_t *env, spmm_layout_map_t *map)
{
    map->first   = map->orig_offset[env->rank];
    map->n_local = map->n_orig;
    memcpy(map->offset, map->orig_offset, ((size_t)env->size + 1) * sizeof *map->offset);
    map->send_count[env->rank] = map->n_orig;
    map->recv_count[env->rank] = map->n_orig;
}

/* Counting sort of the original rows by part; @p next is scratch [size]. */
static void group_rows(int size, const int32_t *part, spmm_layout_map_t *map, int64_t *next)
{
    int64_t start = 0;

    for (int32_t i = 0; i < map->n_orig; i++) {
        map->send_count[part[i]]++;
    }
    for (int p = 0; p < size; p++) {
        next[p] = start;
        start += map->send_count[p];
    }
    for (int32_t i = 0; i < map->n_orig; i++) {
        map->send_row[next[part[i]]++] = i;
    }
}

/* Rows arrive in rank order, and ranks own ascending original rows: what arrives is ascending.
 * @p moving is scratch [n_orig], @p before [size]. */
static spmm_status_t exchange_rows(spmm_env_t *env, spmm_layout_map_t *map, int64_t *moving,
                                   int64_t *before)
{
    const int64_t first = map->orig_offset[env->rank];
    int64_t       n_local, k = 0;

    SPMM_TRY(spmmi_alltoall_counts(env, map->send_count, map->recv_count, &n_local));
    SPMM_TRY(spmmi_agree(env, alloc_orig(env, n_local, map)));
    SPMM_TRY(spmmi_allgather_offsets(env, n_local, map->offset));
    for (int32_t i = 0; i < map->n_orig; i++) {
        moving[i] = first + map->send_row[i];
    }
    SPMM_TRY(
        spmmi_alltoallv(env, moving, map->send_count, map->orig, map->recv_count, sizeof *moving));
    /* before[p]: rows that lower ranks give to p, which stand above this rank's. */
    memcpy(before, map->send_count, (size_t)env->size * sizeof *before);
    SPMM_TRY(spmmi_exscan(env, before, env->size));
    for (int p = 0; p < env->size; p++) {
        for (int64_t i = 0; i < map->send_count[p]; i++, k++) {
            map->new_index[map->send_row[k]] = map->offset[p] + before[p] + i;
        }
    }
    return SPMM_OK;
}

spmm_status_t spmmi_layout_map_create(spmm_env_t *env, const int64_t *orig_offset,
                                      const int32_t *part, bool keep, spmm_layout_map_t *map)
{
    int64_t      *moving = NULL, *scratch = NULL;
    spmm_status_t status;

    *map   = (spmm_layout_map_t){.keep = keep};
    status = alloc_map(env, orig_offset, map);
    if (status == SPMM_OK && keep) {
        fill_identity(env, map);
    } else if (status == SPMM_OK) {
        SPMM_NEW(moving, map->n_orig);
        SPMM_NEW(scratch, env->size);
        if (moving == NULL || scratch == NULL) {
            status = spmmi_fail_memory(&env->err, map->n_orig, sizeof *moving, "a layout");
        } else {
            group_rows(env->size, part, map, scratch);
        }
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK && !keep) {
        status = spmmi_agree(env, exchange_rows(env, map, moving, scratch));
    }
    spmmi_free_all(moving, scratch);
    if (status != SPMM_OK) {
        spmmi_layout_map_free(map);
    }
    return status;
}

spmm_status_t spmmi_layout_list(spmm_env_t *env, spmm_layout_map_t *map)
{
    const int team = env->threads > 0 ? env->threads : 1;

    if (map->orig != NULL) {
        return SPMM_OK;
    }
    if (SPMM_NEW(map->orig, map->n_local) == NULL) {
        return spmmi_fail_memory(&env->err, map->n_local, sizeof *map->orig, "a list of rows");
    }
#pragma omp parallel for num_threads(team)
    for (int32_t i = 0; i < map->n_local; i++) {
        map->orig[i] = map->first + i;
    }
    return SPMM_OK;
}

void spmmi_layout_parts(const spmm_layout_map_t *map, int size, int32_t *part)
{
    int64_t k = 0;

    for (int p = 0; p < size; p++) {
        for (const int64_t end = k + map->send_count[p]; k < end; k++) {
            part[map->keep ? k : map->send_row[k]] = p;
        }
    }
}

void spmmi_layout_map_free(spmm_layout_map_t *map)
{
    spmmi_free_all(map->offset, map->orig, map->orig_offset, map->new_index, map->send_row,
                   map->send_count, map->recv_count);
    *map = (spmm_layout_map_t){0};
}

/* New indices by asking: each distinct index goes once to its original owner, who knows the new
 * one. */

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
