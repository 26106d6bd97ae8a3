/* SPDX-License-Identifier: Apache-2.0 */
/** @file windows.c
 *  Condensation by marking: every entry of a window sets its row's bit at its column, and a bit in
 *  a set of columns whose members come out in order.  Neither depends on how many rows share a
 *  column, and windows of neighbouring columns stay in L1.
 */
#include "engine/windows/windows.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "cpu/windows/tc_mm.h"

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

/* What tensor-core formats make of a pattern, from its windows of 32 rows: those
 * of 8 and 16 rows are parts of them. */

enum { TALLEST = SPMM_WINDOWS_TALL, SMALL = TALLEST / 8, MIDDLE = TALLEST / 16 };

enum {
    MOST_GROUPS  = 4, /* of neighbouring rows */
    NEAR_WINDOWS = SPMM_NEAR_ROWS / TALLEST,
    USED         = 1 << MOST_GROUPS, /* in scan_t.seen, beside a bit for each group */
};

/** A scan under way. */
typedef struct {
    int32_t *blocks;             /**< [windows of 8 rows] TC blocks */
    uint8_t *seen;               /**< [columns] where each has an entry */
    int32_t  first[MOST_GROUPS]; /**< window of each group, evenly spread */
    int32_t  n_groups, group;    /**< group: windows of one */
} scan_t;

static void choose_groups(int32_t n_windows, scan_t *scan)
{
    const int32_t group = n_windows < NEAR_WINDOWS ? n_windows : NEAR_WINDOWS;
    const int32_t apart = n_windows - group; /* of the first group from the last */

    scan->group    = group;
    scan->n_groups = apart < (MOST_GROUPS - 1) * group ? apart / group + 1 : MOST_GROUPS;
    for (int32_t g = 0; g < scan->n_groups; g++) {
        scan->first[g] =
            scan->n_groups == 1 ? 0 : (int32_t)((int64_t)apart * g / (scan->n_groups - 1));
    }
}

/* What its columns are seen in. */
static uint8_t marks_of(const scan_t *scan, int32_t w)
{
    uint8_t marks = USED;

    for (int32_t g = 0; g < scan->n_groups; g++) {
        if (w >= scan->first[g] && w - scan->first[g] < scan->group) {
            marks = (uint8_t)(marks | 1 << g);
        }
    }
    return marks;
}

static void see(uint8_t *column, uint8_t marks)
{
    uint8_t now;

#pragma omp atomic read
    now = *column;
    if ((now & marks) != marks) {
#pragma omp atomic
        *column |= marks;
    }
}

static void count_length(int64_t pairs, spmm_tc_lengths_t *lengths)
{
    int bin = 0;

    if (pairs == 0) {
        return;
    }
    while (bin < SPMM_TC_BINS - 1 && pairs >> (bin + 1) != 0) {
        bin++;
    }
    lengths->longest = pairs > lengths->longest ? pairs : lengths->longest;
    lengths->windows[bin]++;
    lengths->pairs[bin] += pairs;
}

static void add_lengths(const spmm_tc_lengths_t *part, spmm_tc_lengths_t *lengths)
{
    lengths->longest = part->longest > lengths->longest ? part->longest : lengths->longest;
    for (int bin = 0; bin < SPMM_TC_BINS; bin++) {
        lengths->windows[bin] += part->windows[bin];
        lengths->pairs[bin] += part->pairs[bin];
    }
}

/* Four neighbouring columns with an entry in the same 8 rows count once; columns ascend. */
static int64_t count_quads(const spmm_windows_t *windows, int32_t w)
{
    const int32_t  *col   = windows->col + windows->first[w];
    const uint32_t *rows  = windows->rows + windows->first[w];
    const int32_t   n     = windows->count[w];
    uint32_t        seen  = 0;
    int64_t         quads = 0;

    for (int32_t k = 0; k < n; k++) {
        seen |= rows[k];
        if (k + 1 == n || col[k + 1] / 4 != col[k] / 4) {
            for (int s = 0; s < SMALL; s++) {
                quads += (seen >> 8 * s & 0xff) != 0;
            }
            seen = 0;
        }
    }
    return quads;
}

/* Add what window w has to *facts. */
static void scan_window(const spmm_windows_t *windows, int32_t w, int32_t n_small,
                        const scan_t *scan, spmm_tc_facts_t *facts)
{
    const int32_t  *col            = windows->col + windows->first[w];
    const uint32_t *rows           = windows->rows + windows->first[w];
    const uint8_t   marks          = marks_of(scan, w);
    int64_t         small[SMALL]   = {0};
    int64_t         middle[MIDDLE] = {0};

    for (int32_t k = 0; k < windows->count[w]; k++) {
        see(&scan->seen[col[k]], marks);
    }
    for (int32_t k = 0; k < windows->count[w]; k++) {
        for (int s = 0; s < SMALL; s++) {
            small[s] += (rows[k] >> 8 * s & 0xff) != 0;
        }
        for (int m = 0; m < MIDDLE; m++) {
            middle[m] += (rows[k] >> 16 * m & 0xffff) != 0;
        }
    }
    facts->quads += count_quads(windows, w);
    for (int32_t s = 0; s < SMALL && w * SMALL + s < n_small; s++) {
        const int64_t blocks = (small[s] + 7) / 8;

        scan->blocks[w * SMALL + s] = (int32_t)blocks;
        facts->tc_blocks += blocks;
        facts->pairs[0] += small[s];
        count_length(small[s], &facts->lengths[0]);
    }
    for (int m = 0; m < MIDDLE; m++) {
        facts->bricks += (middle[m] + 3) / 4;
        facts->pairs[1] += middle[m];
        count_length(middle[m], &facts->lengths[1]);
    }
    facts->pairs[2] += windows->count[w];
}

static void scan_windows(const spmm_windows_t *windows, int32_t n_small, int team,
                         const scan_t *scan, spmm_tc_facts_t *facts)
{
#pragma omp parallel num_threads(team)
    {
        spmm_tc_facts_t part = {.tc_blocks = 0};

#pragma omp for schedule(dynamic, 64)
        for (int32_t w = 0; w < windows->n_windows; w++) {
            scan_window(windows, w, n_small, scan, &part);
        }
#pragma omp critical
        {
            for (int h = 0; h < SPMM_TC_HEIGHTS; h++) {
                facts->pairs[h] += part.pairs[h];
            }
            facts->tc_blocks += part.tc_blocks;
            facts->quads += part.quads;
            facts->bricks += part.bricks;
            add_lengths(&part.lengths[0], &facts->lengths[0]);
            add_lengths(&part.lengths[1], &facts->lengths[1]);
        }
    }
}

/* cuTeSpMM calls two numbers alpha, the density of a brick and that of an active column, and takes
 * them as equal; they differ by the padding of a panel's last brick.  Its model counts loads by
 * bricks and its classes speak of active columns, and so it is here.  (By equation 4 the class
 * borders are at an OI of 64 and 128; section 6.4 of the paper says 32 and 64.) */
static void derive(const scan_t *scan, int64_t nnz, int32_t n_windows, spmm_tc_facts_t *facts)
{
    const double mean = (double)facts->tc_blocks / n_windows;
    double       off  = 0.0;

    for (int32_t w = 0; w < n_windows; w++) {
        off += fabs((double)scan->blocks[w] - mean);
    }
    facts->ibd         = off / n_windows;
    facts->mean_nnz_tc = (double)nnz / (double)facts->tc_blocks;
    facts->alpha       = (double)nnz / (64.0 * (double)facts->bricks);
    facts->synergy     = (double)nnz / (16.0 * (double)facts->pairs[1]);
    facts->oi_shmem    = 512.0 * facts->alpha;
}

static void count_columns(const scan_t *scan, int32_t n_cols, int team,
                          spmm_used_columns_t *columns)
{
    int64_t used = 0, near = 0;

#pragma omp parallel for schedule(static) num_threads(team) reduction(+ : used, near)
    for (int32_t c = 0; c < n_cols; c++) {
        used += scan->seen[c] >= USED;
        for (int g = 0; g < MOST_GROUPS; g++) {
            near += scan->seen[c] >> g & 1;
        }
    }
    columns->used = used;
    columns->near = (double)near / scan->n_groups;
}

spmm_status_t spmmi_tc_facts_of(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, spmm_tc_facts_t *facts,
                                spmm_used_columns_t *columns)
{
    const int32_t n_small = spmmi_windows_count(block->n_rows, 8);
    const int     team    = spmmi_cpu_team_for(env->threads, spmmi_csr_nnz(block));
    scan_t        scan;
    spmm_status_t status = SPMM_OK;

    memset(facts, 0, sizeof *facts);
    *columns = (spmm_used_columns_t){.used = 0};
    if (spmmi_csr_nnz(block) == 0) {
        return SPMM_OK;
    }
    choose_groups(tall->n_windows, &scan);
    SPMM_NEW(scan.blocks, n_small);
    SPMM_NEW_ZERO(scan.seen, block->n_cols);
    if (scan.blocks == NULL || scan.seen == NULL) {
        status = spmmi_fail_memory(&env->err, n_small, sizeof *scan.blocks, "facts of windows");
    } else {
        scan_windows(tall, n_small, team, &scan, facts);
        derive(&scan, spmmi_csr_nnz(block), n_small, facts);
        count_columns(&scan, block->n_cols, team, columns);
    }
    spmmi_free_all(scan.blocks, scan.seen);
    return status;
}

spmm_status_t spmmi_tc_facts_scan(spmm_env_t *env, const spmm_csr_t *block, spmm_tc_facts_t *facts,
                                  int64_t *used_cols)
{
    spmm_used_columns_t columns = {.used = 0};
    spmm_windows_t      tall;
    spmm_status_t       status;

    memset(facts, 0, sizeof *facts);
    SPMM_TRY(spmmi_windows_create(env, block, TALLEST, env->threads, &tall));
    status     = spmmi_tc_facts_of(env, block, &tall, facts, &columns);
    *used_cols = columns.used;
    spmmi_windows_free(&tall);
    return status;
}

const char *spmmi_tc_synergy_class(double synergy)
{
    return synergy < 0.125 ? "low" : synergy < 0.25 ? "medium" : "high";
}
