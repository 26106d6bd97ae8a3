/* SPDX-License-Identifier: Apache-2.0 */
/** @file rectangle_batches.c
 *  Rectangles in 16 bits: their entries in batches of 32 in 8 rows.  A batch has two halves, whose
 *  16 entries are in 4 rows of their own: those of even slots and rows, and those of odd ones.
 */
#include <string.h>

#include "base/alloc.h"
#include "engine/sddmm/rectangles.h"

enum {
    BATCH = SPMM_SDDMM_BATCH,
    ROWS  = SPMM_SDDMM_BATCH_ROWS,
    HELD  = SPMM_SDDMM_HELD,
    HALF  = BATCH / 2
};

/** The halves of a kind, of one rectangle. */
typedef struct {
    int32_t total;         /**< entries so far */
    int32_t halves;        /**< so far */
    int32_t entries, rows; /**< of the last one */
} stream_t;

/** Both kinds, and the first batch. */
typedef struct {
    stream_t stream[2];
    int64_t  first;
} part_t;

static int64_t parts_of(int32_t n, int32_t size)
{
    return ((int64_t)n + size - 1) / size;
}

/* One entry more; @p fresh: the first of its row. */
static void take(stream_t *s, bool fresh)
{
    if (s->halves == 0 || s->entries == HALF || (fresh && s->rows == ROWS / 2)) {
        s->halves++;
        s->entries = 0;
        s->rows    = 0;
        fresh      = true;
    }
    s->rows += fresh;
    s->entries++;
    s->total++;
}

/* Where the last entry goes: its slot and which of the rows it is in, of kind @p odd. */
static int32_t slot_of(const stream_t *s, int odd)
{
    const int32_t e = s->entries - 1;

    return e / 4 * 8 + e % 4 * 2 + odd;
}

static int32_t row_of(const stream_t *s, int odd)
{
    return 2 * (s->rows - 1) + odd;
}

static int64_t batches_of(const part_t *part)
{
    const int32_t even = part->stream[0].halves, odd = part->stream[1].halves;

    return even > odd ? even : odd;
}

/* Walk over a band of rows.  @p list, where there is one, is filled. */
static void walk_band(const spmm_csr_t *block, const int64_t *place, int64_t band, int32_t rows,
                      int32_t cols, part_t *part, spmm_sddmm_rectangle_list_t *list)
{
    const int64_t end = (band + 1) * rows < block->n_rows ? (band + 1) * rows : block->n_rows;

    for (int64_t i = band * rows; i < end; i++) {
        int32_t last = -1;
        int     odd  = 0;

        for (int64_t e = block->row_ptr[i]; e < block->row_ptr[i + 1]; e++) {
            const int32_t column = block->col_idx[e] / cols;
            part_t       *p      = part + column;
            stream_t     *s;

            odd = column != last ? p->stream[1].total < p->stream[0].total : odd;
            s   = &p->stream[odd];
            take(s, column != last);
            last = column;
            if (list != NULL) {
                const int64_t batch = p->first + s->halves - 1;
                const int64_t at    = batch * BATCH + slot_of(s, odd);
                const int32_t row   = row_of(s, odd);

                list->entry[at]               = block->col_idx[e] - column * cols + row * 65536;
                list->place[at]               = place == NULL ? (int32_t)e : (int32_t)place[e];
                list->row[batch * ROWS + row] = (uint16_t)(i - band * rows);
            }
        }
    }
}

spmm_status_t spmmi_sddmm_weigh_batches(spmm_env_t *env, const spmm_csr_t *block, int32_t rows,
                                        int32_t cols, spmm_sddmm_weight_t *weight)
{
    const int64_t columns = parts_of(block->n_cols, cols);
    part_t       *part;

    memset(weight, 0, sizeof *weight);
    if (SPMM_NEW(part, columns) == NULL) {
        return spmmi_fail_memory(&env->err, columns, sizeof *part, "the rectangles of an SDDMM");
    }
    for (int64_t band = 0; band < parts_of(block->n_rows, rows); band++) {
        memset(part, 0, (size_t)columns * sizeof *part);
        walk_band(block, NULL, band, rows, cols, part, NULL);
        for (int64_t c = 0; c < columns; c++) {
            const int64_t batches = batches_of(part + c);

            weight->rectangles += (batches + HELD - 1) / HELD;
            weight->tasks += batches;
            weight->most = batches > weight->most ? batches : weight->most;
        }
    }
    weight->most = weight->most < HELD ? weight->most : HELD; /* the rest is in others */
    spmmi_free(part);
    return SPMM_OK;
}

/* The rectangles of a band, from number @p n on, and their batches, from @p first on.
 * @return the number behind its last rectangle */
static int32_t place_band(int64_t band, int64_t columns, part_t *part, int32_t n, int64_t *first,
                          spmm_sddmm_rectangle_list_t *list)
{
    for (int64_t c = 0; c < columns; c++) {
        const int64_t batches = batches_of(part + c);

        for (int64_t at = 0; at < batches; at += HELD) {
            int32_t *range = list->range + 4 * (int64_t)n++;

            range[0] = (int32_t)(band * list->rows);
            range[1] = (int32_t)(c * list->cols);
            range[2] = (int32_t)(*first + at);
            range[3] = (int32_t)(*first + (at + HELD < batches ? at + HELD : batches));
        }
        memset(part + c, 0, sizeof *part);
        part[c].first = *first;
        *first += batches;
    }
    return n;
}

static spmm_status_t fill(spmm_env_t *env, const spmm_csr_t *block, const int64_t *place,
                          spmm_sddmm_rectangle_list_t *list)
{
    const int64_t columns = parts_of(block->n_cols, list->cols);
    int64_t       first   = 0;
    int32_t       n       = 0;
    part_t       *part;

    if (SPMM_NEW(part, columns) == NULL) {
        return spmmi_fail_memory(&env->err, columns, sizeof *part, "the rectangles of an SDDMM");
    }
    memset(list->entry, 0, (size_t)(list->n_tasks * BATCH) * sizeof *list->entry);
    memset(list->place, -1, (size_t)(list->n_tasks * BATCH) * sizeof *list->place);
    memset(list->row, 0, (size_t)(list->n_tasks * ROWS) * sizeof *list->row);
    for (int64_t band = 0; band < parts_of(block->n_rows, list->rows); band++) {
        memset(part, 0, (size_t)columns * sizeof *part);
        walk_band(block, NULL, band, list->rows, list->cols, part, NULL);
        n = place_band(band, columns, part, n, &first, list);
        walk_band(block, place, band, list->rows, list->cols, part, list);
    }
    spmmi_free(part);
    return spmmi_sddmm_sort_rectangles(env, list, HELD);
}

spmm_status_t spmmi_sddmm_make_rectangle_batches(spmm_env_t *env, const spmm_csr_t *block,
                                                 const int64_t *place, int32_t rows, int32_t cols,
                                                 spmm_sddmm_rectangle_list_t *rectangles)
{
    spmm_sddmm_rectangle_list_t made = {.rows = rows, .cols = cols};
    spmm_sddmm_weight_t         weight;
    spmm_status_t               status;

    SPMM_TRY(spmmi_sddmm_weigh_batches(env, block, rows, cols, &weight));
    made.n_rectangles = (int32_t)weight.rectangles;
    made.n_tasks      = weight.tasks;
    SPMM_NEW(made.range, 4 * weight.rectangles);
    SPMM_NEW(made.entry, BATCH * weight.tasks);
    SPMM_NEW(made.place, BATCH * weight.tasks);
    SPMM_NEW(made.row, ROWS * weight.tasks);
    status = made.range == NULL || made.entry == NULL || made.place == NULL || made.row == NULL
                 ? spmmi_fail_memory(&env->err, weight.tasks, 2 * BATCH * sizeof *made.entry,
                                     "the rectangles of an SDDMM")
                 : fill(env, block, place, &made);
    if (status != SPMM_OK) {
        spmmi_sddmm_free_rectangles(&made);
        return status;
    }
    *rectangles = made;
    return SPMM_OK;
}
