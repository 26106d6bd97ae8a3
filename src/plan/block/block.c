/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/block/block.h"

#include "base/alloc.h"

spmm_status_t spmmi_block_scan(spmm_env_t *env, spmm_block_t *block)
{
    if (!block->scanned) {
        SPMM_TRY(spmmi_pattern_scan(env, &block->csr, &block->pattern));
        block->scanned = true;
    }
    return SPMM_OK;
}

void spmmi_block_give_up(spmm_block_t *block)
{
    if (block->engine != NULL) {
        block->engine->destroy(block->format);
    }
    block->engine = NULL;
    block->format = NULL;
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
    spmmi_csr_free(&block->csr);
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
