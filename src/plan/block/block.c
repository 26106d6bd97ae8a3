/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/block/block.h"

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

/* What runs, in the engine's place. */
static void take(spmm_block_t *block)
{
    const spmm_try_t *one = &block->tries->of[block->tries->at];

    block->engine      = one->candidate->engine;
    block->format      = one->format;
    block->predicted_s = one->candidate->predicted_s;
    block->measured_s  = spmmi_try_seconds(one);
    block->since       = block->tries->since;
}

spmm_status_t spmmi_block_multiply(spmm_block_t *block, const spmm_operands_t *x, int slice,
                                   bool typical)
{
    spmm_tries_t *tries = block->tries;

    if (tries == NULL || !tries->open || block->since != 0) {
        return block->engine->execute(block->format, x);
    }
    if (slice == 0) {
        SPMM_TRY(spmmi_tries_begin(tries, typical, x->beta.re != 0.0 || x->beta.im != 0.0));
    }
    if (tries->since != 0) {
        take(block);
    }
    return spmmi_tries_execute(tries, x);
}

void spmmi_block_open_tries(spmm_block_t *block)
{
    if (block->tries != NULL) {
        block->tries->open = true;
    }
}

spmm_block_format_t spmmi_block_format(const spmm_block_t *block, int k)
{
    const spmm_tries_t *tries = block->tries;
    const bool          runs  = tries != NULL && k < tries->count && !tries->of[k].dropped &&
                      (tries->since == 0 || k == tries->at);

    if (tries == NULL) {
        return k == 0 ? (spmm_block_format_t){block->engine, block->format}
                      : (spmm_block_format_t){NULL, NULL};
    }
    return runs ? (spmm_block_format_t){tries->of[k].candidate->engine, tries->of[k].format}
                : (spmm_block_format_t){NULL, NULL};
}

void spmmi_block_bytes(const spmm_block_t *block, size_t *host, size_t *device)
{
    const spmm_tries_t *tries = block->tries;

    *host = *device = 0;
    if (tries == NULL && block->engine != NULL) {
        block->engine->bytes(block->format, host, device);
    }
    for (int k = 0; tries != NULL && k < tries->count; k++) {
        size_t more_host = 0, more_device = 0;

        tries->of[k].candidate->engine->bytes(tries->of[k].format, &more_host, &more_device);
        *host += more_host;
        *device += more_device;
    }
}

int spmmi_block_settle(spmm_block_t *block)
{
    if (block->tries == NULL) {
        return -1;
    }
    (void)spmmi_tries_read(block->tries); /* an error of that work is its user's to see */
    if (block->tries->since == 0) {
        return -1;
    }
    take(block);
    return block->tries->at;
}

void spmmi_block_end_tries(spmm_block_t *block)
{
    spmmi_tries_remember(block->tries);
    spmmi_tries_free(block->tries);
    block->tries = NULL;
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

void spmmi_block_give_up(spmm_block_t *block)
{
    if (block->tries != NULL) {
        (void)spmmi_block_settle(block);
        take(block);
        spmmi_block_end_tries(block);
    }
    if (block->engine != NULL) {
        block->engine->destroy(block->format);
    }
    block->engine = NULL;
    block->format = NULL;
    block->lent   = false;
}

void spmmi_block_free_csr(spmm_block_t *block)
{
    if (block->lent) {
        block->engine->adopt(block->format);
        block->csr.col_idx = NULL;
        block->csr.values  = NULL;
        block->lent        = false;
    }
    spmmi_csr_free(&block->csr);
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
    spmmi_permuted_free(&block->rival);
}

void spmmi_block_free(spmm_block_t *block)
{
    spmmi_block_give_up(block);
    spmmi_block_free_input(block);
    spmmi_free(block->candidates);
    block->candidates = NULL;
}
