/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool scale_decimal(uint64_t m, int64_t e, double *value);

spmm_status_t spmmi_text_fail(spmm_text_error_t *err, spmm_status_t status, int64_t line,
                              const char *format, ...)
{
    va_list args;

    err->status = status;
    err->line   = line;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}

spmm_token_t spmmi_text_token(const char *at, const char *end)
{
    enum { SHOWN = 24 };
    spmm_token_t token;
    int          n = 0;

    for (; at < end && !spmmi_is_blank(*at) && *at != '\n' && n < SHOWN; at++) {
        token.text[n++] = *at > ' ' && *at <= '~' ? *at : '?';
    }
    if (at < end && !spmmi_is_blank(*at) && *at != '\n') {
        memcpy(token.text + n, "...", 3);
        n += 3;
    }
    token.text[n] = '\0';
    return token;
}

spmm_status_t spmmi_text_open(spmm_error_t *err, spmm_text_read_t read, void *self, int64_t offset,
                              spmm_text_t *text)
{
    *text = (spmm_text_t){.read = read, .self = self, .offset = offset};
    if (SPMM_NEW(text->buffer, SPMM_TEXT_BUFFER) == NULL) {
        return spmmi_fail_memory(err, SPMM_TEXT_BUFFER, 1, "a text buffer");
    }
    return SPMM_OK;
}

void spmmi_text_close(spmm_text_t *text)
{
    spmmi_free(text->buffer);
    text->buffer = NULL;
}

static spmm_status_t fill(spmm_text_t *text)
{
    int64_t got;

    if (text->begin > 0) {
        memmove(text->buffer, text->buffer + text->begin, (size_t)(text->end - text->begin));
        text->end -= text->begin;
        text->begin = 0;
    }
    SPMM_TRY(text->read(text->self, text->buffer + text->end, SPMM_TEXT_BUFFER - text->end, &got));
    text->end += got;
    text->ended = got == 0;
    return SPMM_OK;
}

spmm_status_t spmmi_text_window(spmm_text_t *text, int64_t line, const char **first,
                                const char **last, spmm_text_error_t *err)
{
    for (;;) {
        int64_t end = text->end;

        while (!text->ended && end > text->begin && text->buffer[end - 1] != '\n') {
            end--;
        }
        if (text->ended || end > text->begin) {
            *first = text->buffer + text->begin;
            *last  = text->buffer + end;
            return SPMM_OK;
        }
        if (text->end - text->begin == SPMM_TEXT_BUFFER) {
            return spmmi_text_fail(
                err, SPMM_ERR_IO, line,
                "the line is longer than %d bytes, which no Matrix Market line is",
                (int)SPMM_TEXT_BUFFER);
        }
        SPMM_TRY(fill(text));
    }
}

void spmmi_text_consume(spmm_text_t *text, const char *to)
{
    const int64_t bytes = to - (text->buffer + text->begin);

    text->begin += bytes;
    text->offset += bytes;
}

spmm_status_t spmmi_text_skip_line(spmm_text_t *text)
{
    for (;;) {
        const char *first = text->buffer + text->begin;
        const char *last  = text->buffer + text->end;
        const char *line  = memchr(first, '\n', (size_t)(last - first));

        spmmi_text_consume(text, line == NULL ? last : line + 1);
        if (line != NULL || text->ended) {
            return SPMM_OK;
        }
        SPMM_TRY(fill(text));
    }
}

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
    } else if (d.cut || !scale_decimal(d.mantissa, d.exponent, &x)) {
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
    if (count > FAST_DIGITS || !scale_decimal(mantissa, exponent, value)) {
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

/* m 10^e as the nearest double, in whole numbers of 64 and 128 bits. */

/* 10^22 is the largest power of ten that a double holds exactly. */
enum { EXACT_POWER = 22 };
static const double power_of_ten[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

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

/* 5^-k for k >= 1: the 128 leading bits, cut off (Lemire: Number parsing at a gigabyte per second,
 * 2021). */
typedef struct {
    uint64_t high, low;
} inverse_t;
static const inverse_t inverse_of_five[FIVES + 1] = {{0, 0},
                                                     {0xcccccccccccccccc, 0xcccccccccccccccc},
                                                     {0xa3d70a3d70a3d70a, 0x3d70a3d70a3d70a3},
                                                     {0x83126e978d4fdf3b, 0x645a1cac083126e9},
                                                     {0xd1b71758e219652b, 0xd3c36113404ea4a8},
                                                     {0xa7c5ac471b478423, 0x0fcf80dc33721d53},
                                                     {0x8637bd05af6c69b5, 0xa63f9a49c2c1b10f},
                                                     {0xd6bf94d5e57a42bc, 0x3d32907604691b4c},
                                                     {0xabcc77118461cefc, 0xfdc20d2b36ba7c3d},
                                                     {0x89705f4136b4a597, 0x31680a88f8953030},
                                                     {0xdbe6fecebdedd5be, 0xb573440e5a884d1b},
                                                     {0xafebff0bcb24aafe, 0xf78f69a51539d748},
                                                     {0x8cbccc096f5088cb, 0xf93f87b7442e45d3},
                                                     {0xe12e13424bb40e13, 0x2865a5f206b06fb9},
                                                     {0xb424dc35095cd80f, 0x538484c19ef38c94},
                                                     {0x901d7cf73ab0acd9, 0x0f9d37014bf60a10},
                                                     {0xe69594bec44de15b, 0x4c2ebe687989a9b3},
                                                     {0xb877aa3236a4b449, 0x09befeb9fad487c2},
                                                     {0x9392ee8e921d5d07, 0x3aff322e62439fcf},
                                                     {0xec1e4a7db69561a5, 0x2b31e9e3d06c32e5},
                                                     {0xbce5086492111aea, 0x88f4bb1ca6bcf584},
                                                     {0x971da05074da7bee, 0xd3f6fc16ebca5e03},
                                                     {0xf1c90080baf72cb1, 0x5324c68b12dd6338},
                                                     {0xc16d9a0095928a27, 0x75b7053c0f178293},
                                                     {0x9abe14cd44753b52, 0xc4926a9672793542},
                                                     {0xf79687aed3eec551, 0x3a83ddbd83f52204},
                                                     {0xc612062576589dda, 0x95364afe032a819d},
                                                     {0x9e74d1b791e07e48, 0x775ea264cf55347d}};

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
    leading_t x     = {.q = m << zeros, .two = -zeros};
    int       error = 0;
    uint64_t  bits;

    if (e < -FAR || e > FAR) {
        return false;
    }
    x.two += (int)e;
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

/* m 10^-k, rounded once, for m > 0 and 1 <= k <= FIVES, without a division.
 * @return false where the bits cut off may lie on either side of halfway */
static bool scale_down(uint64_t m, int k, double *value)
{
    const inverse_t inverse = inverse_of_five[k];
    const int       zeros = __builtin_clzll(m), zeros_five = __builtin_clzll(power_of_five[k]);
    const uint64_t  x       = m << zeros;
    uint128_t       product = (uint128_t)x * inverse.high + ((uint128_t)x * inverse.low >> 64);
    const int       shift   = (int)(~product >> 127); /* 0 or 1 */
    const uint128_t half    = (uint128_t)1 << 74;
    uint128_t       rest;
    uint64_t        bits;

    product <<= shift; /* too small, by less than 4 */
    rest = product & (2 * half - 1);
    if (rest <= half && rest + 4 > half) {
        return false;
    }
    bits = (uint64_t)(1022 - shift - zeros + zeros_five - k)
           << 52; /* 2^52 of the mantissa adds 1 */
    bits += (uint64_t)(product >> 75) + (rest > half);
    memcpy(value, &bits, sizeof *value);
    return true;
}

/* @p m 10^@p e, rounded once, in the middle of the range of doubles.
 * @return false: not here */
static bool scale_decimal(uint64_t m, int64_t e, double *value)
{
    if (m == 0 || e == 0) {
        *value = (double)m;
        return true;
    }
    if (e < 0 && e >= -FIVES && scale_down(m, (int)-e, value)) {
        return true;
    }
    if (e > 0 && e <= EXACT_POWER && m <= (uint64_t)1 << 53) {
        /* Both operands are exact, so the one rounding is the right one (Clinger 1990). */
        *value = (double)m * power_of_ten[e];
        return true;
    }
    return scale(m, e, value);
}
