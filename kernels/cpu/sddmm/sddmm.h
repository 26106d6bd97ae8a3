/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.h  SDDMM and the softmax of rows on the CPU. */
#ifndef SPMM_CPU_SDDMM_H
#define SPMM_CPU_SDDMM_H

#include <stdbool.h>

#include "engine/sddmm/args.h"

/** Is there a kernel for X and Y of @p type and S of @p s_type? */
bool spmmi_cpu_sddmm_supports(spmm_type_t type, spmm_type_t s_type);

/** The types must be supported.  Sums as in spmmi_cpu_csr_mm(), in an order that depends on k
 *  alone: all forms of a mask give the same bits. */
void spmmi_cpu_sddmm_tasks(const spmm_sddmm_tasks_t *mask, const spmm_sddmm_args_t *args);
void spmmi_cpu_sddmm_rectangles(const spmm_sddmm_rectangles_t *mask, const spmm_sddmm_args_t *args);
void spmmi_cpu_sddmm_tiles(const spmm_sddmm_tiles_t *mask, const spmm_sddmm_args_t *args);
void spmmi_cpu_sddmm_squares(const spmm_sddmm_squares_t *mask, const spmm_sddmm_args_t *args);

void spmmi_cpu_row_softmax(const spmm_softmax_args_t *args);

#endif /* SPMM_CPU_SDDMM_H */
