/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
#include "test_main.h"

#include "matrix/assemble.h"

/* A pseudo-random multiset of entries in a fixed order; rank p holds the p-th slice of it. */
typedef struct {
    int64_t  rows, cols, count;
    uint64_t seed;
} stream_t;

static spmm_entry_t stream_entry(const stream_t *stream, int64_t k)
{
    const uint64_t h = spmmi_hash2(stream->seed, k, 1), g = spmmi_hash2(stream->seed, k, 2);
    /* Squaring the unit interval makes low rows heavy. */
    const double u = spmmi_unit(h);

    return (spmm_entry_t){.row   = (int64_t)(u * u * (double)stream->rows),
                          .col   = spmmi_below(g, stream->cols),
                          .value = spmmi_random_value(stream->seed, k, 3)};
}

static void push(spmm_entries_t *list, int64_t row, int64_t col, double value)
{
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 64;
        list->entry    = spmmi_realloc(list->entry, list->capacity, sizeof *list->entry);
        assert_non_null(list->entry);
    }
    list->entry[list->count++] = (spmm_entry_t){.row = row, .col = col, .value = value};
}

static void push_slice(const stream_t *stream, spmm_entries_t *list)
{
    int64_t *offset;

    assert_non_null(SPMM_NEW(offset, (int64_t)spmm_test_env.size + 1));
    spmmi_even_offsets(stream->count, spmm_test_env.size, offset);
    for (int64_t k = offset[spmm_test_env.rank]; k < offset[spmm_test_env.rank + 1]; k++) {
        const spmm_entry_t e = stream_entry(stream, k);

        push(list, e.row, e.col, e.value);
    }
    spmmi_free(offset);
}

/* Fields that hold for any matrix. */
static void check_fields(const spmm_matrix_t *A, int64_t rows, int64_t cols)
{
    const int rank = spmm_test_env.rank, size = spmm_test_env.size;
    int64_t   nnz = spmmi_matrix_local_nnz(A);

    assert_ptr_equal(A->env, &spmm_test_env);
    assert_int_equal(A->rows, rows);
    assert_int_equal(A->cols, cols);
    assert_int_equal(A->row_offset[0], 0);
    assert_int_equal(A->row_offset[size], rows);
    assert_int_equal(A->col_offset[0], 0);
    assert_int_equal(A->col_offset[size], cols);
    for (int p = 0; p < size; p++) {
        assert_true(A->row_offset[p] <= A->row_offset[p + 1]);
        assert_true(A->col_offset[p] <= A->col_offset[p + 1]);
    }
    assert_int_equal(A->n_rows, A->row_offset[rank + 1] - A->row_offset[rank]);
    assert_int_equal(A->n_cols, A->col_offset[rank + 1] - A->col_offset[rank]);
    assert_int_equal(A->row_ptr[0], 0);
    assert_null(A->value_order);
    MPI_Allreduce(MPI_IN_PLACE, &nnz, 1, MPI_INT64_T, MPI_SUM, spmm_test_env.comm);
    assert_int_equal(A->nnz, nnz);
    if (rows == cols) {
        assert_true(spmmi_matrix_is_square(A));
    }
}

/* Compare with dense sums in stream order: equal to the last bit. */
static void check_stream(const stream_t *stream, spmm_duplicates_t duplicates, spmm_type_t type)
{
    const uint64_t value_seed = 77;
    spmm_entries_t list       = {0};
    spmm_matrix_t *A          = NULL;
    double *dense = spmm_test_calloc((size_t)(stream->rows * stream->cols) + 1, sizeof *dense);
    bool   *there = spmm_test_calloc((size_t)(stream->rows * stream->cols) + 1, sizeof *there);
    double  rounded;

    for (int64_t k = 0; k < stream->count; k++) {
        const spmm_entry_t e = stream_entry(stream, k);

        dense[e.row * stream->cols + e.col] += e.value;
        there[e.row * stream->cols + e.col] = true;
    }
    push_slice(stream, &list);
    spmm_assert_ok(spmmi_assemble(&spmm_test_env, stream->rows, stream->cols, &list, duplicates,
                                  value_seed, type, &A));
    assert_null(list.entry);
    check_fields(A, stream->rows, stream->cols);
    for (int32_t r = 0; r < A->n_rows; r++) {
        const int64_t i = A->row_offset[spmm_test_env.rank] + r;
        int64_t       k = A->row_ptr[r];

        for (int64_t j = 0; j < stream->cols; j++) {
            if (!there[i * stream->cols + j]) {
                continue;
            }
            assert_true(k < A->row_ptr[r + 1]);
            assert_int_equal(A->col_idx[k], j);
            spmmi_value_set(type, &rounded, 0,
                            duplicates == SPMM_DUPLICATES_SUM
                                ? dense[i * stream->cols + j]
                                : spmmi_random_value(value_seed, i, j));
            assert_true(spmmi_value_get(type, A->values, k) == spmmi_value_get(type, &rounded, 0));
            k++;
        }
        assert_int_equal(k, A->row_ptr[r + 1]);
    }
    spmmi_matrix_free(A);
    spmm_test_free(dense, there);
}

static void test_against_dense(void **state)
{
    static const stream_t streams[] = {
        {60, 60, 2000, 1}, {50, 7, 900, 2},  {3, 40, 500, 3},    {1, 1, 9, 4},
        {2, 2, 0, 5},      {1, 900, 700, 6}, {400, 30, 5000, 7}, {300, 250, 90000, 8},
    };

    for (size_t s = 0; s < sizeof streams / sizeof *streams; s++) {
        for (int type = SPMM_R_64F; type <= SPMM_R_16BF; type++) {
            check_stream(&streams[s], SPMM_DUPLICATES_SUM, (spmm_type_t)type);
            check_stream(&streams[s], SPMM_DUPLICATES_DROP, (spmm_type_t)type);
        }
    }
}

static void test_empty_shapes(void **state)
{
    static const int64_t shape[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 3}, {200000, 200000}};

    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++) {
        spmm_entries_t list = {0};
        spmm_matrix_t *A    = NULL;

        spmm_assert_ok(spmmi_assemble(&spmm_test_env, shape[s][0], shape[s][1], &list,
                                      SPMM_DUPLICATES_SUM, 0, SPMM_R_32F, &A));
        check_fields(A, shape[s][0], shape[s][1]);
        assert_int_equal(A->nnz, 0);
        spmmi_matrix_free(A);
    }
}

/* All entries come from the last rank, in reverse order, for more rows than buckets. */
static void test_balance(void **state)
{
    const int64_t  rows = 300000;
    const int      size = spmm_test_env.size;
    spmm_entries_t list = {0};
    spmm_matrix_t *A    = NULL;

    if (spmm_test_env.rank == size - 1) {
        for (int64_t i = rows - 1; i >= 0; i--) {
            push(&list, i, rows - 1 - i, (double)i);
        }
    }
    spmm_assert_ok(
        spmmi_assemble(&spmm_test_env, rows, rows, &list, SPMM_DUPLICATES_SUM, 0, SPMM_R_64F, &A));
    check_fields(A, rows, rows);
    assert_true(spmmi_matrix_local_nnz(A) <= rows / size + 1);
    assert_true(spmmi_matrix_local_nnz(A) >= rows / size - 1);
    for (int32_t r = 0; r < A->n_rows; r++) {
        const int64_t i = A->row_offset[spmm_test_env.rank] + r;

        assert_int_equal(A->row_ptr[r + 1], r + 1);
        assert_int_equal(A->col_idx[r], rows - 1 - i);
        assert_true(((const double *)A->values)[r] == (double)i);
    }
    spmmi_matrix_free(A);
}

/* One row with many entries per column, each rank sending its own run of them: the sum is in rank
 * order.  Powers of two far apart make any other order visible. */
static void test_sum_order(void **state)
{
    spmm_entries_t list = {0};
    spmm_matrix_t *A    = NULL;
    double         sum  = 0.0;

    for (int p = 0; p < spmm_test_env.size; p++) {
        sum += p == 0 ? 0x1p60 : 1.0;
        sum += p == spmm_test_env.size - 1 ? -0x1p60 : 1.0;
    }
    for (int64_t j = 99999; j >= 0; j--) {
        push(&list, 1, j, spmm_test_env.rank == 0 ? 0x1p60 : 1.0);
        push(&list, 1, j, spmm_test_env.rank == spmm_test_env.size - 1 ? -0x1p60 : 1.0);
    }
    spmm_assert_ok(
        spmmi_assemble(&spmm_test_env, 3, 100000, &list, SPMM_DUPLICATES_SUM, 0, SPMM_R_64F, &A));
    assert_int_equal(A->nnz, 100000);
    for (int64_t k = 0; k < spmmi_matrix_local_nnz(A); k++) {
        assert_int_equal(A->col_idx[k], k);
        assert_true(((const double *)A->values)[k] == sum);
    }
    spmmi_matrix_free(A);
}

static void check_range(double value, int copies, spmm_type_t type, const char *words)
{
    spmm_entries_t list = {0};
    spmm_matrix_t *A    = NULL;

    if (spmm_test_env.rank == 0) {
        for (int64_t i = 0; i < 9; i++) {
            push(&list, i, i, 1.0);
        }
        for (int k = 0; k < copies; k++) {
            push(&list, 2, 6, value);
            push(&list, 7, 1, value);
        }
    }
    spmm_assert_error(spmmi_assemble(&spmm_test_env, 9, 9, &list, SPMM_DUPLICATES_SUM, 0, type, &A),
                      SPMM_ERR_RANGE, words);
    assert_null(A);
}

static void test_values_out_of_range(void **state)
{
    check_range(
        1e300, 1, SPMM_R_16F,
        "value 1e+300 at row 3, column 7 is out of the range of type 16f; use a wider type");
    check_range(-1e39, 1, SPMM_R_32F,
                "value -1e+39 at row 3, column 7 is out of the range of type 32f");
    check_range(4e4, 2, SPMM_R_16F,
                "value 80000 at row 3, column 7 is out of the range of type 16f");
    check_range(1.5e308, 2, SPMM_R_64F, "at row 3, column 7 is out of the range of type 64f");
}

/* The rank that holds a bad entry must not leave the others behind. */
static void test_bad_entry_on_one_rank(void **state)
{
    static const int64_t bad[][2] = {{5, 0}, {0, 4}, {-1, 0}, {0, -1}};

    for (size_t s = 0; s < 4; s++) {
        spmm_entries_t list = {0};
        spmm_matrix_t *A    = NULL;

        if (spmm_test_env.rank == spmm_test_env.size - 1) {
            push(&list, bad[s][0], bad[s][1], 1.0);
        }
        spmm_assert_error(
            spmmi_assemble(&spmm_test_env, 5, 4, &list, SPMM_DUPLICATES_SUM, 0, SPMM_R_64F, &A),
            SPMM_ERR_INTERNAL, NULL);
        assert_null(A);
    }
}

static void test_too_many_rows(void **state)
{
    spmm_entries_t list = {0};
    spmm_matrix_t *A    = NULL;

    spmm_assert_error(
        spmmi_assemble(&spmm_test_env, INT64_MAX, 1, &list, SPMM_DUPLICATES_SUM, 0, SPMM_R_64F, &A),
        SPMM_ERR_RANGE, NULL);
    spmm_assert_error(
        spmmi_assemble(&spmm_test_env, 1, INT64_MAX, &list, SPMM_DUPLICATES_SUM, 0, SPMM_R_64F, &A),
        SPMM_ERR_RANGE, NULL);
}

SPMM_TESTS(test_against_dense, test_empty_shapes, test_balance, test_sum_order,
           test_values_out_of_range, test_bad_entry_on_one_rank, test_too_many_rows);
