/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.c  Movement of dense rows: pack, unpack, add. */
#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

/* Element (i, j) of a dense block, in elements from its start. */
static inline int64_t place(spmm_layout_t layout, int64_t ld, int64_t i, int64_t j)
{
    return layout == SPMM_LAYOUT_COL ? i + j * ld : i * ld + j;
}

enum { TILE_ROWS = 64, NARROW = 4 };

/* Rows of a block, and the same rows one behind the other. */
typedef struct {
    char          *block, *packed;
    const int32_t *row;          /* of the block, [n_rows]; NULL: the identity */
    int64_t        n_rows, n;    /* packed */
    int64_t        down, across; /* elements of the block from a row to the next, from a column */
    int            threads;
} move_t;

/* Column by column over few rows: those of a column lie side by side in a column-major block, and
 * the packed ones stay in the cache.  memcpy() of a size that the compiler knows is one
 * instruction. */
static inline __attribute__((always_inline)) void
move_tile(const move_t *m, int64_t first, int64_t last, const size_t elem, const bool packs)
{
    const int64_t n = m->n, down = m->down;

    for (int64_t j = 0; j < n; j++) {
        char *block  = m->block + (size_t)(j * m->across) * elem,
             *packed = m->packed + (size_t)j * elem;

        for (int64_t i = first; i < last; i++) {
            const int64_t row = m->row == NULL ? i : m->row[i];
            char *const   at  = block + (size_t)(row * down) * elem;

            memcpy(packs ? packed + (size_t)(i * n) * elem : at,
                   packs ? at : packed + (size_t)(i * n) * elem, elem);
        }
    }
}

/* Rows whose elements lie side by side in both. */
static void move_lines(const move_t *m, int64_t first, int64_t last, size_t elem, bool packs)
{
    const size_t width = (size_t)m->n * elem;

    for (int64_t i = first; i < last; i++) {
        const int64_t row    = m->row == NULL ? i : m->row[i];
        char *const   at     = m->block + (size_t)(row * m->down) * elem;
        char *const   packed = m->packed + (size_t)i * width;

        memcpy(packs ? packed : at, packs ? at : packed, width);
    }
}

/* Elements of 8 bytes of rows side by side: squares of two are turned in registers. */
typedef uint64_t pair_t __attribute__((vector_size(16), aligned(1), may_alias));

static void move_square(const pair_t *from, size_t from_line, pair_t *to, size_t to_line)
{
    const pair_t x = *from, y = *(const pair_t *)((const char *)from + from_line);

    *to                               = (pair_t){x[0], y[0]};
    *(pair_t *)((char *)to + to_line) = (pair_t){x[1], y[1]};
}

static void move_squares(const move_t *m, int64_t first, int64_t last, bool packs)
{
    const size_t  across = 8 * (size_t)m->across, width = 8 * (size_t)m->n;
    const int64_t to   = m->row == NULL ? first : m->row[first];
    const int64_t even = first + (last - first) / 2 * 2;

    for (int64_t j = 0; j < m->n; j += 2) {
        char *block = m->block + 8 * (size_t)to + (size_t)j * across;
        char *row   = m->packed + (size_t)first * width + 8 * (size_t)j;

        for (int64_t i = first; i < even; i += 2, block += 16, row += 2 * width) {
            if (packs) {
                move_square((pair_t *)block, across, (pair_t *)row, width);
            } else {
                move_square((pair_t *)row, width, (pair_t *)block, across);
            }
        }
    }
    move_tile(m, even, last, 8, packs);
}

/* Do rows first .. last - 1 follow each other in the block? */
static bool is_run(const move_t *m, int64_t first, int64_t last)
{
    const int32_t  n     = (int32_t)(last - first);
    const int32_t *row   = m->row == NULL ? NULL : m->row + first;
    int32_t        apart = 0;

    if (row == NULL || row[n - 1] - row[0] != n - 1) {
        return row == NULL;
    }
    for (int32_t i = 0; i < n; i++) {
        apart |= row[i] - row[0] - i;
    }
    return apart == 0;
}

#define MOVES(size)                                                                                \
    static void pack_##size(const move_t *m, int64_t first, int64_t last)                          \
    {                                                                                              \
        move_tile(m, first, last, size, true);                                                     \
    }                                                                                              \
    static void unpack_##size(const move_t *m, int64_t first, int64_t last)                        \
    {                                                                                              \
        move_tile(m, first, last, size, false);                                                    \
    }
MOVES(2)
MOVES(4)
MOVES(8)
MOVES(16)

/* One column of consecutive rows: a stencil's neighbours send a plane of its points. */
static void move_column(const move_t *m, int64_t first, int64_t last, size_t elem, bool packs)
{
    const int64_t row    = m->row == NULL ? first : m->row[first];
    char *const   block  = m->block + (size_t)row * elem;
    char *const   packed = m->packed + (size_t)first * elem;

    memcpy(packs ? packed : block, packs ? block : packed, (size_t)(last - first) * elem);
}

static void move_some(const move_t *m, int64_t first, int64_t last, size_t elem, bool packs)
{
    void (*const tiles[2][4])(const move_t *, int64_t, int64_t) = {
        {unpack_2, unpack_4, unpack_8, unpack_16}, {pack_2, pack_4, pack_8, pack_16}};
    const int  kind    = elem == 2 ? 0 : elem == 4 ? 1 : elem == 8 ? 2 : 3;
    const bool squares = elem == 8 && m->n % 2 == 0;
    const bool in_run  = m->down == 1 && (squares || m->n == 1) && is_run(m, first, last);

    if (m->across == 1 && m->n > NARROW) {
        move_lines(m, first, last, elem, packs);
    } else if (in_run && squares) {
        move_squares(m, first, last, packs);
    } else if (in_run) {
        move_column(m, first, last, elem, packs);
    } else {
        tiles[packs][kind](m, first, last);
    }
}

static void move_rows(const move_t *m, size_t elem, bool packs)
{
#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(m->threads))
    for (int64_t first = 0; first < m->n_rows; first += TILE_ROWS) {
        move_some(m, first, first + TILE_ROWS < m->n_rows ? first + TILE_ROWS : m->n_rows, elem,
                  packs);
    }
}

void spmmi_cpu_gather_rows(const spmm_gather_args_t *args)
{
    const bool by_row = args->src_layout == SPMM_LAYOUT_ROW;

    move_rows(&(move_t){.block   = (char *)args->src, /* which is read */
                        .packed  = args->dst,
                        .row     = args->row,
                        .n_rows  = args->n_rows,
                        .n       = args->n,
                        .down    = by_row ? args->ld_src : 1,
                        .across  = by_row ? 1 : args->ld_src,
                        .threads = args->threads},
              args->elem_size, true);
}

void spmmi_cpu_scatter_rows(const spmm_scatter_args_t *args)
{
    const bool by_row = args->dst_layout == SPMM_LAYOUT_ROW;

    move_rows(&(move_t){.block   = args->dst,
                        .packed  = (char *)args->src, /* which is read */
                        .row     = args->row,
                        .n_rows  = args->n_rows,
                        .n       = args->n,
                        .down    = by_row ? args->ld_dst : 1,
                        .across  = by_row ? 1 : args->ld_dst,
                        .threads = args->threads},
              args->elem_size, false);
}

/* The sum of number @p j of the parts of row @p u, in FP32 where they are, as on the GPU. */
static double sum_part(const spmm_scatter_add_args_t *args, spmm_type_t type, int64_t u, int64_t j)
{
    const int64_t width = args->n * spmmi_type_parts(args->src_type);
    double        sum   = 0.0;

    for (int32_t k = args->ptr[u]; k < args->ptr[u + 1]; k++) {
        sum += spmmi_value_get(type, args->src, args->pos[k] * width + j);
        sum = type == SPMM_R_64F ? sum : (double)(float)sum;
    }
    return sum;
}

/* a x + y, rounded once. */
static double multiply_add(spmm_type_t type, double a, double x, double y)
{
    return type == SPMM_R_64F ? fma(a, x, y) : (double)fmaf((float)a, (float)x, (float)y);
}

static void add_real(const spmm_scatter_add_args_t *args, spmm_type_t type, int64_t u)
{
    for (int64_t j = 0; j < args->n; j++) {
        const int64_t at  = place(args->dst_layout, args->ld_dst, args->row[u], j);
        const double  old = spmmi_value_get(args->dst_type, args->dst, at);

        spmmi_value_set(args->dst_type, args->dst, at,
                        multiply_add(type, args->alpha.re, sum_part(args, type, u, j), old));
    }
}

static void add_complex(const spmm_scatter_add_args_t *args, spmm_type_t type, int64_t u)
{
    const spmm_scalar_t a = args->alpha;

    for (int64_t j = 0; j < args->n; j++) {
        const int64_t at = 2 * place(args->dst_layout, args->ld_dst, args->row[u], j);
        const double  re = sum_part(args, type, u, 2 * j), im = sum_part(args, type, u, 2 * j + 1);
        double        x = multiply_add(type, a.re, re, spmmi_value_get(type, args->dst, at));
        double        y = multiply_add(type, a.re, im, spmmi_value_get(type, args->dst, at + 1));

        spmmi_value_set(type, args->dst, at, multiply_add(type, -a.im, im, x));
        spmmi_value_set(type, args->dst, at + 1, multiply_add(type, a.im, re, y));
    }
}

void spmmi_cpu_scatter_add_rows(const spmm_scatter_add_args_t *args)
{
    const spmm_type_t type = spmmi_part_type(args->src_type);
    void (*add)(const spmm_scatter_add_args_t *, spmm_type_t, int64_t) =
        spmmi_is_complex(args->dst_type) ? add_complex : add_real;

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t u = 0; u < args->n_rows; u++) {
        add(args, type, u);
    }
}

enum { STORE_ROWS = 32 }; /* at a time: a line of the cache of each stays while columns pass */

/* Rows first .. last - 1 for one type. */
#define STORE_COLUMNS(NAME, T)                                                                     \
    static void NAME(const spmm_store_args_t *args, int64_t first, int64_t last)                   \
    {                                                                                              \
        const T *src  = args->src;                                                                 \
        const T  beta = (T)args->beta.re;                                                          \
                                                                                                   \
        for (int64_t j = 0; j < args->n; j++) {                                                    \
            T *dst = (T *)args->dst + j * args->ld_dst;                                            \
                                                                                                   \
            for (int64_t i = first; i < last; i++) {                                               \
                const T x = src[i * args->n + j];                                                  \
                                                                                                   \
                dst[i] = args->beta.re == 0.0 ? x : x + beta * dst[i];                             \
            }                                                                                      \
        }                                                                                          \
    }

STORE_COLUMNS(store_64f, double)
STORE_COLUMNS(store_32f, float)

/* 16-bit types, summed in FP32, which src is. */
static void store_16(const spmm_store_args_t *args, int64_t first, int64_t last)
{
    const float beta = (float)args->beta.re;

    for (int64_t j = 0; j < args->n; j++) {
        for (int64_t i = first; i < last; i++) {
            const int64_t at = i + j * args->ld_dst;
            float         x  = ((const float *)args->src)[i * args->n + j];

            if (args->beta.re != 0.0) {
                x += beta * (float)spmmi_value_get(args->type, args->dst, at);
            }
            spmmi_value_set(args->type, args->dst, at, (double)x);
        }
    }
}

static void store_complex(const spmm_store_args_t *args, int64_t first, int64_t last)
{
    const spmm_type_t   part = spmmi_part_type(args->type);
    const spmm_scalar_t beta = args->beta;

    for (int64_t j = 0; j < args->n; j++) {
        for (int64_t i = first; i < last; i++) {
            const int64_t from = 2 * (i * args->n + j), to = 2 * (i + j * args->ld_dst);
            double        re = spmmi_value_get(part, args->src, from);
            double        im = spmmi_value_get(part, args->src, from + 1);

            if (!spmmi_scalar_is_zero(beta)) {
                const double x = spmmi_value_get(part, args->dst, to);
                const double y = spmmi_value_get(part, args->dst, to + 1);

                re += beta.re * x - beta.im * y;
                im += beta.re * y + beta.im * x;
            }
            spmmi_value_set(part, args->dst, to, re);
            spmmi_value_set(part, args->dst, to + 1, im);
        }
    }
}

void spmmi_cpu_store_columns(const spmm_store_args_t *args)
{
    void (*store)(const spmm_store_args_t *, int64_t, int64_t) =
        spmmi_is_complex(args->type) ? store_complex
        : args->type == SPMM_R_64F   ? store_64f
        : args->type == SPMM_R_32F   ? store_32f
                                     : store_16;

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t first = 0; first < args->n_rows; first += STORE_ROWS) {
        store(args, first, first + STORE_ROWS < args->n_rows ? first + STORE_ROWS : args->n_rows);
    }
}

/* One element; complex numbers have two parts. */
static void merge_element(const spmm_merge_args_t *args, int64_t from, int64_t to)
{
    const spmm_type_t   sum_part = spmmi_part_type(args->sum_type);
    const spmm_type_t   c_part   = spmmi_part_type(args->c_type);
    const int           parts    = spmmi_type_parts(args->c_type);
    const spmm_scalar_t beta     = args->beta;
    double              x[2] = {0.0, 0.0}, old[2] = {0.0, 0.0};

    for (int p = 0; p < parts; p++) {
        x[p] = args->sum == NULL ? 0.0 : spmmi_value_get(sum_part, args->sum, parts * from + p);
        if (!spmmi_scalar_is_zero(beta)) {
            old[p] = spmmi_value_get(c_part, args->C, parts * to + p);
        }
    }
    if (!spmmi_scalar_is_zero(beta)) {
        x[0] = multiply_add(sum_part, beta.re, old[0], x[0]);
    }
    if (parts == 2 && !spmmi_scalar_is_zero(beta)) {
        x[0] = multiply_add(sum_part, -beta.im, old[1], x[0]);
        x[1] = multiply_add(sum_part, beta.re, old[1], x[1]);
        x[1] = multiply_add(sum_part, beta.im, old[0], x[1]);
    }
    for (int p = 0; p < parts; p++) {
        spmmi_value_set(c_part, args->C, parts * to + p, x[p]);
    }
}

/* Column-major: columns of some rows, as they lie. */
void spmmi_cpu_merge_rows(const spmm_merge_args_t *args)
{
    const bool    by_row = args->layout == SPMM_LAYOUT_ROW;
    const int64_t each   = by_row ? 1 : TILE_ROWS;

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t first = 0; first < args->n_rows; first += each) {
        const int64_t last = first + each < args->n_rows ? first + each : args->n_rows;

        for (int64_t j = 0; j < args->n; j++) {
            for (int64_t i = first; i < last; i++) {
                const int64_t row = args->row_map == NULL ? i : args->row_map[i];

                merge_element(args, place(args->layout, args->ld_sum, i, j),
                              place(args->layout, args->ldc, row, j));
            }
        }
    }
}

/* Rows that travel in a shorter type. */

enum { PIECE = 4096 }; /* elements a thread takes at a time */

/* Elements @p from to @p end. */
#define EACH(to_t, from_t, convert)                                                                \
    for (int64_t i = from; i < end; i++) {                                                         \
        ((to_t *)args->dst)[i] = convert(((const from_t *)args->src)[i]);                          \
    }

static void round_piece(const spmm_round_args_t *args, int64_t from, int64_t end)
{
    if (args->src_type == SPMM_R_64F) {
        EACH(float, double, (float))
    } else if (args->dst_type == SPMM_R_64F) {
        EACH(double, float, (double))
    } else if (args->dst_type == SPMM_R_16F) {
        EACH(uint16_t, float, spmmi_half_from_float)
    } else if (args->src_type == SPMM_R_16F) {
        EACH(float, uint16_t, spmmi_half_to_float)
    } else if (args->dst_type == SPMM_R_16BF) {
        EACH(uint16_t, float, spmmi_bf16_from_float)
    } else {
        EACH(float, uint16_t, spmmi_bf16_to_float)
    }
}

void spmmi_cpu_round_rows(const spmm_round_args_t *args)
{
#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t from = 0; from < args->count; from += PIECE) {
        const int64_t left = args->count - from;

        round_piece(args, from, left < PIECE ? args->count : from + PIECE);
    }
}

/* Values of a matrix to the places of a format. */

void spmmi_cpu_place_values(const spmm_place_args_t *args)
{
    const size_t      size = args->elem_size;
    const spmm_type_t type = size == 2 * sizeof(double) ? SPMM_C_64F : SPMM_C_32F;

#pragma omp parallel for num_threads(spmmi_cpu_team(args->threads))
    for (int64_t i = 0; i < args->count; i++) {
        if (args->source[i] >= 0) {
            char *const to = (char *)args->to + (size_t)i * size;

            memcpy(to, (const char *)args->from + (size_t)args->source[i] * size, size);
            if (args->conjugate) {
                spmmi_conjugate(type, to, 1);
            }
        }
    }
}
