/* SPDX-License-Identifier: Apache-2.0 */
/** @file block.c  Scans, sorts and frees the entries of one block. */
#include "plan/blocks/block.h"

#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "spmm_dist/context.h"

spmm_status_t spmmi_block_scan(const spmm_device_t *device, spmm_layout_t layout,
                               spmm_block_t *block)
{
    if (!block->scanned) {
        SPMM_TRY(spmmi_pattern_scan_for(device->env, &block->csr, layout, &block->pattern));
        if (device->kind == SPMM_DEVICE_CPU) {
            spmmi_pattern_free(
                &block->pattern); /* no order is made of the windows, and no format */
        }
        block->scanned = true;
    }
    return SPMM_OK;
}

/* The sources of a whole row of A are consecutive numbers. */
static void sort_row(const spmm_block_t *block, int64_t from, int64_t to, spmm_csr_t *csr)
{
    const size_t size  = spmm_type_size(csr->type);
    int64_t      least = INT64_MAX;

    for (int64_t k = from; k < to; k++) {
        least = block->source[k] < least ? block->source[k] : least;
    }
    for (int64_t k = from; k < to; k++) {
        const int64_t at = from + block->source[k] - least;

        csr->col_idx[at] = block->csr.col_idx[k];
        memcpy((char *)csr->values + (size_t)at * size,
               (const char *)block->csr.values + (size_t)k * size, size);
    }
    for (int64_t k = from; k < to; k++) {
        block->source[k] = (uint32_t)(least + k - from);
    }
}

spmm_status_t spmmi_block_sort_by_source(spmm_env_t *env, spmm_block_t *block)
{
    spmm_csr_t *old = &block->csr, csr;

    if (block->source == NULL) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_csr_alloc(env, old->n_rows, old->n_cols, block->nnz, old->type, &csr));
#pragma omp parallel for schedule(dynamic, 256) num_threads(spmmi_cpu_team(env->threads))
    for (int32_t i = 0; i < old->n_rows; i++) {
        sort_row(block, old->row_ptr[i], old->row_ptr[i + 1], &csr);
    }
    memcpy(csr.row_ptr, old->row_ptr, ((size_t)old->n_rows + 1) * sizeof *csr.row_ptr);
    csr.row_map  = old->row_map;
    csr.c_rows   = old->c_rows;
    old->row_map = NULL;
    spmmi_csr_free(old);
    *old = csr;
    return SPMM_OK;
}

void spmmi_block_free_csr(spmm_block_t *block)
{
    spmm_csr_t kept = {.n_rows = 0};

    if (block->borrowed) {
        kept.col_idx       = block->csr.col_idx;
        kept.values        = block->csr.values;
        block->csr.col_idx = NULL;
        block->csr.values  = NULL;
    }
    spmmi_csr_free(&block->csr);
    block->csr = kept;
}

void spmmi_permuted_free(spmm_permuted_t *p)
{
    spmmi_pattern_free(&p->pattern);
    spmmi_csr_free(&p->csr);
    spmmi_free(p->source);
    p->source = NULL;
}

void spmmi_block_free_input(spmm_block_t *block)
{
    spmmi_block_free_csr(block);
    spmmi_free(block->source);
    block->source = NULL;
    spmmi_pattern_free(&block->pattern);
    spmmi_permuted_free(&block->other_order);
}

void spmmi_block_free(spmm_block_t *block)
{
    if (block->engine != NULL) {
        block->engine->destroy(block->format);
    }
    block->engine   = NULL;
    block->format   = NULL;
    block->borrowed = false;
    spmmi_block_free_input(block);
    spmmi_free(block->candidates);
    block->candidates = NULL;
}
