/* SPDX-License-Identifier: Apache-2.0 */
/** @file windows.c
 *  Condensation by marking: every entry of a window sets its row's bit at its column, and a bit in
 *  a set of columns whose members come out in order.  Neither depends on how many rows share a
 *  column, and windows of neighbouring columns stay in L1.
 */
#include "engine/tc/windows.h"

#include <string.h>

#include "base/alloc.h"
#include "cpu/tc/tc_mm.h"

enum {
    WORD_BITS   = 6,
    WORD        = 1 << WORD_BITS,
    PANEL_BITS  = 16, /* 256 KiB of row bits: they stay in L2 where columns are far apart */
    PANEL       = 1 << PANEL_BITS,
    RUN_ENTRIES = 16384 /* about as many entries are one thread's at a time */
};

/** The marks of one window in PANEL consecutive columns; all 0 between windows. */
typedef struct {
    uint32_t rows[PANEL];                 /**< of each column */
    uint64_t used[PANEL / WORD];          /**< columns with rows */
    uint64_t groups[PANEL / WORD / WORD]; /**< words of used that are not 0 */
} panel_t;

/** A window being condensed: what is left of its rows. */
typedef struct {
    const int32_t *col;
    int            n_rows;
    int64_t        at[SPMM_TC_MAX_HEIGHT], end[SPMM_TC_MAX_HEIGHT];
} window_t;

static void window_start(window_t *w, const spmm_csr_t *block, int32_t first, int32_t height)
{
    w->col    = block->col_idx;
    w->n_rows = block->n_rows - first < height ? block->n_rows - first : height;
    for (int r = 0; r < w->n_rows; r++) {
        w->at[r]  = block->row_ptr[first + r];
        w->end[r] = block->row_ptr[first + r + 1];
    }
}

/* First column of the next panel with an entry, -1 when nothing is left. */
static int32_t next_panel(const window_t *w)
{
    int32_t least = INT32_MAX;
    bool    any   = false;

    for (int r = 0; r < w->n_rows; r++) {
        if (w->at[r] < w->end[r]) {
            any   = true;
            least = w->col[w->at[r]] < least ? w->col[w->at[r]] : least;
        }
    }
    return any ? least / PANEL * PANEL : -1;
}

/* Mark the entries of row r in the panel. */
static void mark_row(window_t *w, int r, int32_t base, panel_t *panel)
{
    const uint32_t row = (uint32_t)1 << r;
    int64_t        at = w->at[r], end = w->end[r];

    for (; at < end && w->col[at] - base < PANEL; at++) {
        const int32_t c = w->col[at] - base, word = c >> WORD_BITS;

        panel->rows[c] |= row;
        panel->used[word] |= (uint64_t)1 << (c & (WORD - 1));
        panel->groups[word >> WORD_BITS] |= (uint64_t)1 << (word & (WORD - 1));
    }
    w->at[r] = at;
}

/* The marked columns in order; clears the panel. */
static int32_t collect(panel_t *panel, int32_t base, int32_t *col, uint32_t *rows)
{
    int32_t n = 0;

    for (int32_t g = 0; g < PANEL / WORD / WORD; g++) {
        for (uint64_t words = panel->groups[g]; words != 0; words &= words - 1) {
            const int32_t word = g << WORD_BITS | spmmi_cpu_lowest_bit(words);

            for (uint64_t used = panel->used[word]; used != 0; used &= used - 1) {
                const int32_t c = word << WORD_BITS | spmmi_cpu_lowest_bit(used);

                col[n]         = base + c;
                rows[n++]      = panel->rows[c];
                panel->rows[c] = 0;
            }
            panel->used[word] = 0;
        }
        panel->groups[g] = 0;
    }
    return n;
}

static int32_t condense(const spmm_csr_t *block, int32_t first, int32_t height, panel_t *panel,
                        int32_t *col, uint32_t *rows)
{
    int32_t  count = 0;
    window_t w;

    window_start(&w, block, first, height);
    for (int32_t base = next_panel(&w); base >= 0; base = next_panel(&w)) {
        for (int r = 0; r < w.n_rows; r++) {
            mark_row(&w, r, base, panel);
        }
        count += collect(panel, base, col + count, rows + count);
    }
    return count;
}

/* Windows first .. last into the room of their entries, without gaps. */
static void condense_run(const spmm_csr_t *block, int32_t first, int32_t last, panel_t *panel,
                         spmm_windows_t *windows)
{
    int64_t at = block->row_ptr[first * windows->height];

    for (int32_t w = first; w < last; w++) {
        windows->first[w] = at;
        windows->count[w] = condense(block, w * windows->height, windows->height, panel,
                                     windows->col + at, windows->rows + at);
        at += windows->count[w];
    }
}

static void condense_all(const spmm_csr_t *block, int team, panel_t *panels,
                         spmm_windows_t *windows)
{
    const int32_t n    = windows->n_windows;
    const int64_t runs = spmmi_csr_nnz(block) / RUN_ENTRIES + 1;
    const int32_t run  = (int32_t)(n / runs) + 1; /* windows */

#pragma omp parallel num_threads(team)
    {
        panel_t *panel = &panels[omp_get_thread_num()];
        bool     clear = false; /* the panel of a thread without a run stays untouched */

#pragma omp for schedule(dynamic, 1)
        for (int32_t k = 0; k < spmmi_windows_count(n, run); k++) {
            const int32_t first = k * run;

            if (!clear) {
                memset(panel, 0, sizeof *panel);
                clear = true;
            }
            condense_run(block, first, n - first < run ? n : first + run, panel, windows);
        }
    }
}

static spmm_status_t windows_alloc(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                   spmm_windows_t *windows)
{
    const int64_t  nnz = spmmi_csr_nnz(block);
    spmm_windows_t w = {.height = height, .n_windows = spmmi_windows_count(block->n_rows, height)};

    SPMM_NEW(w.first, w.n_windows);
    SPMM_NEW(w.count, w.n_windows);
    SPMM_NEW(w.col, nnz);
    SPMM_NEW(w.rows, nnz);
    if (w.first == NULL || w.count == NULL || w.col == NULL || w.rows == NULL) {
        spmmi_windows_free(&w);
        *windows = w;
        return spmmi_fail_memory(&env->err, nnz, sizeof *w.col + sizeof *w.rows,
                                 "the active columns of windows");
    }
    *windows = w;
    return SPMM_OK;
}

spmm_status_t spmmi_windows_create(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                   int threads, spmm_windows_t *windows)
{
    const int team = spmmi_cpu_team_for(threads, spmmi_csr_nnz(block));
    panel_t  *panels;

    SPMM_TRY(windows_alloc(env, block, height, windows));
    if (SPMM_NEW(panels, team) == NULL) {
        spmmi_windows_free(windows);
        return spmmi_fail_memory(&env->err, team, sizeof *panels, "the marks of windows");
    }
    condense_all(block, team, panels, windows);
    spmmi_free(panels);
    return SPMM_OK;
}

/* Part @p part of a tall window, to @p col and @p rows [room].  Branches would be guesses: most
 * columns of most patterns have entries in some parts only. */
static int32_t split_window(const spmm_windows_t *tall, int32_t w, int part, int32_t height,
                            int64_t room, int32_t *col, uint32_t *rows)
{
    const int32_t  *from_col = tall->col + tall->first[w];
    const uint32_t *from     = tall->rows + tall->first[w];
    const uint32_t  mask     = UINT32_MAX >> (SPMM_WINDOWS_TALL - height);
    int32_t         n        = 0;

    for (int32_t k = 0; k < tall->count[w]; k++) {
        const uint32_t here = from[k] >> part * height & mask;

        if (n < room) { /* or nothing is left to come */
            col[n]  = from_col[k];
            rows[n] = here;
        }
        n += here != 0;
    }
    return n;
}

spmm_status_t spmmi_windows_split(spmm_env_t *env, const spmm_csr_t *block,
                                  const spmm_windows_t *tall, int32_t height, int threads,
                                  spmm_windows_t *windows)
{
    const int32_t  parts = SPMM_WINDOWS_TALL / height;
    spmm_windows_t w;

    SPMM_TRY(windows_alloc(env, block, height, &w));
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t t = 0; t < tall->n_windows; t++) {
        const int32_t first = t * SPMM_WINDOWS_TALL, left = block->n_rows - first;
        const int64_t end =
            block->row_ptr[first + (left < SPMM_WINDOWS_TALL ? left : SPMM_WINDOWS_TALL)];
        int64_t at = block->row_ptr[first];

        for (int32_t p = 0; p < parts && t * parts + p < w.n_windows; p++) {
            const int32_t k = t * parts + p;

            w.first[k] = at;
            w.count[k] = split_window(tall, t, p, height, end - at, w.col + at, w.rows + at);
            at += w.count[k];
        }
    }
    *windows = w;
    return SPMM_OK;
}

void spmmi_windows_free(spmm_windows_t *windows)
{
    spmmi_free_all(windows->first, windows->count, windows->col, windows->rows);
    memset(windows, 0, sizeof *windows);
}
