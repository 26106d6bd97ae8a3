/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 NEEDS ZLIB_FOUND */
/* Binary pattern CSR, as shared generators write it. */
#include "test_main.h"

#include "matrix/matrix.h"
#include "temp_file.h"
#include "test_matrix.h"

enum { HEADER_WORDS = 8, SEED = 77 };

/* A file in memory, as 32-bit words (the tests run on little-endian machines only). */
typedef struct {
    int64_t  rows, cols, nnz;
    int32_t *word; /* header, row_ptr, col_idx */
    int64_t  words;
} image_t;

static void set_long(image_t *image, int at, int64_t value)
{
    memcpy(image->word + 2 * at, &value, sizeof value);
}

/* Row i holds @p per_row entries or, where i is a multiple of 5, none; row @p dense is full. */
static image_t make_image(int64_t rows, int64_t cols, int64_t per_row, int64_t dense)
{
    image_t  image = {.rows = rows, .cols = cols};
    int32_t *row_ptr, *col;

    image.word = spmm_test_calloc((size_t)(HEADER_WORDS + rows + 1 + rows * per_row + cols + 1), 4);
    row_ptr    = image.word + HEADER_WORDS;
    col        = row_ptr + rows + 1;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t n = i == dense ? cols : i % 5 == 0 ? 0 : per_row < cols ? per_row : cols;

        for (int64_t k = 0; k < n; k++) { /* one column from each of n equal parts */
            const int64_t low = cols * k / n, high = cols * (k + 1) / n;

            col[image.nnz++] = (int32_t)(low + spmmi_below(spmmi_hash2(5, i, k), high - low));
        }
        row_ptr[i + 1] = (int32_t)image.nnz;
    }
    set_long(&image, 0, 0x43535231);
    set_long(&image, 1, rows);
    set_long(&image, 2, cols);
    set_long(&image, 3, image.nnz);
    image.words = HEADER_WORDS + rows + 1 + image.nnz;
    return image;
}

static spmm_status_t read_image(const image_t *image, size_t bytes, spmm_type_t type,
                                spmm_matrix_t **A)
{
    return spmmi_matrix_from_file(&spmm_test_env, spmm_temp_write(image->word, bytes), type, SEED,
                                  A);
}

static void check_rows(const image_t *image, const spmm_matrix_t *A)
{
    const int32_t *start = image->word + HEADER_WORDS, *column = start + image->rows + 1;
    int64_t       *row_ptr = spmm_test_calloc((size_t)image->rows + 1, sizeof *row_ptr);
    int64_t       *col     = spmm_test_calloc((size_t)image->nnz, sizeof *col);
    void          *values  = spmm_test_calloc((size_t)image->nnz, sizeof(double));

    for (int64_t i = 0; i < image->rows; i++) {
        row_ptr[i + 1] = start[i + 1];
        for (int64_t k = start[i]; k < start[i + 1]; k++) {
            col[k] = column[k];
            spmmi_value_set(A->type, values, k, spmmi_random_value(SEED, i, col[k]));
        }
    }
    spmm_test_assert_rows(A, &(spmm_test_csr_t){image->rows, image->cols, row_ptr, col, values});
    spmm_test_free(row_ptr, col, values);
}

static void check_image(image_t image, spmm_type_t type)
{
    const int64_t  live = spmmi_alloc_get_stats().live;
    const int64_t  most = image.cols; /* in one row */
    spmm_matrix_t *A    = NULL;

    spmm_assert_ok(read_image(&image, (size_t)image.words * 4, type, &A));
    assert_int_equal(spmmi_matrix_is_square(A), image.rows == image.cols);
    assert_true(spmmi_matrix_local_nnz(A) <= image.nnz / spmm_test_env.size + most + 1);
    check_rows(&image, A);
    spmmi_matrix_free(A);
    free(image.word);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

static void test_shapes_and_types(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF};

    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        check_image(make_image(1000, 1000, 7, -1), types[t]);
    }
    check_image(make_image(1000, 300, 4, 500), SPMM_R_64F);
    check_image(make_image(300, 1000, 4, 0), SPMM_R_64F);
    check_image(make_image(1, 1, 1, 0), SPMM_R_64F);
    check_image(make_image(2, 50, 1, 1), SPMM_R_64F);
    check_image(make_image(0, 0, 0, -1), SPMM_R_64F);
    check_image(make_image(10, 0, 0, -1), SPMM_R_64F);
    check_image(make_image(0, 10, 0, -1), SPMM_R_64F);
    check_image(make_image(7, 7, 0, -1), SPMM_R_64F);
    check_image(make_image(1200000, 1200000, 1, -1), SPMM_R_32F); /* more than one piece */
}

static void expect(const image_t *image, size_t bytes, const char *sentence)
{
    const int64_t  live = spmmi_alloc_get_stats().live;
    spmm_matrix_t *A    = NULL;
    const char    *text = spmm_test_env.err.text;

    spmmi_error_clear(&spmm_test_env.err);
    assert_int_equal(read_image(image, bytes, SPMM_R_64F, &A), SPMM_ERR_IO);
    assert_null(A);
    assert_non_null(strchr(text, ':'));
    assert_string_equal(strchr(text, ':'), sentence);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
    spmmi_error_clear(&spmm_test_env.err);
}

/* Each case changes one word of a good file and puts it back. */
static void test_malformed(void **state)
{
    static const struct {
        int         word;
        int32_t     value;
        const char *sentence;
    } cases[] = {
        {3, -1, ": a size in the header is negative or beyond 32-bit indices"},
        {5, 1, ": a size in the header is negative or beyond 32-bit indices"},
        {7, 2, ": a size in the header is negative or beyond 32-bit indices"},
        {2, 21,
         ": the file has 244 bytes, which is not the length of binary CSR with 21 rows and "
         "32 entries"},
        {3, 1 << 30,
         ": the file has 244 bytes, which is not the length of binary CSR with "
         "4611686018427387924 rows and 32 entries"},
        {6, 2000000000,
         ": the file has 244 bytes, which is not the length of binary CSR with 20 "
         "rows and 2000000000 entries"},
        {8, 1, ": row_ptr[0] is 1, but row pointers rise from 0 to 32"},
        {8 + 2, 50, ": row_ptr[2] is 50, but row pointers rise from 0 to 32"},
        {8 + 13, 1, ": row_ptr[13] is 1, but row pointers rise from 0 to 32"},
        {8 + 14, -7, ": row_ptr[14] is -7, but row pointers rise from 0 to 32"},
        {8 + 20, 31, ": row_ptr[20] is 31, but row pointers rise from 0 to 32"},
        {8 + 21, -1, ": column -1 in row 1 (counted from 0) is outside the matrix"},
        {8 + 21 + 31, 20, ": column 20 in row 19 (counted from 0) is outside the matrix"},
        {8 + 21 + 11, 0, ": column 0 in row 7 (counted from 0) is not above the one before it"}};
    image_t image = make_image(20, 20, 2, -1);

    assert_int_equal(image.nnz, 32);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int32_t kept = image.word[cases[i].word];

        image.word[cases[i].word] = cases[i].value;
        expect(&image, (size_t)image.words * 4, cases[i].sentence);
        image.word[cases[i].word] = kept;
    }
    expect(&image, 24, ": the file ends within the header of binary CSR");
    expect(&image, 240,
           ": the file has 240 bytes, which is not the length of binary CSR with 20 "
           "rows and 32 entries");
    expect(&image, 36,
           ": the file has 36 bytes, which is not the length of binary CSR with 20 "
           "rows and 32 entries");
    image.word[2] = 0; /* as long as with 20 rows and 32 entries */
    image.word[6] = 52;
    expect(&image, 244, ": no rows, and 52 entries");
    free(image.word);
}

SPMM_TESTS(test_shapes_and_types, test_malformed);
