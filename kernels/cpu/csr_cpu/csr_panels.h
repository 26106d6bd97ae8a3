/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_panels.h  Column-major CSR times dense by the kernels of row-major blocks. */
#ifndef SPMM_CPU_CSR_PANELS_H
#define SPMM_CPU_CSR_PANELS_H

#include "cpu/csr_cpu/csr_rows.h"

/** Bytes of a row of args->panel for columns of this type; 0: there is no kernel for it. */
int64_t spmmi_csr_panel_bytes(spmm_type_t type);
/** The part of thread @p t of @p n_threads, all of which call it, in one parallel region.  A few
 *  columns at a time are turned to rows, multiplied, and turned back, some rows at a time. */
void spmmi_csr_panels(const spmm_csr_mm_args_t *args, spmm_csr_rows_t *rows, int t, int n_threads);

#endif /* SPMM_CPU_CSR_PANELS_H */
