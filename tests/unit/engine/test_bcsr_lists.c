/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_bcsr_lists.c
 *  BCSR by lists: the very index arithmetic of bcsr_rows.cuh on the CPU, against sums over CSR.
 */
#include "format_case.h"

#include "cuda/bcsr/bcsr_place.h"
#include "engine/bcsr/format.h"

enum { THREADS = 2, SIDE = SPMM_BCSR_SIDE, WIDTH = SPMM_BCSR_WIDTH, LANES = 32, MOST_WIDTH = 64 };

/** Rows of B of a step, in shared memory; elements are whole numbers. */
typedef struct {
    int16_t at[WIDTH * MOST_WIDTH];
    int32_t width;
} rows_t;

static int b_value(int64_t row, int col)
{
    return (int)spmmi_below(spmmi_hash2(11, row, col), 17) - 8;
}

static void lay_rows(int32_t col, int32_t width, rows_t *rows)
{
    rows->width = width;
    for (int32_t k = 0; k < WIDTH; k++) {
        for (int32_t chunk = 0; chunk < width / 8; chunk++) {
            const uint32_t to = spmmi_bcsr_b_at(width, k, chunk);

            assert_true(to % 16 == 0 && to < 2u * WIDTH * (uint32_t)width);
            for (int e = 0; e < 8; e++) {
                rows->at[to / 2 + (uint32_t)e] =
                    (int16_t)b_value((int64_t)col * WIDTH + k, 8 * chunk + e);
            }
        }
    }
}

/* What register m of a lane gets: rows 2 t and 2 t + 1, column g of matrix m.  The eight rows that
 * are read at a time must be in different banks. */
static void load_matrices(const rows_t *rows, const uint32_t address[LANES], int lane,
                          int got[4][2])
{
    for (int m = 0; m < 4; m++) {
        uint32_t banks = 0;

        for (int k = 0; k < 8; k++) {
            banks |= (uint32_t)1 << address[8 * m + k] / 16 % 8;
        }
        assert_int_equal(banks, 0xff);
        for (int k = 0; k < 2; k++) {
            got[m][k] = rows->at[address[8 * m + lane % 4 * 2 + k] / 2 + (uint32_t)(lane / 4)];
        }
    }
}

/* Add every element (r, c) of a tile of A times the row of B that lane fragments of 8 columns
 * hold. */
static void add_tile(const spmm_bcsr_t *f, spmm_bcsr_listed_t tile, const rows_t *rows,
                     double sum[SIDE][MOST_WIDTH])
{
    const uint16_t *a    = (const uint16_t *)f->values + (int64_t)tile.at * 32;
    const uint32_t *meta = (const uint32_t *)f->values + (int64_t)tile.meta * 16;
    const int32_t   kind = tile.word & 3;
    const bool      sp24 = kind == SPMM_BCSR_SP24;

    for (int32_t j = 0; j < rows->width / 8; j++) {
        int      b[WIDTH][8]; /* rows of B that the fragments hold, columns 8 j on */
        uint32_t address[LANES];

        for (int lane = 0; lane < LANES; lane++) {
            const uint32_t side = (uint32_t)(kind & 1) * (2u * SIDE * (uint32_t)rows->width);
            const uint32_t turn = 16u * (uint32_t)(sp24 ? j : j / 2 * 2);

            address[lane] = sp24 ? spmmi_bcsr_sparse_row(rows->width, lane) ^ turn
                                 : (side + spmmi_bcsr_dense_row(rows->width, lane)) ^ turn;
        }
        for (int lane = 0; lane < LANES; lane++) {
            int got[4][2];

            load_matrices(rows, address, lane, got);
            for (int k = 0; k < (sp24 ? 8 : 4); k++) { /* register k / 2, element k % 2 */
                b[k / 2 * 8 + lane % 4 * 2 + k % 2][lane / 4] =
                    got[sp24 ? k / 2 : 2 * (j % 2) + k / 2][k % 2];
            }
        }
        for (int r = 0; r < SIDE; r++) {
            for (int c = 0; c < SIDE; c++) {
                const uint32_t word = sp24 ? meta[2 * (r % 8) + c / 8] : 0;
                const int      row =
                    sp24 ? c / 2 * 4 + (int)(word >> (16 * (r / 8) + 2 * (c % 8)) & 3) : c;

                for (int e = 0; e < 8; e++) {
                    sum[r][8 * j + e] +=
                        spmmi_value_get(f->type, a, spmmi_bcsr_value_at(r, c)) * b[row][e];
                }
            }
        }
    }
}

static void check_row(const spmm_csr_t *block, int32_t tile_row, int32_t width,
                      double sum[SIDE][MOST_WIDTH])
{
    for (int32_t r = 0; r < SIDE; r++) {
        const int32_t i = tile_row * SIDE + r;

        for (int32_t j = 0; j < width; j++) {
            double want = 0.0;

            for (int64_t k = i < block->n_rows ? block->row_ptr[i] : 0;
                 i < block->n_rows && k < block->row_ptr[i + 1]; k++) {
                want +=
                    spmmi_value_get(block->type, block->values, k) * b_value(block->col_idx[k], j);
            }
            assert_true(fabs(want - sum[r][j]) <= 1e-9 * (fabs(want) + 1.0));
        }
    }
}

static void check_lists(const spmm_csr_t *block, const spmm_bcsr_t *f, int32_t width)
{
    spmm_bcsr_lists_t lists;

    spmm_assert_ok(spmmi_bcsr_lists_create(&spmm_test_env, f, THREADS, &lists));
    assert_int_equal(lists.ptr[f->n_tile_rows], f->n_tiles + f->n_sp24);
    for (int32_t t = 0; t < f->n_tile_rows; t++) {
        double sum[SIDE][MOST_WIDTH] = {{0.0}};

        for (int32_t k = lists.ptr[t]; k < lists.ptr[t + 1]; k++) {
            const int32_t step = lists.list[k].word >> 2;
            rows_t        rows;

            assert_true(k == lists.ptr[t] || lists.list[k].word > lists.list[k - 1].word);
            assert_true(step >= f->panel_ptr[t / f->rows] && step < f->panel_ptr[t / f->rows + 1]);
            lay_rows(f->step[step].col, width, &rows);
            add_tile(f, lists.list[k], &rows, sum);
        }
        check_row(block, t, width, sum);
    }
    spmmi_bcsr_lists_free(&lists);
}

/* Tiles of all kinds, few and many entries; ragged edges. */
static void test_lists(void **state)
{
    static const double density[] = {0.01, 0.06, 0.2, 0.7};
    int64_t             kinds[2]  = {0, 0}; /* tiles, and 2:4 ones */

    for (int k = 0; k < 24; k++) {
        spmm_csr_t  block;
        spmm_bcsr_t f;

        format_case_random(75, 150, density[k % 4], k / 4 % 2 == 0 ? SPMM_R_16F : SPMM_R_16BF,
                           false, (uint64_t)k, &block);
        spmm_assert_ok(spmmi_bcsr_create(&spmm_test_env, &block, NULL, 4 << k % 3, k / 3 % 2 != 0,
                                         THREADS, &f));
        spmm_assert_ok(spmmi_bcsr_fill(&spmm_test_env, &f, block.values, THREADS));
        check_lists(&block, &f, 32 << k / 2 % 2);
        kinds[0] += f.n_tiles;
        kinds[1] += f.n_sp24;
        spmmi_bcsr_free(&f);
        spmmi_csr_free(&block);
    }
    assert_true(kinds[0] > 500 && kinds[1] > 50);
}

/* No rows, no entries. */
static void test_empty(void **state)
{
    for (int32_t n_rows = 0; n_rows < 70; n_rows += 23) {
        spmm_csr_t        block;
        spmm_bcsr_t       f;
        spmm_bcsr_lists_t lists;

        format_case_random(n_rows, 40, 0.0, SPMM_R_16F, false, 1, &block);
        spmm_assert_ok(spmmi_bcsr_create(&spmm_test_env, &block, NULL, 8, true, THREADS, &f));
        spmm_assert_ok(spmmi_bcsr_lists_create(&spmm_test_env, &f, THREADS, &lists));
        assert_int_equal(lists.ptr[f.n_tile_rows], 0);
        spmmi_bcsr_lists_free(&lists);
        spmmi_bcsr_free(&f);
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_lists, test_empty);
