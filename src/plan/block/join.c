/* SPDX-License-Identifier: Apache-2.0 */
/** @file join.c  One block from the local and the halo block, in whatever order their rows are. */
#include "plan/block/join.h"

#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/first_row.h"
#include "plan/plan.h"

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

/* Copy row i of a part behind entry @p to of the joined block, columns @p shift above its own.
 * @return the entry behind the row */
static int64_t copy_row(const part_t *part, int32_t i, int32_t shift, int64_t to,
                        spmm_block_t *joined)
{
    const spmm_csr_t *csr  = &part->block->csr;
    const size_t      size = spmm_type_size(csr->type);
    const int64_t     n    = row_length(part, i);
    const int64_t     from = n == 0 ? 0 : csr->row_ptr[part->at[i]];

    for (int64_t k = 0; k < n; k++) {
        joined->csr.col_idx[to + k] = csr->col_idx[from + k] + shift;
        joined->source[to + k] =
            part->block->source == NULL ? (uint32_t)(from + k) : part->block->source[from + k];
    }
    if (n > 0) {
        memcpy((char *)joined->csr.values + (size_t)to * size,
               (const char *)csr->values + (size_t)from * size, (size_t)n * size);
    }
    return to + n;
}

static void fill(const spmm_plan_t *plan, const part_t *local, const part_t *halo,
                 spmm_block_t *joined)
{
    int64_t *ptr = joined->csr.row_ptr;

    ptr[0] = 0;
    for (int32_t i = 0; i < joined->csr.n_rows; i++) {
        ptr[i + 1] = ptr[i] + row_length(local, i) + row_length(halo, i);
    }
    /* Each thread has the rows that it will multiply, so that their memory is near it. */
#pragma omp parallel num_threads(plan->device->threads)
    {
        const int     t = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const int64_t end = spmmi_cpu_first_row(ptr, joined->csr.n_rows, t + 1, n_threads);

        for (int64_t i = spmmi_cpu_first_row(ptr, joined->csr.n_rows, t, n_threads); i < end; i++) {
            const int64_t behind = copy_row(local, (int32_t)i, 0, ptr[i], joined);

            (void)copy_row(halo, (int32_t)i, plan->cols.n_local, behind, joined);
        }
    }
}

static spmm_status_t alloc_joined(const spmm_plan_t *plan, spmm_block_t *block)
{
    const int64_t n_cols = plan->cols.n_local + spmmi_halo_recv_rows(&plan->exchange.halo);

    if (n_cols > INT32_MAX) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_RANGE,
                          "rank %d would multiply %lld rows of B at once, more than 2^31 - 1",
                          plan->env->rank, (long long)n_cols);
    }
    block->nnz = plan->blocks.local.nnz + plan->blocks.halo.nnz;
    SPMM_TRY(spmmi_csr_alloc(plan->env, plan->rows.n_local, (int32_t)n_cols, block->nnz,
                             plan->ab_type, &block->csr));
    if (SPMM_NEW(block->source, block->nnz) == NULL) {
        return spmmi_fail_memory(&plan->env->err, block->nnz, sizeof *block->source,
                                 "entry sources");
    }
    return SPMM_OK;
}

spmm_status_t spmmi_plan_join(const spmm_plan_t *plan, spmm_block_t *block)
{
    part_t        local = {.at = NULL}, halo = {.at = NULL};
    spmm_status_t status = alloc_joined(plan, block);

    if (status == SPMM_OK) {
        status = open_part(plan->env, &plan->blocks.local, plan->rows.n_local, &local);
    }
    if (status == SPMM_OK) {
        status = open_part(plan->env, &plan->blocks.halo, plan->rows.n_local, &halo);
    }
    if (status == SPMM_OK) {
        fill(plan, &local, &halo, block);
    }
    spmmi_free_all(local.at, halo.at);
    return status; /* the block's owner frees it */
}
