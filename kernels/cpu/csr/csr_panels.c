/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/csr/csr_rows.h"

#include "cpu/first_row.h"

enum { PANEL = 64 /* bytes of a row: a line of the cache */, TILE_ROWS = 64, LEAST = 4 };

/* Columns to rows of a panel, and a tile of rows to columns of C, for one type: squares of two are
 * turned in registers. */
#define TURN(NAME, T)                                                                              \
    typedef T NAME##_pair                                                                          \
        __attribute__((vector_size(2 * sizeof(T)), aligned(sizeof(T)), may_alias));                \
                                                                                                   \
    /* from[0 .. 1][0 .. 1], lines f apart, transposed to lines t apart. */                        \
    static inline __attribute__((always_inline)) void NAME##_square(const T *from, int64_t f,      \
                                                                    T *to, int64_t t)              \
    {                                                                                              \
        const NAME##_pair x = *(const NAME##_pair *)from, y = *(const NAME##_pair *)(from + f);    \
                                                                                                   \
        *(NAME##_pair *)to       = (NAME##_pair){x[0], y[0]};                                      \
        *(NAME##_pair *)(to + t) = (NAME##_pair){x[1], y[1]};                                      \
    }                                                                                              \
    static inline __attribute__((always_inline)) void NAME##_b(                                    \
        const spmm_csr_mm_args_t *args, int64_t j0, int64_t first, int64_t end, const int width)   \
    {                                                                                              \
        const int64_t ld    = args->x.ldb;                                                         \
        const T      *B     = (const T *)args->x.B + j0 * ld;                                      \
        T            *panel = args->panel;                                                         \
        int64_t       i     = first;                                                               \
                                                                                                   \
        for (; i + 1 < end && width % 2 == 0; i += 2) {                                            \
            for (int j = 0; j < width; j += 2) {                                                   \
                NAME##_square(B + i + j * ld, ld, panel + i * width + j, width);                   \
            }                                                                                      \
        }                                                                                          \
        for (; i < end; i++) {                                                                     \
            for (int j = 0; j < width; j++) {                                                      \
                panel[i * width + j] = B[i + j * ld];                                              \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static inline __attribute__((always_inline)) void NAME##_c(                                    \
        const spmm_csr_mm_args_t *args, const void *from, int64_t j0, int64_t first, int64_t end,  \
        const int width)                                                                           \
    {                                                                                              \
        const T        beta  = (T)args->x.beta.re;                                                 \
        const int32_t *map   = args->row_map;                                                      \
        const bool     plain = map == NULL && beta == 0 && width % 2 == 0;                         \
        const int64_t  ld = args->x.ldc, even = plain ? first + (end - first) / 2 * 2 : first;     \
        const T       *tile = from;                                                                \
        T             *C    = (T *)args->x.C + j0 * ld;                                            \
                                                                                                   \
        for (int j = 0; j < width && even > first; j += 2) {                                       \
            for (int64_t i = first; i < even; i += 2) {                                            \
                NAME##_square(tile + (i - first) * width + j, width, C + i + j * ld, ld);          \
            }                                                                                      \
        }                                                                                          \
        for (int j = 0; j < width; j++) {                                                          \
            for (int64_t i = even; i < end; i++) {                                                 \
                T *to = C + (map == NULL ? i : map[i]) + j * ld;                                   \
                                                                                                   \
                *to = tile[(i - first) * width + j] + (beta == 0 ? 0 : beta * *to);                \
            }                                                                                      \
        }                                                                                          \
    }
TURN(turn_64f, double)
TURN(turn_32f, float)

/* Widths that the compiler knows are faster. */
static void turn_b(const spmm_csr_mm_args_t *args, int64_t j0, int64_t first, int64_t end,
                   int width)
{
    const bool is_double = args->x.ab_type == SPMM_R_64F;

    if (is_double && width == 8) {
        turn_64f_b(args, j0, first, end, 8);
    } else if (is_double && width == 4) {
        turn_64f_b(args, j0, first, end, 4);
    } else if (is_double) {
        turn_64f_b(args, j0, first, end, width);
    } else if (width == 16) {
        turn_32f_b(args, j0, first, end, 16);
    } else {
        turn_32f_b(args, j0, first, end, width);
    }
}

static void turn_c(const spmm_csr_mm_args_t *args, const void *tile, int64_t j0, int64_t first,
                   int64_t end, int width)
{
    const bool is_double = args->x.ab_type == SPMM_R_64F;

    if (is_double && width == 8) {
        turn_64f_c(args, tile, j0, first, end, 8);
    } else if (is_double && width == 4) {
        turn_64f_c(args, tile, j0, first, end, 4);
    } else if (is_double) {
        turn_64f_c(args, tile, j0, first, end, width);
    } else if (width == 16) {
        turn_32f_c(args, tile, j0, first, end, 16);
    } else {
        turn_32f_c(args, tile, j0, first, end, width);
    }
}

int64_t spmmi_csr_panel_bytes(spmm_type_t type)
{
    return type == SPMM_R_64F || type == SPMM_R_32F ? PANEL : 0;
}

/* Rows first .. last - 1 of the product with the panel. */
static void multiply(const spmm_csr_mm_args_t *args, spmm_csr_rows_t *rows, int64_t j0, int width,
                     int64_t first, int64_t last)
{
    double             tile[TILE_ROWS * PANEL / sizeof(double)];
    spmm_csr_mm_args_t part = *args;

    part.row_map  = NULL;
    part.x.layout = SPMM_LAYOUT_ROW;
    part.x.beta   = (spmm_scalar_t){0};
    part.x.n = part.x.ldb = part.x.ldc = width;
    part.x.B                           = args->panel;
    part.x.C                           = tile;
    for (int64_t i = first; i < last; i += TILE_ROWS) {
        const int64_t end = last - i < TILE_ROWS ? last : i + TILE_ROWS;

        part.row_ptr = args->row_ptr + i;
        part.n_rows  = end - i;
        rows(&part, 0, end - i);
        turn_c(args, tile, j0, i, end, width);
    }
}

void spmmi_csr_panels(const spmm_csr_mm_args_t *args, spmm_csr_rows_t *rows, int t, int n_threads)
{
    const int64_t elem = args->x.ab_type == SPMM_R_64F ? 8 : 4, most = PANEL / elem;
    const int64_t first = spmmi_cpu_first_row(args->row_ptr, args->n_rows, t, n_threads);
    const int64_t last  = spmmi_cpu_first_row(args->row_ptr, args->n_rows, t + 1, n_threads);
    int64_t       j0    = 0;

    for (; args->x.n - j0 >= LEAST; j0 += most) {
        const int width = (int)(args->x.n - j0 < most ? args->x.n - j0 : most);

        turn_b(args, j0, args->n_cols * t / n_threads, args->n_cols * (t + 1) / n_threads, width);
#pragma omp barrier
        multiply(args, rows, j0, width, first, last);
#pragma omp barrier
    }
    if (j0 < args->x.n) {
        spmm_csr_mm_args_t rest = *args;

        rest.x.B = (const char *)args->x.B + j0 * args->x.ldb * elem;
        rest.x.C = (char *)args->x.C + j0 * args->x.ldc * elem;
        rest.x.n = args->x.n - j0;
        rows(&rest, first, last);
    }
}
