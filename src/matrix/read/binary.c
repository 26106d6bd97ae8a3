/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/binary.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"

static const bool host_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static uint64_t load(const unsigned char *bytes, int width, bool big_endian)
{
    uint32_t narrow;
    uint64_t wide;

    if (width == (int)sizeof narrow) {
        memcpy(&narrow, bytes, sizeof narrow);
        return big_endian == host_is_big ? narrow : __builtin_bswap32(narrow);
    }
    memcpy(&wide, bytes, sizeof wide);
    return big_endian == host_is_big ? wide : __builtin_bswap64(wide);
}

static void store(uint64_t wide, int width, bool big_endian, unsigned char *bytes)
{
    uint32_t narrow = (uint32_t)wide;

    if (width == (int)sizeof narrow) {
        narrow = big_endian == host_is_big ? narrow : __builtin_bswap32(narrow);
        memcpy(bytes, &narrow, sizeof narrow);
    } else {
        wide = big_endian == host_is_big ? wide : __builtin_bswap64(wide);
        memcpy(bytes, &wide, sizeof wide);
    }
}

/* An integer of 4 or 8 bytes, two's complement. */
static int64_t binary_decode(const unsigned char *bytes, int width, bool big_endian)
{
    const uint64_t x = load(bytes, width, big_endian);

    return width == (int)sizeof(int32_t) ? (int64_t)(int32_t)(uint32_t)x : (int64_t)x;
}

void spmmi_binary_encode(int64_t value, int width, bool big_endian, unsigned char *bytes)
{
    store((uint64_t)value, width, big_endian, bytes);
}

/* A real number of 4 or 8 bytes, IEEE 754. */
static double binary_decode_real(const unsigned char *bytes, int width, bool big_endian)
{
    const uint64_t x = load(bytes, width, big_endian);
    const uint32_t y = (uint32_t)x;
    double         wide;
    float          narrow;

    if (width == (int)sizeof narrow) {
        memcpy(&narrow, &y, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, &x, sizeof wide);
    return wide;
}

void spmmi_binary_encode_real(double value, int width, bool big_endian, unsigned char *bytes)
{
    const float narrow = (float)value;
    uint32_t    y;
    uint64_t    x;

    if (width == (int)sizeof narrow) {
        memcpy(&y, &narrow, sizeof y);
        x = y;
    } else {
        memcpy(&x, &value, sizeof x);
    }
    store(x, width, big_endian, bytes);
}

/* The end of @p count numbers from @p at on. */
static bool behind(int64_t at, int64_t count, int width, int64_t *end)
{
    return !__builtin_mul_overflow(count, width, end) && !__builtin_add_overflow(*end, at, end);
}

/* Set col, part and end for arrays of these widths that follow each other from row.at on.
 * @return false where they are more than 64 bits count */
static bool binary_place(spmm_binary_t *b, int row_width, int col_width, int part_width)
{
    int64_t n_rows, n_parts;

    b->row.width  = row_width;
    b->col.width  = col_width;
    b->part.width = part_width;
    return !__builtin_add_overflow(b->rows, b->lengths ? 0 : 1, &n_rows) &&
           !__builtin_mul_overflow(b->nnz, b->parts, &n_parts) &&
           behind(b->row.at, n_rows, row_width, &b->col.at) &&
           behind(b->col.at, b->nnz, col_width, &b->part.at) &&
           behind(b->part.at, n_parts, part_width, &b->end);
}

enum { PIECE = 1 << 18 /* numbers in memory at a time */, WIDEST = 8 };

typedef struct {
    spmm_file_t         *file;
    const spmm_binary_t *b;
    unsigned char       *raw;    /* [PIECE * WIDEST], owned */
    int64_t             *number; /* [PIECE + 1], owned */
    double              *part;   /* [2 * PIECE], owned */
    int64_t             *split;  /* [size + 1], owned until the matrix has it: first row of each
                                    rank */
    int64_t             *begin;  /* [size + 1], owned: first entry of each rank */
    int64_t              base;   /* entries before this rank's share of the rows, for lengths */
} reader_t;

static spmm_status_t read_index(reader_t *r, bool rows, int64_t first, int64_t count, int64_t *to)
{
    const spmm_binary_t *b = r->b;
    const spmm_numbers_t n = rows ? b->row : b->col;

    SPMM_TRY(spmmi_file_read(r->file, n.at + n.width * first, r->raw, n.width * count));
    for (int64_t i = 0; i < count; i++) {
        to[i] = binary_decode(r->raw + i * n.width, n.width, b->big_endian);
    }
    return SPMM_OK;
}

static spmm_status_t read_parts(reader_t *r, int64_t first, int64_t count, double *to)
{
    const spmm_binary_t *b = r->b;
    const spmm_numbers_t n = b->part;

    SPMM_TRY(spmmi_file_read(r->file, n.at + n.width * first, r->raw, n.width * count));
    for (int64_t i = 0; i < count; i++) {
        to[i] = binary_decode_real(r->raw + i * n.width, n.width, b->big_endian);
    }
    return SPMM_OK;
}

static spmm_status_t fail_offset(const reader_t *r, int64_t row, int64_t value)
{
    return spmmi_fail(&r->file->env->err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN ": row_ptr[%" PRId64 "] is %" PRId64
                                      ", but row pointers rise from 0 to %" PRId64,
                      r->file->path, row, value, r->b->nnz);
}

static spmm_status_t fail_length(const reader_t *r, int64_t row, int64_t value)
{
    return spmmi_fail(&r->file->env->err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN ": row %" PRId64 " (counted from 0) would have %" PRId64
                                      " entries, and all rows together have %" PRId64,
                      r->file->path, row, value, r->b->nnz);
}

/* First entries of rows first .. first + count to r->number.  @p base: that of row @p first */
static spmm_status_t read_starts(reader_t *r, int64_t first, int64_t count, int64_t base)
{
    const int64_t nnz = r->b->nnz;
    int64_t      *at  = r->number;

    if (!r->b->lengths) {
        SPMM_TRY(read_index(r, true, first, count + 1, at));
        for (int64_t i = 0; i <= count; i++) {
            if (at[i] < 0 || at[i] > nnz || (i > 0 && at[i] < at[i - 1]) ||
                (first + i == 0 && at[i] != 0) || (first + i == r->b->rows && at[i] != nnz)) {
                return fail_offset(r, first + i, at[i]);
            }
        }
        return SPMM_OK;
    }
    at[0] = base;
    SPMM_TRY(read_index(r, true, first, count, at + 1));
    for (int64_t i = 0; i < count; i++) {
        if (at[i + 1] < 0 || at[i + 1] > nnz - at[i] ||
            (first + i + 1 == r->b->rows && at[i + 1] != nnz - at[i])) {
            return fail_length(r, first + i, at[i + 1]);
        }
        at[i + 1] += at[i];
    }
    return SPMM_OK;
}

/* Entries of this rank's even share of the rows, into r->base.  Local. */
static spmm_status_t sum_lengths(reader_t *r)
{
    const spmm_env_t *env  = r->file->env;
    const int64_t     last = spmmi_even_share(r->b->rows, env->size, env->rank + 1);
    int64_t           count;

    for (int64_t i = spmmi_even_share(r->b->rows, env->size, env->rank); i < last; i += count) {
        count = last - i < PIECE ? last - i : PIECE;
        SPMM_TRY(read_index(r, true, i, count, r->number));
        for (int64_t k = 0; k < count; k++) {
            if (r->number[k] < 0 || r->number[k] > r->b->nnz - r->base) {
                return fail_length(r, i + k, r->number[k]);
            }
            r->base += r->number[k];
        }
    }
    return SPMM_OK;
}

/* Check this rank's even share of the rows.  Rank p shall begin with the first row that starts at
 * its even share of the entries or behind it: count the rows before in split[p], and find the least
 * such start for begin[p]. */
static spmm_status_t scan_rows(reader_t *r)
{
    const spmm_env_t *env  = r->file->env;
    const int64_t     last = spmmi_even_share(r->b->rows, env->size, env->rank + 1);
    int64_t           base = r->base, count;

    for (int64_t i = spmmi_even_share(r->b->rows, env->size, env->rank); i < last; i += count) {
        int64_t k = 0;

        count = last - i < PIECE ? last - i : PIECE;
        SPMM_TRY(read_starts(r, i, count, base));
        base = r->number[count];
        for (int p = 1; p < env->size; p++) {
            const int64_t target = spmmi_even_share(r->b->nnz, env->size, p);

            while (k < count && r->number[k] < target) {
                k++;
            }
            r->split[p] += k;
            if (k < count && r->number[k] < r->begin[p]) {
                r->begin[p] = r->number[k];
            }
        }
    }
    return SPMM_OK;
}

/* Collective. */
static spmm_status_t split_rows(reader_t *r)
{
    spmm_env_t *env = r->file->env;

    SPMM_TRY(spmmi_allreduce(env, r->split, env->size + 1, MPI_INT64_T, MPI_SUM));
    SPMM_TRY(spmmi_allreduce(env, r->begin, env->size + 1, MPI_INT64_T, MPI_MIN));
    r->split[env->size] = r->b->rows;
    if (r->b->nnz == 0) {
        spmmi_even_offsets(r->b->rows, env->size, r->split);
    }
    return SPMM_OK;
}

/* Global fields and room for this rank's rows. */
static spmm_status_t shape_matrix(reader_t *r, spmm_matrix_t *A)
{
    spmm_env_t   *env   = r->file->env;
    const int64_t bytes = ((int64_t)env->size + 1) * (int64_t)sizeof *A->col_offset;
    int64_t       rows, cols;

    A->rows       = r->b->rows;
    A->cols       = r->b->cols;
    A->nnz        = r->b->nnz;
    A->row_offset = r->split;
    r->split      = NULL;
    if (SPMM_NEW(A->col_offset, env->size + 1) == NULL) {
        return spmmi_fail_memory(&env->err, env->size + 1, sizeof *A->col_offset, "column offsets");
    }
    if (A->rows == A->cols) {
        memcpy(A->col_offset, A->row_offset, (size_t)bytes);
    } else {
        spmmi_even_offsets(A->cols, env->size, A->col_offset);
    }
    rows = A->row_offset[env->rank + 1] - A->row_offset[env->rank];
    cols = A->col_offset[env->rank + 1] - A->col_offset[env->rank];
    if (rows > INT32_MAX || cols > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          SPMM_PATH_SHOWN ": a rank would own 2^31 rows or columns: use more ranks",
                          r->file->path);
    }
    A->n_rows = (int32_t)rows;
    A->n_cols = (int32_t)cols;
    if (SPMM_NEW(A->row_ptr, rows + 1) == NULL) {
        return spmmi_fail_memory(&env->err, rows + 1, sizeof *A->row_ptr, "row pointers");
    }
    return SPMM_OK;
}

static spmm_status_t read_row_ptr(reader_t *r, spmm_matrix_t *A)
{
    const int     rank  = r->file->env->rank;
    const int64_t begin = r->begin[rank];
    int64_t       count;

    A->row_ptr[0] = 0;
    for (int64_t done = 0; done < A->n_rows; done += count) {
        count = A->n_rows - done < PIECE ? A->n_rows - done : PIECE;
        SPMM_TRY(read_starts(r, A->row_offset[rank] + done, count, begin + A->row_ptr[done]));
        if (r->number[0] != begin + A->row_ptr[done]) { /* the file has changed */
            return fail_offset(r, A->row_offset[rank] + done, r->number[0]);
        }
        for (int64_t i = 1; i <= count; i++) {
            A->row_ptr[done + i] = r->number[i] - begin;
        }
    }
    return SPMM_OK;
}

static spmm_status_t read_columns(reader_t *r, spmm_matrix_t *A)
{
    const int64_t nnz = spmmi_matrix_local_nnz(A), begin = r->begin[r->file->env->rank];
    int64_t       count;

    for (int64_t done = 0; done < nnz; done += count) {
        count = nnz - done < PIECE ? nnz - done : PIECE;
        SPMM_TRY(read_index(r, false, begin + done, count, A->col_idx + done));
    }
    return SPMM_OK;
}

static spmm_status_t check_columns(const reader_t *r, const spmm_matrix_t *A)
{
    for (int64_t i = 0; i < A->n_rows; i++) {
        int64_t previous = -1;

        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t j = A->col_idx[k];

            if (j <= previous || j >= A->cols) {
                return spmmi_fail(&r->file->env->err, SPMM_ERR_IO,
                                  SPMM_PATH_SHOWN ": column %" PRId64 " in row %" PRId64
                                                  " (counted from 0) is %s",
                                  r->file->path, j, A->row_offset[r->file->env->rank] + i,
                                  j < 0 || j >= A->cols ? "outside the matrix"
                                                        : "not above the one before it");
            }
            previous = j;
        }
    }
    return SPMM_OK;
}

static void draw_values(const reader_t *r, uint64_t seed, spmm_matrix_t *A)
{
    const int64_t first = A->row_offset[r->file->env->rank];

    for (int64_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            spmmi_value_draw(A->type, A->values, k, seed, first + i, A->col_idx[k]);
        }
    }
}

static spmm_status_t fail_value(const reader_t *r, const spmm_matrix_t *A, int64_t k, double value)
{
    int64_t i = 0;

    while (A->row_ptr[i + 1] <= k) {
        i++;
    }
    return spmmi_fail(&A->env->err, SPMM_ERR_RANGE,
                      "value %g at row %" PRId64 ", column %" PRId64
                      " is out of the range of type %s; use a wider type or scale the matrix",
                      value, A->row_offset[r->file->env->rank] + i + 1, A->col_idx[k] + 1,
                      spmmi_type_name(A->type));
}

static spmm_status_t read_values(reader_t *r, spmm_matrix_t *A)
{
    const int         in = r->b->parts, out = spmmi_is_complex(A->type) ? 2 : 1;
    const spmm_type_t type  = out == 2 ? spmmi_part_type(A->type) : A->type;
    const int64_t     nnz   = spmmi_matrix_local_nnz(A);
    const int64_t     begin = r->begin[r->file->env->rank];
    int64_t           count;

    for (int64_t done = 0; done < nnz; done += count) {
        count = nnz - done < PIECE / 2 ? nnz - done : PIECE / 2;
        SPMM_TRY(read_parts(r, (begin + done) * in, count * in, r->part));
        for (int64_t k = 0; k < count * out; k++) {
            const bool   imaginary = out == 2 && (k & 1) == 1;
            const double value     = in == out ? r->part[k] : imaginary ? 0.0 : r->part[k / 2];

            if (isfinite(value) && !spmmi_value_fits(type, value)) {
                return fail_value(r, A, done + k / out, value);
            }
            spmmi_value_set(type, A->values, done * out + k, value);
        }
    }
    return SPMM_OK;
}

static spmm_status_t read_rows(reader_t *r, uint64_t seed, spmm_matrix_t *A)
{
    spmm_env_t  *env  = r->file->env;
    const size_t size = spmm_type_size(A->type);
    int64_t      nnz;

    SPMM_TRY(shape_matrix(r, A));
    SPMM_TRY(read_row_ptr(r, A));
    nnz       = spmmi_matrix_local_nnz(A);
    A->values = spmmi_alloc(nnz, size);
    if (A->values == NULL || SPMM_NEW(A->col_idx, nnz) == NULL) {
        return spmmi_fail_memory(&env->err, nnz, size + sizeof *A->col_idx, "matrix entries");
    }
    SPMM_TRY(read_columns(r, A));
    SPMM_TRY(check_columns(r, A));
    if (r->b->parts > 0) {
        return read_values(r, A);
    }
    draw_values(r, seed, A);
    return SPMM_OK;
}

static spmm_status_t allocate(reader_t *r)
{
    const int size = r->file->env->size;

    if (SPMM_NEW(r->raw, (int64_t)(PIECE + 1) * WIDEST) == NULL ||
        SPMM_NEW(r->number, PIECE + 1) == NULL || SPMM_NEW(r->part, PIECE) == NULL ||
        SPMM_NEW_ZERO(r->split, size + 1) == NULL || SPMM_NEW(r->begin, size + 1) == NULL) {
        return spmmi_fail_memory(&r->file->env->err, (int64_t)PIECE * WIDEST, 3,
                                 "a piece of a file");
    }
    for (int p = 0; p <= size; p++) {
        r->begin[p] = p == 0 ? 0 : r->b->nnz;
    }
    return r->b->lengths ? sum_lengths(r) : SPMM_OK;
}

static spmm_status_t read_matrix(reader_t *r, uint64_t seed, spmm_matrix_t *A)
{
    spmm_env_t *env = r->file->env;

    SPMM_TRY(spmmi_file_agree(env, allocate(r)));
    SPMM_TRY(spmmi_exscan(env, &r->base, 1));
    SPMM_TRY(spmmi_file_agree(env, scan_rows(r)));
    SPMM_TRY(split_rows(r));
    return spmmi_file_agree(env, read_rows(r, seed, A));
}

static spmm_status_t check_head(const reader_t *r, spmm_type_t type)
{
    if (r->b->rows == 0 && r->b->nnz != 0) { /* no row pointer would show it */
        return spmmi_fail(&r->file->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN ": no rows, and %" PRId64 " entries", r->file->path,
                          r->b->nnz);
    }
    if (r->b->parts == 2 && !spmmi_is_complex(type)) {
        return spmmi_fail(&r->file->env->err, SPMM_ERR_ARGUMENT,
                          SPMM_PATH_SHOWN " holds complex values, which type %s cannot: use 64c "
                                          "or 32c",
                          r->file->path, spmmi_type_name(type));
    }
    return SPMM_OK;
}

/* Read an open file: every rank the rows of about an equal share of the entries.  Collective,
 * agreed.
 * @param[in] b  the same on every rank, sizes at least 0 and within the file
 * @return SPMM_ERR_IO for offsets or columns that make no matrix; SPMM_ERR_RANGE for a value that
 *         @p type cannot hold; SPMM_ERR_ARGUMENT for a complex file and a real @p type */
static spmm_status_t binary_read(spmm_file_t *file, const spmm_binary_t *b, spmm_type_t type,
                                 uint64_t seed, spmm_matrix_t **A)
{
    reader_t       r      = {.file = file, .b = b};
    spmm_matrix_t *matrix = NULL;
    spmm_status_t  status;

    if (type == SPMM_TYPE_AUTO) {
        type = b->parts == 2 ? SPMM_C_64F : SPMM_R_64F;
    }
    status = check_head(&r, type);
    if (status == SPMM_OK) {
        status = spmmi_matrix_new(file->env, type, &matrix);
    }
    status = spmmi_file_agree(file->env, status);
    if (status == SPMM_OK) {
        status = read_matrix(&r, seed, matrix);
    }
    spmmi_free_all(r.raw, r.number, r.part, r.split, r.begin);
    if (status != SPMM_OK) {
        spmmi_matrix_free(matrix);
        return status;
    }
    *A = matrix;
    return SPMM_OK;
}

/* Binary CSR, little endian.  Pattern: int64 magic, rows, cols, nnz; int32 row_ptr[rows + 1],
 * col_idx[nnz].  With values: int64 another magic, rows, cols, nnz, bytes of a column index (4 or
 * 8), kind of the values; int64 row_ptr[rows + 1], col_idx[nnz], values[nnz]. */

enum { PATTERN = 0x43535231, VALUES = 0x43535232, WORD = 8, PATTERN_HEADER = 4, VALUES_HEADER = 6 };

/* Kinds of values in a file. */
static const struct {
    int parts, width;
} kind[] = {{0, 0}, {1, 8}, {1, 4}, {2, 8}, {2, 4}};
enum { KINDS = sizeof kind / sizeof *kind };

static int64_t word_at(const unsigned char *head, int k)
{
    return binary_decode(head + k * WORD, WORD, false);
}

bool spmmi_csr_file_matches(const unsigned char head[SPMM_FILE_HEAD])
{
    return word_at(head, 0) == PATTERN || word_at(head, 0) == VALUES;
}

static spmm_status_t fail(const spmm_file_t *file, const char *problem)
{
    return spmmi_fail(&file->env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN ": %s", file->path, problem);
}

static spmm_status_t parse_csr(const spmm_file_t *file, const unsigned char *head, spmm_binary_t *b)
{
    const bool    pattern  = word_at(head, 0) == PATTERN;
    const int64_t col_size = pattern ? 4 : word_at(head, 4), k = pattern ? 0 : word_at(head, 5);
    const int64_t most = pattern ? INT32_MAX : INT64_MAX;

    *b = (spmm_binary_t){
        .rows = word_at(head, 1), .cols = word_at(head, 2), .nnz = word_at(head, 3)};
    b->row.at = WORD * (pattern ? PATTERN_HEADER : VALUES_HEADER);
    if (file->size < b->row.at) {
        return fail(file, "the file ends within the header of binary CSR");
    }
    if (b->rows < 0 || b->cols < 0 || b->nnz < 0 || b->nnz > most ||
        (col_size == 4 && b->cols > (int64_t)INT32_MAX + 1)) {
        return fail(file, "a size in the header is negative or beyond 32-bit indices");
    }
    if ((col_size != 4 && col_size != 8) || k < 0 || k >= KINDS) {
        return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN ": the header asks for columns of %" PRId64
                                          " bytes and values of kind %" PRId64
                                          "; there are 4 and 8, and kinds 0 to %d",
                          file->path, col_size, k, KINDS - 1);
    }
    b->parts = kind[k].parts;
    if (!binary_place(b, pattern ? 4 : 8, (int)col_size, kind[k].width) || b->end != file->size) {
        return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN
                          ": the file has %" PRId64 " bytes, which is not the length "
                          "of binary CSR with %" PRId64 " rows and %" PRId64 " entries",
                          file->path, file->size, b->rows, b->nnz);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_csr_file_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                                  spmm_type_t type, uint64_t seed, spmm_matrix_t **A)
{
    spmm_binary_t b;

    SPMM_TRY(spmmi_file_agree(file->env, parse_csr(file, head, &b)));
    return binary_read(file, &b, type, seed, A);
}

spmm_status_t spmmi_csr_file_describe(spmm_env_t *env, const spmm_binary_t *shape, int part_width,
                                      unsigned char head[SPMM_FILE_HEAD], spmm_binary_t *b)
{
    const int col_size = shape->cols <= (int64_t)INT32_MAX + 1 ? 4 : 8;
    int64_t   k        = 0;

    while (kind[k].parts != shape->parts || kind[k].width != part_width) {
        k++;
    }
    *b        = *shape;
    b->row.at = WORD * VALUES_HEADER;
    if (!binary_place(b, 8, col_size, part_width)) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "binary CSR of %" PRId64 " entries is longer than 64 bits count", b->nnz);
    }
    for (int w = 0; w < VALUES_HEADER; w++) {
        const int64_t word[VALUES_HEADER] = {VALUES, b->rows, b->cols, b->nnz, col_size, k};

        spmmi_binary_encode(word[w], WORD, false, head + w * WORD);
    }
    return SPMM_OK;
}

/* PETSc's binary format of a sparse matrix (MatView, MatLoad), big endian: class, rows, cols, nnz,
 * entries of each row, columns, values in FP64.  Numbers have 4 bytes, or 8 where PETSc was built
 * for 64-bit indices.  The file does not say whether it comes from a real or a complex PETSc: the
 * length tells, or where other objects follow their class. */

enum {
    CLASS_MATRIX = 1211216,
    CLASS_FIRST  = 1211211, /* of objects that files may hold: index sets, vectors, matrices ... */
    CLASS_LAST   = 1211230,
    HEADER       = 4 /* numbers */
};

static int width_of(const unsigned char *head)
{
    return binary_decode(head, 4, true) == CLASS_MATRIX   ? 4
           : binary_decode(head, 8, true) == CLASS_MATRIX ? 8
                                                          : 0;
}

bool spmmi_petsc_file_matches(const unsigned char head[SPMM_FILE_HEAD])
{
    return width_of(head) > 0;
}

/* Does the matrix end with the file, or another object begin there?  @p follows: it does */
static spmm_status_t check_end(spmm_file_t *file, const spmm_binary_t *b, bool *follows)
{
    const int     width = b->row.width;
    unsigned char next[8];
    int64_t class;

    *follows = b->end == file->size;
    if (*follows || b->end > file->size - width) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_file_read(file, b->end, next, width));
    class    = binary_decode(next, width, true);
    *follows = class >= CLASS_FIRST && class <= CLASS_LAST;
    return SPMM_OK;
}

static spmm_status_t parse_petsc(spmm_file_t *file, const unsigned char *head, spmm_binary_t *b)
{
    const int width   = width_of(head);
    bool      follows = false;

    *b = (spmm_binary_t){.rows       = binary_decode(head + width, width, true),
                         .cols       = binary_decode(head + 2 * width, width, true),
                         .nnz        = binary_decode(head + 3 * width, width, true),
                         .row        = {.at = HEADER * width},
                         .big_endian = true,
                         .lengths    = true};
    if (file->size < b->row.at || b->rows < 0 || b->cols < 0 || b->nnz < 0) {
        return spmmi_fail(&file->env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN ": %s", file->path,
                          b->nnz == -1 ? "PETSc wrote this matrix as a dense one, which is not "
                                         "supported: write it as AIJ"
                                       : "the file ends within the header of a PETSc matrix, or a "
                                         "size in it is negative");
    }
    if (b->rows == 0 && b->nnz > 0) {
        return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN ": %" PRId64 " entries in a matrix without rows",
                          file->path, b->nnz);
    }
    for (b->parts = 1; b->parts <= 2; b->parts++) {
        if (binary_place(b, width, width, 8)) {
            SPMM_TRY(check_end(file, b, &follows));
        }
        if (follows) {
            return SPMM_OK;
        }
    }
    return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN ": the file has %" PRId64 " bytes, which is not the length "
                                      "of a PETSc matrix with %" PRId64 " rows and %" PRId64
                                      " real or complex entries",
                      file->path, file->size, b->rows, b->nnz);
}

spmm_status_t spmmi_petsc_file_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                                    spmm_type_t type, uint64_t seed, spmm_matrix_t **A)
{
    spmm_binary_t b;

    SPMM_TRY(spmmi_file_agree(file->env, parse_petsc(file, head, &b)));
    return binary_read(file, &b, type, seed, A);
}

spmm_status_t spmmi_petsc_file_describe(spmm_env_t *env, const spmm_binary_t *shape, int part_width,
                                        unsigned char head[SPMM_FILE_HEAD], spmm_binary_t *b)
{
    const bool narrow =
        shape->rows <= INT32_MAX && shape->cols <= INT32_MAX && shape->nnz <= INT32_MAX;
    const int width = narrow ? 4 : 8;

    (void)part_width; /* FP64 */
    *b            = *shape;
    b->big_endian = b->lengths = true;
    b->row.at                  = HEADER * width;
    if (!binary_place(b, width, width, 8)) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "a PETSc file of %" PRId64 " entries is longer than 64 bits count",
                          b->nnz);
    }
    for (int k = 0; k < HEADER; k++) {
        const int64_t number[HEADER] = {CLASS_MATRIX, b->rows, b->cols, b->nnz};

        spmmi_binary_encode(number[k], width, true, head + k * width);
    }
    return SPMM_OK;
}
