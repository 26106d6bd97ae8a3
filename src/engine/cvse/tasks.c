/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cvse/tasks.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

int32_t spmmi_cvse_team(int64_t blocks, int32_t chain, int32_t n_warps)
{
    int32_t team = 1;

    while (team < n_warps && blocks > (int64_t)team * chain) {
        team *= 2;
    }
    return team;
}

/* 0 for teams of 16, ..., 4 for single warps. */
static int class_of(int32_t team)
{
    int c = SPMM_CVSE_TEAMS - 1;

    for (; team > 1; team /= 2) {
        c--;
    }
    return c;
}

static int32_t team_of(const int32_t *block_ptr, int32_t w, int32_t chain, int32_t n_warps)
{
    return spmmi_cvse_team((int64_t)block_ptr[w + 1] - block_ptr[w], chain, n_warps);
}

/* Thread blocks of each class, then up to each. */
static spmm_status_t count(spmm_env_t *env, int32_t n_windows, const int32_t *block_ptr,
                           int32_t chain, spmm_cvse_tasks_t *t)
{
    int64_t windows[SPMM_CVSE_TEAMS] = {0}, blocks = 0;

    for (int32_t w = 0; w < n_windows; w++) {
        windows[class_of(team_of(block_ptr, w, chain, t->n_warps))]++;
    }
    for (int c = 0; c < SPMM_CVSE_TEAMS; c++) {
        const int64_t team     = INT64_C(1) << (SPMM_CVSE_TEAMS - 1 - c);
        const int64_t together = team < t->n_warps ? t->n_warps / team : 1;

        blocks += (windows[c] + together - 1) / together;
        t->end[c] = (int32_t)blocks;
    }
    t->n_tasks = blocks * t->n_warps;
    if (t->n_tasks > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "%" PRId64 " tasks of warps on one rank, more than 2^31 - 1; use more "
                          "ranks or another engine",
                          t->n_tasks);
    }
    return SPMM_OK;
}

/* The tasks of window w, from *at on; members have nearly equal runs of its blocks. */
static void deal(const int32_t *block_ptr, int32_t w, int32_t team, int64_t at,
                 spmm_cvse_tasks_t *t)
{
    const int64_t first = block_ptr[w], n = block_ptr[w + 1] - first;

    for (int32_t m = 0; m < team; m++) {
        const int32_t from = (int32_t)(first + n * m / team);
        const int32_t left = (int32_t)(first + n * (m + 1) / team) - from;

        t->first[at + m] = left > 0 ? from : -1;
        t->task[at + m]  = (spmm_cvse_task_t){
             .window = w, .block = from + (left > 0), .more = left > 0 ? left - 1 : 0};
    }
}

spmm_status_t spmmi_cvse_tasks_create(spmm_env_t *env, int32_t n_windows, const int32_t *block_ptr,
                                      int32_t chain, int32_t n_warps, spmm_cvse_tasks_t *tasks)
{
    spmm_cvse_tasks_t t                   = {.n_warps = n_warps};
    int64_t           at[SPMM_CVSE_TEAMS] = {0};

    memset(tasks, 0, sizeof *tasks);
    SPMM_TRY(count(env, n_windows, block_ptr, chain, &t));
    SPMM_NEW(t.task, t.n_tasks);
    SPMM_NEW(t.first, t.n_tasks);
    if (t.task == NULL || t.first == NULL) {
        spmmi_cvse_tasks_free(&t);
        return spmmi_fail_memory(&env->err, t.n_tasks, sizeof *t.task, "tasks of warps");
    }
    for (int64_t k = 0; k < t.n_tasks; k++) {
        t.first[k] = -1;
        t.task[k]  = (spmm_cvse_task_t){.window = -1};
    }
    for (int c = 1; c < SPMM_CVSE_TEAMS; c++) {
        at[c] = (int64_t)t.end[c - 1] * n_warps;
    }
    for (int32_t w = 0; w < n_windows; w++) {
        const int32_t  team = team_of(block_ptr, w, chain, n_warps);
        int64_t *const to   = &at[class_of(team)];

        deal(block_ptr, w, team, *to, &t);
        *to += team;
    }
    *tasks = t;
    return SPMM_OK;
}

void spmmi_cvse_tasks_free(spmm_cvse_tasks_t *tasks)
{
    spmmi_free_all(tasks->task, tasks->first);
    memset(tasks, 0, sizeof *tasks);
}

void spmmi_cvse_tasks_gather(const spmm_cvse_tasks_t *tasks, const void *from, size_t size,
                             int blank, void *to)
{
    for (int64_t k = 0; k < tasks->n_tasks; k++) {
        char *const place = (char *)to + (size_t)k * size;

        if (tasks->first[k] < 0) {
            memset(place, blank, size);
        } else {
            memcpy(place, (const char *)from + (size_t)tasks->first[k] * size, size);
        }
    }
}
