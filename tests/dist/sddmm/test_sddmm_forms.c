/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_sddmm_forms.c  Masks as kernels of SDDMM take them: every entry once, in its place,
 *  which is said in the shortest way that fits. */
#include <string.h>

#include "test_main.h"

#include "engine/sddmm/sddmm.h"

/* Tiles say where results go by rows, by vectors, or for each. */
static void test_orders(void **state)
{
    int64_t                row_ptr[17], place[48];
    int32_t                col[48];
    spmm_csr_t             block = {.n_rows = 16, .n_cols = 9, .row_ptr = row_ptr, .col_idx = col};
    spmm_sddmm_tile_list_t tiles;

    for (int i = 0; i <= 16; i++) {
        row_ptr[i] = 3 * i;
    }
    for (int e = 0; e < 48; e++) { /* vectors of 8 in columns 0, 4, 8 and 1, 2, 3 */
        col[e]   = e < 24 ? e % 3 * 4 : e % 3 + 1;
        place[e] = e / 24 * 24 + e % 3 * 8 + e / 3 % 8;
    }
    spmm_assert_ok(spmmi_sddmm_make_tiles(&spmm_test_env, &block, 8, NULL, 1, &tiles));
    assert_int_equal(tiles.order, SPMM_SDDMM_ROWS);
    assert_int_equal(tiles.n_tiles, 2);
    assert_int_equal(tiles.vectors, 6);
    assert_int_equal(tiles.place[2 * (8 + 2)], 30);
    assert_int_equal(tiles.place[2 * (8 + 2) + 1], 7);
    spmmi_sddmm_free_tiles(&tiles);
    spmm_assert_ok(spmmi_sddmm_make_tiles(&spmm_test_env, &block, 8, place, 1, &tiles));
    assert_int_equal(tiles.order, SPMM_SDDMM_VECTORS);
    assert_int_equal(tiles.place[32 + 1], 32);
    spmmi_sddmm_free_tiles(&tiles);
    spmm_assert_ok(spmmi_sddmm_make_tiles(&spmm_test_env, &block, 16, place, 1, &tiles));
    assert_int_equal(tiles.order, SPMM_SDDMM_EACH);
    assert_int_equal(tiles.place[0], 0);
    assert_int_equal(tiles.place[8], -1);
    spmmi_sddmm_free_tiles(&tiles);
}

/* Squares say it by rows, unless almost all of their rows are empty. */
static void test_squares(void **state)
{
    enum { SIDE = SPMM_SDDMM_SQUARE, COUPLES = 40, N = COUPLES * SIDE };
    int64_t                  row_ptr[2] = {0};
    int32_t                  col[N];
    spmm_csr_t               block = {.n_rows = 1, .n_cols = N, .row_ptr = row_ptr, .col_idx = col};
    spmm_sddmm_square_list_t squares;

    for (int apart = 1; apart <= SIDE; apart *= SIDE) {
        row_ptr[1] = N / apart;
        for (int e = 0; e < row_ptr[1]; e++) {
            col[e] = e * apart;
        }
        spmm_assert_ok(spmmi_sddmm_make_squares(&spmm_test_env, &block, NULL, &squares));
        assert_int_equal(squares.n_squares, 2 * COUPLES);
        assert_int_equal(squares.shift != NULL, apart == 1);
        assert_int_equal(squares.place != NULL, apart > 1);
        for (int e = 0; e < row_ptr[1]; e++) {
            const int q = 2 * (col[e] / SIDE);

            assert_int_equal(squares.entry[e], col[e] % SIDE);
            assert_int_equal(apart > 1 ? squares.place[e] : e + squares.shift[q * SIDE], e);
        }
        spmmi_sddmm_free_squares(&squares);
    }
}

/* Rows past the edge of a band are counted in 32 bits. */
static void test_tall_squares(void **state)
{
    spmm_csr_t               block = {.n_rows = INT32_MAX - 255, .n_cols = 1};
    spmm_sddmm_square_list_t squares;

    assert_false(spmmi_sddmm_has_squares(&block));
    assert_int_equal(spmmi_sddmm_make_squares(&spmm_test_env, &block, NULL, &squares),
                     SPMM_ERR_RANGE);
    block.n_rows--;
    assert_true(spmmi_sddmm_has_squares(&block));
}

enum { ROWS = 40, COLS = 90, EVERY = 3, FULL = COLS / EVERY };

/* Every entry is in one task of its rectangle; a task's places follow each other. */
static void check_rectangles(const spmm_csr_t *block, const int64_t *place,
                             const spmm_sddmm_rectangle_list_t *list)
{
    int32_t *seen = spmm_test_calloc((size_t)spmmi_csr_nnz(block), sizeof *seen),
            last  = SPMM_SDDMM_REACH;

    for (int r = 0; r < list->n_rectangles; r++) {
        const int32_t *range = list->range + 4 * r;
        int32_t        most  = SPMM_SDDMM_TASK;

        assert_in_range(range[3] - range[2], 1, last); /* the longest come first */
        last = range[3] - range[2];
        for (int32_t t = range[2]; t < range[3]; t++) {
            const int32_t count = list->task[2 * t] / 65536, row = list->task[2 * t] % 65536;

            assert_in_range(count, 1, most);
            most = count;
            for (int n = 0; n < SPMM_SDDMM_TASK; n++) {
                const uint16_t col = list->col[t * SPMM_SDDMM_TASK + n];
                int64_t        e   = 0;

                assert_in_range(col, 0, list->cols - 1);
                while (n < count && place[e] != list->task[2 * t + 1] + n) {
                    e++;
                }
                if (n < count) {
                    assert_int_equal(block->col_idx[e], range[1] + col);
                    assert_in_range(e, block->row_ptr[range[0] + row],
                                    block->row_ptr[range[0] + row + 1] - 1);
                    seen[e]++;
                } else {
                    assert_int_equal(col, list->col[t * SPMM_SDDMM_TASK]);
                }
            }
        }
    }
    for (int64_t e = 0; e < spmmi_csr_nnz(block); e++) {
        assert_int_equal(seen[e], 1);
    }
    free(seen);
}

/* Every entry is in one slot of a batch, in the row and column that are its own; odd slots are in
 * odd rows. */
static void check_batches_of(const spmm_csr_t *block, const int64_t *place,
                             const spmm_sddmm_rectangle_list_t *list)
{
    enum { SIZE = SPMM_SDDMM_BATCH, N = SPMM_SDDMM_BATCH_ROWS };
    int32_t *seen = spmm_test_calloc((size_t)spmmi_csr_nnz(block), sizeof *seen),
            last  = SPMM_SDDMM_HELD;

    for (int r = 0; r < list->n_rectangles; r++) {
        const int32_t *range = list->range + 4 * r;

        assert_in_range(range[3] - range[2], 1, last);
        last = range[3] - range[2];
        for (int32_t at = range[2] * SIZE; at < range[3] * SIZE; at++) {
            const int32_t which = list->entry[at] / 65536, col = list->entry[at] % 65536;
            int64_t       e = 0, row;

            assert_in_range(which, 0, N - 1);
            row = range[0] + list->row[at / SIZE * N + which];
            assert_in_range(row, range[0], block->n_rows - 1);
            while (list->place[at] >= 0 && place[e] != list->place[at]) {
                e++;
            }
            if (list->place[at] >= 0) {
                assert_int_equal(which % 2, at % 2);
                assert_int_equal(block->col_idx[e], range[1] + col);
                assert_in_range(e, block->row_ptr[row], block->row_ptr[row + 1] - 1);
                seen[e]++;
            }
        }
    }
    for (int64_t e = 0; e < spmmi_csr_nnz(block); e++) {
        assert_int_equal(seen[e], 1);
    }
    free(seen);
}

/* Rows of 30, 29, ... entries, then empty ones, each third column; every second row backwards. */
static void test_rectangles(void **state)
{
    int64_t    row_ptr[ROWS + 1] = {0}, place[ROWS * FULL];
    int32_t    col[ROWS * FULL], rows, cols;
    spmm_csr_t block = {.n_rows = ROWS, .n_cols = COLS, .row_ptr = row_ptr, .col_idx = col};
    spmm_sddmm_rectangle_list_t list;
    spmm_sddmm_weight_t         weight;

    for (int i = 0; i < ROWS; i++) {
        const int count = i < FULL ? FULL - i : 0;

        row_ptr[i + 1] = row_ptr[i] + count;
        for (int e = 0; e < count; e++) {
            col[row_ptr[i] + e]   = EVERY * e;
            place[row_ptr[i] + e] = row_ptr[i] + (i % 2 == 0 ? e : count - 1 - e);
        }
    }
    for (int size = 7; size <= COLS; size += 83) {
        spmm_assert_ok(
            spmmi_sddmm_weigh_rectangles(&spmm_test_env, &block, place, size, size, &weight));
        spmm_assert_ok(
            spmmi_sddmm_make_rectangles(&spmm_test_env, &block, place, size, size, &list));
        assert_int_equal(list.n_rectangles, weight.rectangles);
        assert_int_equal(list.n_tasks, weight.tasks);
        assert_in_range(weight.most, 1, size * ((size + EVERY - 1) / EVERY));
        check_rectangles(&block, place, &list);
        spmmi_sddmm_free_rectangles(&list);
        spmm_assert_ok(spmmi_sddmm_weigh_batches(&spmm_test_env, &block, size, size, &weight));
        spmm_assert_ok(
            spmmi_sddmm_make_rectangle_batches(&spmm_test_env, &block, place, size, size, &list));
        assert_int_equal(list.n_rectangles, weight.rectangles);
        assert_int_equal(list.n_tasks, weight.tasks);
        assert_in_range(list.n_tasks, spmmi_csr_nnz(&block) / SPMM_SDDMM_BATCH,
                        spmmi_csr_nnz(&block) / 4);
        check_batches_of(&block, place, &list);
        spmmi_sddmm_free_rectangles(&list);
    }
    assert_true(spmmi_sddmm_rectangle_shape(&block, false, 4, 4.0, &rows, &cols));
    assert_in_range(rows * cols, ROWS * COLS / 4, ROWS * COLS / 4 + rows + cols);
}

enum { N = SPMM_SDDMM_REACH + 30 };

/* More tasks than a thread block has threads; sizes for which shared memory is too small. */
static void test_full_rectangles(void **state)
{
    int64_t    row_ptr[N + 1], place[N];
    int32_t    col[N], rows, cols;
    spmm_csr_t block = {.n_rows = N, .n_cols = N, .row_ptr = row_ptr, .col_idx = col};
    spmm_sddmm_rectangle_list_t list;

    for (int i = 0; i <= N; i++) {
        row_ptr[i] = i;
        if (i < N) {
            col[i]   = N - 1 - i;
            place[i] = i;
        }
    }
    spmm_assert_ok(spmmi_sddmm_make_rectangles(&spmm_test_env, &block, NULL, N, N, &list));
    assert_int_equal(list.n_rectangles, 2);
    check_rectangles(&block, place, &list);
    spmmi_sddmm_free_rectangles(&list);
    spmm_assert_ok(spmmi_sddmm_make_rectangle_batches(&spmm_test_env, &block, NULL, N, N, &list));
    assert_int_equal(list.n_rectangles, 2); /* of 92 batches with an entry in each of 8 rows */
    check_batches_of(&block, place, &list);
    spmmi_sddmm_free_rectangles(&list);
    assert_true(spmmi_sddmm_rectangle_shape(&block, false, 1, 9.0, &rows, &cols));
    assert_true(2 * 128 * (spmmi_sddmm_padded(rows) + spmmi_sddmm_padded(cols)) <= 225 * 1024);
    assert_false(spmmi_sddmm_rectangle_shape(&block, false, 1, 2.0, &rows, &cols));
    assert_false(spmmi_sddmm_rectangle_shape(&block, false, 4, 3.0, &rows, &cols));
    assert_int_equal(spmmi_sddmm_padded(257), 258);
    assert_int_equal(spmmi_sddmm_padded(256), 256);
}

/* Rectangles are asked for by name, of which there would be millions for a few entries. */
static void test_many_rectangles(void **state)
{
    int64_t               row_ptr[N + 1];
    int32_t               col[N];
    const spmm_device_t   device = {.env = &spmm_test_env};
    const spmm_sampling_t what   = {SPMM_R_32F, SPMM_R_32F, .k = 64, .kernel = "rectangles"};
    spmm_csr_t            block  = {.n_rows = N, .row_ptr = row_ptr, .col_idx = col};
    spmm_sampler_choice_t choice;

    for (int i = 0; i <= N; i++) {
        row_ptr[i] = i;
        if (i < N) {
            col[i] = i;
        }
    }
    block.n_cols = INT32_MAX;
    assert_int_equal(spmmi_sampler_choose(&device, &block, NULL, &what, &choice), SPMM_ERR_RANGE);
    assert_non_null(strstr(spmm_test_env.err.text, "rectangles would have more than"));
    block.n_cols = N;
    spmm_assert_ok(spmmi_sampler_choose(&device, &block, NULL, &what, &choice));
    assert_int_equal(choice.format, SPMM_SAMPLER_RECTANGLES);
}

/* 12.x has tensor maps as well, and no room. */
static void test_devices(void **state)
{
    const int with[] = {90, 100, 103, 110}, without[] = {0, 80, 89, 120, 121};

    for (size_t k = 0; k < sizeof with / sizeof with[0]; k++) {
        assert_true(spmmi_sddmm_holds_rectangles(with[k]));
    }
    for (size_t k = 0; k < sizeof without / sizeof without[0]; k++) {
        assert_false(spmmi_sddmm_holds_rectangles(without[k]));
    }
}

SPMM_TESTS(test_orders, test_squares, test_tall_squares, test_rectangles, test_full_rectangles,
           test_many_rectangles, test_devices);
