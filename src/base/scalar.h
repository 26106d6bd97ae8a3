/* SPDX-License-Identifier: Apache-2.0 */
/** @file scalar.h  Storage types of values and their conversion, round to nearest even. */
#ifndef SPMM_BASE_SCALAR_H
#define SPMM_BASE_SCALAR_H

#include <stdbool.h>
#include <string.h>

#include "spmm_dist/types.h"

/** "64f", "32f", "16f", "16bf", "64c", "32c" as the command line names them; NULL for others. */
const char *spmmi_type_name(spmm_type_t type);
/** The type that sums of @p type are kept in: FP64 for FP64, else FP32; complex where it is. */
spmm_type_t spmmi_accum_type(spmm_type_t type);

/** Does an element have a real and an imaginary part?  They follow each other: an array of a
 *  complex type is one of spmmi_part_type() with spmmi_type_parts() times the elements. */
static inline bool spmmi_is_complex(spmm_type_t type)
{
    return type == SPMM_C_64F || type == SPMM_C_32F;
}

static inline int spmmi_type_parts(spmm_type_t type)
{
    return spmmi_is_complex(type) ? 2 : 1;
}

static inline spmm_type_t spmmi_part_type(spmm_type_t type)
{
    return type == SPMM_C_64F ? SPMM_R_64F : type == SPMM_C_32F ? SPMM_R_32F : type;
}

/** Unit roundoff: the relative error of rounding to @p type in its range. */
static inline double spmmi_type_error(spmm_type_t type)
{
    const spmm_type_t part = spmmi_part_type(type);

    return part == SPMM_R_64F   ? 0x1p-53
           : part == SPMM_R_32F ? 0x1p-24
           : part == SPMM_R_16F ? 0x1p-11
                                : 0x1p-8;
}

/** Are sums of @p type kept in FP64? */
static inline bool spmmi_is_64f(spmm_type_t type)
{
    return spmmi_part_type(type) == SPMM_R_64F;
}

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

/** Element @p i of @p values of @p type, as a double; of a complex one the real part. */
double spmmi_value_get(spmm_type_t type, const void *values, int64_t i);
/** Round @p x to @p type and store it as element @p i; an imaginary part becomes 0. */
void spmmi_value_set(spmm_type_t type, void *values, int64_t i, double x);
/** Does a finite @p x stay finite in @p type? */
bool spmmi_value_fits(spmm_type_t type, double x);
/** Store spmmi_random_value() of @p seed, row and column as element @p i; an imaginary part is
 *  drawn likewise. */
void spmmi_value_draw(spmm_type_t type, void *values, int64_t i, uint64_t seed, int64_t row,
                      int64_t col);
/** Change the sign of @p count imaginary parts. */
void spmmi_conjugate(spmm_type_t type, void *values, int64_t count);

#endif /* SPMM_BASE_SCALAR_H */
