/* SPDX-License-Identifier: Apache-2.0 */
/** @file squares.c
 *  Masks in squares of rows and columns.  Where every tenth or thirtieth place is an entry, tensor
 *  cores multiply all of a square in less time than it takes to fetch rows for each entry.
 */
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "engine/sddmm/sddmm.h"

enum { SIDE = SPMM_SDDMM_SQUARE };

static int64_t bands_of(int32_t n)
{
    return ((int64_t)n + SIDE - 1) / SIDE;
}

static int64_t first_of(const spmm_csr_t *block, int64_t band)
{
    const int64_t row = band * SIDE;

    return block->row_ptr[row < block->n_rows ? row : block->n_rows];
}

/* Entries of each square of a band of rows to @p count. */
static void count_band(const spmm_csr_t *block, int64_t band, int64_t columns, int32_t *count)
{
    memset(count, 0, (size_t)columns * sizeof *count);
    for (int64_t e = first_of(block, band); e < first_of(block, band + 1); e++) {
        count[block->col_idx[e] / SIDE]++;
    }
}

/* The entries of a band, square by square; its squares are number @p at on.
 * @param count  [columns] scratch
 * @return the number behind its last square */
static int32_t fill_band(const spmm_csr_t *block, int64_t band, const int64_t *place,
                         int64_t columns, int32_t *count, int32_t at,
                         spmm_sddmm_square_list_t *list)
{
    int32_t next = (int32_t)first_of(block, band);

    count_band(block, band, columns, count);
    for (int64_t c = 0; c < columns; c++) {
        const int32_t n = count[c];

        if (n > 0) {
            list->corner[2 * at]     = (int32_t)(band * SIDE);
            list->corner[2 * at + 1] = (int32_t)(c * SIDE);
            list->first[at++]        = next;
        }
        count[c] = next;
        next += n;
    }
    for (int64_t i = band * SIDE; i < (band + 1) * SIDE && i < block->n_rows; i++) {
        for (int64_t e = block->row_ptr[i]; e < block->row_ptr[i + 1]; e++) {
            const int32_t j  = block->col_idx[e];
            const int32_t to = count[j / SIDE]++;

            list->entry[to] = (uint16_t)(i % SIDE * SIDE + j % SIDE);
            list->place[to] = place == NULL ? (int32_t)e : (int32_t)place[e];
        }
    }
    return at;
}

/* Squares with entries, of all bands. */
static int64_t count_squares(const spmm_csr_t *block, int64_t columns, int32_t *count)
{
    int64_t squares = 0;

    for (int64_t band = 0; band < bands_of(block->n_rows); band++) {
        count_band(block, band, columns, count);
        for (int64_t c = 0; c < columns; c++) {
            squares += count[c] > 0;
        }
    }
    return squares;
}

spmm_status_t spmmi_sddmm_make_squares(spmm_env_t *env, const spmm_csr_t *block,
                                       const int64_t *place, spmm_sddmm_square_list_t *squares)
{
    const int64_t            columns = bands_of(block->n_cols), nnz = spmmi_csr_nnz(block);
    spmm_sddmm_square_list_t made = {0};
    int32_t                 *count, at = 0;

    if (SPMM_NEW(count, columns) == NULL) {
        return spmmi_fail_memory(&env->err, columns, sizeof *count, "the squares of an SDDMM");
    }
    made.n_squares = (int32_t)count_squares(block, columns, count);
    SPMM_NEW(made.corner, 2 * (int64_t)made.n_squares);
    SPMM_NEW(made.first, (int64_t)made.n_squares + 1);
    SPMM_NEW(made.entry, nnz);
    SPMM_NEW(made.place, nnz);
    if (made.corner == NULL || made.first == NULL || made.entry == NULL || made.place == NULL) {
        spmmi_free(count);
        spmmi_sddmm_free_squares(&made);
        return spmmi_fail_memory(&env->err, nnz, sizeof *made.entry + sizeof *made.place,
                                 "the squares of an SDDMM");
    }
    for (int64_t band = 0; band < bands_of(block->n_rows); band++) {
        at = fill_band(block, band, place, columns, count, at, &made);
    }
    made.first[at] = (int32_t)nnz;
    spmmi_free(count);
    *squares = made;
    return SPMM_OK;
}

void spmmi_sddmm_free_squares(spmm_sddmm_square_list_t *squares)
{
    spmmi_free_all(squares->corner, squares->first, squares->entry, squares->place);
    memset(squares, 0, sizeof *squares);
}
