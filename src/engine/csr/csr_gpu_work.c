/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/csr/csr_gpu_work.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "engine/tune/roofline.h"
#include "spmm_dist/context.h"

/* Of the kernels in csr_gpu.cuh, and how much work to give them. */
enum {
    BLOCK     = 256, /* threads of a thread block */
    WARP      = 32,
    SEVERAL   = 15,  /* thread blocks of a multiprocessor that takes them in several waves: the last
                     one evens out what the others left.  12 take up to 1.05 times as long in FP64
                     and 16 bits */
    FEWEST    = 8,   /* entries of a group of lanes: two batches */
    MOST      = 128, /* the start of a work item no longer counts */
    LEAST_CUT = 128, /* entries of a work item */
    LEAST_FEW = 192, /* the same where work items are short to have few rows of B in use */
    SLICES    = 4,   /* widest slices of columns, at most, in one wave: tiles have narrower ones */
    LEAST_ROW = 128, /* bytes of the narrowest slice that the launcher takes for L2 */
    LONG_MEAN = 40,  /* entries of a row, above which work items have few rows */
    LOOKS     = 8    /* at how many work items there are, until they are one wave */
};

/* Bytes of the rows of B in use up to which one wave, which is all over the block, finds what it
 * needs in L2 all the same; where some rows are far longer than others, work items take unequal
 * times, and more than that is lost at the end. */
static const double wave_bytes = 36e6, skewed_bytes = 16e6, skewed = 64.0; /* longest over mean */

/* Thread blocks of a multiprocessor for one slice of columns.  Those of all slices come one after
 * the other: where L2 has no room for all of B, a slice should have more than are resident, so that
 * few of them run beside those of the next one; and where it has none for a slice, short work items
 * have fewer rows of B in use at a time, the wider the rows the shorter. */
static const double all_bytes = 24e6, slice_bytes = 40e6, l2_bytes = 48e6, beside = 7.5,
                    beyond = 30.0, beyond_wide = 45.0;

/* How far the work items of each kind are filled; counts them as well, with no arrays to fill. */
typedef struct {
    spmm_csr_work_t *work;       /* NULL: only count */
    int64_t part, alone, packed; /* next work item: of a split row, of a long one, of others */
    int64_t split, empty;
    int64_t open; /* entries of a work item that is not closed */
    int32_t open_rows;
    bool    has_empty; /* among its rows */
    bool    by_rows;
    int32_t tile_rows;
} cursor_t;

static void put_split(cursor_t *c, int32_t row, int64_t entry, int64_t length, int64_t limit)
{
    const int64_t n = (length + limit - 1) / limit;

    if (c->work != NULL) {
        c->work->split[c->split] =
            (spmm_csr_split_t){.row = row, .item = (int32_t)c->part, .n_items = (int32_t)n};
        /* The mark of its end is for rows that end within a work item. */
        c->work->row[entry + length - 1] = row;
    }
    for (int64_t k = 0; k < n && c->work != NULL; k++) {
        const int64_t from = length * k / n, to = length * (k + 1) / n;

        c->work->item[c->part + k] = (spmm_csr_item_t){.entry     = (uint32_t)(entry + from),
                                                       .n_entries = (int32_t)(to - from),
                                                       .split     = (int32_t)c->split};
    }
    c->part += n;
    c->split++;
}

static void put_alone(cursor_t *c, int32_t row, int64_t entry, int64_t length)
{
    if (c->work != NULL) {
        c->work->item[c->alone] = (spmm_csr_item_t){.entry     = (uint32_t)entry,
                                                    .n_entries = (int32_t)length,
                                                    .split     = SPMM_CSR_WHOLE,
                                                    .row       = row};
    }
    c->alone++;
}

static int32_t row_of_c(const spmm_csr_t *block, int32_t i)
{
    return block->row_map == NULL ? i : block->row_map[i];
}

/* Rows up to @p limit are gathered in c->open until they are enough for a work item, which ends in
 * front of row @p end, where @p entry is. */
static void close_item(cursor_t *c, int32_t end, int64_t entry)
{
    if (c->open_rows == 0) {
        return;
    }
    if (c->work != NULL) {
        c->work->item[c->packed] =
            (spmm_csr_item_t){.entry     = (uint32_t)(entry - c->open),
                              .n_entries = (int32_t)c->open,
                              .split     = c->tile_rows > 0 ? -c->open_rows : SPMM_CSR_WHOLE,
                              .row       = (end - c->open_rows) | (c->has_empty ? INT32_MIN : 0)};
    }
    c->packed++;
    c->open      = 0;
    c->open_rows = 0;
    c->has_empty = false;
}

/* A row without entries; a tile has it like the others. */
static void pass_empty(const spmm_csr_t *block, int32_t i, cursor_t *c)
{
    if (c->work != NULL) {
        c->work->empty[c->empty] = row_of_c(block, i);
    }
    c->empty++;
    if (c->tile_rows > 0) {
        c->open_rows++;
        c->has_empty = true;
    }
}

static void walk(const spmm_csr_t *block, int64_t limit, cursor_t *c)
{
    for (int32_t i = 0; i < block->n_rows; i++) {
        const int64_t entry = block->row_ptr[i], length = block->row_ptr[i + 1] - entry;

        if (c->tile_rows > 0 && c->open_rows == c->tile_rows) {
            close_item(c, i, entry);
        }
        if (length == 0) {
            pass_empty(block, i, c);
            continue;
        }
        if (c->by_rows || length > limit || (c->open + length > limit && 2 * c->open > limit)) {
            close_item(c, i, entry);
        }
        if (length > 2 * limit) {
            put_split(c, row_of_c(block, i), entry, length, limit);
        } else if (length > limit) {
            put_alone(c, row_of_c(block, i), entry, length);
        } else {
            c->open += length;
            c->open_rows++;
        }
    }
    close_item(c, block->n_rows, spmmi_csr_nnz(block));
}

static int64_t count_items(const spmm_csr_t *block, int64_t limit, int32_t tile_rows)
{
    cursor_t c = {.tile_rows = tile_rows};

    walk(block, limit, &c);
    return c.part + c.alone + c.packed;
}

/* From @p limit on the shortest work items of which there are no more than @p slots; 0: none up to
 * @p most. */
static int64_t fit_wave(const spmm_csr_t *block, int64_t limit, int64_t most, int64_t slots,
                        int32_t tile_rows)
{
    for (int look = 0; look < LOOKS && limit <= most; look++) {
        const int64_t items = count_items(block, limit, tile_rows);

        if (items <= slots) {
            return limit;
        }
        limit = limit * items / slots + 1;
    }
    return 0;
}

static int64_t longest_row(const spmm_csr_t *block)
{
    int64_t longest = 0;

    for (int32_t i = 0; i < block->n_rows; i++) {
        const int64_t length = block->row_ptr[i + 1] - block->row_ptr[i];

        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Thread blocks of the kernel for @p n columns on a multiprocessor, at least. */
static int64_t resident(int64_t n, int64_t size)
{
    return size == 4 && (n <= SPMM_CSR_MANY_WARPS || n % (SPMM_CSR_ACCESS / size) == 0) ? 5 : 4;
}

/* Bytes of a sum. */
static int64_t sum_of(int64_t size)
{
    return size < 4 ? 4 : size;
}

int32_t spmmi_csr_tile_rows(int64_t n_rows, int64_t nnz, int64_t n, int64_t size)
{
    /* Of 8 bytes 32 rows are a run of 256 of a column, as 64 of 4 bytes are. */
    const int32_t least = sum_of(size) == 8 ? SPMM_CSR_TILE / 4 : SPMM_CSR_TILE / 2;
    int32_t       rows  = SPMM_CSR_TILE;

    if (nnz > LONG_MEAN * n_rows) {
        return 0;
    }
    while (rows > least && n * sum_of(size) * rows > SPMM_CSR_TILE * SPMM_CSR_TILE_BYTES) {
        rows /= 2;
    }
    return rows;
}

/* Columns of a slice of so many rows, at most. */
static int64_t csr_tile_columns(int32_t tile_rows, int64_t size)
{
    return (int64_t)SPMM_CSR_TILE * SPMM_CSR_TILE_BYTES / (tile_rows * sum_of(size));
}

/* Lanes of a group, by as many columns as the kernels have; tiles have narrower slices. */
static int64_t lanes_of(int32_t tile_rows, int64_t n, int64_t size)
{
    const int64_t vector = SPMM_CSR_ACCESS / size;
    const int64_t most   = tile_rows > 0 ? csr_tile_columns(tile_rows, size) / vector : WARP;
    int64_t       lanes  = 4;

    while (lanes < most && lanes * vector < n) {
        lanes *= 2;
    }
    return lanes;
}

/* @param row   bytes of a row of B
 * @param most  of them that a thread block takes, unless L2 has room for narrower slices alone: as
 *              the launcher does */
static double blocks_of_slice(double used_cols, int64_t row, int64_t most)
{
    const double even  = SEVERAL / (double)((row + most - 1) / most);
    int64_t      slice = most;

    while (slice > LEAST_ROW && used_cols * (double)slice > l2_bytes) {
        slice /= 2;
    }
    slice = used_cols * (double)slice > l2_bytes ? most : slice;
    if (used_cols * (double)slice > slice_bytes) {
        return slice >= (int64_t)WARP * SPMM_CSR_ACCESS ? beyond_wide : beyond;
    }
    return used_cols * (double)row > all_bytes && even < beside ? beside : even;
}

/* Do all work items of a block, in all slices of columns, come in one wave, where there may be one?
 * Where columns are few and the rows of B in use fit into L2.
 * @param[in] longest    entries of a row, at most
 * @param[in] used_cols  rows of B in use
 * @param[in] size       bytes of an element */
static bool csr_in_wave(int64_t n_rows, int64_t nnz, int64_t longest, int64_t used_cols, int64_t n,
                        int64_t size)
{
    const bool is_skewed = (double)longest * (double)n_rows > skewed * (double)nnz;

    return n > 1 && n * size <= SLICES * WARP * SPMM_CSR_ACCESS &&
           (double)used_cols * (double)(n * size) <= (is_skewed ? skewed_bytes : wave_bytes);
}

int64_t spmmi_csr_work_limit(const spmm_csr_t *block, int64_t n, int64_t used_cols, int n_sm,
                             bool alone, int32_t tile_rows)
{
    const int64_t nnz = spmmi_csr_nnz(block), size = (int64_t)spmm_type_size(block->type);
    const int64_t vector = SPMM_CSR_ACCESS / size, slots = n_sm * resident(n, size);
    const int64_t lanes = lanes_of(tile_rows, n, size), groups = BLOCK / lanes;
    const int64_t slices = (n + lanes * vector - 1) / (lanes * vector);
    const int64_t least  = groups * FEWEST > LEAST_CUT ? groups * FEWEST : LEAST_CUT;
    const int64_t most   = groups * MOST;
    const double  each   = blocks_of_slice((double)used_cols, n * size, lanes * SPMM_CSR_ACCESS);
    int64_t       limit  = 0;

    if (alone && slices <= slots && csr_in_wave(block->n_rows, nnz, 0, used_cols, n, size) &&
        csr_in_wave(block->n_rows, nnz, longest_row(block), used_cols, n, size)) {
        limit = nnz * slices / slots < least ? least : nnz * slices / slots;
        limit = fit_wave(block, limit, most, slots / slices, tile_rows);
    }
    if (limit == 0) {
        const bool    few    = each * (double)slices > SEVERAL;
        const int64_t lowest = few && LEAST_FEW > least ? LEAST_FEW : least;

        limit = (int64_t)((double)nnz / (n_sm * each));
        limit = limit < lowest ? lowest : limit > most ? most : limit;
    }
    return limit;
}

/* The row of C of each entry, with the sign bit at the last of a row. */
static void fill_rows(const spmm_csr_t *block, int threads, int32_t *row)
{
#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(threads))
    for (int32_t i = 0; i < block->n_rows; i++) {
        const int64_t to = block->row_ptr[i + 1];

        for (int64_t k = block->row_ptr[i]; k < to; k++) {
            row[k] = k + 1 < to ? row_of_c(block, i) : row_of_c(block, i) | INT32_MIN;
        }
    }
}

spmm_status_t spmmi_csr_work_create(spmm_env_t *env, const spmm_csr_t *block, int64_t limit,
                                    bool by_rows, int32_t tile_rows, int threads,
                                    spmm_csr_work_t *work)
{
    const int64_t nnz   = spmmi_csr_nnz(block);
    cursor_t      count = {.by_rows = by_rows, .tile_rows = tile_rows}, at;
    int64_t       items;

    memset(work, 0, sizeof *work);
    walk(block, limit, &count);
    items = count.part + count.alone + count.packed;
    if (nnz > UINT32_MAX || items > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "%" PRId64 " entries in %" PRId64
                          " work items on one rank, engine csr-gpu "
                          "takes fewer than 2^32 in 2^31; use more ranks",
                          nnz, items);
    }
    work->n_partial = (int32_t)count.part;
    work->n_items   = (int32_t)items;
    work->n_splits  = (int32_t)count.split;
    work->n_empty   = (int32_t)count.empty;
    SPMM_NEW(work->row, nnz);
    SPMM_NEW(work->empty, work->n_empty);
    SPMM_NEW(work->item, work->n_items);
    SPMM_NEW_ZERO(work->split, work->n_splits);
    if (work->row == NULL || work->empty == NULL || work->item == NULL || work->split == NULL) {
        spmmi_csr_work_free(work);
        return spmmi_fail_memory(&env->err, nnz, sizeof *work->row,
                                 "the entries of engine csr-gpu");
    }
    fill_rows(block, threads, work->row);
    at = (cursor_t){.work      = work,
                    .by_rows   = by_rows,
                    .tile_rows = tile_rows,
                    .alone     = work->n_partial,
                    .packed    = (int64_t)work->n_partial + count.alone};
    walk(block, limit, &at);
    return SPMM_OK;
}

void spmmi_csr_work_mark(const spmm_csr_t *block, int threads, spmm_csr_work_t *work)
{
#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(threads))
    for (int32_t p = 0; p < work->n_items; p++) {
        spmm_csr_item_t *const item  = &work->item[p];
        const int32_t *const   col   = block->col_idx + item->entry;
        int                    found = 0;

        for (int32_t k = 0; k < item->n_entries; k++) {
            found |= col[k] == block->n_cols - 1;
        }
        item->n_entries |= found != 0 ? INT32_MIN : 0;
    }
}

void spmmi_csr_work_free(spmm_csr_work_t *work)
{
    spmmi_free_all(work->row, work->empty, work->item, work->split);
    memset(work, 0, sizeof *work);
}

/* Rows of a work item that stores column-major C in tiles; 0: it does not. */
static int32_t tile_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    return problem->layout != SPMM_LAYOUT_MIXED || pattern->mapped || problem->in_order
               ? 0
               : spmmi_csr_tile_rows(pattern->n_rows, pattern->nnz, problem->n,
                                     (int64_t)spmm_type_size(problem->ab_type));
}

/* Columns of a slice, as the launcher (csr_gpu_launch.cuh) chooses them for data that is aligned as
 * far as its width lets it. */
static int64_t slice_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const int64_t size = (int64_t)spmm_type_size(problem->ab_type), row = pattern->used_cols * size;
    const int64_t l2     = 48000000;
    const bool    single = spmmi_gpu_narrow(problem) > 0.0; /* one element at a time */
    const int32_t tile   = tile_of(pattern, problem);
    const int64_t widest = tile > 0 ? csr_tile_columns(tile, size) : single ? 128 : 512 / size;
    const int64_t least  = single ? widest : 128 / size;
    int64_t       slice  = single ? 4 : 64 / size;

    while (slice < widest && slice < problem->n) {
        slice *= 2;
    }
    for (int64_t narrow = slice / 2; row * slice > l2 && narrow >= least; narrow /= 2) {
        if (row * narrow <= l2) {
            return narrow;
        }
    }
    return slice;
}

/* What every product moves once, beyond L2 and within; a row of B for every entry, of which
 * neighbouring rows find a part in L1, more where they share columns: hence entries, and pairs of a
 * window and a column, of 32 rows where all work items are in work at once, else of 8; instructions
 * of entries, and of the ends of rows; what comes element by element; lanes of a slice beyond the
 * last column; and the longest row, as long as it is not cut: its sums meet.  Constants by
 * bench/fit/fit.py from times on one H100, those of complex types on one H200
 * (docs/explanation/choices.md). */
static const double constants[3][10] = {
    {6.66, 0.800, 0.259, 0.680, 0.176, 0.175, 2.00, 0.0, 0.0, 1.65}, /* 16-bit types */
    {5.23, 0.866, 0.379, 0.484, 0.171, 0.510, 1.81, 0.193, 0.518, 1.78},
    {5.24, 0.892, 0.892, 0.570, 0.177, 0.912, 0.0}, /* complex types */
};

static const double *constants_of(spmm_type_t type)
{
    return constants[spmmi_is_complex(type) ? 2 : spmm_type_size(type) > 2];
}

/* One column: a launch, and the entries at the rate at which they come: least squares over 14 real
 * matrices in FP64 on one H200, 9 % rms. */
static int terms_of_column(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                           spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double entry = (double)spmm_type_size(problem->ab_type) + 2.0 * sizeof(int32_t);

    terms[0] = (spmm_cost_term_t){"launch", 5.73, 1e-6};
    terms[1] = (spmm_cost_term_t){"entries", 0.523, (double)pattern->nnz * entry * 1e-12};
    return 2;
}

static double pairs_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const bool wave =
        !problem->shares &&
        csr_in_wave(pattern->n_rows, pattern->nnz, pattern->max_row, pattern->used_cols, problem->n,
                    (int64_t)spmm_type_size(problem->ab_type));

    return (double)pattern->tc.pairs[wave ? 2 : 0];
}

/* Elements of column-major C that are stored one by one: ps of each.  Measured on 40 real matrices
 * in FP64 and FP32, N = 8, 32 and 128, on one H100.  They take 0 to 5 where C is small, and 13 to
 * 35 where it has millions, which leave L2 before their sectors are whole.  A row-major C that is
 * transposed afterwards is as fast from 600,000 elements on.  Tiles take 1 in place of it, and the
 * kernel begins while the one that transposes B ends: 0.8 us less, medians at N = 8 and 32. */
static double scattered(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    return fmin(2.0 + 9e-6 * (double)problem->n * (double)pattern->c_rows, 28.0);
}

int spmmi_csr_gpu_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                        const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const int32_t  tile   = tile_of(pattern, problem);
    const int64_t  slice  = slice_of(pattern, problem);
    const double   slices = fmax(1.0, (double)problem->n / (double)slice), us = 1e-6;
    const double   nnz = (double)pattern->nnz;
    const double   a   = nnz * ((double)spmm_type_size(problem->ab_type) + 2.0 * sizeof(int32_t));
    const double  *k   = constants_of(problem->ab_type);
    const double   passes = ceil(slices) / device->n_sm * 1e-9;
    const double   idle   = ceil(slices) * (double)slice / (double)problem->n - 1.0; /* lanes */
    spmm_problem_t one    = *problem;

    if (problem->n == 1) {
        return terms_of_column(pattern, problem, terms);
    }
    one.n    = slice < problem->n ? slice : problem->n;
    terms[0] = (spmm_cost_term_t){"launch", tile > 0 ? k[0] - 0.8 : k[0], us};
    spmmi_gpu_once_terms(device, slices * spmmi_gpu_once_s(pattern, &one, device, a), k + 1,
                         terms + 1);
    terms[3] =
        (spmm_cost_term_t){"gather", k[3], slices * spmmi_gpu_gather_s(pattern, &one, device, nnz)};
    terms[4] = (spmm_cost_term_t){
        "pairs", k[4],
        slices * spmmi_gpu_gather_s(pattern, &one, device, pairs_of(pattern, problem))};
    terms[5]  = (spmm_cost_term_t){"entries", k[5], nnz * passes};
    terms[6]  = (spmm_cost_term_t){"rows", k[6], (double)pattern->n_rows * passes};
    terms[7]  = (spmm_cost_term_t){"narrow", k[7], spmmi_gpu_narrow(problem) * terms[3].seconds};
    terms[8]  = (spmm_cost_term_t){"idle", k[8], idle * terms[3].seconds};
    terms[9]  = spmmi_gpu_longest_term(pattern, k[9]);
    terms[10] = (spmm_cost_term_t){"columns", tile > 0 ? 1.0 : scattered(pattern, problem),
                                   problem->layout == SPMM_LAYOUT_MIXED
                                       ? (double)problem->n * (double)pattern->c_rows * 1e-12
                                       : 0.0};
    return 11;
}
