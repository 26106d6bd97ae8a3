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
    } else if (d.cut || !spmmi_scale_decimal(d.mantissa, d.exponent, &x)) {
        x = convert_slowly(&d);
    }
    if (isinf(x)) {
        return SPMM_NUMBER_OVERFLOW;
    }
    *value = d.negative ? -x : x;
    *at    = p;
    return SPMM_NUMBER_OK;
}

/* Digits behind a point, into a mantissa of which @p *count digits are significant.  Sixteen take
 * one branch, on what the numbers of a file mostly have in common. */
static const char *quick_fraction(const char *p, uint64_t *mantissa, int *count)
{
    uint64_t digits;
    int      more, zeros = 0;

    while (*mantissa == 0 && *p == '0' && zeros < SPMM_QUICK_BYTES) {
        p++;
        zeros++;
    }
    more      = spmmi_eight_digits(p, &digits);
    *mantissa = *mantissa * spmmi_ten_to[more] + digits;
    *count += more;
    p += more;
    if (more == SPMM_QUICK_BYTES) {
        more      = spmmi_eight_digits(p, &digits);
        *mantissa = *mantissa * spmmi_ten_to[more] + digits;
        *count += more;
        p += more;
    }
    for (; *count <= FAST_DIGITS && (unsigned)(*p - '0') <= 9; p++) {
        *mantissa = 10 * *mantissa + (unsigned)(*p - '0');
        ++*count;
    }
    return p;
}

static const char *quick_exponent(const char *p, int64_t *exponent)
{
    const bool below   = *p == '-';
    int64_t    written = 0;
    int        count   = 0;

    p += below || *p == '+';
    for (; count < 4 && (unsigned)(*p - '0') <= 9; p++, count++) {
        written = 10 * written + (*p - '0');
    }
    *exponent += below ? -written : written;
    return count == 0 || count == 4 ? NULL : p;
}

const char *spmmi_quick_real(const char *p, const char *end, double *value)
{
    static const double sign[2]  = {1.0, -1.0}; /* signs are at random: no branch */
    bool                negative = false;
    uint64_t            mantissa = 0;
    int64_t             exponent = 0;
    int                 count    = 0;

    if (end - p < SPMM_QUICK_ROOM) {
        return NULL;
    }
    negative = *p == '-';
    p += negative;
    for (; count <= FAST_DIGITS && (unsigned)(*p - '0') <= 9; p++, count++) {
        mantissa = 10 * mantissa + (unsigned)(*p - '0');
    }
    if (count == 0) {
        return NULL;
    }
    if (*p == '.') {
        const char *point = p + 1;

        count    = mantissa == 0 ? 0 : count;
        p        = quick_fraction(point, &mantissa, &count);
        exponent = point - p;
    }
    if ((*p == 'e' || *p == 'E') && (p = quick_exponent(p + 1, &exponent)) == NULL) {
        return NULL;
    }
    if (count > FAST_DIGITS || !spmmi_scale_decimal(mantissa, exponent, value)) {
        return NULL;
    }
    *value *= sign[negative];
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
