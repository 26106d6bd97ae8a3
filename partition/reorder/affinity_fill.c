/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity_fill.c
 *  Acc-SpMM, algorithm 1, step II, with windows in mind: the paper follows a row by the one that
 *  has most neighbours in common with it; here it is the one that has most columns in common with
 *  all rows of its window so far, relative to the new columns it brings.  Stretches of the base
 *  order are independent of each other, so threads share them and the result
 *  does not depend on how.
 */
#include "partition/reorder/affinity_fill.h"

#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "partition/reorder/row_graph.h"

enum {
    WINDOW = 16, /* rows; blocks of 8 rows, chained inside, are nearly as good as if filled alone */
    HEAVY  = 4096, /* rows of a stretch: a column with more tells little and costs much */
    LEAST  = 1024, /* rows of the shortest stretch */
    WORK   = 16384 /* places to look at for one row, on average and at most */
};

typedef struct {
    const spmm_csr_t *block;
    const int32_t    *base;
    int32_t          *order;
    int32_t           n, stretch;
    spmm_columns_t    columns; /**< by place in base */
} fill_t;

/** Of one thread; places count from the start of its stretch. */
typedef struct {
    bool    *taken;   /**< [stretch] */
    int32_t *shared;  /**< [stretch] columns in common with the window */
    int32_t *touched; /**< [stretch] places where shared is not zero, and taken ones */
    int32_t  n_touched;
    int32_t *mark; /**< [n_cols] first place of the last window that has the column, -1 */
} scratch_t;

static int64_t length(const fill_t *f, int32_t place)
{
    const int32_t i = f->base[place];

    return f->block->row_ptr[i + 1] - f->block->row_ptr[i];
}

/* First of list[from .. to - 1] that is no less than @p place. */
static int64_t lower_bound(const int32_t *list, int64_t from, int64_t to, int32_t place)
{
    while (from < to) {
        const int64_t mid = from + (to - from) / 2;

        if (list[mid] < place) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    return from;
}

/* A column has come into the window: the rows that have it too share one more. */
static void share(const fill_t *f, scratch_t *s, int32_t col, int32_t first, int32_t last)
{
    const int32_t *place = f->columns.row;
    const int64_t  end   = f->columns.ptr[col + 1];
    int64_t        k     = lower_bound(place, f->columns.ptr[col], end, first);

    if (k + HEAVY < end && place[k + HEAVY] < last) {
        return;
    }
    for (; k < end && place[k] < last; k++) {
        const int32_t p = place[k] - first;

        if (!s->taken[p] && s->shared[p]++ == 0) {
            s->touched[s->n_touched++] = p;
        }
    }
}

/* The next row of a window.  shared^2 / length: rows that bring little new go first, and among
 * those that fit equally well the longer one; over real matrices it left fewer (window, column)
 * pairs than the columns in common alone and than their share of the union.  -1: no row fits. */
static int32_t pick(const fill_t *f, scratch_t *s, int32_t first)
{
    double  most = 0.0;
    int32_t best = -1, kept = 0;

    for (int32_t k = 0; k < s->n_touched; k++) {
        const int32_t p = s->touched[k];
        double        score;

        if (s->taken[p]) {
            continue;
        }
        s->touched[kept++] = p;
        score = (double)s->shared[p] * (double)s->shared[p] / (double)length(f, first + p);
        if (score > most || (score == most && p < best)) {
            most = score;
            best = p;
        }
    }
    s->n_touched = kept;
    return best;
}

/* One window, its first row in place @p p; returns the end.  What the last row left in shared then
 * tells where to go on. */
static int32_t fill_window(const fill_t *f, scratch_t *s, int32_t p, int32_t out, int32_t first,
                           int32_t last)
{
    const int32_t window = out;

    for (int32_t k = 0; k < s->n_touched; k++) {
        s->shared[s->touched[k]] = 0;
    }
    s->n_touched = 0;
    while (p >= 0) {
        const int32_t i = f->base[first + p];

        s->taken[p]     = true;
        s->shared[p]    = 0;
        f->order[out++] = i;
        for (int64_t k = f->block->row_ptr[i]; k < f->block->row_ptr[i + 1]; k++) {
            const int32_t col = f->block->col_idx[k];

            if (s->mark[col] != window) {
                s->mark[col] = window;
                share(f, s, col, first, last);
            }
        }
        p = out - window < WINDOW ? pick(f, s, first) : -1;
    }
    return out;
}

/* Windows follow each other like rows do: the next begins with the row closest to the last; where
 * none is, with the first in the base order that is left.  A window that finds no more rows is
 * filled up with what follows. */
static void fill_stretch(const fill_t *f, scratch_t *s, int32_t first)
{
    const int32_t last = f->n - first < f->stretch ? f->n : first + f->stretch;
    int32_t       out = first, next = 0;

    memset(s->taken, 0, (size_t)(last - first) * sizeof *s->taken);
    memset(s->shared, 0, (size_t)(last - first) * sizeof *s->shared);
    s->n_touched = 0;
    while (out < last) {
        int32_t p = pick(f, s, first);

        if (p < 0) {
            while (s->taken[next]) {
                next++;
            }
            p = next;
        }
        out = fill_window(f, s, p, out, first, last);
    }
}

/* Places that share() looks at for one row, on average and at most. */
static double work_per_row(const spmm_csr_t *block, const spmm_columns_t *columns, int32_t n,
                           int32_t stretch)
{
    double work = 0.0;

    for (int32_t c = 0; c < block->n_cols; c++) {
        for (int64_t k = columns->ptr[c], start = k; k < columns->ptr[c + 1]; k++) {
            if (k + 1 == columns->ptr[c + 1] ||
                columns->row[k + 1] / stretch != columns->row[k] / stretch) {
                const int64_t rows = k + 1 - start, windows = stretch / WINDOW;

                if (rows <= HEAVY) {
                    work += (double)rows * (double)(rows < windows ? rows : windows);
                }
                start = k + 1;
            }
        }
    }
    return work / n;
}

static spmm_status_t fill_all(spmm_env_t *env, const fill_t *f, int team, scratch_t *scratch)
{
    const int32_t n_stretches = f->n / f->stretch + (f->n % f->stretch != 0);

    for (int t = 0; t < team; t++) {
        scratch_t *s = &scratch[t];

        SPMM_NEW(s->taken, f->stretch);
        SPMM_NEW(s->shared, f->stretch);
        SPMM_NEW(s->touched, f->stretch);
        SPMM_NEW(s->mark, f->block->n_cols);
        if (s->taken == NULL || s->shared == NULL || s->touched == NULL || s->mark == NULL) {
            return spmmi_fail_memory(&env->err, (int64_t)f->stretch + f->block->n_cols,
                                     sizeof *s->mark, "an order of rows");
        }
        memset(s->mark, 0xff, (size_t)f->block->n_cols * sizeof *s->mark); /* -1 */
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
    for (int32_t k = 0; k < n_stretches; k++) {
        fill_stretch(f, &scratch[omp_get_thread_num()], k * f->stretch);
    }
    return SPMM_OK;
}

static void free_scratch(scratch_t *scratch, int team)
{
    for (int t = 0; scratch != NULL && t < team; t++) {
        spmmi_free_all(scratch[t].taken, scratch[t].shared, scratch[t].touched, scratch[t].mark);
    }
    spmmi_free(scratch);
}

spmm_status_t spmmi_affinity_fill(spmm_env_t *env, const spmm_csr_t *block, const int32_t *base,
                                  int32_t n, int32_t stretch, int threads, int32_t *order)
{
    const int     team = spmmi_cpu_team(threads);
    fill_t        f    = {.block = block, .base = base, .order = order, .n = n, .stretch = stretch};
    scratch_t    *scratch;
    spmm_status_t status;

    SPMM_TRY(spmmi_columns_create(env, block, base, n, &f.columns));
    while (f.stretch > LEAST && work_per_row(block, &f.columns, n, f.stretch) > WORK) {
        f.stretch /= 2;
    }
    status = SPMM_NEW_ZERO(scratch, team) == NULL
                 ? spmmi_fail_memory(&env->err, team, sizeof *scratch, "an order of rows")
                 : fill_all(env, &f, team, scratch);
    free_scratch(scratch, team);
    spmmi_columns_free(&f.columns);
    return status;
}
