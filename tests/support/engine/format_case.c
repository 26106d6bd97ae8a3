/* SPDX-License-Identifier: Apache-2.0 */
#include "format_case.h"

#include <dirent.h>

#include "matrix/matrix.h"
#include "spmm_dist/context.h"

const format_shape_t format_shapes[] = {
    {0, 0, 0.5},    {0, 9, 0.5},     {9, 0, 0.5},   {1, 1, 1.0},    {1, 90, 0.3},   {7, 5, 0.6},
    {8, 8, 1.0},    {9, 17, 0.5},    {16, 4, 1.0},  {33, 33, 1.0},  {31, 40, 0.0},  {40, 70, 0.02},
    {65, 50, 0.25}, {100, 120, 0.1}, {130, 9, 0.8}, {64, 200, 0.9}, {20, 20, -1.0},
};

const char *const format_matrices[] = {"stencil27:nx=9,ny=10,nz=11",
                                       "stencil5:nx=30,ny=20,dof=3",
                                       "stencil7:nx=12,ny=7,nz=9,dof=2",
                                       "stencil9:nx=40,ny=31",
                                       "rmat:scale=10,degree=12",
                                       "uniform:rows=500,cols=900,degree=7",
                                       "banded:rows=333,lower=4,upper=9",
                                       "molecules:count=20,atoms=25",
                                       "pruned:rows=250,cols=300,sparsity=0.7,vector=4",
                                       "xdys:size=300,dense=0.1,sp24=0.2",
                                       "bips98_606.mtx.gz",
                                       "delaunay_n16.mtx.gz",
                                       "sat14_6s9.mtx.gz",
                                       NULL};

static void set_value(spmm_csr_t *block, int64_t k, uint64_t seed, int32_t i, int32_t j)
{
    const uint64_t kind = spmmi_hash2(seed + 1, i, j) % 16;

    spmmi_value_set(block->type, block->values, k,
                    kind == 0   ? 0.0
                    : kind == 1 ? -0.0
                                : spmmi_random_value(seed + 2, i, j));
}

void format_case_map(spmm_csr_t *block)
{
    block->c_rows = 2 * block->n_rows + 1;
    assert_non_null(SPMM_NEW(block->row_map, block->n_rows));
    for (int32_t i = 0; i < block->n_rows; i++) {
        block->row_map[i] = 2 * i + i % 2;
    }
}

void format_case_random(int32_t n_rows, int32_t n_cols, double density, spmm_type_t type,
                        bool mapped, uint64_t seed, spmm_csr_t *block)
{
    int64_t nnz = 0;

    for (int32_t i = 0; i < n_rows; i++) {
        for (int32_t j = 0; j < n_cols; j++) {
            nnz += spmmi_unit(spmmi_hash2(seed, i, j)) < density;
        }
    }
    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, n_rows, n_cols, nnz, type, block));
    nnz = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        for (int32_t j = 0; j < n_cols; j++) {
            if (spmmi_unit(spmmi_hash2(seed, i, j)) < density) {
                block->col_idx[nnz] = j;
                set_value(block, nnz++, seed, i, j);
            }
        }
        block->row_ptr[i + 1] = nnz;
    }
    if (mapped) {
        format_case_map(block);
    }
}

void format_case_matrix(const char *spec, spmm_type_t type, spmm_csr_t *block)
{
    spmm_env_t     self = spmm_test_env;
    spmm_matrix_t *A;
    char           path[512];

    self.comm = MPI_COMM_SELF;
    self.rank = 0;
    self.size = 1;
    if (strchr(spec, '/') != NULL) {
        spmm_assert_ok(spmmi_matrix_from_file(&self, spec, type, 1, &A));
    } else if (strchr(spec, ':') != NULL) {
        spmm_assert_ok(spmmi_matrix_from_spec(&self, spec, type, 1, &A));
    } else {
        (void)snprintf(path, sizeof path, "%s/%s", SPMM_TEST_DATA_DIR, spec);
        spmm_assert_ok(spmmi_matrix_from_file(&self, path, type, 1, &A));
    }
    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, A->n_rows, A->n_cols, spmmi_matrix_local_nnz(A),
                                   type, block));
    memcpy(block->row_ptr, A->row_ptr, ((size_t)A->n_rows + 1) * sizeof *block->row_ptr);
    memcpy(block->values, A->values, (size_t)spmmi_csr_nnz(block) * spmm_type_size(type));
    for (int64_t k = 0; k < spmmi_csr_nnz(block); k++) {
        block->col_idx[k] = (int32_t)A->col_idx[k];
    }
    spmmi_matrix_free(A);
}

static void check_one(const char *spec, spmm_type_t type,
                      void (*check)(const char *spec, const spmm_csr_t *block))
{
    spmm_csr_t block;

    format_case_matrix(spec, type, &block);
    check(spec, &block);
    spmmi_csr_free(&block);
}

void format_case_each(spmm_type_t type, void (*check)(const char *spec, const spmm_csr_t *block))
{
    const char    *dir = getenv("SPMM_MATRIX_DIR");
    DIR           *folder;
    struct dirent *file;
    int            checked = 0;

    for (int m = 0; format_matrices[m] != NULL; m++) {
        check_one(format_matrices[m], type, check);
    }
    if (dir == NULL || dir[0] == '\0') {
        print_message("SPMM_MATRIX_DIR is unset: without shared matrices\n");
        return;
    }
    folder = opendir(dir);
    assert_non_null(folder);
    while ((file = readdir(folder)) != NULL) {
        const char *dot = strchr(file->d_name, '.');
        char        path[1024];

        if (dot != NULL && strcmp(dot, ".mtx.gz") == 0) {
            assert_true(snprintf(path, sizeof path, "%s/%s", dir, file->d_name) < (int)sizeof path);
            check_one(path, type, check);
            checked++;
        }
    }
    (void)closedir(folder);
    assert_true(checked > 0);
}

int64_t format_case_find(const spmm_csr_t *block, int32_t row, int32_t col)
{
    if (row >= block->n_rows) {
        return -1;
    }
    for (int64_t k = block->row_ptr[row]; k < block->row_ptr[row + 1]; k++) {
        if (block->col_idx[k] == col) {
            return k;
        }
    }
    return -1;
}

int32_t format_case_active(const spmm_csr_t *block, int32_t first, int32_t height,
                           int32_t active[FORMAT_CASE_COLS])
{
    int32_t n = 0;

    assert_true(block->n_cols <= FORMAT_CASE_COLS);
    for (int32_t c = 0; c < block->n_cols; c++) {
        bool used = false;

        for (int32_t r = 0; r < height; r++) {
            used = used || format_case_find(block, first + r, c) >= 0;
        }
        if (used) {
            active[n++] = c;
        }
    }
    return n;
}

static int64_t assert_window(const spmm_tc_view_t *A, const spmm_csr_t *block, int32_t w)
{
    const size_t    size = spmm_type_size(block->type);
    const int32_t   top  = w * A->height;
    int64_t         next[SPMM_TC_MAX_HEIGHT], found = 0;
    spmm_tc_entry_t entry[SPMM_TC_MAX_ENTRIES];

    for (int32_t r = 0; r < A->height && top + r < block->n_rows; r++) {
        next[r] = block->row_ptr[top + r];
    }
    for (int32_t b = A->block_ptr[w]; b < A->block_ptr[w + 1]; b++) {
        size_t        offset;
        const int32_t count = A->decode(A->arrays, b, entry, &offset);

        for (int32_t k = 0; k < count; k++, found++) {
            const char *value = (const char *)A->values + offset + (size_t)entry[k].at * size;
            int64_t     at;

            assert_true(entry[k].row < A->height && top + entry[k].row < block->n_rows);
            at = next[entry[k].row]++;
            assert_true(at < block->row_ptr[top + entry[k].row + 1]);
            assert_int_equal(entry[k].col, block->col_idx[at]);
            assert_memory_equal(value, (const char *)block->values + (size_t)at * size, size);
        }
    }
    return found;
}

void format_case_assert_holds(const spmm_tc_view_t *A, const spmm_csr_t *block)
{
    int64_t found = 0;

    assert_int_equal(A->n_rows, block->n_rows);
    for (int32_t w = 0; w < A->n_windows; w++) {
        found += assert_window(A, block, w);
    }
    assert_int_equal(found, spmmi_csr_nnz(block));
}
