/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/text_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
    } else if (!d.cut && d.mantissa <= (uint64_t)1 << 53 && d.exponent >= -EXACT_POWER &&
               d.exponent <= EXACT_POWER) {
        /* Both operands are exact, so the one rounding is the right one (Clinger 1990). */
        x = (double)d.mantissa;
        x = d.exponent < 0 ? x / power_of_ten[-d.exponent] : x * power_of_ten[d.exponent];
    } else {
        x = convert_slowly(&d);
    }
    if (isinf(x)) {
        return SPMM_NUMBER_OVERFLOW;
    }
    *value = d.negative ? -x : x;
    *at    = p;
    return SPMM_NUMBER_OK;
}

spmm_number_t spmmi_parse_real(const char **at, const char *end, double *value)
{
    return parse(at, end, false, value);
}

spmm_number_t spmmi_parse_whole(const char **at, const char *end, double *value)
{
    return parse(at, end, true, value);
}
