/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_formats_matrices.c
 *  BitTCF of 1, 2 and 4 tiles, HRPB of 16 and 32 rows and CVSE of 8 and 16 rows over every
 *  generator and every matrix of the folder SPMM_MATRIX_DIR: entries, columns,
 *  products, refill, threads.
 */
#include "format_case.h"

#include "engine/bittcf/format.h"
#include "engine/cvse/format.h"
#include "engine/hrpb/format.h"
#include "engine/tc/format.h"
#include "engine_case.h"
#include "matrix/generate/generate.h"
#include "spmm_dist/context.h"

enum { THREADS = 2, N_FORMATS = 7 };

/** One format of any kind. */
typedef struct {
    int32_t              tiles;      /* BitTCF, or */
    int32_t              panel_rows; /* HRPB, or */
    int32_t              vector;     /* CVSE */
    spmm_bittcf_t        bittcf;
    spmm_bittcf_arrays_t bittcf_arrays;
    spmm_hrpb_t          hrpb;
    spmm_hrpb_arrays_t   hrpb_arrays;
    spmm_cvse_t          cvse;
    spmm_cvse_arrays_t   cvse_arrays;
    spmm_tc_view_t       view;
    const int32_t       *col; /* of blocks of width columns */
    int32_t              width;
} format_t;

/* Format number which of @p block; false: none for its type. */
static bool make_format(const spmm_csr_t *block, int which, int threads, format_t *f)
{
    const bool half = spmm_type_size(block->type) == 2;

    memset(f, 0, sizeof *f);
    if (half != (which >= 5)) {
        return false;
    }
    if (half) {
        f->vector = which == 5 ? 8 : 16;
        spmm_assert_ok(
            spmmi_cvse_create(&spmm_test_env, block, NULL, f->vector, threads, &f->cvse));
        f->cvse_arrays = spmmi_cvse_arrays(&f->cvse);
        f->view        = spmmi_cvse_view(&f->cvse_arrays);
        f->col         = f->cvse.col;
        f->width       = 16;
        return true;
    }
    if (which < 3) {
        f->tiles = 1 << which;
        spmm_assert_ok(
            spmmi_bittcf_create(&spmm_test_env, block, NULL, f->tiles, threads, &f->bittcf));
        f->bittcf_arrays = spmmi_bittcf_arrays(&f->bittcf);
        f->view          = spmmi_bittcf_view(&f->bittcf_arrays);
        f->col           = f->bittcf.col;
        f->width         = 8;
        return true;
    }
    if (block->type != SPMM_R_32F) {
        return false;
    }
    f->panel_rows = which == 3 ? 16 : 32;
    spmm_assert_ok(
        spmmi_hrpb_create(&spmm_test_env, block, NULL, f->panel_rows, threads, &f->hrpb));
    f->hrpb_arrays = spmmi_hrpb_arrays(&f->hrpb);
    f->view        = spmmi_hrpb_view(&f->hrpb_arrays);
    f->col         = f->hrpb.col;
    f->width       = 16;
    return true;
}

static void free_format(format_t *f)
{
    if (f->vector > 0) {
        spmmi_cvse_free(&f->cvse);
    } else if (f->tiles > 0) {
        spmmi_bittcf_free(&f->bittcf);
    } else {
        spmmi_hrpb_free(&f->hrpb);
    }
}

/* Where column k of a window stands in the list of its blocks. */
static int32_t place_of(const format_t *f, int32_t k)
{
    return f->vector > 0 ? k / 16 * 16 + spmmi_cvse_col_at(k % 16) : k;
}

/* Columns of each window: ascending, those with an entry and no others, in as few blocks as can
 * be.  @p last [n_cols]: the last window with an entry in each column, -1 before the first. */
static void check_columns(const format_t *f, const spmm_csr_t *block, int32_t *last)
{
    const int32_t height = f->vector > 0 ? f->vector : f->tiles > 0 ? 8 * f->tiles : f->panel_rows;

    for (int32_t c = 0; c < block->n_cols; c++) {
        last[c] = -1;
    }
    assert_int_equal(f->view.height, height);
    assert_int_equal(f->view.n_windows, (block->n_rows + height - 1) / height);
    for (int32_t w = 0; w < f->view.n_windows; w++) {
        const int32_t  end    = (w + 1) * height < block->n_rows ? (w + 1) * height : block->n_rows;
        const int32_t *col    = f->col + (int64_t)f->view.block_ptr[w] * f->width;
        const int32_t  blocks = f->view.block_ptr[w + 1] - f->view.block_ptr[w];
        int32_t        active = 0;

        for (int64_t k = block->row_ptr[w * height]; k < block->row_ptr[end]; k++) {
            active += last[block->col_idx[k]] != w;
            last[block->col_idx[k]] = w;
        }
        assert_int_equal(blocks, (active + f->width - 1) / f->width);
        for (int32_t k = 0; k < blocks * f->width; k++) {
            const int32_t c = col[place_of(f, k)];

            if (k >= active) {
                assert_int_equal(c, SPMM_TC_NO_COLUMN);
            } else {
                assert_true(c >= 0 && c < block->n_cols && last[c] == w);
                assert_true(k == 0 || col[place_of(f, k - 1)] < c);
            }
        }
    }
}

static void check_product_of(const format_t *f, const spmm_csr_t *block, spmm_type_t c_type,
                             spmm_compute_t compute)
{
    product_t p = {.block   = block,
                   .problem = {.ab_type       = block->type,
                               .c_type        = c_type,
                               .compute       = compute,
                               .layout        = SPMM_LAYOUT_ROW,
                               .n             = 3,
                               .deterministic = true},
                   .alpha   = -1.5,
                   .beta    = 0.5};

    make_product(&p, 3, 1);
    memcpy(p.got, p.C, (size_t)p.c_size * spmm_type_size(c_type));
    spmmi_cpu_tc_mm(&f->view, &(spmm_tc_mm_args_t){.x       = operands_of(&p, p.B, p.got, NULL),
                                                   .row_map = block->row_map,
                                                   .compute = compute,
                                                   .threads = THREADS});
    check_product(&p);
    free_product(&p);
}

static void check_refilled(format_t *f, const spmm_csr_t *block)
{
    const int64_t nnz = spmmi_csr_nnz(block);
    spmm_csr_t    other;

    spmm_assert_ok(
        spmmi_csr_alloc(&spmm_test_env, block->n_rows, block->n_cols, nnz, block->type, &other));
    memcpy(other.row_ptr, block->row_ptr, ((size_t)block->n_rows + 1) * sizeof *other.row_ptr);
    memcpy(other.col_idx, block->col_idx, (size_t)nnz * sizeof *other.col_idx);
    for (int64_t k = 0; k < nnz; k++) {
        spmmi_value_set(other.type, other.values, k,
                        k % 7 == 0 ? 0.0 : spmmi_random_value(21, k, 0));
    }
    if (f->vector > 0) {
        spmmi_cvse_refill(&f->cvse, other.values, THREADS);
    } else if (f->tiles > 0) {
        spmmi_bittcf_refill(&f->bittcf, other.values, THREADS);
    } else {
        spmmi_hrpb_refill(&f->hrpb, other.values, THREADS);
    }
    format_case_assert_holds(&f->view, &other);
    spmmi_csr_free(&other);
}

static void check_block(const char *spec, const spmm_csr_t *block)
{
    int32_t *last;

    assert_non_null(SPMM_NEW(last, block->n_cols));
    for (int which = 0; which < N_FORMATS; which++) {
        format_t f;

        if (make_format(block, which, THREADS, &f)) {
            check_columns(&f, block, last);
            format_case_assert_holds(&f.view, block);
            check_product_of(&f, block, block->type,
                             block->type == SPMM_R_64F ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F);
            if (block->type != SPMM_R_64F) {
                check_product_of(&f, block, SPMM_R_32F,
                                 f.vector > 0 ? SPMM_COMPUTE_32F : SPMM_COMPUTE_32F_FAST_TF32);
            }
            check_refilled(&f, block);
            free_format(&f);
        }
    }
    spmmi_free(last);
}

static void test_every_generator(void **state)
{
    for (int g = 0; g < spmmi_n_generator_kinds; g++) {
        const char  *name   = spmmi_generator_kinds[g]->name;
        const size_t length = strlen(name);
        bool         found  = false;

        for (int m = 0; format_matrices[m] != NULL; m++) {
            found = found || (strncmp(format_matrices[m], name, length) == 0 &&
                              format_matrices[m][length] == ':');
        }
        if (!found) {
            fail_msg("format_matrices has no matrix of generator %s", name);
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
            check_block("random", &block);
            spmmi_csr_free(&block);
        }
    }
}

/* Columns so far apart that a window is condensed in several passes, the last with the last
 * column. */
static void test_far_columns(void **state)
{
    for (int half = 0; half < 2; half++) {
        spmm_csr_t block;

        format_case_random(41, 3 * 65536 + 1, 0.0004, half != 0 ? SPMM_R_16F : SPMM_R_32F, false,
                           11, &block);
        assert_true(block.row_ptr[40] < block.row_ptr[41]);
        block.col_idx[block.row_ptr[41] - 1] = block.n_cols - 1;
        check_block("far", &block);
        spmmi_csr_free(&block);
    }
}

static void test_matrices_32f(void **state)
{
    format_case_each(SPMM_R_32F, check_block);
}

static void test_matrices_64f(void **state)
{
    format_case_each(SPMM_R_64F, check_block);
}

/* Values of files fit BF16, whose range is that of FP32. */
static void test_matrices_16bf(void **state)
{
    format_case_each(SPMM_R_16BF, check_block);
}

static void same_cvse(const spmm_cvse_t *a, const spmm_cvse_t *b)
{
    const size_t blocks = (size_t)a->n_blocks, height = (size_t)a->height;

    assert_int_equal(a->n_blocks, b->n_blocks);
    assert_memory_equal(a->window_ptr, b->window_ptr, ((size_t)a->n_windows + 1) * 4);
    assert_memory_equal(a->col, b->col, blocks * 64);
    assert_memory_equal(a->bits, b->bits, blocks * height * 2);
    assert_memory_equal(a->values, b->values, blocks * height * 32);
}

static void same_bittcf(const spmm_bittcf_t *a, const spmm_bittcf_t *b)
{
    const size_t blocks = (size_t)a->n_blocks;

    assert_int_equal(a->n_blocks, b->n_blocks);
    assert_memory_equal(a->window_ptr, b->window_ptr, ((size_t)a->n_windows + 1) * 4);
    assert_memory_equal(a->value_ptr, b->value_ptr, (blocks + 1) * 4);
    assert_memory_equal(a->col, b->col, blocks * 32);
    assert_memory_equal(a->bits, b->bits, blocks * (size_t)a->tiles * 8);
    assert_memory_equal(a->values, b->values, (size_t)a->value_ptr[blocks] * 4);
}

static void same_hrpb(const spmm_hrpb_t *a, const spmm_hrpb_t *b)
{
    const size_t blocks = (size_t)a->n_blocks;

    assert_int_equal(a->n_blocks, b->n_blocks);
    assert_memory_equal(a->block_ptr, b->block_ptr, ((size_t)a->n_panels + 1) * 4);
    assert_memory_equal(a->size_ptr, b->size_ptr, (blocks + 1) * 4);
    assert_memory_equal(a->col, b->col, blocks * 64);
    assert_memory_equal(a->packed, b->packed, (size_t)a->size_ptr[blocks] * 16);
}

static void facts_of(const spmm_csr_t *block, int threads, spmm_tc_facts_t *facts, int64_t *used)
{
    memset(facts, 0, sizeof *facts);
    spmm_test_env.threads = threads;
    spmm_assert_ok(spmmi_tc_facts_scan(&spmm_test_env, block, facts, used));
    spmm_test_env.threads = 0;
}

static const int counts[] = {2, 3, 8}; /* of threads */

static void test_thread_counts(void **state)
{
    spmm_csr_t      block;
    spmm_tc_facts_t facts, others;
    int64_t         used, used_by_others;

    format_case_matrix("rmat:scale=12,degree=9", SPMM_R_32F, &block);
    facts_of(&block, 1, &facts, &used);
    for (int t = 0; t < 3; t++) {
        facts_of(&block, counts[t], &others, &used_by_others);
        assert_memory_equal(&facts, &others, sizeof facts);
        assert_int_equal(used, used_by_others);
    }
    spmmi_csr_free(&block);
}

static void test_equal_formats(void **state)
{
    for (int which = 0; which < N_FORMATS; which++) {
        format_t   first, other;
        spmm_csr_t block;

        format_case_matrix("rmat:scale=12,degree=9", which < 5 ? SPMM_R_32F : SPMM_R_16F, &block);
        assert_true(make_format(&block, which, 1, &first));
        for (int t = 0; t < 3; t++) {
            assert_true(make_format(&block, which, counts[t], &other));
            if (first.vector > 0) {
                same_cvse(&first.cvse, &other.cvse);
            } else if (first.tiles > 0) {
                same_bittcf(&first.bittcf, &other.bittcf);
            } else {
                same_hrpb(&first.hrpb, &other.hrpb);
            }
            free_format(&other);
        }
        free_format(&first);
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_every_generator, test_shapes, test_far_columns, test_thread_counts,
           test_equal_formats, test_matrices_16bf, test_matrices_32f, test_matrices_64f);
