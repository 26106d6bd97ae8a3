/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.h  Sparse attention and its gradients on the CPU. */
#ifndef SPMM_CPU_ATTENTION_H
#define SPMM_CPU_ATTENTION_H

#include "engine/attention/args.h"

/** Is there a kernel for @p type? */
bool spmmi_cpu_attention_supports(spmm_type_t type);

/** The type must be supported.  Rows without entries: O = 0 and lse = -Inf, but nothing where what
 *  is there is resumed. */
void spmmi_cpu_attention(const spmm_attention_rows_t *mask, const spmm_attention_args_t *args);
void spmmi_cpu_attention_stats(const spmm_attention_stats_t *args);
/** dQ; rows of K and V are at the columns of @p mask. */
void spmmi_cpu_attention_query(const spmm_attention_rows_t     *mask,
                               const spmm_attention_gradient_t *args);
/** dK and dV; @p mask is the transpose, rows of Q, dO and stats are at its columns. */
void spmmi_cpu_attention_key(const spmm_attention_rows_t     *mask,
                             const spmm_attention_gradient_t *args);

#endif /* SPMM_CPU_ATTENTION_H */
