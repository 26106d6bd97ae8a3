/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_rows.h  Row-major CSR times dense by the vector instructions of the processor. */
#ifndef SPMM_CPU_CSR_ROWS_H
#define SPMM_CPU_CSR_ROWS_H

#include <stdbool.h>

#include "engine/csr_cpu/args.h"

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

#endif /* SPMM_CPU_CSR_ROWS_H */
