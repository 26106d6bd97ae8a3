/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_formats.c
 *  BitTCF, HRPB and CVSE, array by array against their definition, and what is said about their
 *  sizes.
 */
#include "format_case.h"
#include "format_kind.h"

#include "spmm_dist/context.h"

/* Block b, whose first row is given, tile by tile. */
static void check_bits(const spmm_csr_t *block, const spmm_bittcf_t *f, int32_t first, int32_t b)
{
    const size_t size  = spmm_type_size(block->type);
    int32_t      value = f->value_ptr[b];

    for (int32_t r = 0; r < 8 * f->tiles; r++) {
        const uint64_t bits = f->bits[f->tiles * b + r / 8];

        for (int32_t c = 0; c < 8; c++) {
            const int64_t k   = format_case_find(block, first + r, f->col[8 * b + c]);
            const bool    set = (bits >> (8 * (r % 8) + c) & 1) != 0;

            assert_true(set == (k >= 0));
            if (set) {
                assert_memory_equal((char *)f->values + (size_t)value * size,
                                    (char *)block->values + (size_t)k * size, size);
                value++;
            }
        }
    }
    assert_int_equal(f->value_ptr[b + 1], value);
}

/* Block b of a panel whose first row is given, byte by byte. */
static void check_packed(const spmm_csr_t *block, const spmm_hrpb_t *f, int32_t first, int32_t b)
{
    const int32_t        stack   = f->panel_rows / 16;
    const unsigned char *head    = f->packed + 16 * (int64_t)f->size_ptr[b];
    const unsigned char *value   = head + 16 + 32 * stack;
    const unsigned char *end     = f->packed + 16 * (int64_t)f->size_ptr[b + 1];
    const int32_t       *col     = f->col + 16 * b;
    int32_t              bricks  = 0;
    uint64_t             pattern = 0;

    for (int32_t k = 0; k < 4; k++) {
        assert_int_equal(head[k], bricks);
        for (int32_t s = 0; s < stack; s++) {
            uint64_t expected = 0;

            for (int32_t bit = 0; bit < 64; bit++) {
                const int64_t at =
                    format_case_find(block, first + 16 * s + bit / 4, col[4 * k + bit % 4]);

                if (at >= 0) {
                    expected |= (uint64_t)1 << bit;
                    assert_memory_equal(value, (char *)block->values + 4 * at, 4);
                    value += 4;
                }
            }
            if (expected != 0) {
                memcpy(&pattern, head + 16 + 8 * bricks, 8);
                assert_true(pattern == expected);
                assert_int_equal(head[8 + bricks], s);
                bricks++;
            }
        }
    }
    assert_int_equal(head[4], bricks);
    assert_true(bricks > 0);
    for (int32_t j = bricks; j < 4 * stack; j++) {
        memcpy(&pattern, head + 16 + 8 * j, 8);
        assert_true(pattern == 0);
    }
    assert_true(value <= end && end - value < 16);
}

/* Block b of a window whose first row is given: of place p, what lane 4 (r mod 8) + p mod 4
 * reads. */
static void check_vectors(const spmm_csr_t *block, const spmm_cvse_t *f, int32_t first, int32_t b)
{
    const int32_t   tiles = f->height / 8;
    const uint16_t *value = (const uint16_t *)f->values + 16 * (int64_t)f->height * b;

    for (int32_t p = 0; p < 16; p++) {
        const int32_t col = f->col[16 * b + p % 4 * 4 + p / 4];

        for (int32_t r = 0; r < f->height; r++) {
            const int32_t  lane = 4 * (r % 8) + p % 4;
            const uint16_t got  = value[lane * 4 * tiles + r / 8 * 4 + p / 4];
            const int64_t  k    = col < 0 ? -1 : format_case_find(block, first + r, col);

            assert_int_equal(f->bits[f->height * b + r] >> p & 1, k >= 0);
            assert_int_equal(got, k >= 0 ? ((const uint16_t *)block->values)[k] : 0);
        }
    }
}

/* The arrays of a small block; columns are those that check_columns() has seen. */
static void check_arrays(const format_t *f, const spmm_csr_t *block)
{
    const int32_t height = f->view.height;

    for (int32_t w = 0; w < f->view.n_windows; w++) {
        for (int32_t b = f->view.block_ptr[w]; b < f->view.block_ptr[w + 1]; b++) {
            if (f->vector > 0) {
                check_vectors(block, &f->cvse, height * w, b);
            } else if (f->tiles > 0) {
                check_bits(block, &f->bittcf, height * w, b);
            } else {
                check_packed(block, &f->hrpb, height * w, b);
            }
        }
    }
}

static void test_shapes(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_32F, SPMM_R_64F, SPMM_R_16F, SPMM_R_16BF};

    for (int v = 0; v < 8; v++) {
        for (int s = 0; format_shapes[s].density >= 0.0; s++) {
            spmm_csr_t block;

            format_case_random(format_shapes[s].n_rows, format_shapes[s].n_cols,
                               format_shapes[s].density, types[v % 4], v / 4 != 0, 7, &block);
            format_kind_check(&block, check_arrays);
            spmmi_csr_free(&block);
        }
    }
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* The four numbers of figure 12 by the sizes of the arrays that are there. */
static void test_bytes(void **state)
{
    const spmm_cvse_bytes_t vectors = spmmi_cvse_bytes(20, 100, 30, 8, 6);
    spmm_bittcf_bytes_t     bytes;
    spmm_hrpb_bytes_t       packed;
    spmm_bittcf_t           bittcf;
    spmm_hrpb_t             hrpb;
    spmm_csr_t              block;

    format_case_random(20, 16, 1.0, SPMM_R_32F, false, 1, &block); /* 3 windows, 6 TC blocks */
    spmm_assert_ok(spmmi_bittcf_create(&spmm_test_env, &block, NULL, 1, 1, &bittcf));
    bytes = spmmi_bittcf_bytes(block.n_rows, bittcf.n_blocks, spmmi_csr_nnz(&block), block.type);
    assert_int_equal(bytes.csr, 4 * (21 + 320));
    assert_int_equal(bytes.tcf, 4 * (3 + 21 + 3 * 320));
    assert_int_equal(bytes.me_tcf, 4 * (4 + 7 + 48) + 320);
    assert_int_equal(bytes.bittcf, 4 * (4 + 7 + 48) + 6 * 8);
    assert_int_equal(bytes.values, 4 * 320);
    spmmi_bittcf_free(&bittcf);
    spmm_assert_ok(
        spmmi_hrpb_create(&spmm_test_env, &block, NULL, 16, 1, &hrpb)); /* 2 panels, 2 blocks */
    packed = spmmi_hrpb_bytes(&hrpb);
    assert_int_equal(packed.csr, 4 * (21 + 640));
    assert_int_equal(packed.hrpb, 4 * (3 + 3 + 32) + 2 * 48 + 4 * 320);
    spmmi_hrpb_free(&hrpb);
    spmmi_csr_free(&block);
    assert_true(near(vectors.new_sparsity, 1 - 100.0 / 240)); /* 100 entries in 30 vectors */
    assert_int_equal(vectors.csr, 4 * 21 + 6 * 100);
    assert_int_equal(vectors.me_tcf, 4 * (3 + 2 + 9 * 6) + 100 + 200);
    assert_int_equal(vectors.cvse, 4 * 4 + 30 * (4 + 16));
}

/* Offsets have 32 bits: more entries are refused before any of them is read. */
static void test_too_many_entries(void **state)
{
    int64_t          row_ptr[] = {0, (int64_t)INT32_MAX + 1};
    const spmm_csr_t block     = {
            .n_rows = 1, .n_cols = INT32_MAX, .row_ptr = row_ptr, .type = SPMM_R_32F, .c_rows = 1};
    const int64_t live = spmmi_alloc_get_stats().live;
    spmm_bittcf_t bittcf;
    spmm_hrpb_t   hrpb;
    spmm_cvse_t   cvse;

    spmm_assert_error(spmmi_cvse_create(&spmm_test_env, &block, NULL, 8, 1, &cvse), SPMM_ERR_RANGE,
                      NULL);
    assert_int_equal(spmmi_bittcf_create(&spmm_test_env, &block, NULL, 1, 1, &bittcf),
                     SPMM_ERR_RANGE);
    assert_int_equal(spmmi_hrpb_create(&spmm_test_env, &block, NULL, 16, 1, &hrpb), SPMM_ERR_RANGE);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

SPMM_TESTS(test_shapes, test_bytes, test_too_many_entries);
