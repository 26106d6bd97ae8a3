/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_mm.h  CSR times dense on the CPU. */
#ifndef SPMM_CPU_CSR_MM_H
#define SPMM_CPU_CSR_MM_H

#include "cpu/csr_cpu/csr_rows.h"
#include "cpu/first_row.h"

/** Is there a kernel for A and B of @p ab_type and C of @p c_type? */
bool spmmi_cpu_csr_mm_supports(spmm_type_t ab_type, spmm_type_t c_type);

/** The types must be supported.  FP64 data sums in FP64, all other types in FP32; C is rounded
 *  once.  Column-major blocks and 16-bit types have no pieces. */
void spmmi_cpu_csr_mm(const spmm_csr_mm_args_t *args);

#endif /* SPMM_CPU_CSR_MM_H */
