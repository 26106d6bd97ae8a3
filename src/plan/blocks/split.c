/* SPDX-License-Identifier: Apache-2.0 */
/** @file split.c
 *  From this rank's rows to its two blocks.
 *
 *  Each entry goes to the diagonal block if its column is owned here, else to the off-diagonal
 *  block, and its column becomes a ghost row.  Both blocks remember where their entries stood among
 *  all that arrived: new values take the same way again.
 */
#include "plan/blocks/split.h"

#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "base/sort.h"
#include "cpu/first_row.h"
#include "matrix/transpose.h"
#include "plan/blocks/arrival.h"
#include "plan/plan.h"

spmm_status_t spmmi_plan_flip(spmm_plan_t *plan)
{
    return plan->flips ? spmmi_matrix_transpose(plan->A, plan->conjugate, &plan->flipped) : SPMM_OK;
}

void spmmi_plan_unflip(spmm_plan_t *plan)
{
    spmmi_matrix_free(plan->flipped);
    plan->flipped = NULL;
}

/** Rows being dealt to the two blocks. */
typedef struct {
    spmm_arrival_t in;
    int64_t        first, n_own; /**< columns of this rank */
    int64_t       *other_ptr; /**< [rows.n_local + 1], owned: entries of the off-diagonal block */
    uint64_t      *need;      /**< [n_need], owned: columns of other ranks, ascending */
    int64_t        n_need;
} split_t;

static bool is_own(const split_t *split, int64_t col)
{
    return (uint64_t)(col - split->first) < (uint64_t)split->n_own;
}

/* Entries of the off-diagonal block before each row; one rank has none. */
static spmm_status_t count_others(const spmm_plan_t *plan, split_t *split)
{
    const spmm_arrival_t *in = &split->in;
    const int32_t         n  = plan->rows.n_local;

    if (SPMM_NEW_ZERO(split->other_ptr, (int64_t)n + 1) == NULL) {
        return spmmi_fail_memory(&plan->env->err, (int64_t)n + 1, sizeof *split->other_ptr,
                                 "entries of an off-diagonal block");
    }
    if (plan->env->size == 1) {
        return SPMM_OK;
    }
#pragma omp parallel for schedule(dynamic, 1024) num_threads(plan->device->threads)
    for (int32_t i = 0; i < n; i++) {
        int64_t other = 0;

        for (int64_t k = in->row_ptr[i]; k < in->row_ptr[i + 1]; k++) {
            other += !is_own(split, in->col[k]);
        }
        split->other_ptr[i + 1] = other;
    }
    for (int32_t i = 0; i < n; i++) {
        split->other_ptr[i + 1] += split->other_ptr[i];
    }
    return SPMM_OK;
}

/* The columns of other ranks, ascending, no column twice. */
static spmm_status_t list_halo_columns(const spmm_plan_t *plan, split_t *split)
{
    const spmm_arrival_t *in    = &split->in;
    const int64_t         count = split->other_ptr[plan->rows.n_local];
    uint64_t             *shorter;

    if (SPMM_NEW(split->need, count) == NULL) {
        return spmmi_fail_memory(&plan->env->err, count, sizeof *split->need, "halo columns");
    }
    if (count == 0) {
        return SPMM_OK;
    }
#pragma omp parallel for schedule(dynamic, 1024) num_threads(plan->device->threads)
    for (int32_t i = 0; i < plan->rows.n_local; i++) {
        int64_t at = split->other_ptr[i];

        for (int64_t k = in->row_ptr[i]; at < split->other_ptr[i + 1]; k++) {
            if (!is_own(split, in->col[k])) {
                split->need[at++] = (uint64_t)in->col[k];
            }
        }
    }
    SPMM_TRY(spmmi_sort_u64(plan->env, split->need, count));
    split->n_need = spmmi_unique_u64(split->need, count);
    if (split->n_need > INT32_MAX) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_RANGE,
                          "rank %d needs %" PRId64
                          " rows of B from other ranks, more than 2^31 - 1; "
                          "use more ranks or a better partition",
                          plan->env->rank, split->n_need);
    }
    shorter = spmmi_realloc(split->need, split->n_need, sizeof *shorter); /* the plan keeps it */
    if (shorter == NULL) {
        return spmmi_fail_memory(&plan->env->err, split->n_need, sizeof *shorter, "halo columns");
    }
    split->need = shorter;
    return SPMM_OK;
}

static int32_t find(const uint64_t *list, int64_t count, uint64_t value)
{
    int64_t low = 0, high = count;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (list[mid] < value) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return (int32_t)low;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Columns and places of @p count entries of a row, which are packed as one number each, ascending
 * in column.  @p from: where they go in the block; @p start: where their row starts in what
 * arrived */
static void put_row(uint64_t *packed, int64_t count, int64_t start, int64_t from,
                    spmm_block_t *block)
{
    for (int64_t k = 1; k < count; k++) {
        if (packed[k - 1] > packed[k]) {
            qsort(packed, (size_t)count, sizeof *packed, ascending);
            break;
        }
    }
    for (int64_t k = 0; k < count; k++) {
        block->csr.col_idx[from + k] = (int32_t)(packed[k] >> 32);
        block->source[from + k]      = (uint32_t)(start + (int64_t)(packed[k] & UINT32_MAX));
    }
}

/* @p packed: scratch for the entries of a row, [2 * its length] */
static void deal_row(const split_t *split, int32_t i, uint64_t *packed, spmm_block_t *local,
                     spmm_block_t *halo)
{
    const spmm_arrival_t *in    = &split->in;
    const int64_t         start = in->row_ptr[i], length = in->row_ptr[i + 1] - start;
    int64_t               n_own = 0, n_other = 0;

    for (int64_t k = 0; k < length; k++) {
        const int64_t col = in->col[start + k];

        if (is_own(split, col)) {
            packed[n_own++] = (uint64_t)(col - split->first) << 32 | (uint64_t)k;
        } else {
            packed[length + n_other++] =
                (uint64_t)find(split->need, split->n_need, (uint64_t)col) << 32 | (uint64_t)k;
        }
    }
    put_row(packed, n_own, start, local->csr.row_ptr[i], local);
    put_row(packed + length, n_other, start, halo->csr.row_ptr[i], halo);
}

static spmm_status_t alloc_block(const spmm_plan_t *plan, int32_t n_rows, int64_t n_cols,
                                 int64_t nnz, spmm_block_t *block)
{
    block->nnz = nnz;
    SPMM_TRY(spmmi_csr_alloc(plan->env, n_rows, (int32_t)n_cols, nnz, plan->ab_type, &block->csr));
    block->csr.c_rows = plan->rows.n_local;
    return SPMM_OK;
}

static int64_t longest_row(const spmm_arrival_t *in, int32_t n)
{
    int64_t most = 0;

    for (int32_t i = 0; i < n; i++) {
        most =
            in->row_ptr[i + 1] - in->row_ptr[i] > most ? in->row_ptr[i + 1] - in->row_ptr[i] : most;
    }
    return most;
}

/* Where the rows of the two blocks begin. */
static void begin_rows(const split_t *split, int32_t n, int64_t *local_ptr, int64_t *halo_ptr)
{
    for (int32_t i = 0; i <= n; i++) {
        halo_ptr[i]  = split->other_ptr[i];
        local_ptr[i] = split->in.row_ptr[i] - split->other_ptr[i];
    }
}

/* Deal the columns of every row to the two blocks. */
static spmm_status_t deal_rows(spmm_plan_t *plan, const split_t *split)
{
    const int64_t *row_ptr = split->in.row_ptr;
    const int32_t  n       = plan->rows.n_local;
    const int64_t  room    = 2 * longest_row(&split->in, n);
    bool           failed  = false;

    SPMM_NEW(plan->blocks.diagonal.source, plan->blocks.diagonal.nnz);
    SPMM_NEW(plan->blocks.off_diagonal.source, plan->blocks.off_diagonal.nnz);
    if (plan->blocks.diagonal.source == NULL || plan->blocks.off_diagonal.source == NULL) {
        return spmmi_fail_memory(&plan->env->err,
                                 plan->blocks.diagonal.nnz + plan->blocks.off_diagonal.nnz,
                                 sizeof *plan->blocks.diagonal.source, "entry sources");
    }
    begin_rows(split, n, plan->blocks.diagonal.csr.row_ptr, plan->blocks.off_diagonal.csr.row_ptr);
    /* Each thread has the rows that it will multiply, so that their memory is near it. */
#pragma omp parallel num_threads(plan->device->threads) reduction(|| : failed)
    {
        const int     t = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const int64_t end = spmmi_cpu_first_row(row_ptr, n, t + 1, n_threads);
        uint64_t     *packed;

        failed = SPMM_NEW(packed, room) == NULL;
        for (int64_t i = spmmi_cpu_first_row(row_ptr, n, t, n_threads); i < end && !failed; i++) {
            deal_row(split, (int32_t)i, packed, &plan->blocks.diagonal, &plan->blocks.off_diagonal);
        }
        spmmi_free(packed);
    }
    return failed ? spmmi_fail_memory(&plan->env->err, room, sizeof(uint64_t), "a row") : SPMM_OK;
}

/* All entries stay where they are in A: the diagonal block is A, and sources are places. */
static void take_all(spmm_plan_t *plan, const split_t *split)
{
    const spmm_arrival_t *in    = &split->in;
    spmm_csr_t           *csr   = &plan->blocks.diagonal.csr;
    const size_t          size  = spmm_type_size(csr->type);
    const int64_t         grain = 8192; /* entries a thread takes at a time */

#pragma omp parallel num_threads(plan->device->threads)
    {
#pragma omp for
        for (int64_t i = 0; i <= csr->n_rows; i++) {
            csr->row_ptr[i] = in->row_ptr[i];
        }
#pragma omp for
        for (int64_t from = 0; from < plan->blocks.diagonal.nnz; from += grain) {
            const int64_t left  = plan->blocks.diagonal.nnz - from,
                          count = left < grain ? left : grain;

            for (int64_t k = from; k < from + count; k++) {
                csr->col_idx[k] = (int32_t)(in->col[k] - split->first);
            }
            memcpy((char *)csr->values + (size_t)from * size,
                   (const char *)spmmi_plan_matrix(plan)->values + (size_t)from * size,
                   (size_t)count * size);
        }
    }
}

/* A map takes half of what a dropped row gives, and on CPUs an empty row costs next to nothing. */
static bool has_few_empty_rows(const spmm_csr_t *csr)
{
    int32_t empty = 0;

    for (int32_t i = 0; i < csr->n_rows; i++) {
        empty += csr->row_ptr[i + 1] == csr->row_ptr[i];
    }
    return empty < csr->n_rows / 16;
}

/* Drop the empty rows of the off-diagonal block and their memory.  A row map leads back to C. */
static spmm_status_t compress_rows(spmm_env_t *env, spmm_csr_t *csr)
{
    const int32_t n = csr->row_ptr[csr->n_rows] == 0 ? 0 : csr->n_rows; /* nobody looks at more */
    int32_t       kept = 0, *map;
    int64_t      *ptr;

    if (SPMM_NEW(csr->row_map, n) == NULL) {
        return spmmi_fail_memory(&env->err, n, sizeof *csr->row_map, "a row map");
    }
    for (int32_t i = 0; i < n; i++) {
        if (csr->row_ptr[i + 1] > csr->row_ptr[i]) {
            csr->row_map[kept++] = i;
            csr->row_ptr[kept]   = csr->row_ptr[i + 1];
        }
    }
    csr->n_rows = kept;
    map         = spmmi_realloc(csr->row_map, kept, sizeof *map);
    if (map == NULL) {
        return spmmi_fail_memory(&env->err, kept, sizeof *map, "a row map");
    }
    csr->row_map = map;
    ptr          = spmmi_realloc(csr->row_ptr, (int64_t)kept + 1, sizeof *ptr);
    if (ptr == NULL) {
        return spmmi_fail_memory(&env->err, kept, sizeof *ptr, "rows of the off-diagonal block");
    }
    csr->row_ptr = ptr;
    return SPMM_OK;
}

/* For op T the engines multiply by the transposed block, for op H by its conjugate. */
static spmm_status_t transpose_block(const spmm_plan_t *plan, spmm_block_t *block)
{
    spmm_env_t *env = plan->env;
    spmm_csr_t  flipped;
    uint32_t   *order;

    SPMM_TRY(spmmi_csr_transpose(env, &block->csr, &flipped, &order));
    for (int64_t k = 0; k < block->nnz; k++) {
        order[k] = block->source == NULL ? order[k] : block->source[order[k]];
    }
    spmmi_csr_free(&block->csr);
    spmmi_free(block->source);
    block->csr    = flipped;
    block->source = order;
    if (plan->conjugate) {
        spmmi_conjugate(plan->ab_type, block->csr.values, block->nnz);
    }
    return SPMM_OK;
}

/* All but the values that come from elsewhere. */
static spmm_status_t deal_columns(spmm_plan_t *plan, split_t *split)
{
    const int64_t nnz = split->in.row_ptr[plan->rows.n_local];
    int64_t       n_other;
    bool          all;

    if (nnz > UINT32_MAX) { /* sources */
        return spmmi_fail(&plan->env->err, SPMM_ERR_RANGE,
                          "rank %d would have %" PRId64
                          " entries, more than 2^32 - 1; use more ranks",
                          plan->env->rank, nnz);
    }
    SPMM_TRY(count_others(plan, split));
    SPMM_TRY(list_halo_columns(plan, split));
    n_other = split->other_ptr[plan->rows.n_local];
    all     = plan->rows.keep && n_other == 0;
    SPMM_TRY(
        alloc_block(plan, plan->rows.n_local, split->n_own, nnz - n_other, &plan->blocks.diagonal));
    SPMM_TRY(alloc_block(plan, all && plan->op == SPMM_OP_N ? 0 : plan->rows.n_local, split->n_need,
                         n_other, &plan->blocks.off_diagonal));
    if (all) {
        take_all(plan, split);
        return SPMM_OK;
    }
    return deal_rows(plan, split);
}

static spmm_status_t finish_blocks(spmm_plan_t *plan, const spmm_arrival_t *in)
{
    spmmi_arrival_deal_values(in, &plan->blocks);
    if (plan->op == SPMM_OP_T) {
        SPMM_TRY(transpose_block(plan, &plan->blocks.diagonal));
        return transpose_block(plan, &plan->blocks.off_diagonal);
    }
    return plan->device->kind == SPMM_DEVICE_CPU &&
                   has_few_empty_rows(&plan->blocks.off_diagonal.csr)
               ? SPMM_OK
               : compress_rows(plan->env, &plan->blocks.off_diagonal.csr);
}

/* Columns have been translated, and nothing else asks for new indices. */
static void drop_new_indices(spmm_plan_t *plan)
{
    spmmi_free(plan->cols.new_index);
    if (!spmmi_plan_has_one_map(plan)) {
        spmmi_free(plan->rows.new_index);
    }
    plan->cols.new_index = plan->rows.new_index = NULL;
}

spmm_status_t spmmi_plan_make_blocks(spmm_plan_t *plan)
{
    split_t       split = {.in    = {.device = plan->device,
                                     .A      = spmmi_plan_matrix(plan),
                                     .rows   = &plan->rows,
                                     .cols   = &plan->cols},
                           .first = plan->cols.offset[plan->env->rank],
                           .n_own = plan->cols.n_local};
    spmm_status_t status;

    status = spmmi_agree(plan->env, spmmi_arrival_receive_columns(&split.in));
    drop_new_indices(plan);
    if (status == SPMM_OK) {
        status = spmmi_agree(plan->env, deal_columns(plan, &split));
    }
    spmmi_free(split.other_ptr);
    spmmi_arrival_drop_columns(&split.in); /* values take their room */
    if (status == SPMM_OK) {
        status = spmmi_agree(plan->env, spmmi_arrival_add_values(&split.in, true));
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(plan->env, finish_blocks(plan, &split.in));
    }
    spmmi_arrival_free(&split.in);
    if (status == SPMM_OK) {
        /* Same bits: an index is never negative. */
        status = spmmi_halo_create(plan->env, plan->cols.offset, (const int64_t *)split.need,
                                   split.n_need, &plan->exchange.halo);
    }
    if (status == SPMM_OK) {
        plan->blocks.need = (int64_t *)split.need;
    } else {
        spmmi_free(split.need);
    }
    return status;
}

/** One of the two blocks on its way. */
typedef struct {
    const spmm_block_t *block;
    int32_t            *at; /**< [rows of C] its row there, -1: none; owned */
} part_t;

/* The rows of a block by their row of C. */
static spmm_status_t open_part(spmm_env_t *env, const spmm_block_t *block, int32_t n_rows,
                               part_t *part)
{
    const spmm_csr_t *csr = &block->csr;

    part->block = block;
    if (SPMM_NEW(part->at, n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, n_rows, sizeof *part->at, "the rows of a block");
    }
    for (int32_t i = 0; i < n_rows; i++) {
        part->at[i] = -1;
    }
    for (int32_t i = 0; i < csr->n_rows; i++) {
        part->at[csr->row_map == NULL ? i : csr->row_map[i]] = i;
    }
    return SPMM_OK;
}

static int64_t row_length(const part_t *part, int32_t i)
{
    const int32_t at = part->at[i];

    return at < 0 ? 0 : part->block->csr.row_ptr[at + 1] - part->block->csr.row_ptr[at];
}

/* Copy row i of a part behind entry @p to of the merged block, columns @p shift above its own.
 * @return the entry behind the row */
static int64_t copy_row(const part_t *part, int32_t i, int32_t shift, int64_t to,
                        spmm_block_t *merged)
{
    const spmm_csr_t *csr  = &part->block->csr;
    const size_t      size = spmm_type_size(csr->type);
    const int64_t     n    = row_length(part, i);
    const int64_t     from = n == 0 ? 0 : csr->row_ptr[part->at[i]];

    for (int64_t k = 0; k < n; k++) {
        merged->csr.col_idx[to + k] = csr->col_idx[from + k] + shift;
        merged->source[to + k] =
            part->block->source == NULL ? (uint32_t)(from + k) : part->block->source[from + k];
    }
    if (n > 0) {
        memcpy((char *)merged->csr.values + (size_t)to * size,
               (const char *)csr->values + (size_t)from * size, (size_t)n * size);
    }
    return to + n;
}

static void fill(const spmm_plan_t *plan, const part_t *local, const part_t *halo,
                 spmm_block_t *merged)
{
    int64_t *ptr = merged->csr.row_ptr;

    ptr[0] = 0;
    for (int32_t i = 0; i < merged->csr.n_rows; i++) {
        ptr[i + 1] = ptr[i] + row_length(local, i) + row_length(halo, i);
    }
    /* Each thread has the rows that it will multiply, so that their memory is near it. */
#pragma omp parallel num_threads(plan->device->threads)
    {
        const int     t = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const int64_t end = spmmi_cpu_first_row(ptr, merged->csr.n_rows, t + 1, n_threads);

        for (int64_t i = spmmi_cpu_first_row(ptr, merged->csr.n_rows, t, n_threads); i < end; i++) {
            const int64_t behind = copy_row(local, (int32_t)i, 0, ptr[i], merged);

            (void)copy_row(halo, (int32_t)i, plan->cols.n_local, behind, merged);
        }
    }
}

static spmm_status_t alloc_merged(const spmm_plan_t *plan, spmm_block_t *block)
{
    const int64_t n_cols = plan->cols.n_local + spmmi_halo_recv_rows(&plan->exchange.halo);

    if (n_cols > INT32_MAX) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_RANGE,
                          "rank %d would multiply %lld rows of B at once, more than 2^31 - 1",
                          plan->env->rank, (long long)n_cols);
    }
    block->nnz = plan->blocks.diagonal.nnz + plan->blocks.off_diagonal.nnz;
    SPMM_TRY(spmmi_csr_alloc(plan->env, plan->rows.n_local, (int32_t)n_cols, block->nnz,
                             plan->ab_type, &block->csr));
    if (SPMM_NEW(block->source, block->nnz) == NULL) {
        return spmmi_fail_memory(&plan->env->err, block->nnz, sizeof *block->source,
                                 "entry sources");
    }
    return SPMM_OK;
}

spmm_status_t spmmi_plan_merge_blocks(const spmm_plan_t *plan, spmm_block_t *block)
{
    part_t        local = {.at = NULL}, halo = {.at = NULL};
    spmm_status_t status = alloc_merged(plan, block);

    if (status == SPMM_OK) {
        status = open_part(plan->env, &plan->blocks.diagonal, plan->rows.n_local, &local);
    }
    if (status == SPMM_OK) {
        status = open_part(plan->env, &plan->blocks.off_diagonal, plan->rows.n_local, &halo);
    }
    if (status == SPMM_OK) {
        fill(plan, &local, &halo, block);
    }
    spmmi_free_all(local.at, halo.at);
    return status; /* the block's owner frees it */
}
