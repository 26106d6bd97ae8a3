/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_mm_complex.c
 *  Complex CSR times dense on the CPU, in real arithmetic: C's own product of complex numbers calls
 *  a function that looks after infinities.
 */
#include "cpu/csr_cpu/csr_mm_complex.h"

enum { SUM_RUN = 32 }; /* entries, of two terms each, of a row summed up in the type of a part */
enum { COLUMN_TILE = 16 };

#define MM_NAME spmmi_cpu_csr_rows_64c
#define MM_TILE tile_64c
#define MM_T    double
#include "cpu/csr_cpu/csr_mm_complex.inc.h"

#define MM_NAME spmmi_cpu_csr_rows_32c
#define MM_TILE tile_32c
#define MM_T    float
#include "cpu/csr_cpu/csr_mm_complex.inc.h"
