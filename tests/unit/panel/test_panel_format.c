/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_panel_format.c
 *  Panels against their definition: what each lists, what tiles hold and how far they reach, which
 *  slots columns get; new values; builds without memory.
 */
#include "format_case.h"

#include "engine/panel/facts.h"
#include "engine/panel/format.h"
#include "spmm_dist/context.h"

enum { THREADS = 2 };

/* A column has one place in the list of a panel, and each step takes every n-th of them. */
static void check_list(const spmm_panel_t *f, int32_t panel)
{
    const int32_t *col   = f->col + f->panel_step[panel] * SPMM_PANEL_STEP;
    const int32_t  steps = f->panel_step[panel + 1] - f->panel_step[panel];
    const int32_t  each  = SPMM_PANEL_STEP;
    int32_t        all   = 0;

    for (int32_t k = 0; k < steps * each; k++) {
        all += col[k] >= 0;
    }
    assert_true(all >= (steps - 1) * each + (steps > 0) && all <= steps * each);
    for (int32_t k = 0; k < steps * each; k++) {
        int32_t before = 0;

        for (int32_t i = 0; i < steps * each && col[k] >= 0; i++) {
            assert_true(i == k || col[i] != col[k]);
            before += col[i] >= 0 && col[i] < col[k];
        }
        assert_true(col[k] < 0 || before % steps == k / each);
    }
}

/* Places are near each other and ascend by step, and by column within one; places without a column
 * repeat the last one. */
static void check_tile(const spmm_panel_t *f, int32_t t)
{
    const unsigned char *tile = f->packed + (size_t)f->tile_start[t] * SPMM_PANEL_UNIT;
    const int32_t       *col  = f->col + f->panel_step[f->tile_panel[t]] * SPMM_PANEL_STEP;
    const int32_t        each = SPMM_PANEL_STEP;
    const int32_t        size = (f->tile_start[t + 1] - f->tile_start[t]);
    uint64_t             bits[2];
    int32_t              nnz;

    memcpy(bits, tile, sizeof bits);
    nnz = spmmi_cpu_popcount(bits[0]) + spmmi_cpu_popcount(bits[1]);
    assert_true(nnz > 0);
    assert_int_equal(size, (SPMM_PANEL_VALUES + 4 * nnz + 15) / 16);
    assert_int_equal(size, tile[SPMM_PANEL_STEP_AT + 2]);
    assert_int_equal(tile[SPMM_PANEL_COUNTS], 0);
    assert_int_equal(tile[SPMM_PANEL_COUNTS + 1], spmmi_cpu_popcount((uint32_t)bits[0]));
    assert_int_equal(tile[SPMM_PANEL_COUNTS + 2], spmmi_cpu_popcount(bits[0]));
    assert_int_equal(tile[SPMM_PANEL_COUNTS + 3],
                     spmmi_cpu_popcount(bits[0]) + spmmi_cpu_popcount((uint32_t)bits[1]));
    for (int32_t c = 0; c < SPMM_PANEL_TILE; c++) {
        const uint64_t mine   = bits[c / 4] >> c % 4 & 0x1111111111111111u;
        const int32_t  place  = spmmi_panel_place(tile, c);
        const int32_t  before = spmmi_panel_place(tile, c > 0 ? c - 1 : 0);

        assert_true(place >= 0 && col[place] >= 0);
        assert_true(mine != 0 || (c > 0 && place == before));
        assert_true(c == 0 || mine == 0 || place / each > before / each ||
                    (place / each == before / each && col[place] > col[before]));
        assert_true(place / each - spmmi_panel_place(tile, 0) / each <= SPMM_PANEL_SPAN);
    }
}

/* The tiles have the entries of @p block, with the same bits, and no others. */
static void check_holds(const spmm_tc_view_t *A, const spmm_csr_t *block)
{
    const float *values = block->values;
    int64_t      found = 0, sum = 0;

    for (int32_t w = 0; w < A->n_windows; w++) {
        for (int32_t b = A->block_ptr[w]; b < A->block_ptr[w + 1]; b++) {
            spmm_tc_entry_t entry[SPMM_TC_MAX_ENTRIES];
            size_t          offset;
            const int32_t   n = A->decode(A->arrays, b, entry, &offset);

            for (int32_t k = 0; k < n; k++) {
                const int64_t at =
                    format_case_find(block, w * A->height + entry[k].row, entry[k].col);

                assert_true(at >= 0);
                assert_memory_equal((const char *)A->values + offset +
                                        (size_t)entry[k].at * sizeof(float),
                                    values + at, sizeof(float));
                found++;
                sum += at; /* entries that are there twice would be missing elsewhere */
            }
        }
    }
    assert_int_equal(found, spmmi_csr_nnz(block));
    assert_int_equal(sum, found * (found - 1) / 2);
}

static void check(const spmm_csr_t *block)
{
    spmm_panel_arrays_t arrays;
    spmm_tc_view_t      view;
    spmm_panel_t        f;

    spmm_assert_ok(spmmi_panel_create(&spmm_test_env, block, NULL, THREADS, &f));
    arrays = spmmi_panel_arrays(&f);
    view   = spmmi_panel_view(&arrays);
    for (int32_t p = 0; p < f.n_panels; p++) {
        check_list(&f, p);
    }
    for (int32_t w = 0; w < f.n_windows; w++) {
        assert_int_equal(f.window_start[w], f.tile_start[f.tile_ptr[w]]);
        for (int32_t t = f.tile_ptr[w]; t < f.tile_ptr[w + 1]; t++) {
            assert_int_equal(f.tile_panel[t], w / SPMM_PANEL_WINDOWS);
            check_tile(&f, t);
        }
    }
    assert_int_equal(f.tile_ptr[f.n_windows], f.n_tiles);
    check_holds(&view, block);
    for (int64_t k = 0; k < spmmi_csr_nnz(block); k++) {
        ((float *)block->values)[k] = (float)(k + 1);
    }
    spmmi_panel_refill(&f, block->values, THREADS);
    check_holds(&view, block);
    spmmi_panel_free(&f);
}

static void test_definition(void **state)
{
    for (int s = 0; format_shapes[s].density >= 0.0; s++) {
        const format_shape_t *shape = &format_shapes[s];
        spmm_csr_t            block;

        format_case_random(shape->n_rows, shape->n_cols, shape->density, SPMM_R_32F, s % 2 == 0,
                           (uint64_t)s, &block);
        check(&block);
        spmmi_csr_free(&block);
    }
}

/* A dense block: the halves of all tiles have slots of four kinds. */
static void test_kinds(void **state)
{
    spmm_panel_t f;
    spmm_csr_t   block;

    format_case_random(200, 200, 1.0, SPMM_R_32F, false, 1, &block);
    spmm_assert_ok(spmmi_panel_create(&spmm_test_env, &block, NULL, 1, &f));
    assert_int_equal(f.n_tiles, 13 * 25);
    for (int32_t t = 0; t < f.n_tiles; t++) {
        const unsigned char *tile = f.packed + (size_t)f.tile_start[t] * SPMM_PANEL_UNIT;

        for (int32_t half = 0; half < 2; half++) {
            int kinds = 0;

            for (int32_t c = 0; c < 4; c++) {
                kinds |= 1 << spmmi_panel_place(tile, 4 * half + c) % 4;
            }
            assert_int_equal(kinds, 15);
        }
    }
    spmmi_panel_free(&f);
    spmmi_csr_free(&block);
}

/* The sample of a small matrix is all of it. */
static void test_facts(void **state)
{
    spmm_csr_t         block;
    spmm_windows_t     tall;
    spmm_panel_facts_t facts;
    int32_t            active[FORMAT_CASE_COLS];
    int64_t            cols = 0, chain = 0;

    format_case_random(300, 200, 0.02, SPMM_R_32F, false, 1, &block);
    spmm_assert_ok(spmmi_windows_create(&spmm_test_env, &block, SPMM_WINDOWS_TALL, THREADS, &tall));
    facts = spmmi_panel_measure(&tall, THREADS);
    for (int32_t first = 0; first < block.n_rows; first += 64) {
        int32_t longest = 0;

        cols += format_case_active(&block, first, 64, active);
        for (int32_t k = first; k < first + 64; k += SPMM_PANEL_HEIGHT) {
            const int32_t n = format_case_active(&block, k, SPMM_PANEL_HEIGHT, active);

            longest = n > longest ? n : longest;
        }
        chain += longest;
    }
    assert_int_equal(facts.cols, cols);
    assert_int_equal(facts.chain, chain);
    spmmi_windows_free(&tall);
    spmmi_csr_free(&block);
}

/* Offsets have 32 bits: more entries are refused before any of them is read. */
static void test_too_many_entries(void **state)
{
    int64_t          row_ptr[] = {0, (int64_t)INT32_MAX + 1};
    const spmm_csr_t block     = {
            .n_rows = 1, .n_cols = INT32_MAX, .row_ptr = row_ptr, .type = SPMM_R_32F, .c_rows = 1};
    const int64_t live = spmmi_alloc_get_stats().live;
    spmm_panel_t  f;

    assert_int_equal(spmmi_panel_create(&spmm_test_env, &block, NULL, 1, &f), SPMM_ERR_RANGE);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

/* Steps of a panel have 16 bits. */
static void test_too_many_columns(void **state)
{
    for (int more = 0; more < 2; more++) {
        const int64_t live = spmmi_alloc_get_stats().live;
        const int32_t n    = UINT16_MAX * SPMM_PANEL_STEP + more;
        spmm_csr_t    block;
        spmm_panel_t  f;

        spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, 1, n, n, SPMM_R_32F, &block));
        block.row_ptr[1] = n;
        block.c_rows     = 1;
        for (int32_t k = 0; k < n; k++) {
            block.col_idx[k]           = k;
            ((float *)block.values)[k] = (float)k;
        }
        assert_int_equal(spmmi_panel_create(&spmm_test_env, &block, NULL, 1, &f),
                         more != 0 ? SPMM_ERR_RANGE : SPMM_OK);
        spmmi_panel_free(&f);
        spmmi_csr_free(&block);
        assert_int_equal(spmmi_alloc_get_stats().live, live);
    }
}

SPMM_TESTS(test_definition, test_kinds, test_facts, test_too_many_entries, test_too_many_columns);
