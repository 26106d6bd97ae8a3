/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_format_bcsr.c
 *  BCSR with and without 2:4 tiles against its definition: which tiles there are, of which kind,
 *  every value and bit of metadata as mma.sp reads them, the way back, new values, threads.
 */
#include "format_case.h"

#include "cpu/cpu_kernels.h"
#include "engine/bcsr/format.h"

enum { THREADS = 2, SIDE = 16, WIDTH = 32, N_KINDS = 6 };

static const struct {
    int32_t rows;
    bool    sp24;
} kinds[N_KINDS] = {{4, false}, {8, false}, {16, false}, {4, true}, {8, true}, {16, true}};

static void make(const spmm_csr_t *block, int kind, int threads, spmm_bcsr_t *f)
{
    spmm_assert_ok(spmmi_bcsr_create(&spmm_test_env, block, NULL, kinds[kind].rows,
                                     kinds[kind].sp24, threads, f));
    assert_null(f->values);
    spmm_assert_ok(spmmi_bcsr_fill(&spmm_test_env, f, block->values, threads));
}

/* What of A a tile must hold: bits of the value and whether it is stored. */
typedef struct {
    uint16_t value[SIDE][WIDTH];
    bool     stored[SIDE][WIDTH];
    bool     side[2];
    bool     legal; /* at most two in any four columns */
} wide_t;

static void take_wide(const spmm_csr_t *block, int32_t tile_row, int32_t col, wide_t *w)
{
    memset(w, 0, sizeof *w);
    w->legal = true;
    for (int32_t r = 0; r < SIDE && tile_row * SIDE + r < block->n_rows; r++) {
        const int32_t i = tile_row * SIDE + r;

        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            const int32_t c = block->col_idx[k] - col * WIDTH;

            if (c >= 0 && c < WIDTH) {
                w->value[r][c]    = ((const uint16_t *)block->values)[k];
                w->stored[r][c]   = true;
                w->side[c / SIDE] = true;
            }
        }
        for (int q = 0; q < WIDTH / 4; q++) {
            int n = 0;

            for (int c = 0; c < 4; c++) {
                n += w->stored[r][4 * q + c];
            }
            w->legal = w->legal && n <= 2;
        }
    }
}

/* Fragment A of mma.m16n8k16 as the PTX ISA gives it: element e of lane 4 g + t. */
static uint16_t fragment(const uint16_t *tile, int32_t r, int32_t c)
{
    const int lane = r % 8 * 4 + c % 8 / 2, e = (c / 8) * 4 + (r / 8) * 2 + c % 2;

    return tile[8 * lane + e];
}

static void check_dense(const wide_t *w, int half, const uint16_t *tile)
{
    for (int r = 0; r < SIDE; r++) {
        for (int c = 0; c < SIDE; c++) {
            assert_int_equal(fragment(tile, r, c), w->value[r][SIDE * half + c]);
        }
    }
}

/* What mma.sp::ordered_metadata.m16n8k32 makes of values and metadata: of lane 4 g + t, element
 * pair p is row g + 8 (p % 2), the two kept in columns 4 t + 16 (p / 2) on; lane 4 g + h (selector
 * 0) says which, four bits for each four columns from 16 h on, row g in the lower half of the
 * word. */
static void check_sparse(const wide_t *w, const uint16_t *tile, const uint32_t *meta)
{
    uint16_t got[SIDE][WIDTH] = {{0}};

    for (int lane = 0; lane < 32; lane++) {
        const int g = lane / 4, t = lane % 4;

        for (int p = 0; p < 4; p++) {
            const int      r = g + 8 * (p % 2), h = p / 2;
            const uint32_t word = meta[2 * g + h];
            const uint32_t code = word >> (16 * (p % 2) + 4 * t) & 15;
            const uint32_t one = code & 3, two = code >> 2;

            assert_true(one < two);
            got[r][16 * h + 4 * t + (int)one] = tile[8 * lane + 2 * p];
            got[r][16 * h + 4 * t + (int)two] = tile[8 * lane + 2 * p + 1];
        }
    }
    assert_memory_equal(got, w->value, sizeof got);
}

static bool has(uint32_t mask, int32_t r)
{
    return (mask >> r & 1) != 0;
}

/* One 16x32 tile of the format, which must be next in storage. */
static void check_wide(const spmm_csr_t *block, const spmm_bcsr_t *f, int32_t s, int32_t panel,
                       int32_t r, bool sp24)
{
    const spmm_bcsr_step_t step  = f->step[s];
    const uint16_t        *tiles = (const uint16_t *)f->values + (int64_t)step.at * 32;
    const int32_t   left = spmmi_bcsr_tile_at(step, 0, r), right = spmmi_bcsr_tile_at(step, 1, r);
    const uint32_t *bits =
        f->bits + ((int64_t)f->bits_ptr[s] + spmmi_bcsr_rank(spmmi_bcsr_any(step), r)) * SIDE;
    wide_t w;

    take_wide(block, panel * f->rows + r, step.col, &w);
    assert_true(has(spmmi_bcsr_any(step), r) == (w.side[0] || w.side[1]));
    if (!has(spmmi_bcsr_any(step), r)) {
        return;
    }
    for (int i = 0; i < SIDE; i++) {
        for (int c = 0; c < WIDTH; c++) {
            assert_true(has(bits[i], c) == w.stored[i][c]);
        }
    }
    assert_true(has(step.sp24, r) == (sp24 && w.legal && w.side[0] && w.side[1]));
    if (has(step.sp24, r)) {
        const int32_t   k = spmmi_bcsr_rank(step.sp24, r);
        const uint32_t *meta =
            (const uint32_t *)(const void *)(tiles + spmmi_bcsr_tiles(step) * 256);

        assert_false(has(step.left, r) || has(step.right, r));
        check_sparse(&w, tiles + k * 256, meta + k * 16);
        return;
    }
    assert_true(has(step.left, r) == w.side[0] && has(step.right, r) == w.side[1]);
    if (w.side[0]) {
        check_dense(&w, 0, tiles + left * 256);
    }
    if (w.side[1]) {
        check_dense(&w, 1, tiles + right * 256);
    }
}

/* All steps, whose values follow each other without gaps, and the tiles of every tile row. */
static void check_format(const spmm_csr_t *block, const spmm_bcsr_t *f, bool sp24)
{
    int64_t units = 0, entries = 0, wide = 0;

    assert_int_equal(f->n_panels, (block->n_rows + SIDE * f->rows - 1) / (SIDE * f->rows));
    for (int32_t p = 0; p < f->n_panels; p++) {
        for (int32_t s = f->panel_ptr[p]; s < f->panel_ptr[p + 1]; s++) {
            assert_int_equal(f->step[s].at, units);
            assert_int_equal(f->bits_ptr[s], wide);
            assert_true(s == f->panel_ptr[p] || f->step[s].col > f->step[s - 1].col);
            assert_true(spmmi_bcsr_any(f->step[s]) != 0 && f->step[s].none == 0);
            for (int32_t r = 0; r < f->rows; r++) {
                check_wide(block, f, s, p, r, sp24);
            }
            units += spmmi_bcsr_units(f->step[s]);
            wide += spmmi_bcsr_count(spmmi_bcsr_any(f->step[s]));
        }
    }
    assert_true(units == f->n_units && wide == f->n_wide);
    assert_int_equal(f->panel_ptr[f->n_panels], f->n_steps);
    for (int64_t k = 0; k < wide * SIDE; k++) {
        entries += spmmi_bcsr_count(f->bits[k]);
    }
    assert_int_equal(entries, spmmi_csr_nnz(block));
    assert_int_equal(f->row_ptr[f->n_tile_rows], f->n_wide);
}

static void check_entries(const spmm_csr_t *block, const spmm_bcsr_t *f)
{
    const spmm_bcsr_arrays_t arrays = spmmi_bcsr_arrays(f);
    const spmm_tc_view_t     view   = spmmi_bcsr_view(&arrays);

    format_case_assert_holds(&view, block);
}

static void test_small(void **state)
{
    for (int s = 0; format_shapes[s].density >= 0.0; s++) {
        for (int kind = 0; kind < N_KINDS; kind++) {
            spmm_csr_t  block;
            spmm_bcsr_t f;

            format_case_random(format_shapes[s].n_rows, format_shapes[s].n_cols,
                               format_shapes[s].density, SPMM_R_16F, kind % 2 != 0, (uint64_t)s,
                               &block);
            make(&block, kind, THREADS, &f);
            check_format(&block, &f, kinds[kind].sp24);
            check_entries(&block, &f);
            spmmi_bcsr_free(&f);
            spmmi_csr_free(&block);
        }
    }
}

/* Of every four columns of a row as many entries as drawn: 0 .. most. */
static void make_groups(int32_t n_rows, int32_t n_cols, int most, uint64_t seed, spmm_csr_t *block)
{
    int64_t nnz = 0;

    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, n_rows, n_cols, (int64_t)n_rows * n_cols,
                                   SPMM_R_16BF, block));
    block->row_ptr[0] = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        for (int32_t q = 0; 4 * q < n_cols; q++) {
            const int want = (int)spmmi_below(spmmi_hash2(seed, i, q), most + 1);
            int       n    = 0;

            for (int32_t c = 4 * q; c < 4 * q + 4 && c < n_cols && n < want; c++) {
                /* Take it for sure when the rest is needed. */
                if (spmmi_hash2(seed + 1, i, c) % 2 == 0 || 4 * q + 4 - c <= want - n) {
                    block->col_idx[nnz] = c;
                    spmmi_value_set(SPMM_R_16BF, block->values, nnz++,
                                    spmmi_hash2(seed, i, c) % 7 == 0 ? 0.0 : (double)(1 + i + c));
                    n++;
                }
            }
        }
        block->row_ptr[i + 1] = nnz;
    }
    block->c_rows = n_rows;
}

/* Every number of entries in four columns; ragged edges.  With at most two all are 2:4. */
static void test_groups(void **state)
{
    static const int32_t shapes[][2] = {{16, 32}, {100, 200}, {31, 17}, {300, 97}};

    for (int most = 0; most <= 4; most++) {
        for (int s = 0; s < 4; s++) {
            for (int kind = 0; kind < N_KINDS; kind++) {
                spmm_csr_t  block;
                spmm_bcsr_t f;

                make_groups(shapes[s][0], shapes[s][1], most, (uint64_t)(10 * most + s), &block);
                make(&block, kind, THREADS, &f);
                check_format(&block, &f, kinds[kind].sp24);
                check_entries(&block, &f);
                assert_true(most > 2 || f.n_legal == f.n_wide);
                assert_true(most < 4 || s == 2 || f.n_sp24 == 0);
                assert_true(!kinds[kind].sp24 || most == 0 || most > 2 || f.n_sp24 > 0);
                spmmi_bcsr_free(&f);
                spmmi_csr_free(&block);
            }
        }
    }
}

/* All sixteen ways to fill four columns: those of two entries at most are told apart, ascending. */
static void test_codes(void **state)
{
    for (uint32_t bits = 0; bits < 16; bits++) {
        const uint32_t code = spmmi_bcsr_code(bits), one = code & 3, two = code >> 2;

        assert_true(one < two);
        assert_true(spmmi_bcsr_count(bits) > 2 || (bits & ~(1u << one | 1u << two)) == 0);
    }
}

static void check_matrix(const char *spec, const spmm_csr_t *block)
{
    for (int kind = 2; kind < N_KINDS; kind += 2) {
        spmm_bcsr_t one, other;

        make(block, kind, 1, &one);
        make(block, kind, 3, &other);
        check_entries(block, &one);
        assert_int_equal(one.n_units, other.n_units);
        assert_memory_equal(one.step, other.step, (size_t)one.n_steps * sizeof *one.step);
        assert_memory_equal(one.bits, other.bits, (size_t)one.n_wide * SIDE * sizeof *one.bits);
        assert_memory_equal(one.tile, other.tile, (size_t)one.n_wide * sizeof *one.tile);
        assert_memory_equal(one.values, other.values, spmmi_bcsr_value_bytes(&one));
        spmmi_bcsr_free(&one);
        spmmi_bcsr_free(&other);
    }
}

static void test_matrices(void **state)
{
    format_case_each(SPMM_R_16BF, check_matrix);
}

/* New values leave the pattern: what is 2:4 stays so. */
static void test_refill(void **state)
{
    for (int kind = 0; kind < N_KINDS; kind++) {
        spmm_csr_t  block;
        spmm_bcsr_t f;

        make_groups(200, 300, 2 + kind % 3, 5, &block);
        make(&block, kind, THREADS, &f);
        for (int64_t k = 0; k < spmmi_csr_nnz(&block); k++) {
            spmmi_value_set(block.type, block.values, k,
                            k % 5 == 0 ? 0.0 : 1.0 + (double)(k % 100));
        }
        spmm_assert_ok(spmmi_bcsr_fill(&spmm_test_env, &f, block.values, THREADS));
        check_format(&block, &f, kinds[kind].sp24);
        check_entries(&block, &f);
        spmmi_bcsr_free(&f);
        spmmi_csr_free(&block);
    }
}

/* What is counted of panels of all heights is what formats of each have. */
static void test_measure(void **state)
{
    static const char *const specs[] = {"stencil27:nx=9,ny=8,nz=7,dof=2", "rmat:scale=11,degree=7",
                                        "uniform:rows=900,cols=70,degree=20"};

    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        spmm_bcsr_facts_t facts[SPMM_BCSR_PANELS];
        spmm_windows_t    tall;
        spmm_csr_t        block;

        format_case_matrix(specs[k], SPMM_R_16F, &block);
        spmm_assert_ok(
            spmmi_windows_create(&spmm_test_env, &block, SPMM_WINDOWS_TALL, THREADS, &tall));
        spmmi_bcsr_measure(&tall, block.n_rows, THREADS, facts);
        for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
            int32_t     longest = 0;
            spmm_bcsr_t f;

            spmm_assert_ok(
                spmmi_bcsr_create(&spmm_test_env, &block, &tall, 4 << h, true, THREADS, &f));
            for (int32_t p = 0; p < f.n_panels; p++) {
                const int32_t steps = f.panel_ptr[p + 1] - f.panel_ptr[p];

                longest = steps > longest ? steps : longest;
            }
            assert_true(f.n_steps > 0);
            assert_int_equal(facts[h].steps, f.n_steps);
            assert_int_equal(facts[h].longest, longest);
            assert_int_equal(facts[h].tiles, f.n_tiles);
            assert_int_equal(facts[h].sp24, f.n_sp24);
            assert_int_equal(facts[h].wide, f.n_wide);
            assert_int_equal(facts[h].legal, f.n_legal);
            spmmi_bcsr_free(&f);
        }
        spmmi_windows_free(&tall);
        spmmi_csr_free(&block);
    }
}

static void test_range(void **state)
{
    int64_t          row_ptr[] = {0, (int64_t)INT32_MAX + 1};
    const spmm_csr_t block     = {
            .n_rows = 1, .n_cols = 1, .row_ptr = row_ptr, .type = SPMM_R_16F, .c_rows = 1};
    spmm_bcsr_t f;

    assert_int_equal(spmmi_bcsr_create(&spmm_test_env, &block, NULL, 16, true, 1, &f),
                     SPMM_ERR_RANGE);
}

SPMM_TESTS(test_codes, test_small, test_groups, test_refill, test_matrices, test_measure,
           test_range);
