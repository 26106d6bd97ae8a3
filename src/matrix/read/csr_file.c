/* SPDX-License-Identifier: Apache-2.0 */
/* Binary pattern CSR: int64 magic, rows, cols, nnz; int32 row_ptr[rows + 1], col_idx[nnz]; all
 * little endian.  32-bit row pointers limit nnz, 32-bit columns limit cols. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "matrix/matrix.h"
#include "matrix/read/file.h"

enum { MAGIC = 0x43535231, WORD = 4, PIECE = 1 << 20 /* words in memory at a time */ };

typedef struct {
    spmm_file_t   *file;
    int64_t        rows, cols, nnz;
    unsigned char *word;  /* [PIECE * WORD], owned: a piece of the file */
    int64_t       *split; /* [size + 1], owned until the matrix has it: first row of each rank */
} csr_file_t;

static int64_t decode(const unsigned char *bytes, int count)
{
    uint64_t x = 0;

    for (int i = 0; i < count; i++) {
        x |= (uint64_t)bytes[i] << (8 * i);
    }
    return count == WORD ? (int64_t)(int32_t)(uint32_t)x : (int64_t)x;
}

static int64_t word_at(const csr_file_t *csr, int64_t i)
{
    return decode(csr->word + i * WORD, WORD);
}

bool spmmi_csr_file_matches(const unsigned char head[SPMM_CSR_FILE_HEADER])
{
    return decode(head, 8) == MAGIC;
}

static spmm_status_t fail(const csr_file_t *csr, spmm_status_t status, const char *problem)
{
    return spmmi_fail(&csr->file->env->err, status, SPMM_PATH_SHOWN ": %s", csr->file->path,
                      problem);
}

static spmm_status_t parse_header(const unsigned char *head, csr_file_t *csr)
{
    const int64_t size  = csr->file->size;
    const int64_t words = (size - SPMM_CSR_FILE_HEADER) / WORD;

    if (size < SPMM_CSR_FILE_HEADER) {
        return fail(csr, SPMM_ERR_IO, "the file ends within the header of binary CSR");
    }
    csr->rows = decode(head + 8, 8);
    csr->cols = decode(head + 16, 8);
    csr->nnz  = decode(head + 24, 8);
    if (csr->rows < 0 || csr->cols < 0 || csr->nnz < 0 || csr->nnz > INT32_MAX ||
        csr->cols > (int64_t)INT32_MAX + 1) {
        return fail(csr, SPMM_ERR_IO, "a size in the header is negative or beyond 32-bit indices");
    }
    if (csr->rows > words || csr->nnz > words - csr->rows ||
        size != SPMM_CSR_FILE_HEADER + WORD * (csr->rows + 1 + csr->nnz)) {
        return spmmi_fail(&csr->file->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN
                          ": the file has %" PRId64 " bytes, which is not the length "
                          "of binary CSR with %" PRId64 " rows and %" PRId64 " entries",
                          csr->file->path, size, csr->rows, csr->nnz);
    }
    return SPMM_OK;
}

static spmm_status_t read_words(csr_file_t *csr, int64_t first, int64_t count)
{
    return spmmi_file_read(csr->file, SPMM_CSR_FILE_HEADER + WORD * first, csr->word, WORD * count);
}

/* Entry number at which rank p shall begin. */
static int64_t target(const csr_file_t *csr, int p)
{
    return csr->nnz * p / csr->file->env->size; /* nnz and size are below 2^31 */
}

/* Words in memory, ascending, that are below @p bound. */
static int64_t count_below(const csr_file_t *csr, int64_t count, int64_t bound)
{
    int64_t low = 0, high = count;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (word_at(csr, mid) < bound) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Check this rank's even share of the row pointers, and count in split[p] those below target(p):
 * summed over the ranks they are the first row of each rank. */
static spmm_status_t scan_row_ptr(csr_file_t *csr)
{
    const spmm_env_t *env      = csr->file->env;
    const int64_t     last     = spmmi_even_share(csr->rows + 1, env->size, env->rank + 1);
    int64_t           first    = spmmi_even_share(csr->rows + 1, env->size, env->rank);
    int64_t           previous = 0, count;

    if (first > 0 && first < last) {
        SPMM_TRY(read_words(csr, first - 1, 1));
        previous = word_at(csr, 0);
    }
    for (; first < last; first += count) {
        count = last - first < PIECE ? last - first : PIECE;
        SPMM_TRY(read_words(csr, first, count));
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = first + i, value = word_at(csr, i);

            if ((at == 0 && value != 0) || (at == csr->rows && value != csr->nnz) ||
                value < previous || value > csr->nnz) {
                return spmmi_fail(&csr->file->env->err, SPMM_ERR_IO,
                                  SPMM_PATH_SHOWN ": row_ptr[%" PRId64 "] is %" PRId64
                                                  ", but row pointers rise from 0 to %" PRId64,
                                  csr->file->path, at, value, csr->nnz);
            }
            previous = value;
        }
        for (int p = 1; p < env->size; p++) {
            csr->split[p] += count_below(csr, count, target(csr, p));
        }
    }
    return SPMM_OK;
}

static spmm_status_t split_rows(csr_file_t *csr)
{
    spmm_env_t *env = csr->file->env;

    SPMM_TRY(spmmi_allreduce(env, csr->split, env->size + 1, MPI_INT64_T, MPI_SUM));
    csr->split[env->size] = csr->rows;
    if (csr->nnz == 0) {
        spmmi_even_offsets(csr->rows, env->size, csr->split);
    }
    return SPMM_OK;
}

/* Global fields and room for this rank's rows. */
static spmm_status_t shape_matrix(csr_file_t *csr, spmm_matrix_t *A)
{
    spmm_env_t   *env   = csr->file->env;
    const int64_t bytes = ((int64_t)env->size + 1) * (int64_t)sizeof *A->col_offset;
    int64_t       rows, cols;

    A->rows       = csr->rows;
    A->cols       = csr->cols;
    A->nnz        = csr->nnz;
    A->row_offset = csr->split;
    csr->split    = NULL;
    if (SPMM_NEW(A->col_offset, env->size + 1) == NULL) {
        return spmmi_fail_memory(&env->err, env->size + 1, sizeof *A->col_offset, "column offsets");
    }
    if (csr->rows == csr->cols) {
        memcpy(A->col_offset, A->row_offset, (size_t)bytes);
    } else {
        spmmi_even_offsets(csr->cols, env->size, A->col_offset);
    }
    rows = A->row_offset[env->rank + 1] - A->row_offset[env->rank];
    cols = A->col_offset[env->rank + 1] - A->col_offset[env->rank];
    if (rows > INT32_MAX || cols > INT32_MAX) {
        return fail(csr, SPMM_ERR_RANGE, "a rank would own 2^31 rows or columns: use more ranks");
    }
    A->n_rows = (int32_t)rows;
    A->n_cols = (int32_t)cols;
    if (SPMM_NEW(A->row_ptr, rows + 1) == NULL) {
        return spmmi_fail_memory(&env->err, rows + 1, sizeof *A->row_ptr, "row pointers");
    }
    return SPMM_OK;
}

static spmm_status_t read_row_ptr(csr_file_t *csr, spmm_matrix_t *A)
{
    const int64_t first = A->row_offset[csr->file->env->rank];
    int64_t       count;

    for (int64_t done = 0; done <= A->n_rows; done += count) {
        count = A->n_rows + 1 - done < PIECE ? A->n_rows + 1 - done : PIECE;
        SPMM_TRY(read_words(csr, first + done, count));
        for (int64_t i = 0; i < count; i++) {
            A->row_ptr[done + i] = word_at(csr, i);
        }
    }
    return SPMM_OK;
}

/* @p begin: entry of the file that is this rank's first. */
static spmm_status_t read_columns(csr_file_t *csr, spmm_matrix_t *A, int64_t begin)
{
    const int64_t nnz = spmmi_matrix_local_nnz(A);
    int64_t       count;

    for (int64_t done = 0; done < nnz; done += count) {
        count = nnz - done < PIECE ? nnz - done : PIECE;
        SPMM_TRY(read_words(csr, csr->rows + 1 + begin + done, count));
        for (int64_t i = 0; i < count; i++) {
            A->col_idx[done + i] = word_at(csr, i);
        }
    }
    return SPMM_OK;
}

/* Check the columns of each row and draw the values. */
static spmm_status_t fill_rows(const csr_file_t *csr, uint64_t seed, spmm_matrix_t *A)
{
    const int64_t first = A->row_offset[csr->file->env->rank];

    for (int64_t i = 0; i < A->n_rows; i++) {
        int64_t previous = -1;

        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t j = A->col_idx[k];

            if (j <= previous || j >= A->cols) {
                return spmmi_fail(&csr->file->env->err, SPMM_ERR_IO,
                                  SPMM_PATH_SHOWN ": column %" PRId64 " in row %" PRId64
                                                  " (counted from 0) is %s",
                                  csr->file->path, j, first + i,
                                  j < 0 || j >= A->cols ? "outside the matrix"
                                                        : "not above the one before it");
            }
            spmmi_value_draw(A->type, A->values, k, seed, first + i, j);
            previous = j;
        }
    }
    return SPMM_OK;
}

static spmm_status_t read_rows(csr_file_t *csr, uint64_t seed, spmm_matrix_t *A)
{
    spmm_env_t *env = csr->file->env;
    int64_t     begin, nnz;

    SPMM_TRY(shape_matrix(csr, A));
    SPMM_TRY(read_row_ptr(csr, A));
    begin = A->row_ptr[0];
    for (int64_t i = 0; i <= A->n_rows; i++) {
        A->row_ptr[i] -= begin;
    }
    nnz = spmmi_matrix_local_nnz(A);
    if (SPMM_NEW(A->col_idx, nnz) == NULL) {
        return spmmi_fail_memory(&env->err, nnz, sizeof *A->col_idx, "column indices");
    }
    A->values = spmmi_alloc(nnz, spmm_type_size(A->type));
    if (A->values == NULL) {
        return spmmi_fail_memory(&env->err, nnz, spmm_type_size(A->type), "values");
    }
    SPMM_TRY(read_columns(csr, A, begin));
    return fill_rows(csr, seed, A);
}

static spmm_status_t read_matrix(csr_file_t *csr, uint64_t seed, spmm_matrix_t *A)
{
    spmm_env_t   *env    = csr->file->env;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW(csr->word, (int64_t)PIECE * WORD) == NULL ||
        SPMM_NEW_ZERO(csr->split, env->size + 1) == NULL) {
        status = spmmi_fail_memory(&env->err, (int64_t)PIECE * WORD, 1, "a piece of a file");
    }
    if (status == SPMM_OK) {
        status = scan_row_ptr(csr);
    }
    SPMM_TRY(spmmi_file_agree(env, status));
    SPMM_TRY(split_rows(csr));
    return spmmi_file_agree(env, read_rows(csr, seed, A));
}

spmm_status_t spmmi_csr_file_read(spmm_file_t *file, const unsigned char head[SPMM_CSR_FILE_HEADER],
                                  spmm_type_t type, uint64_t seed, spmm_matrix_t **A)
{
    csr_file_t     csr    = {.file = file};
    spmm_matrix_t *matrix = NULL;
    spmm_status_t  status = parse_header(head, &csr);

    if (status == SPMM_OK) {
        status = spmmi_matrix_new(file->env, type, &matrix);
    }
    status = spmmi_file_agree(file->env, status);
    if (status == SPMM_OK) {
        status = read_matrix(&csr, seed, matrix);
    }
    spmmi_free_all(csr.word, csr.split);
    if (status != SPMM_OK) {
        spmmi_matrix_free(matrix);
        return status;
    }
    *A = matrix;
    return SPMM_OK;
}
