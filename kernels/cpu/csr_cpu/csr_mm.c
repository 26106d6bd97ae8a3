/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_mm.c  CSR times dense on the CPU: the kernels of 16-bit types, and the choice. */
#include <omp.h>
#include <stdbool.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "cpu/csr_cpu/csr_rows.h"

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
#include "cpu/csr_cpu/csr_mm.inc.h"

#define MM_NAME    mm_16f_32f
#define MM_ROW     mm_16f_32f_row
#define MM_COLUMNS mm_16f_32f_columns
#define AB_T       uint16_t
#define AB_LOAD    spmmi_half_to_float
#define C_T        float
#define C_LOAD     SAME
#define C_STORE    SAME
#define ACC_T      float
#include "cpu/csr_cpu/csr_mm.inc.h"

#define MM_NAME    mm_16bf
#define MM_ROW     mm_16bf_row
#define MM_COLUMNS mm_16bf_columns
#define AB_T       uint16_t
#define AB_LOAD    spmmi_bf16_to_float
#define C_T        uint16_t
#define C_LOAD     spmmi_bf16_to_float
#define C_STORE    spmmi_bf16_from_float
#define ACC_T      float
#include "cpu/csr_cpu/csr_mm.inc.h"

#define MM_NAME    mm_16bf_32f
#define MM_ROW     mm_16bf_32f_row
#define MM_COLUMNS mm_16bf_32f_columns
#define AB_T       uint16_t
#define AB_LOAD    spmmi_bf16_to_float
#define C_T        float
#define C_LOAD     SAME
#define C_STORE    SAME
#define ACC_T      float
#include "cpu/csr_cpu/csr_mm.inc.h"

static spmm_csr_rows_t *pick(const spmm_operands_t *x, const spmm_csr_isa_t *isa)
{
    const bool same = x->c_type == x->ab_type;

    switch (x->ab_type) {
    case SPMM_R_64F:
        return same ? isa->rows_64f : NULL;
    case SPMM_R_32F:
        return same ? isa->rows_32f : NULL;
    case SPMM_R_16F:
        return same ? mm_16f : x->c_type == SPMM_R_32F ? mm_16f_32f : NULL;
    case SPMM_R_16BF:
        return same ? mm_16bf : x->c_type == SPMM_R_32F ? mm_16bf_32f : NULL;
    case SPMM_C_64F:
        return same ? isa->rows_64c : NULL;
    case SPMM_C_32F:
        return same ? isa->rows_32c : NULL;
    case SPMM_TYPE_AUTO:
        break;
    }
    return NULL;
}

bool spmmi_cpu_csr_mm_supports(spmm_type_t ab_type, spmm_type_t c_type)
{
    return pick(&(spmm_operands_t){.ab_type = ab_type, .c_type = c_type}, spmmi_csr_isas) != NULL;
}

/* A team costs half a microsecond to start on two cores and several on many, as long as some
 * thousand multiply-adds of one thread take. */
static bool is_worth_a_team(const spmm_csr_mm_args_t *args)
{
    return (args->row_ptr[args->n_rows] + args->n_rows) * args->x.n > 4096;
}

/* Thread t of n_threads. */
static void run(const spmm_csr_mm_args_t *args, spmm_csr_rows_t *rows, int t, int n_threads)
{
    if (args->panel != NULL && args->x.layout == SPMM_LAYOUT_COL) {
        spmmi_csr_panels(args, rows, t, n_threads);
        return;
    }
    rows(args, spmmi_cpu_first_row(args->row_ptr, args->n_rows, t, n_threads),
         spmmi_cpu_first_row(args->row_ptr, args->n_rows, t + 1, n_threads));
}

void spmmi_cpu_csr_mm(const spmm_csr_mm_args_t *args)
{
    spmm_csr_rows_t *const rows = pick(&args->x, args->isa);
    const int              team = spmmi_cpu_team(args->threads);

    if (args->n_rows == 0) {
        return;
    }
    if (team == 1 || !is_worth_a_team(args)) {
        run(args, rows, 0, 1);
        return;
    }
#pragma omp parallel num_threads(team)
    run(args, rows, omp_get_thread_num(), omp_get_num_threads());
}
