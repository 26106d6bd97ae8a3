/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/assemble.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/scalar.h"
#include "matrix/assemble_exchange.h"
#include "matrix/assemble_rows.h"

/* Rows are counted in at most this many buckets of equal width, so that no rank holds a number
 * for every row; blocks are cut at bucket boundaries. */
enum { MAX_BUCKETS = 65536 };

typedef struct {
    int      shift; /* a bucket has 2^shift rows, the last may have fewer */
    int64_t  n;     /* buckets */
    int64_t *count; /* [n] entries of each, over all ranks after the reduction */
} histogram_t;

static spmm_status_t check_input(spmm_env_t *env, int64_t rows, int64_t cols,
                                 const spmm_entries_t *list, spmm_type_t type)
{
    const int64_t parts = list->complex ? 2 : 1;

    if (rows < 0 || cols < 0 || spmm_type_size(type) == 0) {
        return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                          "assembly of a %" PRId64 " x %" PRId64 " matrix of type %d", rows, cols,
                          (int)type);
    }
    for (int64_t k = 0; k < list->count; k++) {
        const spmm_entry_t *entry = &list->entry[k];

        if (entry->row < 0 || entry->row >= rows || entry->col < 0 || entry->col / parts >= cols) {
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "entry %" PRId64 " at row %" PRId64 ", column %" PRId64
                              " (from 0) is outside the %" PRId64 " x %" PRId64 " matrix",
                              k, entry->row, entry->col / parts, rows, cols);
        }
    }
    return SPMM_OK;
}

/* One bucket per 2^shift rows; on one rank there is nothing to cut. */
static spmm_status_t histogram_fill(spmm_env_t *env, int64_t rows, const spmm_bag_t *bag,
                                    histogram_t *histogram)
{
    int64_t *count;

    while (rows >> histogram->shift > MAX_BUCKETS - 1) {
        histogram->shift++;
    }
    histogram->n = rows == 0 ? 0 : ((rows - 1) >> histogram->shift) + 1;
    if (SPMM_NEW_ZERO(histogram->count, histogram->n) == NULL) {
        return spmmi_fail_memory(&env->err, histogram->n, sizeof *histogram->count,
                                 "the row histogram");
    }
    count = histogram->count;
    for (int64_t p = 0; p < bag->n && env->size > 1; p++) {
        for (int64_t k = 0; k < bag->piece[p].count; k++) {
            count[spmmi_bag_get(bag->piece[p].data, bag->wide, k).row >> histogram->shift]++;
        }
    }
    return SPMM_OK;
}

/* Everything a rank can fail at before the first message. */
static spmm_status_t prepare(spmm_env_t *env, int64_t rows, int64_t cols, const spmm_bag_t *bag,
                             spmm_type_t type, histogram_t *histogram, spmm_matrix_t **A)
{
    const int64_t n_offsets = (int64_t)env->size + 1;

    SPMM_TRY(spmmi_matrix_new(env, type, A));
    (*A)->rows = rows;
    (*A)->cols = cols;
    if (SPMM_NEW((*A)->row_offset, n_offsets) == NULL ||
        SPMM_NEW((*A)->col_offset, n_offsets) == NULL) {
        return spmmi_fail_memory(&env->err, 2 * n_offsets, sizeof(int64_t), "row offsets");
    }
    return histogram_fill(env, rows, bag, histogram);
}

/* Cut p falls on the bucket boundary whose number of entries before it is nearest to p / size of
 * all.  A matrix without entries is cut evenly by rows. */
static void cut_rows(const histogram_t *histogram, int64_t rows, int size, int64_t *offset)
{
    int64_t total = 0, before = 0, bucket = 0;

    for (int64_t b = 0; b < histogram->n; b++) {
        total += histogram->count[b];
    }
    if (total == 0 || size == 1) {
        spmmi_even_offsets(rows, size, offset);
        return;
    }
    spmmi_even_offsets(total, size, offset);
    for (int p = 1; p < size; p++) {
        const int64_t target = offset[p];
        int64_t       cut;

        while (bucket < histogram->n && before + histogram->count[bucket] <= target) {
            before += histogram->count[bucket++];
        }
        cut = bucket;
        if (bucket < histogram->n && before + histogram->count[bucket] - target < target - before) {
            cut++;
        }
        offset[p] = cut >= histogram->n ? rows : cut << histogram->shift;
    }
    offset[size] = rows;
}

/* Widest block of @p offset must fit a local index; every rank comes to the same answer. */
static spmm_status_t check_blocks(spmm_env_t *env, const int64_t *offset, const char *what)
{
    for (int p = 0; p < env->size; p++) {
        const int64_t n = offset[p + 1] - offset[p];

        if (n > INT32_MAX) {
            return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                              "rank %d would own %" PRId64
                              " %s, more than 2147483647; use more ranks",
                              p, n, what);
        }
    }
    return SPMM_OK;
}

static spmm_status_t split(spmm_env_t *env, histogram_t *histogram, spmm_matrix_t *A)
{
    SPMM_TRY(spmmi_allreduce(env, histogram->count, (int)histogram->n, MPI_INT64_T, MPI_SUM));
    cut_rows(histogram, A->rows, env->size, A->row_offset);
    if (A->rows == A->cols) {
        for (int p = 0; p <= env->size; p++) {
            A->col_offset[p] = A->row_offset[p];
        }
    } else {
        spmmi_even_offsets(A->cols, env->size, A->col_offset);
    }
    SPMM_TRY(check_blocks(env, A->row_offset, "rows"));
    SPMM_TRY(check_blocks(env, A->col_offset, "columns"));
    A->n_rows = (int32_t)(A->row_offset[env->rank + 1] - A->row_offset[env->rank]);
    A->n_cols = (int32_t)(A->col_offset[env->rank + 1] - A->col_offset[env->rank]);
    return SPMM_OK;
}

spmm_status_t spmmi_assemble_bag(spmm_env_t *env, int64_t rows, int64_t cols, spmm_bag_t *bag,
                                 spmm_duplicates_t duplicates, uint64_t seed, spmm_type_t type,
                                 spmm_matrix_t **A)
{
    spmm_matrix_t *matrix    = NULL;
    histogram_t    histogram = {0};
    spmm_status_t  status;

    status = spmmi_agree(env, prepare(env, rows, cols, bag, type, &histogram, &matrix));
    if (status == SPMM_OK) {
        status = split(env, &histogram, matrix);
    }
    if (status == SPMM_OK) {
        status = spmmi_assemble_exchange(matrix, bag);
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, spmmi_assemble_rows(matrix, bag, duplicates, seed));
    }
    if (status == SPMM_OK) {
        matrix->nnz = spmmi_matrix_local_nnz(matrix);
        status      = spmmi_allreduce(env, &matrix->nnz, 1, MPI_INT64_T, MPI_SUM);
    }
    spmmi_bag_free(bag);
    spmmi_free(histogram.count);
    if (status != SPMM_OK) {
        spmmi_matrix_free(matrix);
        return status;
    }
    *A = matrix;
    return SPMM_OK;
}

/* The list as the one piece of a bag. */
static spmm_status_t adopt(spmm_env_t *env, spmm_entries_t *list, spmm_bag_t *bag)
{
    const spmm_piece_t piece = {
        .data = list->entry, .block = list->entry, .count = list->count, .capacity = list->count};

    *bag = (spmm_bag_t){.wide = true, .complex = list->complex};
    SPMM_TRY(spmmi_bag_add(&env->err, bag, piece));
    *list = (spmm_entries_t){0};
    return SPMM_OK;
}

spmm_status_t spmmi_assemble(spmm_env_t *env, int64_t rows, int64_t cols, spmm_entries_t *list,
                             spmm_duplicates_t duplicates, uint64_t seed, spmm_type_t type,
                             spmm_matrix_t **A)
{
    spmm_bag_t    bag    = {0};
    spmm_status_t status = check_input(env, rows, cols, list, type);

    if (status == SPMM_OK) {
        status = adopt(env, list, &bag);
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_assemble_bag(env, rows, cols, &bag, duplicates, seed, type, A);
    }
    spmmi_bag_free(&bag);
    spmmi_entries_free(list);
    return status;
}
