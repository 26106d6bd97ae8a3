/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/assemble.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/scalar.h"
#include "matrix/assemble_rows.h"

/* Rows are counted in at most this many buckets of equal width, so that no rank holds a number
 * for every row; blocks are cut at bucket boundaries. */
enum { MAX_BUCKETS = 65536 };

typedef struct {
    int64_t  width; /* rows per bucket, the last may have fewer */
    int64_t  n;     /* buckets */
    int64_t *count; /* [n] entries of each, over all ranks after the reduction */
} histogram_t;

/* What a rank sends and gets. */
typedef struct {
    int64_t *send_count, *recv_count; /* [size] each, one block */
    int64_t  total;                   /* entries to receive */
} traffic_t;

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

static spmm_status_t histogram_fill(spmm_env_t *env, int64_t rows, const spmm_entries_t *list,
                                    histogram_t *histogram)
{
    histogram->width = rows / MAX_BUCKETS + (rows % MAX_BUCKETS != 0);
    histogram->n     = rows == 0 ? 0 : (rows - 1) / histogram->width + 1;
    if (SPMM_NEW_ZERO(histogram->count, histogram->n) == NULL) {
        return spmmi_fail_memory(&env->err, histogram->n, sizeof *histogram->count,
                                 "the row histogram");
    }
    for (int64_t k = 0; k < list->count; k++) {
        histogram->count[list->entry[k].row / histogram->width]++;
    }
    return SPMM_OK;
}

/* Everything a rank can fail at before the first message. */
static spmm_status_t prepare(spmm_env_t *env, int64_t rows, int64_t cols,
                             const spmm_entries_t *list, spmm_type_t type, histogram_t *histogram,
                             traffic_t *traffic, spmm_matrix_t **A)
{
    const int64_t n_offsets = (int64_t)env->size + 1;

    SPMM_TRY(check_input(env, rows, cols, list, type));
    SPMM_TRY(spmmi_matrix_new(env, type, A));
    (*A)->rows = rows;
    (*A)->cols = cols;
    if (SPMM_NEW((*A)->row_offset, n_offsets) == NULL ||
        SPMM_NEW((*A)->col_offset, n_offsets) == NULL ||
        SPMM_NEW_ZERO(traffic->send_count, 2 * (int64_t)env->size) == NULL) {
        return spmmi_fail_memory(&env->err, 4 * n_offsets, sizeof(int64_t), "row offsets");
    }
    traffic->recv_count = traffic->send_count + env->size;
    return histogram_fill(env, rows, list, histogram);
}

/* Cut p falls on the bucket boundary whose number of entries before it is nearest to p / size of
 * all.  A matrix without entries is cut evenly by rows. */
static void cut_rows(const histogram_t *histogram, int64_t rows, int size, int64_t *offset)
{
    int64_t total = 0, before = 0, bucket = 0;

    for (int64_t b = 0; b < histogram->n; b++) {
        total += histogram->count[b];
    }
    if (total == 0) {
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
        offset[p] = cut >= histogram->n ? rows : cut * histogram->width;
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

/* Count what goes where; *grouped tells whether the list is in rank order already. */
static spmm_status_t count_traffic(spmm_env_t *env, const spmm_matrix_t *A,
                                   const spmm_entries_t *list, traffic_t *traffic, bool *grouped)
{
    int last = 0;

    *grouped = true;
    for (int64_t k = 0; k < list->count; k++) {
        const int owner = spmmi_owner(A->row_offset, env->size, list->entry[k].row);

        traffic->send_count[owner]++;
        *grouped = *grouped && owner >= last;
        last     = owner;
    }
    return spmmi_alltoall_counts(env, traffic->send_count, traffic->recv_count, &traffic->total);
}

/* Stable counting sort of the list by owner. */
static spmm_status_t group_by_owner(spmm_env_t *env, const spmm_matrix_t *A,
                                    const traffic_t *traffic, spmm_entries_t *list)
{
    spmm_entries_t sorted = {
        .count = list->count, .capacity = list->count, .complex = list->complex};
    int64_t *next, at = 0;

    if (SPMM_NEW(sorted.entry, list->count) == NULL || SPMM_NEW(next, env->size) == NULL) {
        spmmi_free(sorted.entry);
        return spmmi_fail_memory(&env->err, list->count, sizeof *sorted.entry,
                                 "matrix entries to send");
    }
    for (int p = 0; p < env->size; p++) {
        next[p] = at;
        at += traffic->send_count[p];
    }
    for (int64_t k = 0; k < list->count; k++) {
        const int owner = spmmi_owner(A->row_offset, env->size, list->entry[k].row);

        sorted.entry[next[owner]++] = list->entry[k];
    }
    spmmi_free(next);
    spmmi_entries_free(list);
    *list = sorted;
    return SPMM_OK;
}

static spmm_status_t prepare_exchange(spmm_env_t *env, const spmm_matrix_t *A,
                                      const traffic_t *traffic, bool grouped, spmm_entries_t *list,
                                      spmm_entries_t *mine)
{
    if (!grouped) {
        SPMM_TRY(group_by_owner(env, A, traffic, list));
    }
    if (SPMM_NEW(mine->entry, traffic->total) == NULL) {
        return spmmi_fail_memory(&env->err, traffic->total, sizeof *mine->entry,
                                 "matrix entries to receive");
    }
    mine->count = mine->capacity = traffic->total;
    return SPMM_OK;
}

/* Replace the list by the entries of this rank's rows, in the order of the ranks they came from.
 * Collective; all ranks leave together. */
static spmm_status_t exchange(spmm_env_t *env, const spmm_matrix_t *A, traffic_t *traffic,
                              spmm_entries_t *list)
{
    spmm_entries_t mine = {.complex = list->complex};
    bool           grouped;
    spmm_status_t  status;

    if (env->size == 1) {
        return SPMM_OK;
    }
    SPMM_TRY(count_traffic(env, A, list, traffic, &grouped));
    status = spmmi_agree(env, prepare_exchange(env, A, traffic, grouped, list, &mine));
    if (status == SPMM_OK) {
        status = spmmi_alltoallv(env, list->entry, traffic->send_count, mine.entry,
                                 traffic->recv_count, sizeof *mine.entry);
    }
    spmmi_entries_free(list);
    *list = mine;
    return status;
}

spmm_status_t spmmi_assemble(spmm_env_t *env, int64_t rows, int64_t cols, spmm_entries_t *list,
                             spmm_duplicates_t duplicates, uint64_t seed, spmm_type_t type,
                             spmm_matrix_t **A)
{
    spmm_matrix_t *matrix    = NULL;
    histogram_t    histogram = {0};
    traffic_t      traffic   = {0};
    spmm_status_t  status;

    status = spmmi_agree(env, prepare(env, rows, cols, list, type, &histogram, &traffic, &matrix));
    if (status == SPMM_OK) {
        status = split(env, &histogram, matrix);
    }
    if (status == SPMM_OK) {
        status = exchange(env, matrix, &traffic, list);
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, spmmi_assemble_rows(matrix, list, duplicates, seed));
    }
    if (status == SPMM_OK) {
        matrix->nnz = spmmi_matrix_local_nnz(matrix);
        status      = spmmi_allreduce(env, &matrix->nnz, 1, MPI_INT64_T, MPI_SUM);
    }
    spmmi_entries_free(list);
    spmmi_free_all(histogram.count, traffic.send_count);
    if (status != SPMM_OK) {
        spmmi_matrix_free(matrix);
        return status;
    }
    *A = matrix;
    return SPMM_OK;
}
