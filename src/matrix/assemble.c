/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/assemble.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "matrix/csr.h"
#include "matrix/entry_exchange.h"

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

/* Fill row_ptr, col_idx and values of @p A, whose type, offsets and n_rows are set.  Local; the
 * result depends on the order of @p bag among equal positions only.
 * @param[in,out] bag  entries of this rank's rows, in any order; freed on the way */
static spmm_status_t assemble_rows(spmm_matrix_t *A, spmm_bag_t *bag, spmm_duplicates_t duplicates,
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

/* Rows are counted in at most this many buckets of equal width, so that no rank holds a number
 * for every row, and those of the buckets that a cut falls into once more in as many. */
enum { MAX_BUCKETS = 65536 };

typedef struct {
    int      shift; /* a bucket has 2^shift rows, the last may have fewer */
    int64_t  n;     /* buckets */
    int64_t *count; /* [n] entries of each, over all ranks after the reduction */
    /* Of the second count. */
    int32_t *slot;   /* [n] which of the buckets that are cut; -1: none */
    int64_t *before; /* [size] entries before the bucket of each cut */
    int64_t *bucket; /* [size] of each cut */
    int64_t *fine;   /* [cut buckets x parts of one] entries */
    int      n_fine;
    int      parts_log;  /* a bucket that is cut has 2^parts_log parts */
    int      fine_shift; /* of 2^fine_shift rows */
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
    if (SPMM_NEW_ZERO(histogram->count, histogram->n) == NULL ||
        SPMM_NEW(histogram->slot, histogram->n) == NULL ||
        SPMM_NEW(histogram->fine, MAX_BUCKETS + env->size) == NULL ||
        SPMM_NEW(histogram->before, 2 * (int64_t)env->size) == NULL) {
        return spmmi_fail_memory(&env->err, histogram->n + MAX_BUCKETS, sizeof *histogram->count,
                                 "the row histogram");
    }
    histogram->bucket = histogram->before + env->size;
    count             = histogram->count;
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

/* The bucket in which each cut falls, and into how many parts each of these can be counted.
 * @param[in] target  [size + 1] how many entries stand before each cut */
static void find_buckets(histogram_t *h, int size, const int64_t *target)
{
    int64_t before = 0, bucket = 0;
    int32_t n = 0;

    for (int64_t b = 0; b < h->n; b++) {
        h->slot[b] = -1;
    }
    for (int p = 1; p < size; p++) {
        while (bucket < h->n - 1 && before + h->count[bucket] <= target[p]) {
            before += h->count[bucket++];
        }
        h->bucket[p] = bucket;
        h->before[p] = before;
        if (h->slot[bucket] < 0) {
            h->slot[bucket] = n++;
        }
    }
    for (h->parts_log = 0; h->parts_log < h->shift && n << (h->parts_log + 1) <= MAX_BUCKETS;) {
        h->parts_log++;
    }
    h->fine_shift = h->shift - h->parts_log;
    for (int64_t k = 0; k < (int64_t)n << h->parts_log; k++) {
        h->fine[k] = 0;
    }
    h->n_fine = n << h->parts_log;
}

/* Count the entries of this rank in the parts of the buckets that are cut. */
static void count_fine(const histogram_t *h, const spmm_bag_t *bag)
{
    const int64_t mask = ((int64_t)1 << h->parts_log) - 1;

    for (int64_t p = 0; p < bag->n; p++) {
        for (int64_t k = 0; k < bag->piece[p].count; k++) {
            const int64_t row  = spmmi_bag_get(bag->piece[p].data, bag->wide, k).row;
            const int64_t slot = h->slot[row >> h->shift];

            if (slot >= 0) {
                h->fine[(slot << h->parts_log) + ((row >> h->fine_shift) & mask)]++;
            }
        }
    }
}

/* Cut p falls on the boundary of a part whose number of entries before it is nearest to its
 * target. */
static int64_t cut_at(const histogram_t *h, int p, int64_t target)
{
    const int64_t *count  = h->fine + ((int64_t)h->slot[h->bucket[p]] << h->parts_log);
    const int64_t  parts  = (int64_t)1 << h->parts_log;
    int64_t        before = h->before[p], k = 0;

    while (k < parts && before + count[k] <= target) {
        before += count[k++];
    }
    k += k < parts && before + count[k] - target < target - before;
    return (h->bucket[p] << h->shift) + (k << h->fine_shift);
}

/* A matrix without entries is cut evenly by rows.  Collective. */
static spmm_status_t cut_rows(spmm_env_t *env, histogram_t *h, int64_t rows, const spmm_bag_t *bag,
                              int64_t *offset)
{
    int64_t total = 0;

    SPMM_TRY(spmmi_allreduce(env, h->count, (int)h->n, MPI_INT64_T, MPI_SUM));
    for (int64_t b = 0; b < h->n; b++) {
        total += h->count[b];
    }
    if (total == 0 || env->size == 1) {
        spmmi_even_offsets(rows, env->size, offset);
        return SPMM_OK;
    }
    spmmi_even_offsets(total, env->size, offset);
    find_buckets(h, env->size, offset);
    count_fine(h, bag);
    SPMM_TRY(spmmi_allreduce(env, h->fine, h->n_fine, MPI_INT64_T, MPI_SUM));
    for (int p = 1; p < env->size; p++) {
        const int64_t cut = cut_at(h, p, offset[p]);

        offset[p] = cut < rows ? cut : rows;
    }
    offset[env->size] = rows;
    return SPMM_OK;
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

static spmm_status_t split(spmm_env_t *env, histogram_t *histogram, const spmm_bag_t *bag,
                           spmm_matrix_t *A)
{
    SPMM_TRY(cut_rows(env, histogram, A->rows, bag, A->row_offset));
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
        status = split(env, &histogram, bag, matrix);
    }
    if (status == SPMM_OK) {
        status = spmmi_exchange_entries(matrix, bag);
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, assemble_rows(matrix, bag, duplicates, seed));
    }
    if (status == SPMM_OK) {
        matrix->nnz = spmmi_matrix_local_nnz(matrix);
        status      = spmmi_allreduce(env, &matrix->nnz, 1, MPI_INT64_T, MPI_SUM);
    }
    spmmi_bag_free(bag);
    spmmi_free_all(histogram.count, histogram.slot, histogram.fine, histogram.before);
    if (status != SPMM_OK) {
        spmmi_matrix_free(matrix);
        return status;
    }
    *A = matrix;
    return SPMM_OK;
}

/* The list as the one piece of a bag. */
static spmm_status_t wrap_list(spmm_env_t *env, spmm_entries_t *list, spmm_bag_t *bag)
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
        status = wrap_list(env, list, &bag);
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_assemble_bag(env, rows, cols, &bag, duplicates, seed, type, A);
    }
    spmmi_bag_free(&bag);
    spmmi_entries_free(list);
    return status;
}
