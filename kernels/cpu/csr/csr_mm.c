/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_mm.c  CSR times dense on the CPU: the kernels of 16-bit types. */
#include <stdbool.h>

#include "base/scalar.h"
#include "cpu/csr/csr_rows.h"

enum { COLUMN_TILE = 32 }; /* FP64 sums of a tile: 16 SSE or 4 AVX-512 registers */
enum { COLUMN_STREAMS = 4 };

#define SAME(x) (x)

#define MM_NAME    mm_16f
#define MM_ROW     mm_16f_row
#define MM_COLUMNS mm_16f_columns
#define AB_T       uint16_t
#define AB_LOAD    spmmi_half_to_float
#define C_T        uint16_t
#define C_LOAD     spmmi_half_to_float
#define C_STORE    spmmi_half_from_float
#define ACC_T      float
#include "cpu/csr/csr_mm.inc.h"

#define MM_NAME    mm_16f_32f
#define MM_ROW     mm_16f_32f_row
#define MM_COLUMNS mm_16f_32f_columns
#define AB_T       uint16_t
#define AB_LOAD    spmmi_half_to_float
#define C_T        float
#define C_LOAD     SAME
#define C_STORE    SAME
#define ACC_T      float
#include "cpu/csr/csr_mm.inc.h"

#define MM_NAME    mm_16bf
#define MM_ROW     mm_16bf_row
#define MM_COLUMNS mm_16bf_columns
#define AB_T       uint16_t
#define AB_LOAD    spmmi_bf16_to_float
#define C_T        uint16_t
#define C_LOAD     spmmi_bf16_to_float
#define C_STORE    spmmi_bf16_from_float
#define ACC_T      float
#include "cpu/csr/csr_mm.inc.h"

#define MM_NAME    mm_16bf_32f
#define MM_ROW     mm_16bf_32f_row
#define MM_COLUMNS mm_16bf_32f_columns
#define AB_T       uint16_t
#define AB_LOAD    spmmi_bf16_to_float
#define C_T        float
#define C_LOAD     SAME
#define C_STORE    SAME
#define ACC_T      float
#include "cpu/csr/csr_mm.inc.h"

spmm_csr_rows_t *spmmi_csr_rows_16(spmm_type_t ab_type, spmm_type_t c_type)
{
    const bool same = c_type == ab_type;

    if (!same && c_type != SPMM_R_32F) {
        return NULL;
    }
    return ab_type == SPMM_R_16F ? (same ? mm_16f : mm_16f_32f) : same ? mm_16bf : mm_16bf_32f;
}
