/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 LABEL driver INCLUDE bench/papers SOURCES bench/papers/ladder_tiles.c */
/** @file test_ladder_tiles.c  The tiles of bench_ladder, read as its kernels read them, against the
 *  matrix: both widths, 2:4 tiles with none, one and two entries in four columns, ragged edges,
 *  squares.  The kernels run on GPUs only and are checked there in every run. */
#include "format_case.h"

#include "ladder_tiles.h"

enum { N = 3 };

static void multiply(const spmm_csr_t *block, const double *B, double *C)
{
    for (int32_t i = 0; i < block->n_rows; i++) {
        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            for (int j = 0; j < N; j++) {
                C[i * N + j] +=
                    spmmi_value_get(SPMM_R_16F, block->values, k) * B[block->col_idx[k] * N + j];
            }
        }
    }
}

/* Metadata that mma.sp takes: of every four columns two, ascending. */
static void check_meta(const ladder_host_t *host)
{
    for (int64_t k = 0; k < host->n_sparse * host->width / 2; k++) {
        for (int q = 0; q < 8; q++) {
            assert_true((host->meta[k] >> 4 * q & 3) < (host->meta[k] >> (4 * q + 2) & 3));
        }
    }
}

/* The map, the list of all tiles and those of each kind say the same. */
static void check_lists(const ladder_host_t *host)
{
    int32_t all = 0, dense = 0, sparse = 0;

    for (int32_t w = 0; w < host->n_tile_rows; w++) {
        assert_int_equal(all, host->ptr[w]);
        assert_int_equal(dense, host->dense_ptr[w]);
        assert_int_equal(sparse, host->sparse_ptr[w]);
        for (int32_t c = 0; c < host->n_tile_cols; c++) {
            const int32_t t = host->map[(int64_t)w * host->n_tile_cols + c];

            if (t < 0) {
                continue;
            }
            assert_int_equal(t, all++);
            assert_int_equal(host->list[t].col, c);
            if (host->list[t].at % 2 != 0) {
                assert_int_equal(host->list[t].at / 2, sparse);
                assert_int_equal(host->sparse_col[sparse++], c);
            } else {
                assert_int_equal(host->list[t].at / 2, dense);
                assert_int_equal(host->dense_col[dense++], c);
            }
        }
    }
    assert_int_equal(all, host->ptr[host->n_tile_rows]);
    assert_int_equal(dense, host->dense_ptr[host->n_tile_rows]);
    assert_int_equal(sparse, host->sparse_ptr[host->n_tile_rows]);
    assert_int_equal(dense, host->n_dense);
    assert_int_equal(sparse, host->n_sparse);
}

/* Every place of the squares is that of the tiles, zero where there is none. */
static void check_squares(const ladder_host_t *host)
{
    const int32_t size = LADDER_ROWS * LADDER_ROWS, side = LADDER_BLOCK;
    ladder_host_t squares;
    int64_t       found = 0;

    spmm_assert_ok(ladder_host_merge(&spmm_test_env, host, &squares));
    for (int32_t w = 0; w < squares.n_tile_rows; w++) {
        for (int32_t s = squares.dense_ptr[w]; s < squares.dense_ptr[w + 1]; s++) {
            for (int32_t k = 0; k < side * side; k++) {
                const int32_t row      = w * side + k / side,
                              col      = squares.dense_col[s] * side + k % side;
                const uint16_t *from   = squares.dense + ((int64_t)s * side * side + k) * size;
                const bool      inside = row < host->n_tile_rows && col < host->n_tile_cols;
                const int32_t   t = inside ? host->map[(int64_t)row * host->n_tile_cols + col] : -1;

                found += t >= 0;
                for (int32_t e = 0; e < size; e++) {
                    assert_int_equal(from[e], t < 0 ? 0 : host->dense[(int64_t)t * size + e]);
                }
            }
        }
    }
    assert_int_equal(found, host->n_dense);
    ladder_host_free(&squares);
}

static int64_t check_block(const spmm_csr_t *block, ladder_form_t form)
{
    const size_t  rows = (size_t)block->n_rows + 1, cols = (size_t)block->n_cols + 1;
    double       *B = calloc(cols * N, sizeof *B), *C = calloc(rows * N, sizeof *C);
    double       *D = calloc(rows * N, sizeof *D);
    ladder_host_t host;
    int64_t       sparse;

    for (size_t k = 0; k < cols * N; k++) {
        B[k] = (double)(k % 17) - 8.0; /* whole numbers: sums are exact enough to compare */
    }
    spmm_assert_ok(ladder_host_create(&spmm_test_env, block, form, &host));
    check_lists(&host);
    if (form == LADDER_DENSE_16) {
        check_squares(&host);
    }
    check_meta(&host);
    multiply(block, B, C);
    ladder_host_multiply(&host, block->n_rows, block->n_cols, N, B, D);
    for (size_t k = 0; k < rows * N; k++) {
        assert_true(fabs(C[k] - D[k]) <= 1e-9);
    }
    sparse = host.n_sparse;
    ladder_host_free(&host);
    spmm_test_free(B, C, D);
    return sparse;
}

static void test_shapes(void **state)
{
    for (int s = 0; format_shapes[s].density >= 0.0; s++) {
        for (ladder_form_t form = LADDER_DENSE_16; form < LADDER_MERGED; form++) {
            spmm_csr_t block;

            format_case_random(format_shapes[s].n_rows, format_shapes[s].n_cols,
                               format_shapes[s].density, SPMM_R_16F, false, 7, &block);
            (void)check_block(&block, form);
            spmmi_csr_free(&block);
        }
    }
}

static void test_matrices(void **state)
{
    static const struct {
        const char *spec;
        int         kinds; /* bit 0: tiles that are not 2:4; bit 1: 2:4 tiles */
    } cases[] = {
        {"xdys:size=200,dense=0.3,sp24=0.3", 3},      {"xdys:size=128,dense=0,sp24=0.5", 2},
        {"xdys:size=128,dense=0,sp24=1,fill=0.5", 2}, {"xdys:size=96,dense=0.5,sp24=0", 1},
        {"uniform:rows=300,cols=200,degree=9", 3},    {"stencil27:nx=6,ny=6,nz=6,dof=3", 3}};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmm_csr_t    block;
        ladder_host_t host;
        int64_t       sparse;

        format_case_matrix(cases[c].spec, SPMM_R_16F, &block);
        assert_int_equal(check_block(&block, LADDER_DENSE_16), 0);
        (void)check_block(&block, LADDER_SPARSE_16);
        sparse = check_block(&block, LADDER_SPARSE_32);
        assert_int_equal(sparse > 0, cases[c].kinds >> 1);
        spmm_assert_ok(ladder_host_create(&spmm_test_env, &block, LADDER_SPARSE_32, &host));
        assert_int_equal(host.n_dense > 0, cases[c].kinds & 1);
        ladder_host_free(&host);
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_shapes, test_matrices);
