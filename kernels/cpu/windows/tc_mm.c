/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_mm.c  Tensor-core formats on the CPU: multiply what their engines decode, the reference
 *  of their CUDA kernels. */
#include <stdbool.h>
#include <string.h>

#include "base/scalar.h"
#include "cpu/windows/tc_mm.h"

enum { COLUMN_TILE = 32, SUM_BLOCKS = 8 /* summed up in the accumulation type */ };

static inline float tf32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) {
        return x; /* infinity, NaN */
    }
    /* 13 bits go; half of their last place is added to the magnitude first. */
    bits = (bits + 0x1000u) & ~0x1fffu;
    memcpy(&x, &bits, sizeof x);
    return x;
}

float spmmi_cpu_tf32_round(float x)
{
    return tf32(x);
}

#define SAME(x) (x)

#define TC_NAME mm_64f
#define TC_TILE mm_64f_tile
#define TC_T    double
#define AB_T    double
#define C_T     double
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD SAME
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME mm_32f
#define TC_TILE mm_32f_tile
#define TC_T    float
#define AB_T    float
#define C_T     float
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD SAME
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME mm_tf32
#define TC_TILE mm_tf32_tile
#define TC_T    float
#define AB_T    float
#define C_T     float
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD tf32
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME mm_16f
#define TC_TILE mm_16f_tile
#define TC_T    float
#define AB_T    uint16_t
#define C_T     uint16_t
#define C_LOAD  spmmi_half_to_float
#define C_STORE spmmi_half_from_float
#define TC_LOAD spmmi_half_to_float
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME mm_16f_32f
#define TC_TILE mm_16f_32f_tile
#define TC_T    float
#define AB_T    uint16_t
#define C_T     float
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD spmmi_half_to_float
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME mm_16bf
#define TC_TILE mm_16bf_tile
#define TC_T    float
#define AB_T    uint16_t
#define C_T     uint16_t
#define C_LOAD  spmmi_bf16_to_float
#define C_STORE spmmi_bf16_from_float
#define TC_LOAD spmmi_bf16_to_float
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME mm_16bf_32f
#define TC_TILE mm_16bf_32f_tile
#define TC_T    float
#define AB_T    uint16_t
#define C_T     float
#define C_LOAD  SAME
#define C_STORE SAME
#define TC_LOAD spmmi_bf16_to_float
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME  mm_64c
#define TC_TILE  mm_64c_tile
#define TC_T     double
#define AB_T     double
#define C_T      double
#define C_LOAD   SAME
#define C_STORE  SAME
#define TC_LOAD  SAME
#define TC_PARTS 2
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME  mm_32c
#define TC_TILE  mm_32c_tile
#define TC_T     float
#define AB_T     float
#define C_T      float
#define C_LOAD   SAME
#define C_STORE  SAME
#define TC_LOAD  SAME
#define TC_PARTS 2
#include "cpu/windows/tc_mm.inc.h"

#define TC_NAME  mm_tf32c
#define TC_TILE  mm_tf32c_tile
#define TC_T     float
#define AB_T     float
#define C_T      float
#define C_LOAD   SAME
#define C_STORE  SAME
#define TC_LOAD  tf32
#define TC_PARTS 2
#include "cpu/windows/tc_mm.inc.h"

typedef void (*mm_t)(const spmm_tc_view_t *, const spmm_tc_mm_args_t *, int32_t);

static mm_t choose(const spmm_tc_mm_args_t *args)
{
    const bool same = args->x.c_type == args->x.ab_type;

    switch (args->x.ab_type) {
    case SPMM_R_16F:
        return same ? mm_16f : mm_16f_32f;
    case SPMM_R_16BF:
        return same ? mm_16bf : mm_16bf_32f;
    case SPMM_C_64F:
        return mm_64c;
    case SPMM_C_32F:
        return args->compute == SPMM_COMPUTE_32F ? mm_32c : mm_tf32c;
    default:
        return args->compute == SPMM_COMPUTE_64F   ? mm_64f
               : args->compute == SPMM_COMPUTE_32F ? mm_32f
                                                   : mm_tf32;
    }
}

void spmmi_cpu_tc_mm(const spmm_tc_view_t *A, const spmm_tc_mm_args_t *args)
{
    const mm_t mm = choose(args);

    /* A window is one thread's, so sums do not depend on the number of threads. */
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(args->threads))
    for (int32_t w = 0; w < A->n_windows; w++) {
        mm(A, args, w);
    }
}
