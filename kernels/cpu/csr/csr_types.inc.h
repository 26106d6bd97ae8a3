/* SPDX-License-Identifier: Apache-2.0 */
/* The types of csr_isa.inc.h for one kind of processor; csr_rows.c includes it once for each. */
#define ROWS_TYPE  64f
#define ROWS_T     double
#define ROWS_REAL  8
#define ROWS_PARTS 1
#include "cpu/csr/csr_isa.inc.h"
#define ROWS_TYPE  32f
#define ROWS_T     float
#define ROWS_REAL  4
#define ROWS_PARTS 1
#include "cpu/csr/csr_isa.inc.h"
#define ROWS_TYPE  64c
#define ROWS_T     double
#define ROWS_REAL  8
#define ROWS_PARTS 2
#include "cpu/csr/csr_isa.inc.h"
#define ROWS_TYPE  32c
#define ROWS_T     float
#define ROWS_REAL  4
#define ROWS_PARTS 2
#include "cpu/csr/csr_isa.inc.h"
#undef ROWS_ISA
#undef ROWS_TARGET
#undef ROWS_BYTES
