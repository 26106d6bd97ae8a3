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
