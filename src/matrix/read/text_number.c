/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/text_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FAST_DIGITS = 19, /* fit uint64 */
    /* A point halfway between two doubles has at most 767 significant digits, so that many and one
     * more that says whether anything follows decide every rounding. */
    SLOW_DIGITS  = 768,
    EXPONENT_CAP = 1000000 /* 10^cap and 10^-cap are beyond any token read here */
};

/* 10^22 is the largest power of ten that a double holds exactly. */
enum { EXACT_POWER = 22 };
static const double power_of_ten[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(const char *p, const char *end)
{
    return p < end && (unsigned)(*p - '0') <= 9;
}

/* The pieces of a token: value = digits * 10^exponent, where the point is ignored in digits. */
typedef struct {
    const char *digits, *digits_end; /* of the text, may hold one point */
    uint64_t    mantissa;            /* the first FAST_DIGITS significant ones */
    int         significant;         /* number of those in mantissa */
    bool        cut;                 /* there were more */
    bool        negative;
    int64_t     exponent; /* of mantissa, without the digits cut off */
    int64_t     written;  /* the exponent as written, clamped */
} decimal_t;

static const char *scan_digits(const char *p, const char *end, int64_t scale, decimal_t *d)
{
    for (; is_digit(p, end); p++) {
        if (d->significant < FAST_DIGITS) {
            d->mantissa = 10 * d->mantissa + (uint64_t)(*p - '0');
            d->significant += d->mantissa != 0;
            d->exponent -= scale;
        } else {
            d->cut = true;
            d->exponent += 1 - scale;
        }
    }
    return p;
}

static const char *scan_exponent(const char *p, const char *end, decimal_t *d)
{
    bool negative;

    p++;
    negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    if (!is_digit(p, end)) {
        return NULL;
    }
    for (; is_digit(p, end); p++) {
        if (d->written < (int64_t)1 << 50) {
            d->written = 10 * d->written + (*p - '0');
        }
    }
    d->written = negative ? -d->written : d->written;
    d->exponent += d->written;
    return p;
}

/* End of the token, or NULL where it is not a decimal number. */
static const char *scan(const char *p, const char *end, bool whole, decimal_t *d)
{
    const char *digits;

    *d        = (decimal_t){.negative = p < end && *p == '-'};
    p         = p + (p < end && (*p == '-' || *p == '+'));
    digits    = p;
    d->digits = p;
    p         = scan_digits(p, end, 0, d);
    if (!whole && p < end && *p == '.') {
        digits++; /* the point is no digit */
        p = scan_digits(p + 1, end, 1, d);
    }
    d->digits_end = p;
    if (p <= digits) {
        return NULL;
    }
    if (!whole && p < end && (*p == 'e' || *p == 'E' || *p == 'd' || *p == 'D')) {
        p = scan_exponent(p, end, d);
    }
    return p != NULL && (p == end || spmmi_is_blank(*p)) ? p : NULL;
}

/* By strtod on a rewritten token: digits and an exponent have no decimal point, so the locale of
 * the program cannot change the result. */
static double convert_slowly(const decimal_t *d)
{
    char    text[SLOW_DIGITS + 32];
    int     n        = 0;
    int64_t exponent = d->written;
    bool    point = false, rest = false;

    for (const char *p = d->digits; p < d->digits_end; p++) {
        if (*p == '.') {
            point = true;
        } else if (n < SLOW_DIGITS) {
            if (n > 0 || *p != '0') {
                text[n++] = *p;
            }
            exponent -= point;
        } else {
            rest = rest || *p != '0';
            exponent += !point;
        }
    }
    if (rest) {
        text[n++] = '1';
        exponent--;
    }
    exponent = exponent > EXPONENT_CAP ? EXPONENT_CAP : exponent;
    exponent = exponent < -EXPONENT_CAP ? -EXPONENT_CAP : exponent;
    (void)snprintf(text + n, sizeof text - (size_t)n, "e%d", (int)exponent);
    return strtod(text, NULL);
}

/* 5^27 is the largest power of five in 64 bits. */
enum { FIVES = 27, FAR = 300 /* powers of ten: beyond are subnormals, or infinities */ };
static const uint64_t power_of_five[FIVES + 1] = {1,
                                                  5,
                                                  25,
                                                  125,
                                                  625,
                                                  3125,
                                                  15625,
                                                  78125,
                                                  390625,
                                                  1953125,
                                                  9765625,
                                                  48828125,
                                                  244140625,
                                                  1220703125,
                                                  6103515625,
                                                  30517578125,
                                                  152587890625,
                                                  762939453125,
                                                  3814697265625,
                                                  19073486328125,
                                                  95367431640625,
                                                  476837158203125,
                                                  2384185791015625,
                                                  11920928955078125,
                                                  59604644775390625,
                                                  298023223876953125,
                                                  1490116119384765625,
                                                  7450580596923828125};

__extension__ typedef unsigned __int128 uint128_t;

/* The 64 leading bits q and the exponent of two of a product; whether any bit was cut off. */
typedef struct {
    uint64_t q;
    int      two;
    bool     cut;
} leading_t;

static void times(leading_t *x, uint64_t factor)
{
    const uint128_t product = (uint128_t)x->q * factor;
    const int       shift   = __builtin_clzll((uint64_t)(product >> 64) | 1);

    /* factor >= 5 and q >= 2^63: the upper half is not 0 */
    x->q   = (uint64_t)(product << shift >> 64);
    x->cut = x->cut || (uint64_t)(product << shift) != 0;
    x->two += 64 - shift;
}

static void divide(leading_t *x, uint64_t divisor)
{
    const int       shift    = __builtin_clzll(divisor);
    const uint64_t  d        = divisor << shift;
    const uint128_t dividend = (uint128_t)x->q << 63; /* < d 2^64 */
    const uint64_t  quotient = (uint64_t)(dividend / d);
    const int       zeros    = __builtin_clzll(quotient); /* 0 or 1 */

    x->cut = x->cut || quotient * (uint128_t)d != dividend;
    x->q   = quotient << zeros;
    x->two += shift - 63 - zeros;
}

/* m 10^e, rounded once, for m > 0.  One step knows whether the bits cut off are 0; of more, each
 * adds an error of up to 4 units of the last of 64 bits.
 * @return false where that may be too much, or the result is not in the middle of the range */
static bool scale(uint64_t m, int64_t e, double *value)
{
    const int zeros = __builtin_clzll(m);
    leading_t x     = {.q = m << zeros, .two = -zeros + (int)e};
    int       error = 0;
    uint64_t  bits;

    if (e < -FAR || e > FAR) {
        return false;
    }
    for (int64_t left = e; left > 0; left -= FIVES, error += 4) {
        times(&x, power_of_five[left < FIVES ? left : FIVES]);
    }
    for (int64_t left = e; left < 0; left += FIVES, error += 4) {
        divide(&x, power_of_five[-left < FIVES ? -left : FIVES]);
    }
    /* 53 bits stay: 2^10 of the 11 others lies halfway */
    if (error > 4 && llabs((long long)(x.q & 2047) - 1024) <= error) {
        return false;
    }
    if (x.two < -1000 || x.two > 900) {
        return false;
    }
    bits = (uint64_t)(x.two + 1023) << 52;
    memcpy(value, &bits, sizeof *value);
    *value *= (double)(x.q | x.cut);
    return true;
}

/* m 10^e, rounded once; false: not here. */
static bool convert(uint64_t m, int64_t e, double *value)
{
    if (m <= (uint64_t)1 << 53 && e >= -EXACT_POWER && e <= EXACT_POWER) {
        /* Both operands are exact, so the one rounding is the right one (Clinger 1990). */
        *value = e < 0 ? (double)m / power_of_ten[-e] : (double)m * power_of_ten[e];
        return true;
    }
    return m != 0 && scale(m, e, value);
}

static spmm_number_t parse(const char **at, const char *end, bool whole, double *value)
{
    decimal_t   d;
    double      x;
    const char *p = scan(*at, end, whole, &d);

    if (p == NULL) {
        return SPMM_NUMBER_BAD;
    }
    if (d.mantissa == 0) {
        x = 0.0;
    } else if (d.cut || !convert(d.mantissa, d.exponent, &x)) {
        x = convert_slowly(&d);
    }
    if (isinf(x)) {
        return SPMM_NUMBER_OVERFLOW;
    }
    *value = d.negative ? -x : x;
    *at    = p;
    return SPMM_NUMBER_OK;
}

/* Digits of a mantissa behind those that are in it already; *count: significant ones. */
static const char *quick_mantissa(const char *p, const char *end, uint64_t *mantissa, int *count)
{
    int more = SPMM_QUICK_BYTES;

    while (*mantissa == 0 && p < end && *p == '0') {
        p++;
    }
    while (more == SPMM_QUICK_BYTES) {
        uint64_t digits;

        if (end - p <= SPMM_QUICK_BYTES || *count > FAST_DIGITS) {
            return NULL;
        }
        more      = spmmi_eight_digits(p, &digits);
        *mantissa = *mantissa * spmmi_ten_to[more] + digits;
        *count += more;
        p += more;
    }
    return *count > FAST_DIGITS ? NULL : p; /* more may have overflowed */
}

const char *spmmi_quick_real(const char *p, const char *end, double *value)
{
    const bool  negative = p < end && *p == '-';
    const char *first    = p + negative, *point;
    uint64_t    mantissa = 0, written = 0;
    int64_t     exponent = 0;
    int         count    = 0;

    p = quick_mantissa(first, end, &mantissa, &count);
    if (p == NULL) {
        return NULL;
    }
    point = p;
    if (*p == '.') {
        p = quick_mantissa(p + 1, end, &mantissa, &count);
        if (p == NULL) {
            return NULL;
        }
        exponent = point + 1 - p;
    }
    if (p == first + (point != p)) { /* no digit at all */
        return NULL;
    }
    if (*p == 'e' || *p == 'E') {
        const bool below = p[1] == '-';

        p = spmmi_quick_digits(p + 1 + (below || p[1] == '+'), end, &written);
        if (p == NULL || written > FAR) {
            return NULL;
        }
        exponent += below ? -(int64_t)written : (int64_t)written;
    }
    if (!convert(mantissa, exponent, value)) {
        return NULL;
    }
    *value = negative ? -*value : *value;
    return p;
}

spmm_number_t spmmi_parse_real(const char **at, const char *end, double *value)
{
    return parse(at, end, false, value);
}

spmm_number_t spmmi_parse_whole(const char **at, const char *end, double *value)
{
    return parse(at, end, true, value);
}
