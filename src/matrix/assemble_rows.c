/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/assemble_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "matrix/pairs.h"

/* Fewer entries than this are not worth waking threads for. */
enum { PARALLEL_ENTRIES = 1 << 15, MAX_PARTS = 64 };

/* The entries of this rank grouped by row. */
typedef struct {
    int64_t *start; /* [n_rows + 2]; row r has entries start[r] .. start[r + 1] - 1 */
    int64_t *col;   /* [count], of which a narrow bag uses the first half, as uint32 */
    double  *value; /* [count] */
    bool     wide;
    int      parts; /* 2 where the bag is complex: columns of an entry */
} rows_t;

static inline int64_t col_at(const rows_t *rows, int64_t k)
{
    return rows->wide ? rows->col[k] : (int64_t)((const uint32_t *)rows->col)[k];
}

static inline void set(const rows_t *rows, int64_t k, int64_t col, double value)
{
    if (rows->wide) {
        rows->col[k] = col;
    } else {
        ((uint32_t *)rows->col)[k] = (uint32_t)col;
    }
    rows->value[k] = value;
}

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

/* Count the entries of each of rows [low, high). */
static void count(const spmm_bag_t *bag, int64_t first, int64_t low, int64_t high, int64_t *counts)
{
    const bool wide = bag->wide;

    for (int64_t p = 0; p < bag->n; p++) {
        const void   *data = bag->piece[p].data;
        const int64_t n    = bag->piece[p].count;

        for (int64_t k = 0; k < n; k++) {
            const int64_t r = spmmi_bag_get(data, wide, k).row - first;

            if (r >= low && r < high) {
                counts[r]++;
            }
        }
    }
}

/* Move every entry of rows [low, high) to the next free place of its row. */
static void scatter(const spmm_bag_t *bag, int64_t first, int64_t low, int64_t high, int64_t *next,
                    const rows_t *rows)
{
    const bool wide = bag->wide;

    for (int64_t p = 0; p < bag->n; p++) {
        const void   *data = bag->piece[p].data;
        const int64_t n    = bag->piece[p].count;

        for (int64_t k = 0; k < n; k++) {
            const spmm_entry_t entry = spmmi_bag_get(data, wide, k);
            const int64_t      r     = entry.row - first;

            if (r >= low && r < high) {
                set(rows, next[r]++, entry.col, entry.value);
            }
        }
    }
}

/* Counting sort by row, stable.  Each thread counts an equal share of the rows and then scatters
 * those of an equal share of the entries: reading all of the bag is cheap beside the scattered
 * writes, and the order within a row is kept. */
static spmm_status_t group_by_row(const spmm_matrix_t *A, const spmm_bag_t *bag, rows_t *rows)
{
    const int64_t first = A->row_offset[A->env->rank], n_rows = A->n_rows;
    const int     team  = bag->count > PARALLEL_ENTRIES ? spmmi_cpu_team(A->env->threads) : 1;
    const int     parts = team < MAX_PARTS ? team : MAX_PARTS;
    int64_t      *start, cut[MAX_PARTS + 1];

    if (SPMM_NEW_ZERO(rows->start, n_rows + 2) == NULL) {
        return spmmi_fail_memory(&A->env->err, n_rows + 2, sizeof *rows->start, "row offsets");
    }
    if (SPMM_NEW(rows->col, bag->count) == NULL || SPMM_NEW(rows->value, bag->count) == NULL) {
        return spmmi_fail_memory(&A->env->err, bag->count, sizeof *rows->col + sizeof *rows->value,
                                 "matrix entries");
    }
    /* Counts stand two places up, so that start[r + 1] is the next free place of row r during the
     * scatter and the end of row r after it. */
    start = rows->start;
#pragma omp parallel for schedule(static, 1) num_threads(parts) if (parts > 1)
    for (int p = 0; p < parts; p++) {
        count(bag, first, spmmi_even_share(n_rows, parts, p),
              spmmi_even_share(n_rows, parts, p + 1), start + 2);
    }
    for (int64_t r = 0; r < n_rows; r++) {
        start[r + 2] += start[r + 1];
    }
    spmmi_even_offsets(bag->count, parts, cut);
    for (int p = 0; p < parts; p++) {
        cut[p] = row_at(start + 1, n_rows, cut[p]);
    }
    cut[parts] = n_rows;
#pragma omp parallel for schedule(static, 1) num_threads(parts) if (parts > 1)
    for (int p = 0; p < parts; p++) {
        scatter(bag, first, cut[p], cut[p + 1], start + 1, rows);
    }
    return SPMM_OK;
}

/* Sort row r by columns; @p scratch [2 * most] pairs, made where a row is not sorted yet. */
static bool sort_row(const rows_t *rows, int64_t at, int64_t n, int64_t most, spmm_pair_t **scratch)
{
    int64_t sorted = 1;

    while (sorted < n && col_at(rows, at + sorted - 1) <= col_at(rows, at + sorted)) {
        sorted++;
    }
    if (sorted >= n) {
        return true;
    }
    if (*scratch == NULL && SPMM_NEW(*scratch, 2 * most) == NULL) {
        return false;
    }
    for (int64_t k = 0; k < n; k++) {
        (*scratch)[k] = (spmm_pair_t){.col = col_at(rows, at + k), .value = rows->value[at + k]};
    }
    spmmi_pairs_sort(*scratch, n, *scratch + most);
    for (int64_t k = 0; k < n; k++) {
        set(rows, at + k, (*scratch)[k].col, (*scratch)[k].value);
    }
    return true;
}

/* Sort each row and leave the number of its entries in row_ptr[r + 1]. */
static spmm_status_t sort_rows(spmm_matrix_t *A, const rows_t *rows)
{
    const int team   = spmmi_cpu_team(A->env->threads);
    int64_t   most   = 0;
    bool      failed = false;

    for (int32_t r = 0; r < A->n_rows; r++) {
        const int64_t n = rows->start[r + 1] - rows->start[r];

        most = n > most ? n : most;
    }
    A->row_ptr[0] = 0;
#pragma omp parallel num_threads(team) if (rows->start[A->n_rows] > PARALLEL_ENTRIES)
    {
        spmm_pair_t *scratch = NULL;

#pragma omp for schedule(dynamic, 128) reduction(|| : failed)
        for (int32_t r = 0; r < A->n_rows; r++) {
            const int64_t at = rows->start[r], n = rows->start[r + 1] - at;
            int64_t       unique = n > 0;

            failed = failed || !sort_row(rows, at, n, most, &scratch);
            for (int64_t k = at + 1; k < at + n; k++) {
                unique += col_at(rows, k) != col_at(rows, k - 1);
            }
            A->row_ptr[r + 1] = unique / rows->parts;
        }
        spmmi_free(scratch);
    }
    return failed ? spmmi_fail_memory(&A->env->err, 2 * most, sizeof(spmm_pair_t),
                                      "sorting rows by column")
                  : SPMM_OK;
}

/* Sum of n values, in order; false when finite values do not have a sum that fits the type. */
static bool sum_values(const rows_t *rows, int64_t at, int64_t n, spmm_type_t type, double *sum)
{
    bool finite;

    *sum   = rows->value[at];
    finite = isfinite(*sum);
    for (int64_t k = at + 1; k < at + n; k++) {
        const double value = rows->value[k];

        finite = finite && isfinite(value);
        *sum += value;
    }
    return !finite || (isfinite(*sum) && (type == SPMM_R_64F || spmmi_value_fits(type, *sum)));
}

/* Entries with the column of the first one. */
static int64_t count_equal(const rows_t *rows, int64_t at, int64_t end)
{
    int64_t next = at + 1;

    while (next < end && col_at(rows, next) == col_at(rows, at)) {
        next++;
    }
    return next - at;
}

/* Write the merged entries of row r, part by part; false at the first value that does not fit. */
static bool fill_row(spmm_matrix_t *A, const rows_t *rows, spmm_duplicates_t duplicates,
                     uint64_t seed, int32_t r, int64_t *bad_col, double *bad_value)
{
    const int64_t     end   = rows->start[r + 1];
    const int         parts = rows->parts;
    const spmm_type_t type  = parts == 2 ? spmmi_part_type(A->type) : A->type;
    int64_t           at    = rows->start[r], n;

    for (int64_t k = A->row_ptr[r] * parts; k < A->row_ptr[r + 1] * parts; k++, at += n) {
        const int64_t col = col_at(rows, at) / parts;
        double        value;

        n                     = count_equal(rows, at, end);
        A->col_idx[k / parts] = col;
        if (duplicates == SPMM_DUPLICATES_DROP) {
            spmmi_value_draw(type, A->values, k, seed, A->row_offset[A->env->rank] + r, col);
        } else if (sum_values(rows, at, n, type, &value)) {
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

/* 32-bit columns to 64 bits in their place: the upper half is read from the lower one, and then the
 * lower half likewise. */
static void widen(int64_t *col, int64_t n, int team)
{
    const char *narrow = (const char *)col;
    uint32_t    c;

    for (; n > PARALLEL_ENTRIES; n -= n / 2) {
#pragma omp parallel for schedule(static) num_threads(team) private(c)
        for (int64_t k = n - n / 2; k < n; k++) {
            memcpy(&c, narrow + (size_t)k * sizeof c, sizeof c);
            col[k] = c;
        }
    }
    for (int64_t k = n - 1; k >= 0; k--) {
        memcpy(&c, narrow + (size_t)k * sizeof c, sizeof c);
        col[k] = c;
    }
}

/* No entry is merged or converted: the matrix takes the arrays as they are. */
static void take_entries(spmm_matrix_t *A, rows_t *rows)
{
    if (!rows->wide) {
        widen(rows->col, A->row_ptr[A->n_rows], spmmi_cpu_team(A->env->threads));
    }
    A->col_idx  = rows->col;
    A->values   = rows->value;
    rows->col   = NULL;
    rows->value = NULL;
}

spmm_status_t spmmi_assemble_rows(spmm_matrix_t *A, spmm_bag_t *bag, spmm_duplicates_t duplicates,
                                  uint64_t seed)
{
    rows_t        rows   = {.wide = bag->wide, .parts = bag->complex ? 2 : 1};
    spmm_status_t status = group_by_row(A, bag, &rows);

    spmmi_bag_free(bag);
    if (status == SPMM_OK && SPMM_NEW(A->row_ptr, (int64_t)A->n_rows + 1) == NULL) {
        status = spmmi_fail_memory(&A->env->err, (int64_t)A->n_rows + 1, sizeof *A->row_ptr,
                                   "row offsets");
    }
    if (status == SPMM_OK) {
        status = sort_rows(A, &rows);
    }
    for (int32_t r = 0; status == SPMM_OK && r < A->n_rows; r++) {
        A->row_ptr[r + 1] += A->row_ptr[r];
    }
    if (status == SPMM_OK && duplicates == SPMM_DUPLICATES_SUM && A->type == SPMM_R_64F &&
        A->row_ptr[A->n_rows] == rows.start[A->n_rows]) {
        take_entries(A, &rows);
    } else {
        if (status == SPMM_OK) {
            status = alloc_entries(A);
        }
        if (status == SPMM_OK) {
            status = fill_rows(A, &rows, duplicates, seed);
        }
    }
    spmmi_free_all(rows.start, rows.col, rows.value);
    return status;
}
