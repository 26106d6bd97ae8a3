/* SPDX-License-Identifier: Apache-2.0 */
/** @file formats.c  Masks as the SDDMM kernels take them. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "engine/sddmm/sddmm.h"
#include "engine/windows/windows.h"

/* Masks in squares of rows and columns.  Where every tenth or thirtieth place is an entry, tensor
 * cores multiply all of a square in less time than it takes to fetch rows for each entry. */

enum {
    SIDE   = SPMM_SDDMM_SQUARE,
    BAND   = 2 * SIDE,
    STRIPS = BAND / SPMM_SDDMM_STRIP,
    LEAST  = 32, /* entries of a square, on average, for which it has shifts */
    FEW    = 64  /* squares that have them with any entries: 32 KB */
};

static int64_t parts_of(int32_t n, int32_t size)
{
    return ((int64_t)n + size - 1) / size;
}

static int64_t end_of(const spmm_csr_t *block, int64_t band)
{
    const int64_t row = (band + 1) * BAND;

    return row < block->n_rows ? row : block->n_rows;
}

/* Entries of each strip of each couple of squares of a band of rows to @p count. */
static void count_band(const spmm_csr_t *block, int64_t band, int64_t columns, int32_t *count)
{
    memset(count, 0, (size_t)(columns * STRIPS) * sizeof *count);
    for (int64_t i = band * BAND; i < end_of(block, band); i++) {
        const int64_t strip = i % BAND / SPMM_SDDMM_STRIP;

        for (int64_t e = block->row_ptr[i]; e < block->row_ptr[i + 1]; e++) {
            count[block->col_idx[e] / SIDE * STRIPS + strip]++;
        }
    }
}

static bool is_empty(const int32_t *count)
{
    int32_t sum = 0;

    for (int s = 0; s < STRIPS; s++) {
        sum |= count[s];
    }
    return sum == 0;
}

/* The couples of squares of a band, which are number @p at on, and where the entries of each strip
 * go to @p count.
 * @return the number behind its last square */
static int32_t place_band(const spmm_csr_t *block, int64_t band, int64_t columns, int32_t *count,
                          int32_t at, spmm_sddmm_square_list_t *list)
{
    int32_t next = (int32_t)block->row_ptr[band * BAND];

    for (int64_t c = 0; c < columns; c++, count += STRIPS) {
        const bool listed = !is_empty(count);

        for (int s = 0; listed && s < STRIPS; s++) {
            const int32_t q = at + s / (STRIPS / 2), n = count[s];

            list->corner[2 * q]                         = (int32_t)(band * BAND) + (q - at) * SIDE;
            list->corner[2 * q + 1]                     = (int32_t)(c * SIDE);
            list->first[(int64_t)at * (STRIPS / 2) + s] = next;
            count[s]                                    = next;
            next += n;
        }
        at += listed ? 2 : 0;
    }
    return at;
}

/* The entries of a band, strip by strip.
 * @param count  [columns * STRIPS] scratch */
static int32_t fill_band(const spmm_csr_t *block, int64_t band, const int64_t *place,
                         int64_t columns, int32_t *count, int32_t at,
                         spmm_sddmm_square_list_t *list)
{
    count_band(block, band, columns, count);
    at = place_band(block, band, columns, count, at, list);
    for (int64_t i = band * BAND; i < end_of(block, band); i++) {
        for (int64_t e = block->row_ptr[i]; e < block->row_ptr[i + 1]; e++) {
            const int32_t j  = block->col_idx[e];
            const int32_t to = count[j / SIDE * STRIPS + i % BAND / SPMM_SDDMM_STRIP]++;

            list->entry[to] = (uint16_t)(i % SIDE * SIDE + j % SIDE);
            list->place[to] = place == NULL ? (int32_t)e : (int32_t)place[e];
        }
    }
    return at;
}

/* Shifts of all rows of squares that are almost empty would take many times what places take. */
static bool may_shorten(int64_t n_squares, int64_t nnz)
{
    return n_squares <= nnz / LEAST + FEW;
}

/* Say by rows where entries go, if those of each row of a square follow each other. */
static void shorten_squares(spmm_sddmm_square_list_t *list)
{
    const int64_t rows   = (int64_t)list->n_squares * SIDE;
    bool          follow = true;

    memset(list->shift, 0, (size_t)rows * sizeof *list->shift);
    for (int64_t s = 0; follow && s < rows / SPMM_SDDMM_STRIP; s++) {
        int32_t last = -1;

        for (int32_t e = list->first[s]; follow && e < list->first[s + 1]; e++) {
            const int32_t row = list->entry[e] / SIDE, shift = list->place[e] - e;
            int32_t      *at = list->shift + s / (STRIPS / 2) * SIDE + row;

            *at    = row == last ? *at : shift;
            follow = *at == shift;
            last   = row;
        }
    }
    if (follow) {
        spmmi_free(list->place);
        list->place = NULL;
    } else {
        spmmi_free(list->shift);
        list->shift = NULL;
    }
}

/* Squares of all bands: both of a couple that has entries. */
static int64_t count_squares(const spmm_csr_t *block, int64_t columns, int32_t *count)
{
    int64_t squares = 0;

    for (int64_t band = 0; band < parts_of(block->n_rows, BAND); band++) {
        count_band(block, band, columns, count);
        for (int64_t c = 0; c < columns; c++) {
            squares += is_empty(count + c * STRIPS) ? 0 : 2;
        }
    }
    return squares;
}

bool spmmi_sddmm_has_squares(const spmm_csr_t *block)
{
    return block->n_rows <= INT32_MAX - BAND && block->n_cols <= INT32_MAX - BAND;
}

spmm_status_t spmmi_sddmm_make_squares(spmm_env_t *env, const spmm_csr_t *block,
                                       const int64_t *place, spmm_sddmm_square_list_t *squares)
{
    const int64_t            columns = parts_of(block->n_cols, SIDE);
    spmm_sddmm_square_list_t made    = {0};
    int32_t                 *count, at = 0;
    int64_t                  n_squares, nnz;
    bool                     shortens;

    if (!spmmi_sddmm_has_squares(block)) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "a mask with %d rows and %d columns on rank %d: the SDDMM kernel dense "
                          "counts up to 2^31 - %d of each; use csr or cvse",
                          (int)block->n_rows, (int)block->n_cols, env->rank, BAND + 1);
    }
    nnz = spmmi_csr_nnz(block);
    if (SPMM_NEW(count, columns * STRIPS) == NULL) {
        return spmmi_fail_memory(&env->err, columns * STRIPS, sizeof *count,
                                 "the squares of an SDDMM");
    }
    n_squares = count_squares(block, columns, count);
    if (n_squares > INT32_MAX / 2) { /* kernels count corners, two numbers each, in 32 bits */
        spmmi_free(count);
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "a mask with entries in %" PRId64 " squares on rank %d: the SDDMM kernel "
                          "dense takes fewer than 2^30; use csr or cvse",
                          n_squares, env->rank);
    }
    shortens       = may_shorten(n_squares, nnz);
    made.n_squares = (int32_t)n_squares;
    SPMM_NEW(made.corner, 2 * (int64_t)made.n_squares);
    SPMM_NEW(made.first, (int64_t)made.n_squares * (STRIPS / 2) + 1);
    SPMM_NEW(made.entry, nnz);
    SPMM_NEW(made.place, nnz);
    if (shortens) {
        SPMM_NEW(made.shift, n_squares * SIDE);
    }
    if (made.corner == NULL || made.first == NULL || made.entry == NULL || made.place == NULL ||
        (shortens && made.shift == NULL)) {
        spmmi_free(count);
        spmmi_sddmm_free_squares(&made);
        return spmmi_fail_memory(&env->err, nnz, sizeof *made.entry + sizeof *made.place,
                                 "the squares of an SDDMM");
    }
    for (int64_t band = 0; band < parts_of(block->n_rows, BAND); band++) {
        at = fill_band(block, band, place, columns, count, at, &made);
    }
    made.first[(int64_t)at * (STRIPS / 2)] = (int32_t)nnz;
    spmmi_free(count);
    if (shortens) {
        shorten_squares(&made);
    }
    *squares = made;
    return SPMM_OK;
}

void spmmi_sddmm_free_squares(spmm_sddmm_square_list_t *squares)
{
    spmmi_free_all(squares->corner, squares->first, squares->entry, squares->place, squares->shift);
    memset(squares, 0, sizeof *squares);
}

enum { TASK = SPMM_SDDMM_TASK, TILE = SPMM_SDDMM_TILE };

spmm_status_t spmmi_sddmm_make_tasks(spmm_env_t *env, const spmm_csr_t *block,
                                     spmm_sddmm_task_list_t *tasks)
{
    spmm_sddmm_task_list_t made = {0};
    int64_t                n    = 0;

    for (int32_t i = 0; i < block->n_rows; i++) {
        n += (block->row_ptr[i + 1] - block->row_ptr[i] + TASK - 1) / TASK;
    }
    SPMM_NEW(made.row, n);
    SPMM_NEW(made.first, n + 1);
    if (made.row == NULL || made.first == NULL) {
        spmmi_sddmm_free_tasks(&made);
        return spmmi_fail_memory(&env->err, n, sizeof *made.row + sizeof *made.first,
                                 "the tasks of an SDDMM");
    }
    for (int32_t i = 0; i < block->n_rows; i++) {
        for (int64_t e = block->row_ptr[i]; e < block->row_ptr[i + 1]; e += TASK) {
            made.row[made.n_tasks]     = block->row_map == NULL ? i : block->row_map[i];
            made.first[made.n_tasks++] = (int32_t)e;
        }
    }
    made.first[made.n_tasks] = (int32_t)spmmi_csr_nnz(block);
    *tasks                   = made;
    return SPMM_OK;
}

void spmmi_sddmm_free_tasks(spmm_sddmm_task_list_t *tasks)
{
    spmmi_free_all(tasks->row, tasks->first);
    memset(tasks, 0, sizeof *tasks);
}

/* The first tile of each window. */
static spmm_status_t count_tiles(spmm_env_t *env, const spmm_windows_t *windows, int32_t **first,
                                 spmm_sddmm_tile_list_t *tiles)
{
    if (SPMM_NEW(*first, (int64_t)windows->n_windows + 1) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)windows->n_windows + 1, sizeof **first,
                                 "the tiles of an SDDMM");
    }
    (*first)[0] = 0;
    for (int32_t w = 0; w < windows->n_windows; w++) {
        tiles->vectors += windows->count[w];
        (*first)[w + 1] = (*first)[w] + (windows->count[w] + TILE - 1) / TILE;
    }
    tiles->n_tiles = (*first)[windows->n_windows];
    return SPMM_OK;
}

/** The entries of a window that are next, row by row. */
typedef struct {
    int64_t at[16];
} cursor_t;

static cursor_t start_of(const spmm_csr_t *block, int32_t w, int32_t height)
{
    cursor_t cursor = {{0}};

    for (int32_t r = 0; r < height && w * (int64_t)height + r < block->n_rows; r++) {
        cursor.at[r] = block->row_ptr[w * (int64_t)height + r];
    }
    return cursor;
}

/* Columns of the tiles of window w, and the place of every result. */
static void fill_window(const spmm_csr_t *block, const spmm_windows_t *windows, int32_t w,
                        int32_t first, const int64_t *place, spmm_sddmm_tile_list_t *tiles,
                        int32_t *each)
{
    const int32_t V = tiles->height, count = windows->count[w];
    const int32_t n      = (count + TILE - 1) / TILE;
    cursor_t      cursor = start_of(block, w, V);

    for (int32_t k = 0; k < n; k++) {
        tiles->window[first + k] = w;
    }
    for (int32_t k = 0; k < n * TILE; k++) {
        const int64_t  vector = (int64_t)first * TILE + k;
        const uint32_t rows   = k < count ? windows->rows[windows->first[w] + k] : 0;

        tiles->col[vector] = k < count ? windows->col[windows->first[w] + k] : SPMM_TC_NO_COLUMN;
        for (int32_t r = 0; r < V; r++) {
            const bool    stored = (rows >> r & 1u) != 0;
            const int64_t e      = stored ? cursor.at[r]++ : -1;

            each[vector * V + r] = (int32_t)(stored && place != NULL ? place[e] : e);
        }
    }
}

/* ROWS: the entries of a row of a tile follow each other. */
static bool rows_follow(const spmm_sddmm_tile_list_t *tiles, const int32_t *each, int64_t tile)
{
    const int32_t V = tiles->height, *of = each + tile * TILE * V;

    for (int32_t r = 0; r < V; r++) {
        int32_t next = -1;

        for (int32_t p = 0; p < TILE; p++) {
            const int32_t place = of[p * V + r];

            if (place >= 0 && next >= 0 && place != next) {
                return false;
            }
            next = place >= 0 ? place + 1 : next;
        }
    }
    return true;
}

/* VECTORS: every vector is stored whole, from an even place on. */
static bool vectors_follow(const spmm_sddmm_tile_list_t *tiles, const int32_t *each, int64_t tile)
{
    const int32_t V = tiles->height, *of = each + tile * TILE * V;

    for (int32_t p = 0; p < TILE && tiles->col[tile * TILE + p] >= 0; p++) {
        for (int32_t r = 0; r < V; r++) {
            if (of[p * V] < 0 || of[p * V] % 2 != 0 || of[p * V + r] != of[p * V] + r) {
                return false;
            }
        }
    }
    return true;
}

/* Row r of a tile as ROWS has it. */
static void shorten_row(const int32_t *each, int32_t height, int32_t r, int32_t row[2])
{
    uint32_t bits = 0;

    row[0] = 0;
    for (int32_t p = TILE - 1; p >= 0; p--) {
        if (each[p * height + r] >= 0) {
            row[0] = each[p * height + r];
            bits |= (uint32_t)1 << p;
        }
    }
    memcpy(&row[1], &bits, sizeof bits);
}

/* Keep what says where the others are. */
static spmm_status_t shorten(spmm_env_t *env, int32_t *each, spmm_sddmm_tile_list_t *tiles)
{
    const int32_t V    = tiles->height;
    bool          rows = true, vectors = true;

    for (int64_t t = 0; t < tiles->n_tiles && (rows || vectors); t++) {
        rows    = rows && rows_follow(tiles, each, t);
        vectors = vectors && vectors_follow(tiles, each, t);
    }
    tiles->order    = vectors ? SPMM_SDDMM_VECTORS : rows ? SPMM_SDDMM_ROWS : SPMM_SDDMM_EACH;
    tiles->n_places = (int64_t)tiles->n_tiles * (vectors ? TILE : rows ? 2 * V : TILE * V);
    if (tiles->order == SPMM_SDDMM_EACH) {
        tiles->place = each;
        return SPMM_OK;
    }
    if (SPMM_NEW(tiles->place, tiles->n_places) == NULL) {
        spmmi_free(each);
        return spmmi_fail_memory(&env->err, tiles->n_places, sizeof *tiles->place,
                                 "the places of an SDDMM");
    }
    for (int64_t t = 0; t < tiles->n_tiles; t++) {
        const int32_t *of = each + t * TILE * V;

        for (int32_t p = 0; p < TILE && vectors; p++) {
            tiles->place[t * TILE + p] = of[p * V];
        }
        for (int32_t r = 0; r < V && !vectors; r++) {
            shorten_row(of, V, r, tiles->place + (t * V + r) * 2);
        }
    }
    spmmi_free(each);
    return SPMM_OK;
}

static spmm_status_t fill(spmm_env_t *env, const spmm_csr_t *block, const spmm_windows_t *windows,
                          const int32_t *first, const int64_t *place, int threads,
                          spmm_sddmm_tile_list_t *tiles)
{
    const int64_t vectors = (int64_t)tiles->n_tiles * TILE;
    int32_t      *each;

    SPMM_NEW(tiles->window, tiles->n_tiles);
    SPMM_NEW(tiles->col, vectors);
    SPMM_NEW(each, vectors * tiles->height);
    if (tiles->window == NULL || tiles->col == NULL || each == NULL) {
        spmmi_free(each);
        return spmmi_fail_memory(&env->err, vectors, (size_t)(tiles->height + 1) * sizeof *each,
                                 "the tiles of an SDDMM");
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t w = 0; w < windows->n_windows; w++) {
        fill_window(block, windows, w, first[w], place, tiles, each);
    }
    return shorten(env, each, tiles);
}

spmm_status_t spmmi_sddmm_make_tiles(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                     const int64_t *place, int threads,
                                     spmm_sddmm_tile_list_t *tiles)
{
    spmm_sddmm_tile_list_t made    = {.height = height};
    spmm_windows_t         windows = {0};
    int32_t               *first   = NULL;
    spmm_status_t          status;

    status = spmmi_windows_create(env, block, height, threads, &windows);
    if (status == SPMM_OK) {
        status = count_tiles(env, &windows, &first, &made);
    }
    if (status == SPMM_OK) {
        status = fill(env, block, &windows, first, place, threads, &made);
    }
    spmmi_free(first);
    spmmi_windows_free(&windows);
    if (status != SPMM_OK) {
        spmmi_sddmm_free_tiles(&made);
        return status;
    }
    *tiles = made;
    return SPMM_OK;
}

void spmmi_sddmm_free_tiles(spmm_sddmm_tile_list_t *tiles)
{
    spmmi_free_all(tiles->window, tiles->col, tiles->place);
    memset(tiles, 0, sizeof *tiles);
}
