/* SPDX-License-Identifier: Apache-2.0 */
/** @file format_lists.c  The tiles of each tile row in a list, for kernels that go by them. */
#include "base/alloc.h"
#include "engine/bcsr/format.h"
#include "spmm_dist/context.h"

/* Fragments of a 16x32 tile: one where it is 2:4, else one for each side that it has. */
static int32_t list_tile(const spmm_bcsr_t *f, spmm_bcsr_tile_t tile, spmm_bcsr_listed_t to[2])
{
    const spmm_bcsr_step_t s = f->step[tile.step];
    int32_t                n = 0;

    if ((s.sp24 >> tile.row & 1) != 0) {
        const int32_t rank = spmmi_bcsr_rank(s.sp24, tile.row);

        to[0] = (spmm_bcsr_listed_t){.word = 4 * tile.step + SPMM_BCSR_SP24,
                                     .at   = s.at + SPMM_BCSR_TILE * rank,
                                     .meta = s.at + SPMM_BCSR_TILE * spmmi_bcsr_tiles(s) + rank,
                                     .row  = s.col * SPMM_BCSR_WIDTH};
        return 1;
    }
    for (int32_t side = SPMM_BCSR_LEFT; side <= SPMM_BCSR_RIGHT; side++) {
        if (((side == SPMM_BCSR_LEFT ? s.left : s.right) >> tile.row & 1) != 0) {
            to[n++] = (spmm_bcsr_listed_t){.word = 4 * tile.step + side,
                                           .at   = s.at + SPMM_BCSR_TILE *
                                                            spmmi_bcsr_tile_at(s, side, tile.row),
                                           .row = s.col * SPMM_BCSR_WIDTH + side * SPMM_BCSR_SIDE};
        }
    }
    return n;
}

spmm_status_t spmmi_bcsr_lists_create(spmm_env_t *env, const spmm_bcsr_t *format, int threads,
                                      spmm_bcsr_lists_t *lists)
{
    spmm_bcsr_listed_t none[2];

    SPMM_NEW_ZERO(lists->ptr, (int64_t)format->n_tile_rows + 1);
    SPMM_NEW(lists->list, format->n_tiles + format->n_sp24);
    if (lists->ptr == NULL || lists->list == NULL) {
        spmmi_bcsr_lists_free(lists);
        return spmmi_fail_memory(&env->err, format->n_tiles + format->n_sp24, sizeof *lists->list,
                                 "lists of tiles");
    }
    for (int32_t t = 0; t < format->n_tile_rows; t++) {
        lists->ptr[t + 1] = lists->ptr[t];
        for (int32_t k = format->row_ptr[t]; k < format->row_ptr[t + 1]; k++) {
            lists->ptr[t + 1] += list_tile(format, format->tile[k], none);
        }
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t t = 0; t < format->n_tile_rows; t++) {
        int32_t at = lists->ptr[t];

        for (int32_t k = format->row_ptr[t]; k < format->row_ptr[t + 1]; k++) {
            spmm_bcsr_listed_t tile[2];
            const int32_t      n = list_tile(format, format->tile[k], tile);

            for (int32_t i = 0; i < n; i++) {
                lists->list[at++] = tile[i];
            }
        }
    }
    return SPMM_OK;
}

void spmmi_bcsr_lists_free(spmm_bcsr_lists_t *lists)
{
    spmmi_free_all(lists->ptr, lists->list);
    *lists = (spmm_bcsr_lists_t){.ptr = NULL};
}
