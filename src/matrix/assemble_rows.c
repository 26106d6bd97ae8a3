/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/assemble_rows.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "matrix/pairs.h"

/* Fewer entries than this are not worth waking threads for. */
enum { PARALLEL_ENTRIES = 1 << 15, MAX_PARTS = 32 };

/* The entries of this rank grouped by row. */
typedef struct {
    int64_t     *start; /* [n_rows + 2]; row r has pair[start[r]] .. pair[start[r + 1] - 1] */
    spmm_pair_t *pair;  /* [count] */
    int          parts; /* 2 where the list is complex: columns of pairs, and pairs of an entry */
} rows_t;

/* First row whose entries start at or after @p at.  next [n_rows]: where each row starts. */
static int64_t row_at(const int64_t *next, int64_t n_rows, int64_t at)
{
    int64_t low = 0, high = n_rows;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (next[mid] < at) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Move every entry of rows [low, high) to the next free place of its row. */
static void scatter(const spmm_entries_t *list, int64_t first, int64_t low, int64_t high,
                    int64_t *next, spmm_pair_t *pair)
{
    for (int64_t k = 0; k < list->count; k++) {
        const spmm_entry_t *entry = &list->entry[k];
        const int64_t       r     = entry->row - first;

        if (r >= low && r < high) {
            pair[next[r]].col     = entry->col;
            pair[next[r]++].value = entry->value;
        }
    }
}

/* Each thread scatters the rows of an equal share of the entries: reading all of the list is cheap
 * beside the scattered writes, and the order within a row is kept. */
static void scatter_parallel(const spmm_entries_t *list, int64_t first, int64_t n_rows, int team,
                             int64_t *next, spmm_pair_t *pair)
{
    const int threads = list->count > PARALLEL_ENTRIES ? team : 1;
    const int n_parts = threads < MAX_PARTS ? threads : MAX_PARTS;
    int64_t   cut[MAX_PARTS + 1];

    spmmi_even_offsets(list->count, n_parts, cut);
    for (int p = 0; p < n_parts; p++) {
        cut[p] = row_at(next, n_rows, cut[p]);
    }
    cut[n_parts] = n_rows;
#pragma omp parallel for schedule(static, 1) num_threads(n_parts) if (n_parts > 1)
    for (int p = 0; p < n_parts; p++) {
        scatter(list, first, cut[p], cut[p + 1], next, pair);
    }
}

/* Counting sort by row, stable. */
static spmm_status_t group_by_row(const spmm_matrix_t *A, const spmm_entries_t *list, rows_t *rows)
{
    const int64_t first = A->row_offset[A->env->rank];
    int64_t      *start;

    if (SPMM_NEW_ZERO(rows->start, (int64_t)A->n_rows + 2) == NULL) {
        return spmmi_fail_memory(&A->env->err, (int64_t)A->n_rows + 2, sizeof *rows->start,
                                 "row offsets");
    }
    if (SPMM_NEW(rows->pair, list->count) == NULL) {
        return spmmi_fail_memory(&A->env->err, list->count, sizeof *rows->pair, "matrix entries");
    }
    /* Counts stand two places up, so that start[r + 1] is the next free place of row r during the
     * scatter and the end of row r after it. */
    start = rows->start;
    for (int64_t k = 0; k < list->count; k++) {
        start[list->entry[k].row - first + 2]++;
    }
    for (int64_t r = 0; r < A->n_rows; r++) {
        start[r + 2] += start[r + 1];
    }
    scatter_parallel(list, first, A->n_rows, spmmi_cpu_team(A->env->threads), start + 1,
                     rows->pair);
    return SPMM_OK;
}

/* Sort each row and leave the number of its entries in row_ptr[r + 1]. */
static void sort_rows(spmm_matrix_t *A, const rows_t *rows, spmm_pair_t *scratch)
{
    const int team = spmmi_cpu_team(A->env->threads);

    A->row_ptr[0] = 0;
#pragma omp parallel for schedule(dynamic, 128)                                                    \
    num_threads(team) if (rows->start[A->n_rows] > PARALLEL_ENTRIES)
    for (int32_t r = 0; r < A->n_rows; r++) {
        const int64_t      at = rows->start[r], n = rows->start[r + 1] - at;
        spmm_pair_t *const pair   = rows->pair + at;
        int64_t            unique = n > 0;

        if (n > 1) { /* without any entry scratch is NULL */
            spmmi_pairs_sort(pair, n, scratch + at);
        }
        for (int64_t k = 1; k < n; k++) {
            unique += pair[k].col != pair[k - 1].col;
        }
        A->row_ptr[r + 1] = unique / rows->parts;
    }
}

/* Sum of n values, in order; false when finite values do not have a sum that fits the type. */
static bool sum_values(const spmm_pair_t *pair, int64_t n, spmm_type_t type, double *sum)
{
    bool finite = isfinite(pair[0].value);

    *sum = pair[0].value;
    for (int64_t k = 1; k < n; k++) {
        finite = finite && isfinite(pair[k].value);
        *sum += pair[k].value;
    }
    return !finite || (isfinite(*sum) && (type == SPMM_R_64F || spmmi_value_fits(type, *sum)));
}

/* Pairs with the first one's column. */
static int64_t count_equal(const spmm_pair_t *pair, const spmm_pair_t *end)
{
    const spmm_pair_t *next = pair + 1;

    while (next < end && next->col == pair->col) {
        next++;
    }
    return next - pair;
}

/* Write the merged entries of row r, part by part; false at the first value that does not fit. */
static bool fill_row(spmm_matrix_t *A, const rows_t *rows, spmm_duplicates_t duplicates,
                     uint64_t seed, int32_t r, int64_t *bad_col, double *bad_value)
{
    const spmm_pair_t *pair = rows->pair + rows->start[r], *end = rows->pair + rows->start[r + 1];
    const int          parts = rows->parts;
    const spmm_type_t  type  = parts == 2 ? spmmi_part_type(A->type) : A->type;
    int64_t            n;

    for (int64_t k = A->row_ptr[r] * parts; k < A->row_ptr[r + 1] * parts; k++, pair += n) {
        const int64_t col = pair->col / parts;
        double        value;

        n                     = count_equal(pair, end);
        A->col_idx[k / parts] = col;
        if (duplicates == SPMM_DUPLICATES_DROP) {
            spmmi_value_draw(type, A->values, k, seed, A->row_offset[A->env->rank] + r, col);
        } else if (sum_values(pair, n, type, &value)) {
            spmmi_value_set(type, A->values, k, value);
        } else {
            *bad_col   = col;
            *bad_value = value;
            return false;
        }
    }
    return true;
}

static spmm_status_t fill_rows(spmm_matrix_t *A, const rows_t *rows, spmm_duplicates_t duplicates,
                               uint64_t seed)
{
    const int team      = spmmi_cpu_team(A->env->threads);
    int32_t   first_bad = A->n_rows;
    int64_t   col       = 0;
    double    value     = 0.0;

#pragma omp parallel for schedule(dynamic, 128) num_threads(team)                                  \
    reduction(min                                                                                  \
              : first_bad) if (A->row_ptr[A->n_rows] > PARALLEL_ENTRIES)
    for (int32_t r = 0; r < A->n_rows; r++) {
        int64_t bad_col;
        double  bad_value;

        if (!fill_row(A, rows, duplicates, seed, r, &bad_col, &bad_value) && r < first_bad) {
            first_bad = r;
        }
    }
    if (first_bad == A->n_rows) {
        return SPMM_OK;
    }
    (void)fill_row(A, rows, duplicates, seed, first_bad, &col, &value);
    return spmmi_fail(&A->env->err, SPMM_ERR_RANGE,
                      "value %g at row %" PRId64 ", column %" PRId64
                      " is out of the range of type %s; use a wider type or scale the matrix",
                      value, A->row_offset[A->env->rank] + first_bad + 1, col + 1,
                      spmmi_type_name(A->type));
}

static spmm_status_t alloc_entries(spmm_matrix_t *A)
{
    const int64_t nnz  = A->row_ptr[A->n_rows];
    const size_t  size = spmm_type_size(A->type);

    A->values = spmmi_alloc(nnz, size);
    if (A->values == NULL || SPMM_NEW(A->col_idx, nnz) == NULL) {
        return spmmi_fail_memory(&A->env->err, nnz, size + sizeof *A->col_idx, "matrix entries");
    }
    return SPMM_OK;
}

spmm_status_t spmmi_assemble_rows(spmm_matrix_t *A, spmm_entries_t *list,
                                  spmm_duplicates_t duplicates, uint64_t seed)
{
    rows_t        rows = {.parts = list->complex ? 2 : 1};
    spmm_status_t status;

    if (SPMM_NEW(A->row_ptr, (int64_t)A->n_rows + 1) == NULL) {
        status = spmmi_fail_memory(&A->env->err, (int64_t)A->n_rows + 1, sizeof *A->row_ptr,
                                   "row offsets");
        goto undo;
    }
    status = group_by_row(A, list, &rows);
    if (status != SPMM_OK) {
        goto undo;
    }
    /* The list is done with: its memory, wide enough, serves the sort. */
    _Static_assert(sizeof(spmm_pair_t) <= sizeof(spmm_entry_t), "a list holds as many pairs");
    sort_rows(A, &rows, (spmm_pair_t *)list->entry);
    spmmi_entries_free(list);
    for (int32_t r = 0; r < A->n_rows; r++) {
        A->row_ptr[r + 1] += A->row_ptr[r];
    }
    status = alloc_entries(A);
    if (status == SPMM_OK) {
        status = fill_rows(A, &rows, duplicates, seed);
    }
undo:
    spmmi_entries_free(list);
    spmmi_free_all(rows.start, rows.pair);
    return status;
}
