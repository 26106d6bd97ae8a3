/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
#include "test_main.h"
#include "test_matrix.h"

#include "matrix/matrix.h"

enum { SEED = 42 };

/* The matrix made by all ranks is, row by row and bit by bit, the one a rank makes alone. */
static void test_same_for_any_rank_count(void **state)
{
    static const char *const specs[] = {
        "rmat:scale=9,degree=8",
        "rmat:scale=8,degree=5,a=0.4,b=0.3,c=0.2,shuffle=1",
        "uniform:rows=301,degree=7",
        "uniform:rows=90,cols=1001,degree=12,shuffle=1",
        "uniform:rows=1001,cols=3,degree=2",
        "banded:rows=200,lower=3,upper=9",
        "banded:rows=200,band=20,fill=0.3,shuffle=1",
        "banded:rows=1,band=4",
        "stencil5:nx=13,ny=11",
        "stencil7:nx=5,ny=6,nz=7,shuffle=1",
        "stencil9:nx=9,ny=21,dof=3",
        "stencil27:nx=5,ny=4,nz=6,dof=2,shuffle=1",
        "stencil5:nx=1,ny=1",
        "molecules:count=31,atoms=26",
        "molecules:count=40,atoms=17,shuffle=1",
        "molecules:count=3,atoms=1",
        "pruned:rows=101,cols=70,sparsity=0.8,vector=8",
        "pruned:rows=60,cols=33,sparsity=0.5,shuffle=1",
        "pruned:rows=9,cols=5,sparsity=1",
        "xdys:size=203,dense=0.2,sp24=0.3",
        "xdys:size=128,dense=0.1,sp24=0.4,fill=0.6,shuffle=1",
        "xdys:size=1,dense=1,sp24=0",
    };
    spmm_env_t alone = spmm_test_alone();

    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        spmm_matrix_t *A = spmm_test_generate(&spmm_test_env, specs[s], SEED),
                      *B = spmm_test_generate(&alone, specs[s], SEED);

        spmm_test_assert_rows(
            A, &(spmm_test_csr_t){B->rows, B->cols, B->row_ptr, B->col_idx, B->values});
        for (int32_t r = 0; r < B->n_rows; r++) {
            for (int64_t k = B->row_ptr[r]; k < B->row_ptr[r + 1]; k++) {
                float value;

                spmmi_value_set(SPMM_R_32F, &value, 0, spmmi_random_value(SEED, r, B->col_idx[k]));
                assert_true(((const float *)B->values)[k] == value);
            }
        }
        spmmi_matrix_free(A);
        spmmi_matrix_free(B);
    }
}

static void test_seed_changes_pattern(void **state)
{
    static const char *const specs[] = {
        "rmat:scale=8,degree=4",           "uniform:rows=100,degree=4",
        "banded:rows=100,band=5,fill=0.5", "stencil5:nx=10,ny=10,shuffle=1",
        "molecules:count=9,atoms=20",      "xdys:size=128,dense=0.2,sp24=0.2",
        "xdys:size=64,dense=0,sp24=1"};
    spmm_env_t alone = spmm_test_alone();

    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        spmm_matrix_t *A = spmm_test_generate(&alone, specs[s], 1),
                      *B = spmm_test_generate(&alone, specs[s], 2);
        int64_t same     = 0;

        for (int32_t r = 0; r < A->n_rows; r++) {
            for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
                same += spmm_test_has(B, r, A->col_idx[k]);
            }
        }
        assert_true(same < A->nnz);
        spmmi_matrix_free(A);
        spmmi_matrix_free(B);
    }
}

/** What couples two of the unknowns of a square matrix. */
typedef struct {
    int     points; /**< of a stencil; 0: a band */
    int64_t nx, ny, dof, lower, upper;
} rule_t;

/* Of a stencil by the distance of their coordinates. */
static bool coupled(const rule_t *u, int64_t i, int64_t j)
{
    const int64_t nx = u->nx, ny = u->ny, p = i / u->dof, q = j / u->dof;
    const int64_t dx = llabs(p % nx - q % nx), dy = llabs(p / nx % ny - q / nx % ny);
    const int64_t dz = llabs(p / (nx * ny) - q / (nx * ny));

    return u->points == 0                     ? j - i <= u->upper && i - j <= u->lower
           : u->points == 5 || u->points == 7 ? dx + dy + dz <= 1
                                              : dx <= 1 && dy <= 1 && dz <= 1;
}

static void check_pattern(const char *spec, int64_t rows, const rule_t *rule)
{
    spmm_matrix_t *A = spmm_test_generate(&spmm_test_env, spec, SEED);

    assert_int_equal(A->rows, rows);
    assert_int_equal(A->cols, rows);
    for (int32_t r = 0; r < A->n_rows; r++) {
        int64_t n = 0;

        for (int64_t j = 0; j < rows; j++) {
            const bool there = coupled(rule, A->row_offset[spmm_test_env.rank] + r, j);

            assert_int_equal(spmm_test_has(A, r, j), there);
            n += there;
        }
        assert_int_equal(A->row_ptr[r + 1] - A->row_ptr[r], n);
    }
    spmmi_matrix_free(A);
}

static void check_stencil(int points, int64_t nx, int64_t ny, int64_t nz, int64_t dof)
{
    const bool space = points == 7 || points == 27;
    char       spec[128];

    (void)snprintf(spec, sizeof spec, "stencil%d:nx=%d,ny=%d%s%.0d,dof=%d", points, (int)nx,
                   (int)ny, space ? ",nz=" : "", space ? (int)nz : 0, (int)dof);
    check_pattern(spec, nx * ny * nz * dof, &(rule_t){points, nx, ny, dof, 0, 0});
}

static void test_stencil_patterns(void **state)
{
    static const int points[] = {5, 9, 7, 27};

    for (int s = 0; s < 4; s++) {
        const int64_t nz = s < 2 ? 1 : 5;

        check_stencil(points[s], 6, 4, nz, 1);
        check_stencil(points[s], 4, 7, nz, 2);
        check_stencil(points[s], 1, 5, s < 2 ? 1 : 3, 3);
        check_stencil(points[s], 2, 2, s < 2 ? 1 : 2, 1);
        check_stencil(points[s], 1, 1, 1, 4);
    }
}

static void check_band(const char *spec, int64_t rows, int64_t lower, int64_t upper)
{
    check_pattern(spec, rows, &(rule_t){0, 1, 1, 1, lower, upper});
}

static void test_banded_patterns(void **state)
{
    spmm_matrix_t *A;

    check_band("banded:rows=50,lower=3,upper=7", 50, 3, 7);
    check_band("banded:rows=50,lower=0,upper=0", 50, 0, 0);
    check_band("banded:rows=30,band=4", 30, 4, 4);
    check_band("banded:rows=12,lower=999999999999,upper=1", 12, 11, 1);
    check_band("banded:rows=12,band=9223372036854775807", 12, 11, 11);
    check_band("banded:rows=20,band=2,fill=1", 20, 2, 2);
    check_band("banded:rows=20,band=2,fill=1.000", 20, 2, 2);

    A = spmm_test_generate(&spmm_test_env, "banded:rows=20,band=2,fill=0", SEED);
    assert_int_equal(A->nnz, 0);
    spmmi_matrix_free(A);

    A = spmm_test_generate(&spmm_test_env, "banded:rows=2000,band=10,fill=0.25", SEED);
    assert_true(fabs((double)A->nnz / (2000 * 21 - 110) - 0.25) < 0.02); /* 9 sigma */
    for (int32_t r = 0; r < A->n_rows; r++) {
        for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
            assert_true(llabs(A->col_idx[k] - A->row_offset[spmm_test_env.rank] - r) <= 10);
        }
    }
    spmmi_matrix_free(A);
}

/* Counts of entries by the quadrant, of the whole matrix and of its first quadrant. */
static void test_rmat_quadrants(void **state)
{
    static const double share[4]    = {0.57, 0.19, 0.19, 0.05};
    int64_t             count[2][4] = {{0}}, total[2] = {0};
    spmm_env_t          alone = spmm_test_alone();
    spmm_matrix_t      *A     = spmm_test_generate(&alone, "rmat:scale=17,degree=1", SEED);

    assert_int_equal(A->rows, 1 << 17);
    assert_int_equal(A->cols, 1 << 17);
    assert_true(A->nnz <= 1 << 17 && (double)A->nnz > (1 << 17) * 0.95);
    for (int32_t r = 0; r < A->n_rows; r++) {
        for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
            const int64_t bits = (int64_t)r | A->col_idx[k];

            count[0][(r >> 16 & 1) * 2 + (A->col_idx[k] >> 16 & 1)]++;
            if (bits >> 16 == 0) {
                count[1][(r >> 15 & 1) * 2 + (A->col_idx[k] >> 15 & 1)]++;
            }
        }
    }
    for (int level = 0; level < 2; level++) {
        for (int q = 0; q < 4; q++) {
            total[level] += count[level][q];
        }
        for (int q = 0; q < 4; q++) {
            const double seen = (double)count[level][q] / (double)total[level];

            assert_true(fabs(seen - share[q]) < 0.03);
        }
    }
    spmmi_matrix_free(A);

    A = spmm_test_generate(&alone, "rmat:scale=5,degree=3,a=0,b=0,c=0",
                           SEED); /* all in the last quadrant */
    assert_int_equal(A->nnz, 1);
    assert_int_equal(A->row_ptr[31], 0);
    assert_int_equal(A->col_idx[0], 31);
    spmmi_matrix_free(A);
    A = spmm_test_generate(&alone, "rmat:scale=5,degree=3,a=0,b=1.0,c=0", SEED);
    assert_int_equal(A->nnz, 1);
    assert_int_equal(A->row_ptr[1], 1);
    assert_int_equal(A->col_idx[0], 31);
    spmmi_matrix_free(A);
}

static void test_uniform_rows(void **state)
{
    enum { ROWS = 3000, COLS = 500, DEGREE = 6 };
    int64_t        column[COLS] = {0};
    spmm_env_t     alone        = spmm_test_alone();
    spmm_matrix_t *A = spmm_test_generate(&alone, "uniform:rows=3000,cols=500,degree=6", SEED);

    assert_int_equal(A->rows, ROWS);
    assert_int_equal(A->cols, COLS);
    for (int32_t r = 0; r < ROWS; r++) {
        const int64_t n = A->row_ptr[r + 1] - A->row_ptr[r];

        assert_true(n >= 1 && n <= DEGREE);
        for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
            column[A->col_idx[k]]++;
        }
    }
    /* Of 6 draws from 500, 0.5 % collide with an earlier one each pair: expect 17,910. */
    assert_true(A->nnz > 17700 && A->nnz < 18000);
    for (int j = 0; j < COLS; j++) { /* mean 36, sigma 6 */
        assert_true(column[j] > 0 && column[j] < 80);
    }
    spmmi_matrix_free(A);
}

static int64_t find_root(int64_t *parent, int64_t i)
{
    while (parent[i] != i) {
        i = parent[i] = parent[parent[i]];
    }
    return i;
}

static void check_molecules(const char *spec, int64_t count, int64_t atoms)
{
    spmm_env_t     alone  = spmm_test_alone();
    spmm_matrix_t *A      = spmm_test_generate(&alone, spec, SEED);
    int64_t       *parent = spmm_test_malloc((size_t)A->rows * sizeof *parent);
    int64_t       *size   = spmm_test_calloc((size_t)A->rows, sizeof *size);
    int64_t        found = 0, varied = 0;

    assert_int_equal(A->rows, count * atoms);
    for (int64_t i = 0; i < A->rows; i++) {
        parent[i] = i;
    }
    for (int32_t r = 0; r < A->n_rows; r++) {
        for (int64_t k = A->row_ptr[r]; k < A->row_ptr[r + 1]; k++) {
            assert_int_not_equal(A->col_idx[k], r);
            assert_true(spmm_test_has(A, (int32_t)A->col_idx[k], r));
            parent[find_root(parent, r)] = find_root(parent, A->col_idx[k]);
        }
    }
    for (int64_t i = 0; i < A->rows; i++) {
        size[find_root(parent, i)]++;
    }
    for (int64_t i = 0; i < A->rows; i++) {
        if (size[i] > 0) {
            found++;
            varied += size[i] != atoms;
            assert_true(size[i] >= atoms - atoms / 4 && size[i] <= atoms + atoms / 4);
        }
    }
    assert_int_equal(found, count);
    assert_true(atoms < 4 || count < 50 || varied > count / 4);
    if (atoms >= 16) {
        const double degree = (double)A->nnz / (double)A->rows;

        assert_true(degree > 1.9 && degree < 2.3);
        assert_true(A->nnz > 2 * (A->rows - count)); /* more than trees: some rings */
    }
    spmm_test_free(parent, size);
    spmmi_matrix_free(A);
}

static void test_molecules_are_molecules(void **state)
{
    check_molecules("molecules:count=200,atoms=26", 200, 26);
    check_molecules("molecules:count=201,atoms=26,shuffle=1", 201, 26);
    check_molecules("molecules:count=77,atoms=5", 77, 5);
    check_molecules("molecules:count=5,atoms=2", 5, 2);
    check_molecules("molecules:count=1,atoms=300", 1, 300);
}

SPMM_TESTS(test_same_for_any_rank_count, test_seed_changes_pattern, test_stencil_patterns,
           test_banded_patterns, test_rmat_quadrants, test_uniform_rows,
           test_molecules_are_molecules);
