/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* Binary files with values: bytes as PETSc and the format say, the same for any number of ranks and
 * read as they were written, and what is wrong with malformed ones. */
#include "test_main.h"

#include <unistd.h>

#include "matrix/matrix.h"
#include "matrix/write/write.h"
#include "temp_file.h"
#include "test_matrix.h"

enum { MOST = 1 << 20 };

/* What PETSc 3.18 writes for [[1, 0, -2.5], [0, 0, 0]]. */
static const unsigned char petsc[] = {
    0, 0x12, 0x7b, 0x50, 0, 0, 0, 2, 0,    0,    0, 3, 0, 0, 0, 2, 0,    0, 0, 2, 0, 0, 0, 0,
    0, 0,    0,    0,    0, 0, 0, 2, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 4, 0, 0, 0, 0, 0, 0};

static char *name_of(char path[64], const char *end)
{
    int pid = (int)getpid();

    MPI_Bcast(&pid, 1, MPI_INT, 0, spmm_test_env.comm);
    (void)snprintf(path, 64, "/tmp/spmm_binary_%d.%s", pid, end);
    return path;
}

/* The bytes of a file, which is removed; on every rank. */
static size_t take_bytes(const char *path, unsigned char *bytes)
{
    FILE  *file = fopen(path, "rb");
    size_t size;

    assert_non_null(file);
    size = fread(bytes, 1, MOST, file);
    (void)fclose(file);
    MPI_Barrier(spmm_test_env.comm);
    if (spmm_test_env.rank == 0) {
        assert_int_equal(unlink(path), 0);
    }
    return size;
}

/* Write, read, compare, and write what was read, whose rows the ranks split otherwise. */
static void check_round_trip(const char *end, spmm_type_t type, spmm_type_t back)
{
    static unsigned char bytes[MOST], again[MOST];
    const int64_t        live = spmmi_alloc_get_stats().live;
    char                 path[64];
    const char *const    spec  = "uniform:rows=900,cols=700,degree=7";
    spmm_env_t           alone = spmm_test_alone();
    spmm_matrix_t       *A = NULL, *B = NULL, *all = NULL;
    size_t               size;

    spmm_assert_ok(spmmi_matrix_from_spec(&spmm_test_env, spec, type, 5, &A));
    spmm_assert_ok(spmmi_matrix_from_spec(&alone, spec, type, 5, &all));
    spmm_assert_ok(spmmi_matrix_write(A, name_of(path, end), NULL));
    spmm_assert_ok(spmmi_matrix_from_file(&spmm_test_env, path, back, 1, &B));
    assert_int_equal(B->type, type);
    spmm_test_assert_rows(
        B, &(spmm_test_csr_t){all->rows, all->cols, all->row_ptr, all->col_idx, all->values});
    size = take_bytes(path, bytes);
    spmm_assert_ok(spmmi_matrix_write(B, path, end)); /* split otherwise: the same file */
    assert_int_equal(take_bytes(path, again), size);
    assert_memory_equal(bytes, again, size);
    spmmi_matrix_free(A);
    spmmi_matrix_free(B);
    spmmi_matrix_free(all);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

static void test_round_trips(void **state)
{
    check_round_trip("petsc", SPMM_R_64F, SPMM_TYPE_AUTO);
    check_round_trip("petscbin", SPMM_C_64F, SPMM_TYPE_AUTO);
    check_round_trip("petsc", SPMM_R_32F, SPMM_R_32F);
    check_round_trip("petsc", SPMM_C_32F, SPMM_C_32F);
    check_round_trip("csr", SPMM_R_64F, SPMM_TYPE_AUTO);
    check_round_trip("csr", SPMM_R_32F, SPMM_R_32F);
    check_round_trip("csr", SPMM_C_64F, SPMM_TYPE_AUTO);
    check_round_trip("csr", SPMM_C_32F, SPMM_C_32F);
    check_round_trip("csr", SPMM_R_16BF, SPMM_R_16BF);
}

static void test_bytes_of_petsc(void **state)
{
    unsigned char  bytes[sizeof petsc + 16], wide[200];
    char           path[64];
    size_t         size = 0;
    spmm_matrix_t *A    = NULL;

    /* From PETSc, and the same bytes back. */
    spmm_assert_ok(spmmi_matrix_from_file(&spmm_test_env, spmm_temp_write(petsc, sizeof petsc),
                                          SPMM_TYPE_AUTO, 1, &A));
    assert_int_equal(A->rows, 2);
    assert_int_equal(A->cols, 3);
    assert_int_equal(A->nnz, 2);
    assert_int_equal(A->type, SPMM_R_64F);
    if (A->n_rows > 0 && A->row_offset[spmm_test_env.rank] == 0) {
        assert_true(((double *)A->values)[0] == 1.0 && ((double *)A->values)[1] == -2.5);
        assert_true(A->col_idx[0] == 0 && A->col_idx[1] == 2);
    }
    spmm_assert_ok(spmmi_matrix_write(A, name_of(path, "petsc"), NULL));
    assert_int_equal(take_bytes(path, wide), sizeof petsc);
    assert_memory_equal(wide, petsc, sizeof petsc);
    spmmi_matrix_free(A);
    /* A vector may follow. */
    memcpy(bytes, petsc, sizeof petsc);
    memcpy(bytes + sizeof petsc, (unsigned char[16]){0, 0x12, 0x7b, 0x4e, 0, 0, 0, 1, 0x40}, 16);
    spmm_assert_ok(spmmi_matrix_from_file(&spmm_test_env, spmm_temp_write(bytes, sizeof bytes),
                                          SPMM_R_32F, 1, &A));
    assert_int_equal(A->nnz, 2);
    spmmi_matrix_free(A);
    /* Numbers of 64 bits. */
    for (size_t k = 0; k < 32; k += 4, size += 8) {
        memset(wide + size, 0, 4);
        memcpy(wide + size + 4, petsc + k, 4);
    }
    memcpy(wide + size, petsc + 32, 16);
    spmm_assert_ok(spmmi_matrix_from_file(&spmm_test_env, spmm_temp_write(wide, size + 16),
                                          SPMM_C_64F, 1, &A));
    assert_int_equal(A->nnz, 2);
    if (A->n_rows > 0 && A->row_offset[spmm_test_env.rank] == 0) {
        assert_true(((double *)A->values)[2] == -2.5 && ((double *)A->values)[3] == 0.0);
    }
    spmmi_matrix_free(A);
}

/* @p bytes of the PETSc file above with some of them changed */
static void expect_petsc(size_t size, int at, unsigned char byte, spmm_type_t type,
                         spmm_status_t status, const char *sentence)
{
    unsigned char  bytes[sizeof petsc];
    spmm_matrix_t *A = NULL;

    memcpy(bytes, petsc, sizeof petsc);
    bytes[at] = byte;
    spmm_assert_refused(
        spmmi_matrix_from_file(&spmm_test_env, spmm_temp_write(bytes, size), type, 1, &A), A,
        status, sentence);
}

static void test_malformed(void **state)
{
    const size_t all = sizeof petsc;

    expect_petsc(all - 1, 3, 0x50, SPMM_R_64F, SPMM_ERR_IO,
                 "has 47 bytes, which is not the length");
    expect_petsc(10, 3, 0x50, SPMM_R_64F, SPMM_ERR_IO, "ends within the header");
    expect_petsc(all, 4, 0xff, SPMM_R_64F, SPMM_ERR_IO, "a size in it is negative");
    expect_petsc(all, 19, 3, SPMM_R_64F, SPMM_ERR_IO,
                 "row 0 (counted from 0) would have 3 entries");
    expect_petsc(all, 19, 1, SPMM_R_64F, SPMM_ERR_IO,
                 "row 1 (counted from 0) would have 0 entries");
    expect_petsc(all, 16, 0x80, SPMM_R_64F, SPMM_ERR_IO, "row 0 (counted from 0) would have -");
    expect_petsc(all, 31, 3, SPMM_R_64F, SPMM_ERR_IO,
                 "column 3 in row 0 (counted from 0) is outside");
    expect_petsc(all, 31, 0, SPMM_R_64F, SPMM_ERR_IO, "is not above the one before it");
    expect_petsc(all, 32, 0x7e, SPMM_R_32F, SPMM_ERR_RANGE,
                 "at row 1, column 1 is out of the range");
}

static void test_refused_writes(void **state)
{
    spmm_matrix_t *A = NULL;

    spmm_assert_ok(spmmi_matrix_from_spec(&spmm_test_env, "stencil5:nx=5,ny=5", SPMM_R_64F, 1, &A));
    spmm_assert_error(spmmi_matrix_write(A, "/tmp/a.mtx", NULL), SPMM_ERR_ARGUMENT,
                      "'mtx' is none of the formats");
    spmm_assert_error(spmmi_matrix_write(A, "/nowhere/a.csr", NULL), SPMM_ERR_IO,
                      "cannot write /nowhere/a.csr: No such file or directory");
    spmm_assert_error(spmmi_matrix_write(A, "/dev/null", "csr"), SPMM_ERR_IO,
                      "it is a device or pipe");
    spmmi_matrix_free(A);
}

SPMM_TESTS(test_round_trips, test_bytes_of_petsc, test_malformed, test_refused_writes);
