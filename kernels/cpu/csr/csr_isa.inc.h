/* SPDX-License-Identifier: Apache-2.0 */
/* CSR times dense for one type and one kind of processor; csr_rows.c includes it once for
 * each.
 *
 *   ROWS_ISA     word for the processor, part of names
 *   ROWS_TARGET  attribute: its instructions
 *   ROWS_BYTES   of its longest vector
 *   ROWS_TYPE    word for the type, part of names
 *   ROWS_T       real type of products and sums; rows of B and C are arrays of it
 *   ROWS_REAL    its bytes
 *   ROWS_PARTS   reals of a value: 1, or 2 for complex ones
 */
#define ROWS_INLINE static inline __attribute__((always_inline)) ROWS_TARGET
#define ROWS_WIDEST (8 / ROWS_PARTS) /* sums of a block in registers: 8 of the 16 that there are */

#if ROWS_PARTS == 1
#define ROWS_LEAST 1
#define ROWS_LANES 1
#define ROWS_MOST  1
#include "cpu/csr/csr_rows.inc.h"
#else
#define ROWS_LEAST 2
#endif
#define ROWS_LANES 2
#define ROWS_MOST  (2 * ROWS_REAL < ROWS_BYTES ? 2 : ROWS_WIDEST)
#include "cpu/csr/csr_rows.inc.h"
#if 4 * ROWS_REAL <= ROWS_BYTES
#define ROWS_LANES 4
#define ROWS_MOST  (4 * ROWS_REAL < ROWS_BYTES ? 2 : ROWS_WIDEST)
#include "cpu/csr/csr_rows.inc.h"
#endif
#if 8 * ROWS_REAL <= ROWS_BYTES
#define ROWS_LANES 8
#define ROWS_MOST  (8 * ROWS_REAL < ROWS_BYTES ? 2 : ROWS_WIDEST)
#include "cpu/csr/csr_rows.inc.h"
#endif
#if 16 * ROWS_REAL <= ROWS_BYTES
#define ROWS_LANES 16
#define ROWS_MOST  ROWS_WIDEST
#include "cpu/csr/csr_rows.inc.h"
#endif

#if ROWS_PARTS == 1
/* Entry k times n columns.  The compiler must not see that their elements are as far apart for each
 * entry: it would keep a pointer for each column and have no registers left. */
ROWS_INLINE void ROWS_PASTE(times, ROWS_TYPE, ROWS_ISA,
                            columns)(const spmm_csr_mm_args_t *args, int64_t k, const ROWS_T *B,
                                     const int n, int64_t b_row, ROWS_T *sum)
{
    const ROWS_T  value = ((const ROWS_T *)args->values)[k];
    const ROWS_T *b     = B + args->col_idx[k] * b_row;

    for (int j = 0; j < n; j++) {
        if (n > 1 && j % 4 == 0) {
            b += j == 0 ? 0 : 4 * args->x.ldb;
            __asm__("" : "+r"(b));
        }
        sum[j] += value * b[j % 4 * args->x.ldb];
    }
}

/* Entries k to end - 1 in runs, each added up in ROWS_T and all of them in FP64. */
ROWS_INLINE void ROWS_PASTE(runs, ROWS_TYPE, ROWS_ISA,
                            columns)(const spmm_csr_mm_args_t *args, int64_t k, int64_t end,
                                     const ROWS_T *B, const int n, int64_t b_row, ROWS_T *sum)
{
    double total[ROWS_WIDEST] = {0};

    while (k < end) {
        const int64_t stop              = end - k > args->run ? k + args->run : end;
        ROWS_T        part[ROWS_WIDEST] = {0};

        for (; k < stop; k++) {
            ROWS_PASTE(times, ROWS_TYPE, ROWS_ISA, columns)(args, k, B, n, b_row, part);
        }
        for (int j = 0; j < n; j++) {
            total[j] += (double)part[j];
        }
    }
    for (int j = 0; j < n; j++) {
        sum[j] = (ROWS_T)total[j];
    }
}

/* n columns from j0 on, entries one after the other; b_row and c_row: from a row to the next. */
ROWS_INLINE void ROWS_PASTE(some, ROWS_TYPE, ROWS_ISA, columns)(const spmm_csr_mm_args_t *shared,
                                                                int64_t first_row, int64_t last_row,
                                                                int64_t j0, const int n,
                                                                int64_t b_row, int64_t c_row)
{
    const spmm_csr_mm_args_t args = *shared; /* its own, as in csr_rows.inc.h */
    const ROWS_T            *B    = (const ROWS_T *)args.x.B + j0 * args.x.ldb;
    const bool               adds = args.x.beta.re != 0.0;
    int64_t                  k    = args.row_ptr[first_row];

    for (int64_t i = first_row; i < last_row; i++) {
        const int64_t end              = args.row_ptr[i + 1];
        const int64_t to               = args.row_map == NULL ? i : args.row_map[i];
        const bool    is_piece         = args.row_map != NULL && to < 0;
        const int64_t at               = is_piece ? ~to : j0 * args.x.ldc + to * c_row;
        ROWS_T       *C                = (ROWS_T *)(is_piece ? args.pieces : args.x.C) + at;
        ROWS_T        sum[ROWS_WIDEST] = {0};

        if (end - k > args.run) {
            ROWS_PASTE(runs, ROWS_TYPE, ROWS_ISA, columns)(&args, k, end, B, n, b_row, sum);
            k = end;
        }
#pragma GCC unroll 4
        for (; k < end; k++) {
            ROWS_PASTE(times, ROWS_TYPE, ROWS_ISA, columns)(&args, k, B, n, b_row, sum);
        }
        for (int j = 0; j < n; j++) {
            ROWS_T *c = C + j * args.x.ldc;

            *c = is_piece ? sum[j]
                          : ROWS_PASTE(result, ROWS_TYPE, ROWS_ISA, 1)(&args, sum[j], c, adds);
        }
    }
}

/* One column of short rows whose elements lie side by side, C neither permuted nor read. */
static ROWS_TARGET void ROWS_PASTE(column, ROWS_TYPE, ROWS_ISA,
                                   plain)(const spmm_csr_mm_args_t *shared, int64_t first_row,
                                          int64_t last_row)
{
    const spmm_csr_mm_args_t args  = *shared;
    const ROWS_T             alpha = (ROWS_T)args.x.alpha.re;
    ROWS_T                  *C     = args.x.C;
    int64_t                  k     = args.row_ptr[first_row];

    for (int64_t i = first_row; i < last_row; i++) {
        const int64_t end = args.row_ptr[i + 1];
        ROWS_T        sum = 0;

        if (end - k > args.run) {
            ROWS_PASTE(runs, ROWS_TYPE, ROWS_ISA, columns)(&args, k, end, args.x.B, 1, 1, &sum);
            k = end;
        }
#pragma GCC unroll 4
        for (; k < end; k++) {
            ROWS_PASTE(times, ROWS_TYPE, ROWS_ISA, columns)(&args, k, args.x.B, 1, 1, &sum);
        }
        C[i] = alpha * sum;
    }
}

/* One column of short rows. */
static ROWS_TARGET void ROWS_PASTE(column, ROWS_TYPE, ROWS_ISA, one)(const spmm_csr_mm_args_t *args,
                                                                     int64_t first_row,
                                                                     int64_t last_row)
{
    if (args->x.ldb == 1 && args->x.ldc == 1 && args->row_map == NULL && args->x.beta.re == 0.0) {
        ROWS_PASTE(column, ROWS_TYPE, ROWS_ISA, plain)(args, first_row, last_row);
        return;
    }
    ROWS_PASTE(some, ROWS_TYPE, ROWS_ISA, columns)
    (args, first_row, last_row, 0, 1, args->x.ldb, args->x.ldc);
}

#else
#define PAIR ROWS_PASTE(vector, ROWS_TYPE, ROWS_ISA, 2)
#define WIDE ROWS_PASTE(wide, ROWS_TYPE, ROWS_ISA, 2)

/* The same of complex numbers: sums of real and of imaginary parts of A times those of B. */
ROWS_INLINE void ROWS_PASTE(some, ROWS_TYPE, ROWS_ISA, columns)(const spmm_csr_mm_args_t *shared,
                                                                int64_t first_row, int64_t last_row,
                                                                int64_t j0, const int n,
                                                                int64_t b_row, int64_t c_row)
{
    const spmm_csr_mm_args_t args = *shared;
    const ROWS_T *value = args.values, *B = (const ROWS_T *)args.x.B + 2 * j0 * args.x.ldb;
    const bool    adds = args.x.beta.re != 0.0 || args.x.beta.im != 0.0;
    int64_t       k    = args.row_ptr[first_row];

    for (int64_t i = first_row; i < last_row; i++) {
        const int64_t end = args.row_ptr[i + 1];
        const int64_t to  = args.row_map == NULL ? i : args.row_map[i];
        ROWS_T       *C   = (ROWS_T *)args.x.C + 2 * (j0 * args.x.ldc + to * c_row);
        PAIR          sum[8];
        WIDE          total[8] = {0};

        for (bool more = true; more;) {
            const int64_t stop = end - k > args.run ? k + args.run : end;

            for (int s = 0; s < 2 * n; s++) {
                sum[s] = (PAIR){0};
            }
            for (; k < stop; k++) {
                for (int j = 0; j < n; j++) {
                    const PAIR b =
                        *(const PAIR *)(B + 2 * (args.col_idx[k] * b_row + j * args.x.ldb));

                    sum[2 * j] += value[2 * k] * b;
                    sum[2 * j + 1] += value[2 * k + 1] * b;
                }
            }
            more = k < end;
            if (more || stop - args.row_ptr[i] > args.run) {
                for (int s = 0; s < 2 * n; s++) {
                    total[s] += __builtin_convertvector(sum[s], WIDE);
                    sum[s] = __builtin_convertvector(total[s], PAIR);
                }
            }
        }
        for (int j = 0; j < n; j++) {
            ROWS_T    *c = C + 2 * j * args.x.ldc;
            const PAIR x = sum[2 * j] + ROWS_PASTE(times_i, ROWS_TYPE, ROWS_ISA, 2)(sum[2 * j + 1]);

            *(PAIR *)c = ROWS_PASTE(result, ROWS_TYPE, ROWS_ISA, 2)(&args, x, c, adds);
        }
    }
}
#undef PAIR
#undef WIDE
#endif

/* A few columns at a time over all rows, since each is a stream of its own through the cache and
 * the pages; A, read once for each few, is the smaller part.  Rows of columns that begin a multiple
 * of 4 KiB apart fall into one set of L1, which has 8 or 12 lines of both B and C. */
static ROWS_TARGET void ROWS_PASTE(columns, ROWS_TYPE, ROWS_ISA,
                                   all)(const spmm_csr_mm_args_t *args, int64_t first_row,
                                        int64_t last_row)
{
    int64_t j = 0;

#if ROWS_PARTS == 1
    const bool apart = args->x.ldb * (int64_t)sizeof(ROWS_T) % 4096 != 0;

    for (; apart && j + 8 <= args->x.n; j += 8) {
        ROWS_PASTE(some, ROWS_TYPE, ROWS_ISA, columns)(args, first_row, last_row, j, 8, 1, 1);
    }
#endif
    for (; j + 4 <= args->x.n; j += 4) {
        ROWS_PASTE(some, ROWS_TYPE, ROWS_ISA, columns)(args, first_row, last_row, j, 4, 1, 1);
    }
    switch (args->x.n - j) {
    case 3:
        ROWS_PASTE(some, ROWS_TYPE, ROWS_ISA, columns)(args, first_row, last_row, j, 3, 1, 1);
        break;
    case 2:
        ROWS_PASTE(some, ROWS_TYPE, ROWS_ISA, columns)(args, first_row, last_row, j, 2, 1, 1);
        break;
    case 1:
        ROWS_PASTE(some, ROWS_TYPE, ROWS_ISA, columns)(args, first_row, last_row, j, 1, 1, 1);
        break;
    default:
        break;
    }
}

/* Row-major by the longest vectors that are no longer than a row of B. */
#define TAKE(lanes)                                                                                \
    if (args->x.n * ROWS_PARTS >= (lanes)) {                                                       \
        rows = ROWS_PASTE(rows, ROWS_TYPE, ROWS_ISA, lanes);                                       \
    }
static void ROWS_PASTE(rows, ROWS_TYPE, ROWS_ISA, any)(const spmm_csr_mm_args_t *args,
                                                       int64_t first_row, int64_t last_row)
{
    spmm_csr_rows_t   *rows = ROWS_PASTE(rows, ROWS_TYPE, ROWS_ISA, ROWS_LEAST);
    spmm_csr_mm_args_t one;

    if (args->x.layout == SPMM_LAYOUT_COL && args->x.n > 1) {
        ROWS_PASTE(columns, ROWS_TYPE, ROWS_ISA, all)(args, first_row, last_row);
        return;
    }
    if (args->x.layout == SPMM_LAYOUT_COL) { /* a column is a row-major block of one column */
        one       = *args;
        one.x.ldb = one.x.ldc = 1;
        args                  = &one;
    }
#if ROWS_PARTS == 1
    /* One sum or several, by how long rows are: those beside a row must not count in order. */
    if (!args->in_order && args->row_ptr[args->n_rows] < ROWS_LONG * args->n_rows) {
        rows = ROWS_PASTE(column, ROWS_TYPE, ROWS_ISA, one);
    }
#endif
    TAKE(2)
#if 4 * ROWS_REAL <= ROWS_BYTES
    TAKE(4)
#endif
#if 8 * ROWS_REAL <= ROWS_BYTES
    TAKE(8)
#endif
#if 16 * ROWS_REAL <= ROWS_BYTES
    TAKE(16)
#endif
    rows(args, first_row, last_row);
}
#undef TAKE
#undef ROWS_LEAST
#undef ROWS_INLINE
#undef ROWS_WIDEST
#undef ROWS_TYPE
#undef ROWS_T
#undef ROWS_REAL
#undef ROWS_PARTS
