/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_csr_rows.c
 *  The row-major kernels of csr-cpu for every kind of processor that runs them here, every width up
 *  to several blocks, real and complex, against FP64 sums; pieces; what must not be touched; the
 *  bits of a row without the others.
 */
#include "test_main.h"

#include <complex.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "cpu/csr/csr_rows.h"
#include "reference.h"
#include "spmm_dist/context.h"

enum { ROWS = 7, COLS = 90, ENTRIES = 220, MOST_N = 140, PAD = 3, SHIFT = 1 };

/* Rows that end in each loop of the kernels; the fourth and fifth are pieces. */
static const int64_t row_ptr[ROWS + 1] = {0, 0, 1, 8, 17, 100, 189, ENTRIES};
static const int32_t row_map[ROWS]     = {5, 0, 1, ~0, ~1, 2, 4};
enum { C_ROWS = 6, PIECES = 2, LEFT_OUT = 3 };

/** A type, as its reals. */
typedef struct {
    int    parts; /**< 2: complex */
    bool   is_64;
    double bound;
} kind_t;

static double real_at(const kind_t *t, const void *array, int64_t k)
{
    return t->is_64 ? ((const double *)array)[k] : (double)((const float *)array)[k];
}

static double complex value_at(const kind_t *t, const void *array, int64_t k)
{
    return t->parts == 1 ? real_at(t, array, k)
                         : real_at(t, array, 2 * k) + real_at(t, array, 2 * k + 1) * I;
}

static void fill(const kind_t *t, void *array, int64_t count, uint64_t seed)
{
    for (int64_t k = 0; k < count * t->parts; k++) {
        const double x = spmmi_random_value(seed, k, 0);

        if (t->is_64) {
            ((double *)array)[k] = x;
        } else {
            ((float *)array)[k] = (float)x;
        }
    }
}

/* One product of n columns, of row i or of a piece, against the sums over its entries. */
static void check_row(const kind_t *t, const spmm_csr_mm_args_t *args, int i, const void *before)
{
    const bool           is_piece = row_map[i] < 0;
    const int64_t        ld       = is_piece ? args->x.n : args->x.ldc;
    const int64_t        row      = is_piece ? ~row_map[i] : row_map[i];
    const double complex alpha    = is_piece ? 1.0 : args->x.alpha.re + args->x.alpha.im * I;
    const double complex beta     = is_piece ? 0.0 : args->x.beta.re + args->x.beta.im * I;

    for (int64_t j = 0; j < args->x.n; j++) {
        const double complex got  = value_at(t, is_piece ? args->pieces : args->x.C, row * ld + j);
        double complex       sum  = 0.0;
        double               size = 1e-300;

        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            const double complex term = value_at(t, args->values, k) *
                                        value_at(t, args->x.B, args->col_idx[k] * args->x.ldb + j);

            sum += alpha * term;
            size += cabs(alpha * term);
        }
        if (beta != 0.0) {
            sum += beta * value_at(t, before, row * ld + j);
            size += cabs(beta * value_at(t, before, row * ld + j));
        }
        assert_true(cabs(got - sum) <= t->bound * size);
    }
}

/* In order: a row comes to the bits of this row alone, whatever is beside it. */
static void check_alone(const kind_t *t, spmm_csr_rows_t *rows, const spmm_csr_mm_args_t *args,
                        const void *before, size_t c_bytes)
{
    static char        want[sizeof(double) * 2 * C_ROWS * (MOST_N + PAD)];
    static char        want_pieces[sizeof(double) * 2 * PIECES * MOST_N];
    const size_t       element = (size_t)t->parts * (t->is_64 ? 8 : 4);
    const size_t       p_bytes = element * (size_t)(PIECES * args->x.n);
    spmm_csr_mm_args_t all     = *args;

    all.in_order = true;
    memcpy(all.x.C, before, c_bytes);
    rows(&all, 0, ROWS);
    memcpy(want, all.x.C, c_bytes);
    memcpy(want_pieces, all.pieces, p_bytes);
    memcpy(all.x.C, before, c_bytes);
    for (int i = 0; i < ROWS; i++) {
        spmm_csr_mm_args_t one = all;

        one.n_rows = 1;
        one.row_ptr += i;
        one.row_map = row_map[i] < 0 ? &row_map[i] : NULL;
        if (row_map[i] >= 0) {
            one.x.C = (char *)one.x.C + (size_t)(row_map[i] * one.x.ldc) * element;
        }
        rows(&one, 0, 1);
    }
    assert_memory_equal(all.x.C, want, c_bytes);
    assert_memory_equal(all.pieces, want_pieces, p_bytes);
}

static void check_product(const kind_t *t, spmm_csr_rows_t *rows, int64_t n, int scalars)
{
    static double values[2 * ENTRIES], B[2 * COLS * (MOST_N + PAD) + 2],
        pieces[2 * PIECES * MOST_N];
    static double      C[2 * C_ROWS * (MOST_N + PAD) + 2], before[2 * C_ROWS * (MOST_N + PAD) + 2];
    static int32_t     col[ENTRIES];
    const size_t       element = (size_t)t->parts * (t->is_64 ? 8 : 4);
    const int64_t      ld      = n + PAD;
    const bool         turns   = t->parts == 2 && scalars >= 2; /* complex factors */
    spmm_csr_mm_args_t args    = {.n_rows  = ROWS,
                                  .row_ptr = row_ptr,
                                  .col_idx = col,
                                  .values  = values,
                                  .row_map = row_map,
                                  .pieces  = pieces,
                                  .run     = scalars == 2 ? 1 : SPMM_CSR_RUN};

    args.x =
        (spmm_operands_t){.n     = n,
                          .alpha = {scalars == 0 ? 1.0 : -1.3, turns ? 0.7 : 0.0},
                          .beta  = {scalars == 1 ? 0.7 : 0.0, turns && scalars == 2 ? -2.1 : 0.0},
                          .B     = (char *)B + SHIFT * element,
                          .ldb   = ld,
                          .C     = (char *)C + SHIFT * element,
                          .ldc   = ld};
    for (int k = 0; k < ENTRIES; k++) {
        col[k] = (int32_t)(spmmi_mix64((uint64_t)k) % COLS);
    }
    fill(t, values, ENTRIES, 1);
    fill(t, (char *)B + SHIFT * element, COLS * ld, 2);
    fill(t, args.x.C, C_ROWS * ld, 3);
    for (int64_t k = 0; k < C_ROWS * ld && args.x.beta.re == 0.0 && args.x.beta.im == 0.0; k++) {
        if (k % ld < n && k / ld != LEFT_OUT) { /* beta 0: not read */
            memset((char *)args.x.C + (size_t)k * element, 0xff, element);
        }
    }
    memcpy(before, args.x.C, (size_t)(C_ROWS * ld) * element);
    rows(&args, 0, ROWS);
    for (int i = 0; i < ROWS; i++) {
        check_row(t, &args, i, before);
    }
    for (int64_t k = 0; k < C_ROWS * ld; k++) {
        if (k % ld >= n || k / ld == LEFT_OUT) {
            assert_memory_equal((char *)args.x.C + (size_t)k * element,
                                (char *)before + (size_t)k * element, element);
        }
    }
    check_alone(t, rows, &args, before, (size_t)(C_ROWS * ld) * element);
}

static void test_widths(void **state)
{
    const kind_t kinds[] = {{1, true, 1e-14}, {1, false, 5e-6}, {2, true, 1e-14}, {2, false, 5e-6}};

    for (int k = 0; k < SPMM_CSR_ISAS; k++) {
        const spmm_csr_isa_t  *isa    = &spmmi_csr_isas[k];
        spmm_csr_rows_t *const rows[] = {isa->rows_64f, isa->rows_32f, isa->rows_64c,
                                         isa->rows_32c};

        if (!isa->runs_here()) {
            print_message("%s: not on this processor\n", isa->name);
            continue;
        }
        for (int t = 0; t < 4; t++) {
            for (int64_t n = 1; n <= MOST_N; n += n < 68 ? 1 : 9) {
                for (int scalars = 0; scalars < 4; scalars++) {
                    check_product(&kinds[t], rows[t], n, scalars);
                }
            }
        }
    }
    assert_true(spmmi_csr_isa()->runs_here());
}

/* [bytes] of memory that costs only what is touched: a file with holes. */
static void *reserve(size_t bytes)
{
    FILE *file = tmpfile();
    void *at   = NULL;

    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)bytes), 0);
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    assert_true(at != MAP_FAILED);
    assert_int_equal(fclose(file), 0);
    return at;
}

/* Entries beyond 2^31 of a block, of which nothing before them is there: the bits of the same ones
 * at its start. */
static void test_far_entries(void **state)
{
    static const spmm_type_t   types[]   = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F, SPMM_C_64F};
    static const spmm_layout_t layouts[] = {SPMM_LAYOUT_ROW, SPMM_LAYOUT_COL};
    enum { N = 5 };
    const int64_t far = ((int64_t)1 << 31) + 7;
    const size_t  all = (size_t)far + ENTRIES;
    int64_t       offset[ROWS + 1];
    int32_t      *col = reserve(all * sizeof *col);

    for (int k = 0; k < 8; k++) {
        const spmm_type_t  type   = types[k / 2];
        const size_t       size   = spmm_type_size(type);
        char              *values = reserve(all * size), *at = values + (size_t)far * size;
        static double      B[2 * COLS * N], C[2][2 * ROWS * N];
        spmm_csr_mm_args_t args = {.n_rows  = ROWS,
                                   .row_ptr = row_ptr,
                                   .col_idx = col + far,
                                   .values  = at,
                                   .run     = SPMM_CSR_RUN,
                                   .isa     = spmmi_csr_isa(),
                                   .x       = {.ab_type = type,
                                               .c_type  = type,
                                               .layout  = layouts[k % 2],
                                               .n       = N,
                                               .alpha   = {.re = 1.5},
                                               .B       = B,
                                               .ldb     = k % 2 == 0 ? N : COLS,
                                               .C       = C[0],
                                               .ldc     = k % 2 == 0 ? N : ROWS}};

        for (int64_t e = 0; e < ENTRIES; e++) {
            col[far + e] = (int32_t)(spmmi_hash2(3, e, 1) % COLS);
            reference_set(type, at, e, spmmi_random_value(4, e, 0));
        }
        for (int64_t e = 0; e < (int64_t)COLS * N; e++) {
            reference_set(type, B, e, spmmi_random_value(5, e, 0));
        }
        memset(C, 0, sizeof C);
        spmmi_cpu_csr_mm(&args);
        for (int i = 0; i <= ROWS; i++) {
            offset[i] = row_ptr[i] + far;
        }
        args.row_ptr = offset;
        args.col_idx = col;
        args.values  = values;
        args.x.C     = C[1];
        spmmi_cpu_csr_mm(&args);
        assert_memory_equal(C[0], C[1], sizeof C[0]);
        assert_int_equal(munmap(values, all * size), 0);
    }
    assert_int_equal(munmap(col, all * sizeof *col), 0);
}

SPMM_TESTS(test_widths, test_far_entries);
