/* SPDX-License-Identifier: Apache-2.0 */
/** @file facts.c  What strips make of a pattern, from its windows of 32 rows: a strip is four of
 *  them, or two or one where four use too much.
 */
#include "engine/strips/facts.h"

#include "cpu/cpu_kernels.h"
#include "engine/strips/args.h"
#include "spmm_dist/context.h"

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
