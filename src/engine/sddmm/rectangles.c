/* SPDX-License-Identifier: Apache-2.0 */
/** @file rectangles.c
 *  Masks in rectangles of rows and columns.  A multiprocessor has the rows of X and Y of one in
 *  shared memory: each comes from L2 once for a rectangle, and entries find both there.
 */
#include "engine/sddmm/sddmm.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"

enum {
    MOST  = SPMM_SDDMM_TASK,
    REACH = SPMM_SDDMM_REACH,
    ROOM  = 225 << 10, /**< bytes of shared memory for two lines of each row */
    LISTS = 36 << 10   /**< of that for the lists of two rectangles in 16 bits */
};

int32_t spmmi_sddmm_padded(int32_t rows)
{
    const int32_t boxes = (rows + SPMM_SDDMM_BOX - 1) / SPMM_SDDMM_BOX;

    return boxes == 0 ? 0 : (rows + boxes - 1) / boxes * boxes;
}

static bool has_room(int32_t rows, int32_t cols, bool half)
{
    return 2 * SPMM_SDDMM_LINE * ((int64_t)spmmi_sddmm_padded(rows) + spmmi_sddmm_padded(cols)) <=
           ROOM - (half ? LISTS : 0);
}

/* Tasks of a rectangle are few enough, if the mask is even with that many entries in each row: one
 * of every row that has any, and one of every eight from the fifth on.  Batches are almost full. */
static bool is_in_reach(double rows, double each, bool half)
{
    return half ? rows * each <= 0.92 * SPMM_SDDMM_HELD * SPMM_SDDMM_BATCH
                : rows * (fmax(each - 4.5, 0.0) / MOST - expm1(-each)) <= 0.97 * REACH;
}

/* The shape with the fewest rows and columns of which so many make up the block. */
static void shape_of(const spmm_csr_t *block, double number, int32_t *rows, int32_t *cols)
{
    const double height = fmax(block->n_rows, 1.0), width = fmax(block->n_cols, 1.0);
    const double even = sqrt(number * height / width);
    const double most = floor(fmin(even * 1.25 + 1.0, number));
    double       best = (double)INFINITY;

    for (double bands = fmin(fmax(floor(even * 0.8), 1.0), most); bands <= most; bands += 1.0) {
        const double h = ceil(height / bands), w = ceil(width / floor(number / bands));

        if (h + w < best) {
            best  = h + w;
            *rows = (int32_t)h;
            *cols = (int32_t)w;
        }
    }
}

bool spmmi_sddmm_rectangle_shape(const spmm_csr_t *block, bool half, int n_sm, double most,
                                 int32_t *rows, int32_t *cols)
{
    const double places = fmax((double)block->n_rows * block->n_cols, 1.0);
    const double share  = (double)spmmi_csr_nnz(block) / places;
    const double side   = ROOM / (4.0 * SPMM_SDDMM_LINE); /* of the one with the most places */
    double       number = n_sm, step = n_sm;

    if (places > most * side * side) { /* to find a shape takes seconds for 10^8 rows and columns */
        return false;
    }
    do { /* whole waves; of many some more */
        if (number > most) {
            return false;
        }
        shape_of(block, number, rows, cols);
        number += step;
        step += floor(number / step / 8.0) * n_sm;
    } while (!has_room(*rows, *cols, half) || !is_in_reach(*rows, share * *cols, half));
    return true;
}

/* The task that begins at entry @p e of a row that ends at @p end: returns the entry behind it.
 * Columns ascend. */
static int64_t end_of_task(const spmm_csr_t *block, const int64_t *place, int32_t cols, int64_t e,
                           int64_t end)
{
    const int64_t edge = (block->col_idx[e] / cols + (int64_t)1) * cols;
    int64_t       last = e + 1;

    while (last < end && last < e + MOST && block->col_idx[last] < edge &&
           (place == NULL || place[last] == place[last - 1] + 1)) {
        last++;
    }
    return last;
}

static int64_t parts_of(int32_t n, int32_t size)
{
    return ((int64_t)n + size - 1) / size;
}

static int64_t end_of_band(const spmm_csr_t *block, int64_t band, int32_t rows)
{
    const int64_t end = (band + 1) * rows;

    return end < block->n_rows ? end : block->n_rows;
}

/* Tasks of each rectangle of a band by their entries, most first, to
 * @p count [rectangles of the band * MOST]. */
static void count_band(const spmm_csr_t *block, const int64_t *place, int64_t band, int32_t rows,
                       int32_t cols, int32_t *count)
{
    const int64_t columns = parts_of(block->n_cols, cols);

    memset(count, 0, (size_t)(columns * MOST) * sizeof *count);
    for (int64_t i = band * rows; i < end_of_band(block, band, rows); i++) {
        for (int64_t e = block->row_ptr[i], next; e < block->row_ptr[i + 1]; e = next) {
            next = end_of_task(block, place, cols, e, block->row_ptr[i + 1]);
            count[block->col_idx[e] / cols * MOST + MOST - (next - e)]++;
        }
    }
}

spmm_status_t spmmi_sddmm_weigh_rectangles(spmm_env_t *env, const spmm_csr_t *block,
                                           const int64_t *place, int32_t rows, int32_t cols,
                                           spmm_sddmm_weight_t *weight)
{
    const int64_t columns = parts_of(block->n_cols, cols);
    int32_t      *count;

    memset(weight, 0, sizeof *weight);
    if (SPMM_NEW(count, columns * MOST) == NULL) {
        return spmmi_fail_memory(&env->err, columns * MOST, sizeof *count,
                                 "the rectangles of an SDDMM");
    }
    for (int64_t band = 0; band < parts_of(block->n_rows, rows); band++) {
        count_band(block, place, band, rows, cols, count);
        for (int64_t c = 0; c < columns; c++) {
            int64_t tasks = 0, entries = 0;

            for (int n = 0; n < MOST; n++) {
                tasks += count[c * MOST + n];
                entries += (int64_t)count[c * MOST + n] * (MOST - n);
            }
            entries = entries < REACH * MOST ? entries : REACH * MOST; /* the rest is in others */
            weight->rectangles += (tasks + REACH - 1) / REACH;
            weight->tasks += tasks;
            weight->most = entries > weight->most ? entries : weight->most;
        }
    }
    spmmi_free(count);
    return SPMM_OK;
}

/* What fills the list. */
typedef struct {
    const spmm_csr_t            *block;
    const int64_t               *place;
    int64_t                      columns;
    int32_t                     *count; /**< [columns * MOST] */
    int64_t                      tasks; /**< so far */
    int32_t                      n;     /**< rectangles so far */
    spmm_sddmm_rectangle_list_t *list;
} filling_t;

/* The rectangles of a band, and where the tasks of each go to count. */
static void place_band(filling_t *f, int64_t band)
{
    for (int64_t c = 0; c < f->columns; c++) {
        const int64_t first = f->tasks;

        for (int n = 0; n < MOST; n++) {
            const int32_t tasks = f->count[c * MOST + n];

            f->count[c * MOST + n] = (int32_t)f->tasks;
            f->tasks += tasks;
        }
        for (int64_t at = first; at < f->tasks; at += REACH) {
            const int64_t left  = f->tasks - at;
            int32_t      *range = f->list->range + 4 * (int64_t)f->n++;

            range[0] = (int32_t)(band * f->list->rows);
            range[1] = (int32_t)(c * f->list->cols);
            range[2] = (int32_t)at;
            range[3] = (int32_t)(at + (left < REACH ? left : REACH));
        }
    }
}

static void fill_band(filling_t *f, int64_t band)
{
    const spmm_csr_t *block = f->block;
    const int32_t     cols = f->list->cols, rows = f->list->rows;

    count_band(block, f->place, band, rows, cols, f->count);
    place_band(f, band);
    for (int64_t i = band * rows; i < end_of_band(block, band, rows); i++) {
        for (int64_t e = block->row_ptr[i], next; e < block->row_ptr[i + 1]; e = next) {
            const int32_t column = block->col_idx[e] / cols;
            int64_t       to;

            next                  = end_of_task(block, f->place, cols, e, block->row_ptr[i + 1]);
            to                    = f->count[(int64_t)column * MOST + MOST - (next - e)]++;
            f->list->task[2 * to] = (int32_t)(i - band * rows) + (int32_t)(next - e) * 65536;
            f->list->task[2 * to + 1] = f->place == NULL ? (int32_t)e : (int32_t)f->place[e];
            for (int n = 0; n < MOST; n++) {
                const int64_t at = e + n < next ? e + n : e;

                f->list->col[to * MOST + n] = (uint16_t)(block->col_idx[at] - column * cols);
            }
        }
    }
}

/* Those of most tasks first, which are up to @p most: thread blocks take them in turn. */
static spmm_status_t sddmm_sort_rectangles(spmm_env_t *env, spmm_sddmm_rectangle_list_t *list,
                                           int32_t most)
{
    int32_t *sorted, next[REACH + 2] = {0};

    if (SPMM_NEW(sorted, 4 * (int64_t)list->n_rectangles) == NULL) {
        return spmmi_fail_memory(&env->err, list->n_rectangles, 4 * sizeof *sorted,
                                 "the rectangles of an SDDMM");
    }
    for (int32_t r = 0; r < list->n_rectangles; r++) {
        const int32_t *range = list->range + 4 * (int64_t)r;

        next[most - (range[3] - range[2]) + 1]++;
    }
    for (int n = 0; n <= most; n++) {
        next[n + 1] += next[n];
    }
    for (int32_t r = 0; r < list->n_rectangles; r++) {
        const int32_t *range = list->range + 4 * (int64_t)r;
        const int32_t  to    = next[most - (range[3] - range[2])]++;

        memcpy(sorted + 4 * (int64_t)to, range, 4 * sizeof *range);
    }
    spmmi_free(list->range);
    list->range = sorted;
    return SPMM_OK;
}

static spmm_status_t fill(spmm_env_t *env, const spmm_csr_t *block, const int64_t *place,
                          spmm_sddmm_rectangle_list_t *list)
{
    filling_t f = {.block   = block,
                   .place   = place,
                   .columns = parts_of(block->n_cols, list->cols),
                   .list    = list};

    if (SPMM_NEW(f.count, f.columns * MOST) == NULL) {
        return spmmi_fail_memory(&env->err, f.columns * MOST, sizeof *f.count,
                                 "the rectangles of an SDDMM");
    }
    for (int64_t band = 0; band < parts_of(block->n_rows, list->rows); band++) {
        fill_band(&f, band);
    }
    spmmi_free(f.count);
    return sddmm_sort_rectangles(env, list, REACH);
}

spmm_status_t spmmi_sddmm_make_rectangles(spmm_env_t *env, const spmm_csr_t *block,
                                          const int64_t *place, int32_t rows, int32_t cols,
                                          spmm_sddmm_rectangle_list_t *rectangles)
{
    spmm_sddmm_rectangle_list_t made = {.rows = rows, .cols = cols};
    spmm_sddmm_weight_t         weight;
    spmm_status_t               status;

    SPMM_TRY(spmmi_sddmm_weigh_rectangles(env, block, place, rows, cols, &weight));
    made.n_rectangles = (int32_t)weight.rectangles;
    made.n_tasks      = weight.tasks;
    SPMM_NEW(made.range, 4 * weight.rectangles);
    SPMM_NEW(made.task, 2 * weight.tasks);
    SPMM_NEW(made.col, MOST * weight.tasks);
    status = made.range == NULL || made.task == NULL || made.col == NULL
                 ? spmmi_fail_memory(&env->err, weight.tasks,
                                     2 * sizeof *made.task + MOST * sizeof *made.col,
                                     "the rectangles of an SDDMM")
                 : fill(env, block, place, &made);
    if (status != SPMM_OK) {
        spmmi_sddmm_free_rectangles(&made);
        return status;
    }
    *rectangles = made;
    return SPMM_OK;
}

void spmmi_sddmm_free_rectangles(spmm_sddmm_rectangle_list_t *rectangles)
{
    spmmi_free_all(rectangles->range, rectangles->task, rectangles->col, rectangles->entry,
                   rectangles->place, rectangles->row);
    memset(rectangles, 0, sizeof *rectangles);
}

/* Rectangles in 16 bits: their entries in batches of 32 in 8 rows.  A batch has two halves, whose
 * 16 entries are in 4 rows of their own: those of even slots and rows, and those of odd ones. */

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
static int32_t place_batches(int64_t band, int64_t columns, part_t *part, int32_t n, int64_t *first,
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

static spmm_status_t fill_batches(spmm_env_t *env, const spmm_csr_t *block, const int64_t *place,
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
        n = place_batches(band, columns, part, n, &first, list);
        walk_band(block, place, band, list->rows, list->cols, part, list);
    }
    spmmi_free(part);
    return sddmm_sort_rectangles(env, list, HELD);
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
                 : fill_batches(env, block, place, &made);
    if (status != SPMM_OK) {
        spmmi_sddmm_free_rectangles(&made);
        return status;
    }
    *rectangles = made;
    return SPMM_OK;
}
