/* SPDX-License-Identifier: Apache-2.0 */
/** @file scalar.h  Storage types of values and their conversion, round to nearest even. */
#ifndef SPMM_BASE_SCALAR_H
#define SPMM_BASE_SCALAR_H

#include <stdbool.h>
#include <string.h>

#include "spmm_dist/types.h"

/** "64f", "32f", "16f", "16bf" as the command line names them; NULL for other values. */
const char *spmmi_type_name(spmm_type_t type);
/** The type that sums of @p type are kept in: FP64 for FP64, else FP32. */
spmm_type_t spmmi_accum_type(spmm_type_t type);

float    spmmi_half_to_float(uint16_t h);
uint16_t spmmi_half_from_float(float x); /**< overflows to infinity */

static inline float spmmi_bf16_to_float(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float          x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

uint16_t spmmi_bf16_from_float(float x); /**< overflows to infinity; NaN stays NaN */

/** Element @p i of @p values of @p type, as a double. */
double spmmi_value_get(spmm_type_t type, const void *values, int64_t i);
/** Round @p x to @p type and store it as element @p i. */
void spmmi_value_set(spmm_type_t type, void *values, int64_t i, double x);
/** Does a finite @p x stay finite in @p type? */
bool spmmi_value_fits(spmm_type_t type, double x);

#endif /* SPMM_BASE_SCALAR_H */
