/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_case.h  Attention at the masks of sddmm_case.h, and its operands. */
#ifndef SPMM_ATTENTION_CASE_H
#define SPMM_ATTENTION_CASE_H

#include "sddmm_case.h"

enum { Q = 1, K, V = 5, DO, DIRECTION, BLOCKS = 8 };

/** A call to check. */
typedef struct {
    spmm_type_t type;
    int64_t     heads, k, pad;
    const char *kernel;
} case_t;

/** Blocks on the device, by the names above, and what the calls give. */
typedef struct {
    int64_t n, ld;
    void   *in[BLOCKS];
    void   *O, *lse, *dQ, *dK, *dV;
} blocks_t;

spmm_type_t sum_type(spmm_type_t type);
/** What a block on the device holds, to be freed. */
double *fetch(const void *device, int64_t count, spmm_type_t type);

blocks_t make_blocks(const masked_t *m, const case_t *c);
void     free_blocks(blocks_t *b);
/** Set element (i, j) of an operand, where this rank has row i. */
void spoil(const masked_t *m, const case_t *c, const blocks_t *b, int which, int64_t i, int64_t j,
           double value);

spmm_attention_plan_t *make_attention(const masked_t *m, const case_t *c, int backward);

/** A mask, a plan of it and operands for that. */
typedef struct {
    masked_t               m;
    spmm_attention_plan_t *plan;
    blocks_t               b;
} attention_t;

attention_t open_attention(const mask_t *shape, const case_t *c, int backward);
void        close_attention(attention_t *a);

double scale_of(const case_t *c);
/** Forward. */
void run_attention(spmm_attention_plan_t *plan, const case_t *c, const blocks_t *b);

#endif /* SPMM_ATTENTION_CASE_H */
