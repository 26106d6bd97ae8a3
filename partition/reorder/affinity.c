/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity.c
 *  Data-affinity-based reordering (Acc-SpMM, section 3.2): communities of the row graph first, then
 *  windows of rows that share columns.
 */
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "partition/reorder/affinity.h"
#include "partition/reorder/dendrogram.h"
#include "partition/reorder/reorder.h"

/* Acc-SpMM, algorithm 1, step II, with windows in mind: the paper follows a row by the one that
 * has most neighbours in common with it; here it is the one that has most columns in common with
 * all rows of its window so far, relative to the new columns it brings.  Stretches of the base
 * order are independent of each other, so threads share them and the result does not depend on
 * how. */

enum {
    WINDOW = 16, /* rows; blocks of 8 rows, chained inside, are nearly as good as if filled alone */
    BLOCK  = 64, /* places whose best one is sought at a time */
    FEW    = 8   /* part of the places that share a column: fewer are looked at one by one */
};

typedef struct {
    const spmm_csr_t             *block;
    const int32_t                *base;
    int32_t                      *order;
    int32_t                       n;
    const spmm_affinity_effort_t *effort;
    int64_t                       most; /**< entries of a stretch */
} fill_t;

/** A stretch, as one thread has it.  Places count from its start; its columns are those that at
 *  least two of its rows have and at most as many as count, numbered as they come. */
typedef struct {
    int32_t  first, rows, cols;
    int32_t *count;   /**< [n_cols of the block] rows with the column; zero between stretches */
    int32_t *number;  /**< [n_cols of the block] of columns whose count is not zero */
    int64_t *row_ptr; /**< [stretch + 1] */
    int32_t *col;     /**< [most] by rows */
    int64_t *col_ptr; /**< [most / 2 + 2] */
    int32_t *place;   /**< [most] by columns */
    int32_t *window;  /**< [most / 2] the last window that has the column */
    float   *shared;  /**< [stretch] columns in common with the window */
    float   *weight;  /**< [stretch] 1 / entries of the row; 0: it has its place in the order */
    int32_t *touched; /**< [stretch + 1] places where shared is not zero */
    int32_t  n_touched;
} scratch_t;

static const int32_t *row_of(const fill_t *f, int32_t place, int64_t *length)
{
    const int64_t *ptr = &f->block->row_ptr[f->base[place]];

    *length = ptr[1] - ptr[0];
    return f->block->col_idx + ptr[0];
}

/* Columns of the stretch, and their rows. */
static void number_columns(const fill_t *f, scratch_t *s)
{
    int64_t length, n = 0;

    for (int32_t p = 0; p < s->rows; p++) {
        const int32_t *col = row_of(f, s->first + p, &length);

        s->weight[p] = 1.0F / (float)length;
        for (int64_t k = 0; k < length; k++) {
            s->count[col[k]]++;
        }
    }
    s->cols = 0;
    for (int32_t p = 0; p < s->rows; p++) {
        const int32_t *col = row_of(f, s->first + p, &length);

        s->row_ptr[p] = n;
        for (int64_t k = 0; k < length; k++) {
            int32_t *const count = &s->count[col[k]];

            if (*count > 1 && *count <= f->effort->heavy) {
                s->number[col[k]]   = s->cols;
                s->col_ptr[s->cols] = *count;
                s->window[s->cols]  = -1;
                s->cols++;
                *count = -1;
            }
            if (*count < 0) {
                s->col[n++] = s->number[col[k]];
            }
        }
    }
    s->row_ptr[s->rows] = n;
    for (int32_t p = 0; p < s->rows; p++) {
        const int32_t *col = row_of(f, s->first + p, &length);

        for (int64_t k = 0; k < length; k++) {
            s->count[col[k]] = 0;
        }
    }
}

static void list_places(scratch_t *s)
{
    int64_t at = 0;

    for (int32_t c = 0; c < s->cols; c++) {
        const int64_t count = s->col_ptr[c];

        s->col_ptr[c] = at;
        at += count;
    }
    for (int32_t p = 0; p < s->rows; p++) {
        for (int64_t k = s->row_ptr[p]; k < s->row_ptr[p + 1]; k++) {
            s->place[s->col_ptr[s->col[k]]++] = p;
        }
    }
    for (int32_t c = s->cols; c > 0; c--) {
        s->col_ptr[c] = s->col_ptr[c - 1];
    }
    s->col_ptr[0] = 0;
}

/* The columns of a row come into the window: the rows that have them too share more. */
static void share(scratch_t *s, int32_t p, int32_t window)
{
    int32_t n = s->n_touched;

    for (int64_t k = s->row_ptr[p]; k < s->row_ptr[p + 1]; k++) {
        const int32_t c = s->col[k];

        if (s->window[c] == window) {
            continue;
        }
        s->window[c] = window;
        for (int64_t j = s->col_ptr[c]; j < s->col_ptr[c + 1]; j++) {
            const int32_t q = s->place[j];

            s->touched[n] = q;
            n += s->shared[q] == 0.0F;
            s->shared[q] += 1.0F;
        }
    }
    s->n_touched = n;
}

static float score_of(const scratch_t *s, int32_t p)
{
    return s->shared[p] * s->shared[p] * s->weight[p];
}

static int32_t pick_touched(const scratch_t *s)
{
    float   most = 0.0F;
    int32_t best = -1;

    for (int32_t k = 0; k < s->n_touched; k++) {
        const int32_t p     = s->touched[k];
        const float   score = score_of(s, p);

        if (score > most || (score == most && p < best)) {
            most = score;
            best = p;
        }
    }
    return best;
}

/* Numbers without a sign are ordered as their bits are, whose largest compilers find by vectors. */
static float best_of(const scratch_t *s, int32_t from, int32_t to)
{
    int32_t most = 0;
    float   best;

    for (int32_t p = from; p < to; p++) {
        const float score = score_of(s, p);
        int32_t     bits;

        memcpy(&bits, &score, sizeof bits);
        most = bits > most ? bits : most;
    }
    memcpy(&best, &most, sizeof best);
    return best;
}

/* The next row of a window.  shared^2 / length: rows that bring little new go first, and among
 * those that fit equally well the longer one; over real matrices it left fewer (window, column)
 * pairs than the columns in common alone and than their share of the union.  -1: no row fits. */
static int32_t pick(const scratch_t *s)
{
    float   most = 0.0F;
    int32_t from = -1;

    if (s->n_touched < s->rows / FEW) {
        return pick_touched(s);
    }
    for (int32_t p = 0; p < s->rows; p += BLOCK) {
        const float score = best_of(s, p, s->rows - p < BLOCK ? s->rows : p + BLOCK);

        if (score > most) {
            most = score;
            from = p;
        }
    }
    while (from >= 0 && score_of(s, from) != most) {
        from++;
    }
    return from;
}

static void forget(scratch_t *s)
{
    for (int32_t k = 0; k < s->n_touched; k++) {
        s->shared[s->touched[k]] = 0.0F;
    }
    s->n_touched = 0;
}

/* Windows follow each other like rows do: the next begins with the row closest to the last; where
 * none is, with the first in the base order that is left.  A window that finds no more rows is
 * filled up with what follows. */
static void fill_stretch(const fill_t *f, scratch_t *s, int32_t first)
{
    int32_t out = 0, next = 0, in_window = WINDOW, window = -1;

    s->first = first;
    s->rows  = f->n - first < f->effort->stretch ? f->n - first : f->effort->stretch;
    number_columns(f, s);
    list_places(s);
    memset(s->shared, 0, (size_t)s->rows * sizeof *s->shared);
    s->n_touched = 0;
    while (out < s->rows) {
        int32_t p = pick(s);

        if (p < 0 || in_window == WINDOW) {
            forget(s);
            in_window = 0;
            window++;
        }
        while (p < 0 && s->weight[next] == 0.0F) {
            next++;
        }
        p                       = p < 0 ? next : p;
        f->order[first + out++] = f->base[first + p];
        s->weight[p]            = 0.0F;
        in_window++;
        share(s, p, window);
    }
}

static spmm_status_t scratch_create(spmm_env_t *env, const fill_t *f, scratch_t *s)
{
    SPMM_NEW_ZERO(s->count, f->block->n_cols);
    SPMM_NEW(s->number, f->block->n_cols);
    SPMM_NEW(s->row_ptr, f->effort->stretch + 1);
    SPMM_NEW(s->col, f->most);
    SPMM_NEW(s->col_ptr, f->most / 2 + 2);
    SPMM_NEW(s->place, f->most);
    SPMM_NEW(s->window, f->most / 2 + 1);
    SPMM_NEW(s->shared, f->effort->stretch);
    SPMM_NEW(s->weight, f->effort->stretch);
    SPMM_NEW(s->touched, f->effort->stretch + 1);
    if (s->count == NULL || s->number == NULL || s->row_ptr == NULL || s->col == NULL ||
        s->col_ptr == NULL || s->place == NULL || s->window == NULL || s->shared == NULL ||
        s->weight == NULL || s->touched == NULL) {
        return spmmi_fail_memory(&env->err, f->most + f->block->n_cols, 3 * sizeof *s->col,
                                 "an order of rows");
    }
    return SPMM_OK;
}

static void scratch_free(scratch_t *s)
{
    spmmi_free_all(s->count, s->number, s->row_ptr, s->col, s->col_ptr, s->place, s->window,
                   s->shared, s->weight, s->touched);
}

/* Entries of the longest stretch. */
static int64_t most_entries(const fill_t *f)
{
    int64_t most = 0, total = 0;

    for (int32_t p = 0; p < f->n; p++) {
        int64_t length;

        (void)row_of(f, p, &length);
        total = p % f->effort->stretch == 0 ? length : total + length;
        most  = total > most ? total : most;
    }
    return most;
}

static spmm_status_t fill_all(spmm_env_t *env, const fill_t *f, int team, scratch_t *scratch)
{
    for (int t = 0; t < team; t++) {
        SPMM_TRY(scratch_create(env, f, &scratch[t]));
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
    for (int64_t first = 0; first < f->n; first += f->effort->stretch) {
        fill_stretch(f, &scratch[omp_get_thread_num()], (int32_t)first);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_affinity_fill(spmm_env_t *env, const spmm_csr_t *block, const int32_t *base,
                                  int32_t n, const spmm_affinity_effort_t *effort, int threads,
                                  int32_t *order)
{
    const int32_t stretches = n / effort->stretch + 1;
    const int     most = spmmi_cpu_team(threads), team = most < stretches ? most : stretches;
    fill_t        f = {.block = block, .base = base, .order = order, .n = n, .effort = effort};
    scratch_t    *scratch;
    spmm_status_t status;

    f.most = most_entries(&f);
    status = SPMM_NEW_ZERO(scratch, team) == NULL
                 ? spmmi_fail_memory(&env->err, team, sizeof *scratch, "an order of rows")
                 : fill_all(env, &f, team, scratch);
    for (int t = 0; scratch != NULL && t < team; t++) {
        scratch_free(&scratch[t]);
    }
    spmmi_free(scratch);
    return status;
}

/* A given order with at most this many times the fewest (stretch, column) pairs there can be, one
 * for each column in use, is as good a base as another can make: files of meshes, and all blocks of
 * one stretch. */
static const double good_spread = 1.5;

/* (stretch, column) pairs of an order: what windows filled stretch by stretch cannot share.  *used:
 * columns with an entry.  @p mark: [n_cols] scratch. */
static int64_t count_spread(const spmm_csr_t *block, const int32_t *row, int32_t n, int32_t stretch,
                            int32_t *mark, int32_t *used)
{
    int64_t count = 0;

    *used = 0;
    memset(mark, 0xff, (size_t)block->n_cols * sizeof *mark); /* -1 */
    for (int32_t p = 0; p < n; p++) {
        for (int64_t k = block->row_ptr[row[p]]; k < block->row_ptr[row[p] + 1]; k++) {
            int32_t *const last = &mark[block->col_idx[k]];

            *used += *last < 0;
            count += *last != p / stretch;
            *last = p / stretch;
        }
    }
    return count;
}

/* The rows with entries as they come; returns how many. */
static int32_t take_given(const spmm_csr_t *block, int32_t *base)
{
    int32_t n = 0;

    for (int32_t i = 0; i < block->n_rows; i++) {
        if (block->row_ptr[i + 1] > block->row_ptr[i]) {
            base[n++] = i;
        }
    }
    return n;
}

/* Rows without entries end the order: there they fill windows of their own. */
static void put_empty_rows(const spmm_csr_t *block, int32_t at, int32_t *order)
{
    for (int32_t i = 0; i < block->n_rows; i++) {
        if (block->row_ptr[i + 1] == block->row_ptr[i]) {
            order[at++] = i;
        }
    }
}

/* Rows with entries in an order whose stretches gather columns: @p base [n_rows], *n of them. */
static spmm_status_t choose_base(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                 spmm_affinity_base_t other, int32_t stretch, int32_t *base,
                                 int32_t *n)
{
    spmm_status_t status = SPMM_OK;
    int32_t      *mark, *rows, used;
    int64_t       spread;

    *n = take_given(block, base);
    SPMM_NEW(mark, block->n_cols);
    SPMM_NEW(rows, *n);
    if (mark == NULL || rows == NULL) {
        spmmi_free_all(mark, rows);
        return spmmi_fail_memory(&env->err, block->n_cols, sizeof *mark, "an order of rows");
    }
    spread = count_spread(block, base, *n, stretch, mark, &used);
    if ((double)spread > good_spread * used) {
        memcpy(rows, base, (size_t)*n * sizeof *rows);
        status = other(env, block, threads, *n, rows);
        if (status == SPMM_OK && count_spread(block, rows, *n, stretch, mark, &used) < spread) {
            memcpy(base, rows, (size_t)*n * sizeof *base);
        }
    }
    spmmi_free_all(mark, rows);
    return status;
}

spmm_status_t spmmi_affinity_order(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                   spmm_affinity_base_t other, const spmm_affinity_effort_t *effort,
                                   int32_t *order)
{
    int32_t      *base, n = 0;
    spmm_status_t status;

    if (SPMM_NEW(base, block->n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof *base, "an order of rows");
    }
    status = choose_base(env, block, threads, other, effort->stretch, base, &n);
    if (status == SPMM_OK && n > 0) {
        status = spmmi_affinity_fill(env, block, base, n, effort, threads, order);
    }
    if (status == SPMM_OK) {
        put_empty_rows(block, n, order);
    }
    spmmi_free(base);
    return status;
}

enum {
    MOST = 4096 /* vertices of a community: larger ones, which modularity would make of large
                   graphs, order nothing that windows can use, and their edges would be gathered
                   over and over */
};

/* The rows in the order in which a walk over the dendrogram comes by them. */
static spmm_status_t communities(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t n,
                                 int32_t *rows)
{
    spmm_row_graph_t graph;
    int32_t         *walk;
    spmm_status_t    status;

    SPMM_TRY(spmmi_row_graph_create(env, block, threads, &graph));
    if (SPMM_NEW(walk, graph.n_vertices) == NULL) {
        status = spmmi_fail_memory(&env->err, graph.n_vertices, sizeof *walk, "an order of rows");
    } else {
        status = spmmi_dendrogram_walk(env, &graph, MOST, walk);
    }
    for (int32_t k = 0, to = 0; status == SPMM_OK && to < n; k++) {
        const int32_t i = walk[k]; /* of a matrix that is not square, or a column */

        if (i < block->n_rows && block->row_ptr[i + 1] > block->row_ptr[i]) {
            rows[to++] = i;
        }
    }
    spmmi_free(walk);
    spmmi_row_graph_free(&graph);
    return status;
}

static const spmm_affinity_effort_t thorough = {.stretch = 4096, .heavy = 1024};

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    return spmmi_affinity_order(env, block, threads, communities, &thorough, order);
}

const spmm_reorderer_t spmmi_reorderer_affinity = {
    .name = "affinity",
    .run  = run,
};
