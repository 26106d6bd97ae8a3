/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_mm_complex.h  CSR times dense on the CPU for complex types. */
#ifndef SPMM_CPU_CSR_MM_COMPLEX_H
#define SPMM_CPU_CSR_MM_COMPLEX_H

#include "engine/csr_cpu/args.h"

/** Rows first_row .. last_row - 1 of a product of C_64F, all operands of that type. */
void spmmi_cpu_csr_rows_64c(const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row);
/** The same of C_32F. */
void spmmi_cpu_csr_rows_32c(const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row);

#endif /* SPMM_CPU_CSR_MM_COMPLEX_H */
