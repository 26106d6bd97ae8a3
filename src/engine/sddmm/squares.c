/* SPDX-License-Identifier: Apache-2.0 */
/** @file squares.c
 *  Masks in squares of rows and columns.  Where every tenth or thirtieth place is an entry, tensor
 *  cores multiply all of a square in less time than it takes to fetch rows for each entry.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "engine/sddmm/sddmm.h"

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
static void shorten(spmm_sddmm_square_list_t *list)
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
        shorten(&made);
    }
    *squares = made;
    return SPMM_OK;
}

void spmmi_sddmm_free_squares(spmm_sddmm_square_list_t *squares)
{
    spmmi_free_all(squares->corner, squares->first, squares->entry, squares->place, squares->shift);
    memset(squares, 0, sizeof *squares);
}
