/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/csr_cpu/format.h"

#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "cpu/csr_cpu/csr_mm.h"
#include "cpu/csr_cpu/csr_panels.h"
#include "spmm_dist/context.h"

/** What the rows that are cut add up to. */
typedef struct {
    int32_t rows, pieces;
} cuts_t;

static int32_t pieces_of(const spmm_csr_t *block, int32_t i)
{
    const int64_t entries = block->row_ptr[i + 1] - block->row_ptr[i];

    return (int32_t)((entries + SPMM_CSR_PIECE - 1) / SPMM_CSR_PIECE);
}

/* Kernels of 16-bit types would round a piece to 16 bits; those of columns have none. */
static cuts_t count_cuts(const spmm_csr_t *block, const spmm_problem_t *problem)
{
    cuts_t cuts = {0, 0};

    for (int32_t i = 0; i < block->n_rows && problem->layout == SPMM_LAYOUT_ROW &&
                        spmm_type_size(problem->ab_type) > 2;
         i++) {
        const int32_t pieces = pieces_of(block, i);

        if (pieces > 1) {
            cuts.rows++;
            cuts.pieces += pieces;
        }
    }
    return cuts;
}

static spmm_status_t allocate(const spmm_csr_t *block, const spmm_problem_t *problem,
                              spmm_env_t *env, cuts_t cuts, spmm_csr_cpu_t *f)
{
    const int32_t n_rows   = block->n_rows - cuts.rows + cuts.pieces;
    const size_t  row_size = (size_t)problem->n * spmm_type_size(problem->c_type);

    SPMM_TRY(
        spmmi_csr_alloc(env, n_rows, block->n_cols, spmmi_csr_nnz(block), block->type, &f->block));
    SPMM_TRY(spmmi_csr_alloc(env, cuts.rows, cuts.pieces, cuts.pieces, block->type, &f->sums));
    f->block.c_rows = f->sums.c_rows = block->c_rows;
    if ((block->row_map != NULL || cuts.rows > 0) && SPMM_NEW(f->block.row_map, n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, n_rows, sizeof(int32_t), "a row map");
    }
    if (cuts.rows > 0) {
        SPMM_NEW(f->sums.row_map, cuts.rows);
        f->pieces      = spmmi_alloc(cuts.pieces, row_size);
        f->piece_bytes = (size_t)cuts.pieces * row_size;
        if (f->sums.row_map == NULL || f->pieces == NULL) {
            return spmmi_fail_memory(&env->err, cuts.pieces, row_size, "sums of long rows");
        }
    }
    return SPMM_OK;
}

/* Columns of B are turned to rows where each row is then read several times.  Reproducible plans
 * add up alike whatever the block. */
static spmm_status_t allocate_panel(const spmm_csr_t *block, const spmm_problem_t *problem,
                                    spmm_env_t *env, spmm_csr_cpu_t *f)
{
    enum { LEAST_COLUMNS = 4, LEAST_READS = 12 };
    const size_t row = (size_t)spmmi_csr_panel_bytes(problem->ab_type);

    if (problem->layout != SPMM_LAYOUT_COL || row == 0 || problem->c_type != problem->ab_type ||
        problem->n < LEAST_COLUMNS || problem->in_order ||
        spmmi_csr_nnz(block) < LEAST_READS * (int64_t)block->n_cols) {
        return SPMM_OK;
    }
    f->panel       = spmmi_alloc(block->n_cols, row);
    f->panel_bytes = (size_t)block->n_cols * row;
    return f->panel != NULL ? SPMM_OK
                            : spmmi_fail_memory(&env->err, block->n_cols, row, "columns of B");
}

/* The rows of f->block and f->sums, which has them only where f->block has pieces. */
static void cut(const spmm_csr_t *block, spmm_csr_cpu_t *f)
{
    const bool cuts = f->sums.n_rows > 0;
    int32_t    row = 0, sum = 0, piece = 0; /* of f->block, f->sums, f->pieces */

    for (int32_t i = 0; i < block->n_rows; i++) {
        const int32_t to    = block->row_map == NULL ? i : block->row_map[i];
        const int32_t count = cuts ? pieces_of(block, i) : 1;

        if (count > 1) {
            f->sums.row_map[sum]   = to;
            f->sums.row_ptr[++sum] = piece + count;
        }
        for (int32_t p = 0; p + 1 < count; p++) {
            f->block.row_map[row]   = ~piece++;
            f->block.row_ptr[++row] = block->row_ptr[i] + (p + 1) * (int64_t)SPMM_CSR_PIECE;
        }
        if (f->block.row_map != NULL) {
            f->block.row_map[row] = count > 1 ? ~piece++ : to;
        }
        f->block.row_ptr[++row] = block->row_ptr[i + 1];
    }
    for (int32_t p = 0; p < f->sums.n_cols; p++) {
        f->sums.col_idx[p] = p;
        spmmi_value_set(f->sums.type, f->sums.values, p, 1.0);
    }
}

/* Each thread copies what it multiplies, so that the memory is near it. */
static void copy_entries(const spmm_csr_t *block, spmm_csr_cpu_t *f)
{
    const size_t   size    = spmm_type_size(block->type);
    const int64_t *row_ptr = f->block.row_ptr;

#pragma omp parallel num_threads(spmmi_cpu_team(f->threads))
    {
        const int     t = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const int64_t k = row_ptr[spmmi_cpu_first_row(row_ptr, f->block.n_rows, t, n_threads)];
        const int64_t count =
            row_ptr[spmmi_cpu_first_row(row_ptr, f->block.n_rows, t + 1, n_threads)] - k;

        memcpy(f->block.col_idx + k, block->col_idx + k, (size_t)count * sizeof(int32_t));
        memcpy((char *)f->block.values + (size_t)k * size,
               (const char *)block->values + (size_t)k * size, (size_t)count * size);
    }
}

/* Whoever lends a block has dealt it by threads as its entries are multiplied: they lie well. */
static void borrow_entries(const spmm_csr_t *block, spmm_csr_cpu_t *f)
{
    spmmi_free_all(f->block.col_idx, f->block.values);
    f->block.col_idx = block->col_idx;
    f->block.values  = block->values;
    f->borrowed      = true;
}

spmm_status_t spmmi_csr_cpu_build(const spmm_csr_t *block, const spmm_problem_t *problem,
                                  const spmm_device_t *device, spmm_csr_cpu_t *format)
{
    format->threads  = device->n_sm;
    format->in_order = problem->in_order;
    SPMM_TRY(allocate(block, problem, device->env, count_cuts(block, problem), format));
    SPMM_TRY(allocate_panel(block, problem, device->env, format));
    cut(block, format);
    if (problem->lends) {
        borrow_entries(block, format);
    } else {
        copy_entries(block, format);
    }
    return SPMM_OK;
}

void spmmi_csr_cpu_free(spmm_csr_cpu_t *format)
{
    if (format->borrowed) {
        format->block.col_idx = NULL;
        format->block.values  = NULL;
    }
    spmmi_csr_free(&format->block);
    spmmi_csr_free(&format->sums);
    spmmi_free_all(format->pieces, format->panel);
}
