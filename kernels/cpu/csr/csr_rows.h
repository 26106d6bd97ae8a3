/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_rows.h  Row-major CSR times dense by the vector instructions of the processor. */
#ifndef SPMM_CPU_CSR_ROWS_H
#define SPMM_CPU_CSR_ROWS_H

#include <stdbool.h>

#include "cpu/first_row.h"
#include "engine/csr/csr_cpu_args.h"

/** Rows first_row .. last_row - 1 of a product. */
typedef void spmm_csr_rows_t(const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row);

/** Kernels for one kind of processor: "AVX2". */
struct spmm_csr_isa {
    const char *name;
    bool (*runs_here)(void);
    spmm_csr_rows_t *rows_64f, *rows_32f;
    spmm_csr_rows_t *rows_64c, *rows_32c; /**< values of two FP64, FP32 */
};

enum {
#ifdef __x86_64__
    SPMM_CSR_ISAS = 3
#else
    SPMM_CSR_ISAS = 1
#endif
};

/** Best first; the last runs everywhere. */
extern const spmm_csr_isa_t spmmi_csr_isas[SPMM_CSR_ISAS];

/** The best that runs here. */
const spmm_csr_isa_t *spmmi_csr_isa(void);

/* Column-major CSR times dense by the kernels of row-major blocks. */

/** Bytes of a row of args->panel for columns of this type; 0: there is no kernel for it. */
int64_t spmmi_csr_panel_bytes(spmm_type_t type);
/** The part of thread @p t of @p n_threads, all of which call it, in one parallel region.  A few
 *  columns at a time are turned to rows, multiplied, and turned back, some rows at a time. */
void spmmi_csr_panels(const spmm_csr_mm_args_t *args, spmm_csr_rows_t *rows, int t, int n_threads);

/* CSR times dense on the CPU. */

/** The kernel of csr_mm.c for A and B of 16 bits; NULL: none for such a C. */
spmm_csr_rows_t *spmmi_csr_rows_16(spmm_type_t ab_type, spmm_type_t c_type);

/** Is there a kernel for A and B of @p ab_type and C of @p c_type? */
bool spmmi_cpu_csr_mm_supports(spmm_type_t ab_type, spmm_type_t c_type);

/** The types must be supported.  FP64 data sums in FP64, all other types in FP32; C is rounded
 *  once.  Column-major blocks and 16-bit types have no pieces. */
void spmmi_cpu_csr_mm(const spmm_csr_mm_args_t *args);

#endif /* SPMM_CPU_CSR_ROWS_H */
