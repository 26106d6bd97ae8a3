/* SPDX-License-Identifier: Apache-2.0 */
/** @file upload.c  Masks as their kernels take them, from the host to the device. */
#include "engine/sddmm/upload.h"

#include "base/alloc.h"
#include "engine/sddmm/rectangles.h"
#include "spmm_dist/context.h"

/* Device memory of @p bytes, filled from @p host. */
static spmm_status_t upload_bytes(spmm_sampler_t *s, const void *host, size_t bytes, void **device)
{
    SPMM_TRY(s->device->ops->alloc_cached(s->device, bytes, device));
    s->upload[s->n_uploads++] = *device;
    s->device_bytes += bytes;
    return s->device->ops->stage(s->device, *device, host, bytes);
}

/* The same of @p count elements of an array that the host holds. */
static spmm_status_t upload(spmm_sampler_t *s, const int32_t *host, int64_t count,
                            const int32_t **device)
{
    void               *memory = NULL;
    const spmm_status_t status = upload_bytes(s, host, (size_t)count * sizeof *host, &memory);

    *device = memory;
    return status;
}

static spmm_status_t upload_tiles(spmm_sampler_t *s, const spmm_csr_t *block,
                                  const spmm_sddmm_tile_list_t *list)
{
    s->vectors       = list->vectors;
    s->tiles.n_rows  = block->n_rows;
    s->tiles.n_tiles = list->n_tiles;
    s->tiles.height  = list->height;
    s->tiles.order   = list->order;
    SPMM_TRY(upload(s, list->window, list->n_tiles, &s->tiles.window));
    SPMM_TRY(upload(s, list->col, (int64_t)list->n_tiles * SPMM_SDDMM_TILE, &s->tiles.col));
    SPMM_TRY(upload(s, list->place, list->n_places, &s->tiles.place));
    return block->row_map == NULL ? SPMM_OK
                                  : upload(s, block->row_map, block->n_rows, &s->tiles.row_map);
}

static spmm_status_t make_tiles(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_sddmm_tile_list_t list;
    spmm_status_t          status;

    SPMM_TRY(
        spmmi_sddmm_make_tiles(s->device->env, block, s->height, place, s->device->threads, &list));
    status = upload_tiles(s, block, &list);
    spmmi_sddmm_free_tiles(&list);
    return status;
}

static spmm_status_t upload_place(spmm_sampler_t *s, const int64_t *place)
{
    int32_t      *narrow;
    spmm_status_t status;

    if (SPMM_NEW(narrow, s->nnz) == NULL) {
        return spmmi_fail_memory(&s->device->env->err, s->nnz, sizeof *narrow,
                                 "the places of an SDDMM");
    }
    for (int64_t e = 0; e < s->nnz; e++) {
        narrow[e] = (int32_t)place[e];
    }
    status = upload(s, narrow, s->nnz, &s->tasks.place);
    spmmi_free(narrow);
    return status;
}

static spmm_status_t make_tasks(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_sddmm_task_list_t list;
    spmm_status_t          status;

    SPMM_TRY(spmmi_sddmm_make_tasks(s->device->env, block, &list));
    s->tasks.n_tasks = list.n_tasks;
    status           = upload(s, list.row, list.n_tasks, &s->tasks.row);
    if (status == SPMM_OK) {
        status = upload(s, list.first, (int64_t)list.n_tasks + 1, &s->tasks.first);
    }
    spmmi_sddmm_free_tasks(&list);
    SPMM_TRY(status);
    SPMM_TRY(upload(s, block->col_idx, s->nnz, &s->tasks.col));
    return place == NULL ? SPMM_OK : upload_place(s, place);
}

static spmm_status_t upload_squares(spmm_sampler_t *s, const spmm_csr_t *block,
                                    const spmm_sddmm_square_list_t *list)
{
    void *entry = NULL;

    s->squares.n_rows    = block->n_rows;
    s->squares.n_cols    = block->n_cols;
    s->squares.n_squares = list->n_squares;
    SPMM_TRY(upload(s, list->corner, 2 * (int64_t)list->n_squares, &s->squares.corner));
    SPMM_TRY(upload(s, list->first, (int64_t)list->n_squares * SPMM_SDDMM_STRIPS + 1,
                    &s->squares.first));
    SPMM_TRY(list->shift == NULL
                 ? upload(s, list->place, s->nnz, &s->squares.place)
                 : upload(s, list->shift, (int64_t)list->n_squares * SPMM_SDDMM_SQUARE,
                          &s->squares.shift));
    SPMM_TRY(upload_bytes(s, list->entry, (size_t)s->nnz * sizeof *list->entry, &entry));
    s->squares.entry = entry;
    return block->row_map == NULL ? SPMM_OK
                                  : upload(s, block->row_map, block->n_rows, &s->squares.row_map);
}

static spmm_status_t make_squares(spmm_sampler_t *s, const spmm_csr_t *block, const int64_t *place)
{
    spmm_sddmm_square_list_t list;
    spmm_status_t            status;

    SPMM_TRY(spmmi_sddmm_make_squares(s->device->env, block, place, &list));
    status = upload_squares(s, block, &list);
    spmmi_sddmm_free_squares(&list);
    return status;
}

static spmm_status_t upload_rectangles(spmm_sampler_t *s, const spmm_csr_t *block,
                                       const spmm_sddmm_rectangle_list_t *list)
{
    const int64_t slots = list->n_tasks * SPMM_SDDMM_BATCH;
    void         *col = NULL, *row = NULL;

    s->rectangles.n_rectangles = list->n_rectangles;
    s->rectangles.n_rows       = block->n_rows;
    s->rectangles.n_cols       = block->n_cols;
    s->rectangles.rows         = list->rows;
    s->rectangles.cols         = list->cols;
    SPMM_TRY(upload(s, list->range, 4 * (int64_t)list->n_rectangles, &s->rectangles.range));
    if (list->task != NULL) {
        SPMM_TRY(upload(s, list->task, 2 * list->n_tasks, &s->rectangles.task));
        SPMM_TRY(upload_bytes(s, list->col,
                              (size_t)list->n_tasks * SPMM_SDDMM_TASK * sizeof *list->col, &col));
    } else {
        SPMM_TRY(upload(s, list->entry, slots, &s->rectangles.entry));
        SPMM_TRY(upload(s, list->place, slots, &s->rectangles.place));
        SPMM_TRY(upload_bytes(
            s, list->row, (size_t)list->n_tasks * SPMM_SDDMM_BATCH_ROWS * sizeof *list->row, &row));
    }
    s->rectangles.col = col;
    s->rectangles.row = row;
    return block->row_map == NULL
               ? SPMM_OK
               : upload(s, block->row_map, block->n_rows, &s->rectangles.row_map);
}

static spmm_status_t make_rectangles(spmm_sampler_t *s, const spmm_csr_t *block,
                                     const spmm_sampler_choice_t *choice, bool half,
                                     const int64_t *place)
{
    spmm_sddmm_rectangle_list_t list;
    spmm_status_t               status;

    SPMM_TRY(half ? spmmi_sddmm_make_rectangle_batches(s->device->env, block, place, choice->height,
                                                       choice->width, &list)
                  : spmmi_sddmm_make_rectangles(s->device->env, block, place, choice->height,
                                                choice->width, &list));
    status = upload_rectangles(s, block, &list);
    spmmi_sddmm_free_rectangles(&list);
    return status;
}

spmm_status_t spmmi_sampler_make_format(spmm_sampler_t *s, const spmm_csr_t *block,
                                        const int64_t *place, const spmm_sampling_t *what)
{
    spmm_sampler_choice_t choice;

    SPMM_TRY(spmmi_sampler_choose(s->device, block, place, what, &choice));
    s->format = choice.format;
    switch (choice.format) {
    case SPMM_SAMPLER_CSR:
        return make_tasks(s, block, place);
    case SPMM_SAMPLER_RECTANGLES:
        return make_rectangles(s, block, &choice, spmm_type_size(what->type) == 2, place);
    case SPMM_SAMPLER_DENSE:
        return make_squares(s, block, place);
    case SPMM_SAMPLER_CVSE:
        s->height = choice.height;
        break;
    }
    return make_tiles(s, block, place);
}
