/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_cpu.c  CSR with OpenMP: the reference every other engine is checked against. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "cpu/csr/csr_rows.h"
#include "engine/engine.h"
#include "spmm_dist/context.h"

/* CSR as csr-cpu keeps it.  Rows of more than SPMM_CSR_PIECE entries are cut into rows of at most
 * that many, so that no thread gets one long row to itself: their products go to `pieces`, and
 * `sums` adds these up.  The cuts depend on the row alone, so sums are the same for any number of
 * threads. */

enum { SPMM_CSR_PIECE = 1024 };

typedef struct {
    spmm_csr_t block;  /**< entries in the order of build(); its row_map may have ~r for row r of
                            pieces */
    spmm_csr_t sums;   /**< times pieces: the rows of C that were cut, each a row of ones */
    void      *pieces; /**< [sums.n_cols x n of the problem], of the type of C */
    size_t     piece_bytes;
    void      *panel; /**< for column-major blocks: as in spmm_csr_mm_args_t; else NULL */
    size_t     panel_bytes;
    int        threads;
    bool       in_order; /**< as in spmm_problem_t */
    bool       borrowed; /**< columns and values of block are those of the block given to build() */
} spmm_csr_cpu_t;

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

/* Columns of B are transposed to rows where each row is then read several times.  Reproducible
 * plans add up alike whatever the block. */
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

/* @p block, copied or borrowed, cut where the kernel for @p problem adds pieces up. */
static spmm_status_t csr_cpu_build(const spmm_csr_t *block, const spmm_problem_t *problem,
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

static void csr_cpu_free(spmm_csr_cpu_t *format)
{
    if (format->borrowed) {
        format->block.col_idx = NULL;
        format->block.values  = NULL;
    }
    spmmi_csr_free(&format->block);
    spmmi_csr_free(&format->sums);
    spmmi_free_all(format->pieces, format->panel);
}

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    (void)device;
    if (!spmmi_cpu_csr_mm_supports(problem->ab_type, problem->c_type)) {
        (void)snprintf(why, SPMM_WHY, "has no kernel for this pair of types of A and C");
        return false;
    }
    return true;
}

/* Every entry reads a row of B, from main memory when B is large; A and C are read and written
 * once.  Halved for B: neighbouring rows find about every other one in a cache. */
static int cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double ab = (double)spmm_type_size(problem->ab_type);
    const double c  = (double)spmm_type_size(problem->c_type);
    const double n  = (double)problem->n;

    terms[0] = (spmm_cost_term_t){"entries", 1.0,
                                  (double)pattern->nnz * (sizeof(int32_t) + ab + 0.5 * n * ab) /
                                      device->mem_bw};
    terms[1] = (spmm_cost_term_t){
        "rows", 1.0, (double)pattern->n_rows * (sizeof(int64_t) + 2.0 * n * c) / device->mem_bw};
    return 2;
}

static void destroy(void *format)
{
    if (format != NULL) {
        csr_cpu_free(format);
        spmmi_free(format);
    }
}

static spmm_status_t build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                           const spmm_problem_t *problem, const spmm_device_t *device,
                           void **format)
{
    spmm_csr_cpu_t *f;
    spmm_status_t   status;

    (void)engine;
    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "a CSR engine");
    }
    status = csr_cpu_build(block, problem, device, f);
    if (status != SPMM_OK) {
        destroy(f);
        return status;
    }
    *format = f;
    return SPMM_OK;
}

static spmm_status_t places(const void *format, void **values, int64_t *count, int32_t **from)
{
    const spmm_csr_cpu_t *f = format;

    *values = f->block.values;
    *count  = spmmi_csr_nnz(&f->block);
    *from   = NULL;
    return SPMM_OK;
}

static spmm_status_t execute(void *format, const spmm_operands_t *x)
{
    const spmm_csr_cpu_t *f    = format;
    spmm_csr_mm_args_t    args = {.n_rows   = f->block.n_rows,
                                  .row_ptr  = f->block.row_ptr,
                                  .col_idx  = f->block.col_idx,
                                  .values   = f->block.values,
                                  .row_map  = f->block.row_map,
                                  .pieces   = f->pieces,
                                  .panel    = f->panel,
                                  .n_cols   = f->block.n_cols,
                                  .run      = SPMM_CSR_RUN,
                                  .x        = *x,
                                  .isa      = spmmi_csr_isa(),
                                  .in_order = f->in_order,
                                  .threads  = f->threads};

    spmmi_cpu_csr_mm(&args);
    if (f->sums.n_rows > 0) {
        args.n_rows  = f->sums.n_rows;
        args.row_ptr = f->sums.row_ptr;
        args.col_idx = f->sums.col_idx;
        args.values  = f->sums.values;
        args.row_map = f->sums.row_map;
        args.run     = 1; /* each piece is a sum of many: add in FP64 at once */
        args.x.B     = f->pieces;
        args.x.ldb   = x->n;
        spmmi_cpu_csr_mm(&args);
    }
    return SPMM_OK;
}

static void describe(const void *format, const spmm_pattern_t *pattern, FILE *out)
{
    const spmm_csr_cpu_t *f = format;

    (void)pattern;
    (void)fprintf(out, "  row-major vectors of %s; %d rows of more than %d entries in %d pieces\n",
                  spmmi_csr_isa()->name, (int)f->sums.n_rows, (int)SPMM_CSR_PIECE,
                  (int)f->sums.n_cols);
}

static void bytes(const void *format, size_t *host, size_t *device)
{
    const spmm_csr_cpu_t *f = format;

    *host = sizeof *f + spmmi_csr_bytes(&f->block) + spmmi_csr_bytes(&f->sums) + f->piece_bytes +
            f->panel_bytes;
    *device = 0;
}

const spmm_engine_ops_t spmmi_engine_csr_cpu = {
    .facts.name        = "csr-cpu",
    .facts.description = "CSR with OpenMP on the CPU, all types; the reference",
    .facts.device      = SPMM_DEVICE_CPU,
    .facts.in_order    = true,
    .facts.borrows     = true,
    .supports          = supports,
    .cost              = cost,
    .build             = build,
    .places            = places,
    .execute           = execute,
    .describe          = describe,
    .bytes             = bytes,
    .destroy           = destroy,
};
