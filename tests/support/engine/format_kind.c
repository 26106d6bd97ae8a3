/* SPDX-License-Identifier: Apache-2.0 */
#include "format_kind.h"

#include "engine_case.h"
#include "format_case.h"
#include "spmm_dist/context.h"

enum { THREADS = 2 };

bool format_kind_make(const spmm_csr_t *block, int which, int threads, format_t *f)
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

void format_kind_free(format_t *f)
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

void format_kind_check(const spmm_csr_t *block,
                       void (*check_arrays)(const format_t *f, const spmm_csr_t *block))
{
    int32_t *last;

    assert_non_null(SPMM_NEW(last, block->n_cols));
    for (int which = 0; which < FORMAT_KINDS; which++) {
        format_t f;

        if (format_kind_make(block, which, THREADS, &f)) {
            check_columns(&f, block, last);
            format_case_assert_holds(&f.view, block);
            if (check_arrays != NULL) {
                check_arrays(&f, block);
            }
            check_product_of(&f, block, block->type,
                             block->type == SPMM_R_64F ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F);
            if (block->type != SPMM_R_64F) {
                check_product_of(&f, block, SPMM_R_32F,
                                 f.vector > 0 ? SPMM_COMPUTE_32F : SPMM_COMPUTE_32F_FAST_TF32);
            }
            check_refilled(&f, block);
            format_kind_free(&f);
        }
    }
    spmmi_free(last);
}
