/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scalar.h"

#include <math.h>

#include "base/hash.h"
#include "spmm_dist/context.h"

size_t spmm_type_size(spmm_type_t type)
{
    switch (type) {
    case SPMM_TYPE_AUTO:
        return 0;
    case SPMM_R_64F:
    case SPMM_C_32F:
        return 8;
    case SPMM_R_32F:
        return 4;
    case SPMM_R_16F:
    case SPMM_R_16BF:
        return 2;
    case SPMM_C_64F:
        return 16;
    }
    return 0;
}

const char *spmmi_type_name(spmm_type_t type)
{
    switch (type) {
    case SPMM_TYPE_AUTO:
        return NULL;
    case SPMM_R_64F:
        return "64f";
    case SPMM_R_32F:
        return "32f";
    case SPMM_R_16F:
        return "16f";
    case SPMM_R_16BF:
        return "16bf";
    case SPMM_C_64F:
        return "64c";
    case SPMM_C_32F:
        return "32c";
    }
    return NULL;
}

spmm_type_t spmmi_accum_type(spmm_type_t type)
{
    return type == SPMM_R_64F || spmmi_is_complex(type) ? type : SPMM_R_32F;
}

static uint32_t float_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

float spmmi_half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exp  = (h >> 10) & 0x1fu;
    const uint32_t frac = h & 0x3ffu;

    if (exp == 0) { /* zero or subnormal: frac * 2^-24, exact in FP32 */
        const float x = (float)frac * 0x1p-24f;

        return sign != 0 ? -x : x;
    }
    if (exp == 31) {
        return bits_float(sign | 0x7f800000u | (frac << 13));
    }
    return bits_float(sign | ((exp + 112) << 23) | (frac << 13));
}

uint16_t spmmi_half_from_float(float x)
{
    const uint32_t bits = float_bits(x);
    const uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    const uint32_t mag  = bits & 0x7fffffffu;

    if (mag > 0x7f800000u) { /* NaN stays a quiet NaN */
        return (uint16_t)(sign | 0x7e00u);
    }
    if (mag >= 0x477ff000u) { /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    if (mag < 0x38800000u) { /* below 2^-14: round to a multiple of 2^-24 */
        const float scaled = bits_float(mag) * 0x1p24f; /* exact: a power of two */

        return (uint16_t)(sign | (uint16_t)rintf(scaled));
    }
    /* Rebias the exponent; a carry out of the fraction moves into it, as it should. */
    return (uint16_t)(sign | (uint16_t)((mag - 0x38000000u + 0xfffu + ((mag >> 13) & 1u)) >> 13));
}

uint16_t spmmi_bf16_from_float(float x)
{
    const uint32_t bits = float_bits(x);

    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u); /* quiet, and not rounded up to infinity */
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* Round a double to FP32 so that a second rounding to 16 bits cannot go wrong (round to odd):
 * FP32 keeps 24 bits, at least two more than FP16 and BF16, which is what the argument needs. */
static float round_to_odd(double x)
{
    const float near = (float)x;
    float       other;

    if ((double)near == x || isnan(x) || isinf(near)) {
        return near;
    }
    if ((float_bits(near) & 1u) != 0) {
        return near;
    }
    other = nextafterf(near, (double)near < x ? INFINITY : -INFINITY);
    return isinf(other) ? near : other;
}

double spmmi_value_get(spmm_type_t type, const void *values, int64_t i)
{
    switch (type) {
    case SPMM_R_64F:
        return ((const double *)values)[i];
    case SPMM_R_32F:
        return (double)((const float *)values)[i];
    case SPMM_R_16F:
        return (double)spmmi_half_to_float(((const uint16_t *)values)[i]);
    case SPMM_R_16BF:
        return (double)spmmi_bf16_to_float(((const uint16_t *)values)[i]);
    case SPMM_C_64F:
    case SPMM_C_32F:
        return spmmi_value_get(spmmi_part_type(type), values, 2 * i);
    case SPMM_TYPE_AUTO:
        break;
    }
    return NAN;
}

void spmmi_value_set(spmm_type_t type, void *values, int64_t i, double x)
{
    switch (type) {
    case SPMM_R_64F:
        ((double *)values)[i] = x;
        break;
    case SPMM_R_32F:
        ((float *)values)[i] = (float)x;
        break;
    case SPMM_R_16F:
        ((uint16_t *)values)[i] = spmmi_half_from_float(round_to_odd(x));
        break;
    case SPMM_R_16BF:
        ((uint16_t *)values)[i] = spmmi_bf16_from_float(round_to_odd(x));
        break;
    case SPMM_C_64F:
    case SPMM_C_32F:
        spmmi_value_set(spmmi_part_type(type), values, 2 * i, x);
        spmmi_value_set(spmmi_part_type(type), values, 2 * i + 1, 0.0);
        break;
    case SPMM_TYPE_AUTO:
        break;
    }
}

bool spmmi_value_fits(spmm_type_t type, double x)
{
    double rounded;

    if (!isfinite(x)) {
        return true; /* an infinity or NaN of the caller is the caller's */
    }
    spmmi_value_set(spmmi_part_type(type), &rounded, 0, x);
    return isfinite(spmmi_value_get(spmmi_part_type(type), &rounded, 0));
}

void spmmi_value_draw(spmm_type_t type, void *values, int64_t i, uint64_t seed, int64_t row,
                      int64_t col)
{
    const int parts = spmmi_type_parts(type);

    for (int part = 0; part < parts; part++) {
        spmmi_value_set(spmmi_part_type(type), values, parts * i + part,
                        spmmi_random_value(part == 0 ? seed : spmmi_mix64(seed), row, col));
    }
}

void spmmi_conjugate(spmm_type_t type, void *values, int64_t count)
{
    const spmm_type_t part = spmmi_part_type(type);

    for (int64_t k = 0; k < count; k++) {
        spmmi_value_set(part, values, 2 * k + 1, -spmmi_value_get(part, values, 2 * k + 1));
    }
}
