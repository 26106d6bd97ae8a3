/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_case.h"

#include <float.h>

#include "format_case.h"
#include "reference.h"
#include "spmm_dist/context.h"

enum { TILE = 32 }; /* columns that a reference is summed for at a time */

static int64_t row_length(int32_t n_rows, int32_t n_cols, pattern_kind_t kind, int32_t i)
{
    const int64_t mixed = i % 5 == 0 ? 0 : 1 + spmmi_below(spmmi_mix64((uint64_t)i), 20);
    const bool    full  = (kind == DENSE_ROW || kind == DENSE_ROWS) && i == 3;

    if (kind == NO_ENTRIES || (kind == EMPTY_STRIPES && i / 32 % 3 == 1)) {
        return 0;
    }
    return full || (kind == DENSE_ROWS && i == n_rows - 1) || mixed > n_cols ? n_cols : mixed;
}

static void fill_row(spmm_csr_t *block, int32_t i)
{
    const int64_t first = block->row_ptr[i], length = block->row_ptr[i + 1] - first;

    for (int64_t k = 0; k < length; k++) { /* one column from each of length equal work items */
        const int64_t from = k * block->n_cols / length, to = (k + 1) * block->n_cols / length;

        block->col_idx[first + k] = (int32_t)(from + spmmi_below(spmmi_hash2(1, i, k), to - from));
        spmmi_value_draw(block->type, block->values, first + k, 2, i, k);
    }
}

void make_block(int32_t n_rows, int32_t n_cols, pattern_kind_t kind, spmm_type_t type, bool mapped,
                spmm_csr_t *block)
{
    int64_t nnz = 0;

    for (int32_t i = 0; i < n_rows; i++) {
        nnz += row_length(n_rows, n_cols, kind, i);
    }
    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, n_rows, n_cols, nnz, type, block));
    block->row_ptr[0] = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        block->row_ptr[i + 1] = block->row_ptr[i] + row_length(n_rows, n_cols, kind, i);
        fill_row(block, i);
    }
    block->c_rows = n_rows;
    if (mapped) {
        format_case_map(block);
    }
}

static void draw(spmm_type_t type, void *values, int64_t size, uint64_t seed, int64_t n)
{
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < size; k++) {
        spmmi_value_draw(type, values, k, seed, k, n);
        if (seed == 0) {
            spmmi_value_set(type, values, k, NAN);
        }
    }
}

/* Elements from the first to the last one of @p lines lines of @p length each. */
static int64_t span(int64_t lines, int64_t ld, int64_t length)
{
    return lines > 0 && length > 0 ? (lines - 1) * ld + length : 0;
}

void make_product(product_t *p, int64_t n, int64_t extra)
{
    const bool    b_cols = p->problem.layout == SPMM_LAYOUT_COL;
    const bool    c_cols = p->problem.layout != SPMM_LAYOUT_ROW;
    const int64_t b_rows = p->block->n_cols, c_rows = p->block->c_rows;

    p->n      = n;
    p->ldb    = (b_cols ? b_rows : n) + extra;
    p->ldc    = (c_cols ? c_rows : n) + extra + p->more_c;
    p->b_size = b_cols ? span(n, p->ldb, b_rows) : span(b_rows, p->ldb, n);
    p->c_size = c_cols ? span(n, p->ldc, c_rows) : span(c_rows, p->ldc, n);
    p->B      = spmm_test_malloc((size_t)p->b_size * spmm_type_size(p->problem.ab_type));
    p->C      = spmm_test_malloc((size_t)p->c_size * spmm_type_size(p->problem.c_type));
    p->got    = spmm_test_malloc((size_t)p->c_size * spmm_type_size(p->problem.c_type));
    draw(p->problem.ab_type, p->B, p->b_size, 3, n);
    /* beta == 0 must not read C: a NaN would show. */
    draw(p->problem.c_type, p->C, p->c_size, p->beta == 0.0 ? 0 : 4, n);
}

void free_product(product_t *p)
{
    spmm_test_free(p->B, p->C, p->got);
}

double product_bound(const spmm_problem_t *problem)
{
    const bool tf32 = problem->compute == SPMM_COMPUTE_32F_FAST_TF32;

    return spmmi_part_type(problem->c_type) == SPMM_R_32F && tf32
               ? 2e-3
               : reference_bound(problem->c_type);
}

static int64_t place_of_b(const product_t *p, int64_t i, int64_t j)
{
    const bool cols = p->problem.layout == SPMM_LAYOUT_COL;

    return reference_place(cols ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW, p->ldb, i, j);
}

static int64_t place_of_c(const product_t *p, int64_t i, int64_t j)
{
    const bool rows = p->problem.layout == SPMM_LAYOUT_ROW;

    return reference_place(rows ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL, p->ldc, i, j);
}

/* The most that results below the normal range may lose, for each product. */
static double underflow(const product_t *p)
{
    return (p->problem.c_type == SPMM_R_16F ? 0x1p-24 : 0.0) +
           fabs(p->alpha) * (spmmi_is_64f(p->problem.c_type) ? DBL_MIN : (double)FLT_MIN);
}

static double error_of(const product_t *p, double got, double want, double magnitude, double slack)
{
    double off;

    /* A factor times a number with an infinite part has NaN where Inf meets a part that is 0. */
    if (spmmi_is_complex(p->problem.c_type) && !isfinite(want)) {
        return isfinite(got) ? (double)INFINITY : 0.0;
    }
    if (isnan(want)) {
        return isnan(got) ? 0.0 : (double)INFINITY;
    }
    if (isinf(want) || !spmmi_value_fits(p->problem.c_type, want)) {
        return isinf(got) && signbit(got) == signbit(want) ? 0.0 : (double)INFINITY;
    }
    off = fabs(got - want) - slack;
    if (off <= 0.0) {
        return 0.0;
    }
    return isfinite(off) ? off / magnitude : (double)INFINITY;
}

/* B in FP64 by parts, decoded once: every row of it is read many times. */
static double *decode_b(const product_t *p)
{
    const int64_t parts = spmmi_type_parts(p->problem.ab_type) * p->b_size;
    double       *B     = spmm_test_malloc((size_t)parts * sizeof *B);

#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < parts; k++) {
        B[k] = spmmi_value_get(spmmi_part_type(p->problem.ab_type), p->B, k);
    }
    return B;
}

/** Sums of a tile by parts, and the magnitudes of their terms. */
typedef struct {
    double sum[2][TILE], magnitude[2][TILE];
} tile_t;

static void add_term(tile_t *t, int part, int64_t j, double term)
{
    t->sum[part][j] += term;
    t->magnitude[part][j] += fabs(term);
}

static void add_entry(const product_t *p, const double *B, int64_t k, int64_t j0, int64_t width,
                      tile_t *t)
{
    const int         parts = spmmi_type_parts(p->block->type);
    const spmm_type_t type  = spmmi_part_type(p->block->type);
    const double     *b     = B + parts * place_of_b(p, p->block->col_idx[k], j0);
    const int64_t     apart = parts * (p->problem.layout == SPMM_LAYOUT_COL ? p->ldb : 1);
    const double      re    = spmmi_value_get(type, p->block->values, parts * k);

    for (int64_t j = 0; j < width; j++) {
        add_term(t, 0, j, re * b[j * apart]);
    }
    if (parts == 2) {
        const double im = spmmi_value_get(type, p->block->values, 2 * k + 1);

        for (int64_t j = 0; j < width; j++) {
            add_term(t, 0, j, -im * b[j * apart + 1]);
            add_term(t, 1, j, re * b[j * apart + 1]);
            add_term(t, 1, j, im * b[j * apart]);
        }
    }
}

/* Columns j0 .. j0 + width of row i of A. */
static void compare_tile(const product_t *p, const double *B, int32_t i, int64_t j0, int64_t width,
                         worst_t *worst)
{
    const int64_t     first = p->block->row_ptr[i], last = p->block->row_ptr[i + 1];
    const int64_t     row   = p->block->row_map == NULL ? i : p->block->row_map[i];
    const int         parts = spmmi_type_parts(p->problem.c_type);
    const spmm_type_t type  = spmmi_part_type(p->problem.c_type);
    tile_t            t     = {0};

    for (int64_t k = first; k < last; k++) {
        add_entry(p, B, k, j0, width, &t);
    }
    for (int64_t c = 0; c < parts * width; c++) {
        const int64_t j    = c / parts;
        const int     part = (int)(c % parts);
        const int64_t at   = parts * place_of_c(p, row, j0 + j) + part;
        const double  old  = p->beta == 0.0 ? 0.0 : p->beta * spmmi_value_get(type, p->C, at);
        const double  want = p->alpha * t.sum[part][j] + old;
        const double  got  = spmmi_value_get(type, p->got, at);
        const double  error =
            error_of(p, got, want, fabs(p->alpha) * t.magnitude[part][j] + fabs(old),
                     (double)(parts * (last - first)) * underflow(p));

        if (error > worst->error) {
            *worst = (worst_t){.error = error, .row = i, .col = j0 + j, .got = got, .want = want};
        }
    }
}

worst_t product_worst(const product_t *p)
{
    const int64_t tiles = (p->n + TILE - 1) / TILE;
    double       *B     = decode_b(p);
    worst_t       worst = {0};

#pragma omp parallel
    {
        worst_t mine = {0};

#pragma omp for collapse(2) schedule(dynamic, 4)
        for (int32_t i = 0; i < p->block->n_rows; i++) {
            for (int64_t t = 0; t < tiles; t++) {
                compare_tile(p, B, i, t * TILE, p->n - t * TILE < TILE ? p->n - t * TILE : TILE,
                             &mine);
            }
        }
#pragma omp critical
        if (mine.error > worst.error) {
            worst = mine;
        }
    }
    free(B);
    return worst;
}

/* The old bits where no row of A maps and between columns and leading dimension. */
static void check_rest(const product_t *p)
{
    const size_t elem = spmm_type_size(p->problem.c_type);
    char        *seen = spmm_test_calloc((size_t)p->c_size + 1, 1);

    for (int32_t i = 0; i < p->block->n_rows; i++) {
        const int64_t row = p->block->row_map == NULL ? i : p->block->row_map[i];

        for (int64_t j = 0; j < p->n; j++) {
            seen[place_of_c(p, row, j)] = 1;
        }
    }
    for (int64_t k = 0; k < p->c_size; k++) {
        if (seen[k] == 0) {
            assert_memory_equal((char *)p->got + (size_t)k * elem, (char *)p->C + (size_t)k * elem,
                                elem);
        }
    }
    free(seen);
}

void check_product(const product_t *p)
{
    const worst_t worst = product_worst(p);

    if (worst.error > product_bound(&p->problem)) {
        fail_msg("row %d of %d, column %lld of %lld, types %s to %s, compute %d, layout %d, "
                 "ldb %lld, ldc %lld, shift %lld, alpha %g, beta %g: %.17g, not %.17g: error %g",
                 (int)worst.row, (int)p->block->n_rows, (long long)worst.col, (long long)p->n,
                 spmmi_type_name(p->problem.ab_type), spmmi_type_name(p->problem.c_type),
                 (int)p->problem.compute, (int)p->problem.layout, (long long)p->ldb,
                 (long long)p->ldc, (long long)p->shift, p->alpha, p->beta, worst.got, worst.want,
                 worst.error);
    }
    check_rest(p);
}

spmm_operands_t operands_of(const product_t *p, const void *B, void *C, spmm_stream_t stream)
{
    return (spmm_operands_t){.ab_type = p->problem.ab_type,
                             .c_type  = p->problem.c_type,
                             .layout  = p->problem.layout,
                             .n       = p->n,
                             .alpha   = {.re = p->alpha},
                             .beta    = {.re = p->beta},
                             .B       = B,
                             .ldb     = p->ldb,
                             .C       = C,
                             .ldc     = p->ldc,
                             .stream  = stream};
}

void run_product(const spmm_engine_ops_t *engine, const spmm_device_t *device, void *format,
                 product_t *p)
{
    const size_t    b_elem = spmm_type_size(p->problem.ab_type);
    const size_t    c_elem = spmm_type_size(p->problem.c_type);
    const size_t    shift  = (size_t)p->shift;
    spmm_operands_t x;
    spmm_stream_t   stream;
    void           *B, *C, *b_base, *c_base;
    int64_t         calls;

    spmm_assert_ok(device->ops->stream_create(device, false, &stream));
    B     = device_test_put(device, p->B, (size_t)p->b_size * b_elem, shift * b_elem, &b_base);
    C     = device_test_put(device, p->C, (size_t)p->c_size * c_elem, shift * c_elem, &c_base);
    x     = operands_of(p, B, C, stream);
    calls = spmmi_alloc_get_stats().calls;
    spmm_assert_ok(engine->execute(format, &x));
    assert_int_equal(spmmi_alloc_get_stats().calls, calls);
    spmm_assert_ok(device->ops->stream_sync(device, stream));
    spmm_assert_ok(device->ops->fetch(device, p->got, C, (size_t)p->c_size * c_elem));
    device->ops->release(device, b_base);
    device->ops->release(device, c_base);
    device->ops->stream_destroy(device, stream);
}
