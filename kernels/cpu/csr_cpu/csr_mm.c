/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_mm.c  CSR times dense on the CPU: the reference of every other engine. */
#include <omp.h>
#include <stdbool.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "cpu/csr_cpu/csr_mm.h"
#include "cpu/csr_cpu/csr_mm_complex.h"

enum { SUM_RUN = 64 };     /* entries of a row summed up in the accumulation type */
enum { COLUMN_TILE = 32 }; /* FP64 sums of a tile: 16 SSE or 4 AVX-512 registers */
enum { COLUMN_STREAMS = 4 };

#define SAME(x) (x)

#define MM_NAME    mm_64f
#define MM_ROW     mm_64f_row
#define MM_COLUMNS mm_64f_columns
#define AB_T       double
#define AB_LOAD    SAME
#define C_T        double
#define C_LOAD     SAME
#define C_STORE    SAME
#define ACC_T      double
#include "cpu/csr_cpu/csr_mm.inc.h"

#define MM_NAME    mm_32f
#define MM_ROW     mm_32f_row
#define MM_COLUMNS mm_32f_columns
#define AB_T       float
#define AB_LOAD    SAME
#define C_T        float
#define C_LOAD     SAME
#define C_STORE    SAME
#define ACC_T      float
#include "cpu/csr_cpu/csr_mm.inc.h"

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

typedef void mm_fn_t(const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row);

static mm_fn_t *pick(spmm_type_t ab, spmm_type_t c)
{
    switch (ab) {
    case SPMM_R_64F:
        return c == SPMM_R_64F ? mm_64f : NULL;
    case SPMM_R_32F:
        return c == SPMM_R_32F ? mm_32f : NULL;
    case SPMM_R_16F:
        return c == SPMM_R_16F ? mm_16f : c == SPMM_R_32F ? mm_16f_32f : NULL;
    case SPMM_R_16BF:
        return c == SPMM_R_16BF ? mm_16bf : c == SPMM_R_32F ? mm_16bf_32f : NULL;
    case SPMM_C_64F:
        return c == ab ? spmmi_cpu_csr_rows_64c : NULL;
    case SPMM_C_32F:
        return c == ab ? spmmi_cpu_csr_rows_32c : NULL;
    case SPMM_TYPE_AUTO:
        break;
    }
    return NULL;
}

/* First row of thread t: rows and entries together are split evenly, so that empty rows (which
 * still write C) count too. */
static int64_t first_row(const spmm_csr_mm_args_t *args, int t, int n_threads)
{
    const int64_t work = args->row_ptr[args->n_rows] + args->n_rows;
    const int64_t want = work / n_threads * t + work % n_threads * t / n_threads;
    int64_t       low = 0, high = args->n_rows;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (args->row_ptr[mid] + mid < want) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

bool spmmi_cpu_csr_mm_supports(spmm_type_t ab_type, spmm_type_t c_type)
{
    return pick(ab_type, c_type) != NULL;
}

/* A team costs half a microsecond to start on two cores and several on many, as long as some
 * thousand multiply-adds of one thread take. */
static bool is_worth_a_team(const spmm_csr_mm_args_t *args)
{
    return (args->row_ptr[args->n_rows] + args->n_rows) * args->x.n > 4096;
}

void spmmi_cpu_csr_mm(const spmm_csr_mm_args_t *args)
{
    mm_fn_t *const mm   = pick(args->x.ab_type, args->x.c_type);
    const int      team = spmmi_cpu_team(args->threads);

    if (args->n_rows == 0) {
        return;
    }
    if (team == 1 || !is_worth_a_team(args)) {
        mm(args, 0, args->n_rows);
        return;
    }
#pragma omp parallel num_threads(team)
    {
        const int t = omp_get_thread_num(), n_threads = omp_get_num_threads();

        mm(args, first_row(args, t, n_threads),
           t + 1 == n_threads ? args->n_rows : first_row(args, t + 1, n_threads));
    }
}
