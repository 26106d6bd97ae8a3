/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/csr/strips_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "engine/csr/strips_args.h"
#include "spmm_dist/context.h"

/* What strips make of a pattern, from its windows of 32 rows: a strip is four of
 * them, or two or one where four use too much. */

enum { WINDOWS = SPMM_STRIP_ROWS / SPMM_WINDOWS_TALL };

/** A scan under way. */
typedef struct {
    const spmm_windows_t *windows;
    const spmm_csr_t     *block;
} scan_t;

static int64_t entries_of(const spmm_csr_t *block, int32_t first, int32_t n)
{
    const int64_t from = (int64_t)first * SPMM_WINDOWS_TALL;
    const int64_t to   = from + (int64_t)n * SPMM_WINDOWS_TALL;

    return block->row_ptr[to < block->n_rows ? to : block->n_rows] - block->row_ptr[from];
}

/* The next column of @p n windows, all of which step over it; INT32_MAX behind the last. */
static int32_t next_column(const spmm_windows_t *windows, int32_t first, int32_t n,
                           int32_t at[WINDOWS])
{
    int32_t col = INT32_MAX;

    for (int32_t k = 0; k < n; k++) {
        const int32_t *list = windows->col + windows->first[first + k];

        if (at[k] < windows->count[first + k] && list[at[k]] < col) {
            col = list[at[k]];
        }
    }
    for (int32_t k = 0; k < n; k++) {
        const int32_t *list = windows->col + windows->first[first + k];

        at[k] += at[k] < windows->count[first + k] && list[at[k]] == col;
    }
    return col;
}

/* A window that uses too much for one strip, cut into as many rows as fit, or into rows: what it
 * has of neighbouring columns does not count. */
static spmm_strips_facts_t cut_window(const scan_t *scan, int32_t w, int64_t cols)
{
    const uint32_t *rows = scan->windows->rows + scan->windows->first[w];
    int32_t         high = SPMM_WINDOWS_TALL;
    int64_t         sum, most;

    while (high > 1 && cols * high > (int64_t)SPMM_STRIP_COLS * SPMM_WINDOWS_TALL) {
        high /= 2; /* the columns of parts are no fewer than those of the window */
    }
    for (;; high /= 2) {
        sum = most = 0;
        for (int32_t r = 0; r < SPMM_WINDOWS_TALL; r += high) {
            const uint32_t mask = (uint32_t)(((uint64_t)1 << high) - 1) << r;
            int64_t        part = 0;

            for (int32_t k = 0; k < scan->windows->count[w]; k++) {
                part += (rows[k] & mask) != 0;
            }
            sum += part;
            most = part > most ? part : most;
        }
        if (most <= SPMM_STRIP_COLS || high == 1) {
            break;
        }
    }
    return (spmm_strips_facts_t){.strips = (sum + SPMM_STRIP_COLS - 1) / SPMM_STRIP_COLS +
                                           SPMM_WINDOWS_TALL / high - 1,
                                 .cols  = sum,
                                 .quads = sum,
                                 .octs  = sum};
}

/* Windows @p first .. @p first + @p n as one strip, or several if it is one window. */
static spmm_strips_facts_t join_windows(const scan_t *scan, int32_t first, int32_t n)
{
    spmm_strips_facts_t sum         = {.strips = 1};
    const int64_t       entries     = entries_of(scan->block, first, n);
    int32_t             at[WINDOWS] = {0}, last = -SPMM_WINDOWS_TALL, col;

    while ((col = next_column(scan->windows, first, n, at)) < INT32_MAX) {
        sum.cols++;
        sum.quads += col / 4 != last / 4 || last < 0;
        sum.octs += col / 8 != last / 8 || last < 0;
        last = col;
    }
    if (sum.cols > SPMM_STRIP_COLS) {
        return n == 1 ? cut_window(scan, first, sum.cols) : (spmm_strips_facts_t){.strips = 2};
    }
    sum.strips += entries / (SPMM_STRIP_ENTRIES + 1);
    return sum;
}

static void add(spmm_strips_facts_t *to, const spmm_strips_facts_t *from)
{
    to->strips += from->strips;
    to->cols += from->cols;
    to->quads += from->quads;
    to->octs += from->octs;
}

/* The same, in halves where they are too much for one strip. */
static spmm_strips_facts_t cut_windows(const scan_t *scan, int32_t first, int32_t n)
{
    spmm_strips_facts_t all = join_windows(scan, first, n);

    for (int32_t half = n; all.strips > 1 && half > 1;) {
        half = (half + 1) / 2;
        all  = (spmm_strips_facts_t){0};
        for (int32_t k = 0; k < n; k += half) {
            const spmm_strips_facts_t part =
                join_windows(scan, first + k, n - k < half ? n - k : half);

            add(&all, &part);
        }
        if (all.strips <= (n + half - 1) / half) {
            break; /* each part is one strip */
        }
    }
    return all;
}

static void scan(const spmm_pattern_t *pattern, const spmm_csr_t *block, int threads, void *facts)
{
    const scan_t  s       = {.windows = &pattern->windows, .block = block};
    const int32_t n       = pattern->windows.n_windows;
    const int64_t entries = spmmi_csr_nnz(block);
    int64_t       strips = 0, cols = 0, quads = 0, octs = 0;

    if (block->type != SPMM_R_64F && block->type != SPMM_R_32F) {
        return;
    }
#pragma omp parallel for schedule(dynamic, 64) num_threads(spmmi_cpu_team_for(threads, entries)) \
    reduction(+ : strips, cols, quads, octs)
    for (int32_t w = 0; w < n; w += WINDOWS) {
        const spmm_strips_facts_t one = cut_windows(&s, w, n - w < WINDOWS ? n - w : WINDOWS);

        strips += one.strips;
        cols += one.cols;
        quads += one.quads;
        octs += one.octs;
    }
    *(spmm_strips_facts_t *)facts =
        (spmm_strips_facts_t){.strips = strips, .cols = cols, .quads = quads, .octs = octs};
}

const spmm_pattern_facts_t spmmi_strips_pattern_facts = {
    .size = sizeof(spmm_strips_facts_t), .by_column = true, .scan = scan};

spmm_strips_facts_t spmmi_strips_facts(const spmm_pattern_t *pattern)
{
    const spmm_strips_facts_t *facts = spmmi_pattern_facts(pattern, &spmmi_strips_pattern_facts);

    return facts != NULL ? *facts : (spmm_strips_facts_t){0};
}

enum { RANGE = 4096 }; /* rows that a thread cuts for itself: a strip ends where they do */

/** Where the next strip of a range goes. */
typedef struct {
    int64_t strip, split, item, col, ptr;
} at_t;

/** A range under way. */
typedef struct {
    const spmm_csr_t *block;
    uint64_t         *mark;   /**< [columns] stamp << 16 and, once known, place in the strip */
    uint64_t          stamp;  /**< of the open strip */
    spmm_strips_t    *strips; /**< NULL: only count */
    at_t              at;
    int32_t           limit;       /**< rows of a strip */
    int32_t           row, n_rows; /**< of the open strip */
    int32_t           n_cols, most_cols, most_entries;
    int32_t           cols[SPMM_STRIP_COLS]; /**< of the open strip */
} range_t;

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static void open_strip(range_t *r, int32_t row)
{
    r->row    = row;
    r->n_rows = 0;
    r->n_cols = 0;
    r->stamp++;
}

static void note(range_t *r, int64_t cols, int64_t entries)
{
    r->most_cols    = cols > r->most_cols ? (int32_t)cols : r->most_cols;
    r->most_entries = entries > r->most_entries ? (int32_t)entries : r->most_entries;
}

/* The columns of the open strip in order, the places of its entries among them, and where its rows
 * begin. */
static void fill_strip(range_t *r, int64_t first, int64_t end)
{
    const spmm_csr_t *block = r->block;
    spmm_strips_t    *s     = r->strips;

    qsort(r->cols, (size_t)r->n_cols, sizeof *r->cols, by_number);
    for (int32_t k = 0; k < r->n_cols; k++) {
        s->col[r->at.col + k] = r->cols[k];
        r->mark[r->cols[k]]   = r->stamp << 16 | (uint64_t)k;
    }
    for (int64_t e = first; e < end; e++) {
        s->index[e] = (uint16_t)(r->mark[block->col_idx[e]] & 0xffff);
    }
    for (int32_t i = 0; i <= r->n_rows; i++) {
        s->ptr[r->at.ptr + i] = (uint16_t)(block->row_ptr[r->row + i] - first);
    }
    s->strip[r->at.strip] = (spmm_strip_t){.row       = r->row,
                                           .split     = -1,
                                           .ptr       = (int32_t)r->at.ptr,
                                           .entry     = (uint32_t)first,
                                           .col       = (uint32_t)r->at.col,
                                           .n_entries = (uint16_t)(end - first),
                                           .n_cols    = (uint16_t)r->n_cols,
                                           .n_sums    = (uint16_t)r->n_rows};
}

static void close_strip(range_t *r)
{
    const int64_t first = r->block->row_ptr[r->row];
    const int64_t end   = r->block->row_ptr[r->row + r->n_rows];

    if (r->n_rows == 0) {
        return;
    }
    if (r->strips != NULL) {
        fill_strip(r, first, end);
    }
    note(r, r->n_cols, end - first);
    r->at.strip++;
    r->at.col += r->n_cols;
    r->at.ptr += r->n_rows + 1;
}

/* A work item of a long row: its entries are its columns. */
static void fill_item(const range_t *r, int32_t row, int64_t entry, int64_t n)
{
    spmm_strips_t *s = r->strips;

    for (int64_t k = 0; k < n; k++) {
        s->col[r->at.col + k] = r->block->col_idx[entry + k];
        s->index[entry + k]   = (uint16_t)k;
    }
    for (int64_t k = 0; k <= SPMM_STRIP_SUMS; k++) {
        s->ptr[r->at.ptr + k] = (uint16_t)(n * k / SPMM_STRIP_SUMS);
    }
    s->strip[r->at.strip] = (spmm_strip_t){.row       = row,
                                           .split     = (int32_t)r->at.split,
                                           .item      = (int32_t)r->at.item,
                                           .ptr       = (int32_t)r->at.ptr,
                                           .entry     = (uint32_t)entry,
                                           .col       = (uint32_t)r->at.col,
                                           .n_entries = (uint16_t)n,
                                           .n_cols    = (uint16_t)n,
                                           .n_sums    = SPMM_STRIP_SUMS};
}

static void put_long_row(range_t *r, int32_t row)
{
    const int64_t first = r->block->row_ptr[row], length = r->block->row_ptr[row + 1] - first;
    const int64_t n_items = (length + SPMM_STRIP_COLS - 1) / SPMM_STRIP_COLS;

    if (r->strips != NULL) {
        r->strips->split[r->at.split] =
            (spmm_strip_split_t){.item = (int32_t)r->at.item, .n_items = (int32_t)n_items};
    }
    for (int64_t p = 0; p < n_items; p++) {
        const int64_t from = length * p / n_items, n = length * (p + 1) / n_items - from;

        if (r->strips != NULL) {
            fill_item(r, row, first + from, n);
        }
        note(r, n, n);
        r->at.strip++;
        r->at.item++;
        r->at.col += n;
        r->at.ptr += SPMM_STRIP_SUMS + 1;
    }
    r->at.split++;
}

/* Add the columns of a row to the open strip.
 * @return whether there is room; else the strip keeps what it has, but columns that are in no strip
 *         are marked */
static bool take_row(range_t *r, int32_t row)
{
    const int64_t from = r->block->row_ptr[row], to = r->block->row_ptr[row + 1];
    int32_t       n_cols = r->n_cols;

    if (r->n_rows == r->limit || to - r->block->row_ptr[r->row] > SPMM_STRIP_ENTRIES) {
        return false;
    }
    for (int64_t k = from; k < to; k++) {
        const int32_t col = r->block->col_idx[k];

        if (r->mark[col] >> 16 != r->stamp) {
            if (n_cols == SPMM_STRIP_COLS) {
                return false;
            }
            r->mark[col]      = r->stamp << 16;
            r->cols[n_cols++] = col;
        }
    }
    r->n_cols = n_cols;
    r->n_rows++;
    return true;
}

static void cut_range(range_t *r, int32_t from, int32_t to)
{
    open_strip(r, from);
    for (int32_t i = from; i < to; i++) {
        if (r->block->row_ptr[i + 1] - r->block->row_ptr[i] > SPMM_STRIP_COLS) {
            close_strip(r);
            put_long_row(r, i);
            open_strip(r, i + 1);
        } else if (!take_row(r, i)) {
            close_strip(r);
            open_strip(r, i);
            (void)take_row(r, i); /* an empty strip has room for it */
        }
    }
    close_strip(r);
}

static int32_t ranges_of(const spmm_csr_t *block)
{
    return block->n_rows / RANGE + (block->n_rows % RANGE != 0);
}

/* Threads that cut: their marks of all columns take no more than 16 bytes an entry, beside those of
 * the first. */
static int team_of(const spmm_csr_t *block, int threads)
{
    const int64_t nnz  = spmmi_csr_nnz(block);
    const int64_t most = 1 + 2 * nnz / (block->n_cols > 0 ? block->n_cols : 1);
    const int     team = spmmi_cpu_team_for(threads, nnz);

    return most < team ? (int)most : team;
}

/* Cut all ranges, each from @p at[range] on, or, without strips, count what is in each. */
static bool cut(const spmm_csr_t *block, int32_t limit, int threads, spmm_strips_t *strips,
                spmm_strips_t *most, at_t *at)
{
    const int32_t n_ranges = ranges_of(block);
    const at_t    none     = {0};
    bool          ok       = true;

#pragma omp parallel num_threads(team_of(block, threads))
    {
        range_t   r = {.block = block, .strips = strips, .limit = limit};
        uint64_t *mark;

        r.mark = SPMM_NEW_ZERO(mark, block->n_cols);
#pragma omp for schedule(dynamic)
        for (int32_t k = 0; k < n_ranges; k++) {
            const int32_t from = k * RANGE;
            const int32_t to   = block->n_rows - from < RANGE ? block->n_rows : from + RANGE;

            if (mark != NULL) {
                r.at = strips == NULL ? none : at[k];
                cut_range(&r, from, to);
                at[k] = r.at;
            }
        }
#pragma omp critical
        {
            ok              = ok && mark != NULL;
            most->most_cols = r.most_cols > most->most_cols ? r.most_cols : most->most_cols;
            most->most_entries =
                r.most_entries > most->most_entries ? r.most_entries : most->most_entries;
        }
        spmmi_free(mark);
    }
    return ok;
}

/* Turn counts of ranges into where each begins.  @return all together */
static at_t add_up(at_t *at, int32_t n_ranges)
{
    at_t sum = {0};

    for (int32_t k = 0; k < n_ranges; k++) {
        const at_t count = at[k];

        at[k] = sum;
        sum.strip += count.strip;
        sum.split += count.split;
        sum.item += count.item;
        sum.col += count.col;
        sum.ptr += count.ptr;
    }
    return sum;
}

static bool alloc(int64_t nnz, spmm_strips_t *s)
{
    SPMM_NEW(s->strip, s->n_strips);
    SPMM_NEW(s->split, s->n_splits);
    SPMM_NEW(s->col, s->n_cols);
    SPMM_NEW(s->index, nnz);
    SPMM_NEW(s->ptr, s->n_ptr);
    return s->strip != NULL && s->split != NULL && s->col != NULL && s->index != NULL &&
           s->ptr != NULL;
}

static spmm_status_t create(spmm_env_t *env, const spmm_csr_t *block, int32_t rows, int threads,
                            at_t *at, spmm_strips_t *strips)
{
    const int64_t nnz      = spmmi_csr_nnz(block);
    const int32_t n_ranges = ranges_of(block);
    at_t          all;

    if (nnz > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "%" PRId64 " entries on one rank, engine strips takes fewer than 2^31; "
                          "use more ranks",
                          nnz);
    }
    if (!cut(block, rows, threads, NULL, strips, at)) {
        return spmmi_fail_memory(&env->err, block->n_cols, sizeof(uint64_t), "marks of columns");
    }
    all = add_up(at, n_ranges);
    if (all.ptr > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "%" PRId32 " rows in %" PRId64 " strips on one rank, engine strips takes "
                          "fewer than 2^31 of both together; use more ranks",
                          block->n_rows, all.strip);
    }
    strips->n_strips = (int32_t)all.strip;
    strips->n_splits = (int32_t)all.split;
    strips->n_items  = (int32_t)all.item;
    strips->n_cols   = all.col;
    strips->n_ptr    = all.ptr;
    if (!alloc(nnz, strips)) {
        return spmmi_fail_memory(&env->err, nnz, sizeof(uint16_t) + sizeof(int32_t), "strips");
    }
    if (!cut(block, rows, threads, strips, strips, at)) {
        return spmmi_fail_memory(&env->err, block->n_cols, sizeof(uint64_t), "marks of columns");
    }
    return SPMM_OK;
}

/* Half as many where that leaves multiprocessors without a thread block: measured on one H100. */
int32_t spmmi_strips_rows(int32_t n_rows, int64_t n, int64_t size, int n_sm)
{
    const int64_t slices = (n * size + 2 * SPMM_STRIP_SLICE - 1) / (2 * SPMM_STRIP_SLICE);
    const int64_t blocks = n_rows / SPMM_STRIP_ROWS * slices;

    return 2 * blocks < (int64_t)3 * n_sm ? SPMM_STRIP_ROWS / 2 : SPMM_STRIP_ROWS;
}

spmm_status_t spmmi_strips_create(spmm_env_t *env, const spmm_csr_t *block, int32_t rows,
                                  int threads, spmm_strips_t *strips)
{
    const int32_t n_ranges = ranges_of(block);
    at_t         *at;
    spmm_status_t status;

    memset(strips, 0, sizeof *strips);
    if (SPMM_NEW_ZERO(at, n_ranges) == NULL) {
        return spmmi_fail_memory(&env->err, n_ranges, sizeof *at, "strips");
    }
    status = create(env, block, rows, threads, at, strips);
    spmmi_free(at);
    if (status != SPMM_OK) {
        spmmi_strips_free(strips);
    }
    return status;
}

void spmmi_strips_free(spmm_strips_t *strips)
{
    spmmi_free_all(strips->strip, strips->split, strips->col, strips->index, strips->ptr);
    memset(strips, 0, sizeof *strips);
}
