/* SPDX-License-Identifier: Apache-2.0 */
/** @file text_number.h
 *  Decimal numbers in text, without locale and correctly rounded.  Pure functions over memory.
 *  A token ends at a blank or at the end of the line; a parser advances *at past a token that it
 *  accepts and leaves it alone otherwise.
 */
#ifndef SPMM_MATRIX_TEXT_NUMBER_H
#define SPMM_MATRIX_TEXT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    SPMM_NUMBER_OK = 0,
    SPMM_NUMBER_BAD,      /**< not a number of this kind, or other text stuck to it */
    SPMM_NUMBER_OVERFLOW, /**< a number that does not fit */
} spmm_number_t;

/** A blank inside a line; a carriage return counts, so CRLF lines need no other care. */
static inline bool spmmi_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

static inline const char *spmmi_skip_blanks(const char *at, const char *end)
{
    while (at < end && spmmi_is_blank(*at)) {
        at++;
    }
    return at;
}

/** [+-]digits into int64. */
static inline spmm_number_t spmmi_parse_int(const char **at, const char *end, int64_t *value)
{
    const char *p        = *at;
    const bool  negative = p < end && *p == '-';
    int64_t     x        = 0;
    bool        overflow = false;

    p += p < end && (*p == '-' || *p == '+');
    if (p == end || (unsigned)(*p - '0') > 9) {
        return SPMM_NUMBER_BAD;
    }
    for (; p < end && (unsigned)(*p - '0') <= 9; p++) {
        const int digit = *p - '0';

        overflow = overflow || x > (INT64_MAX - digit) / 10;
        x        = overflow ? 0 : 10 * x + digit;
    }
    if (p < end && !spmmi_is_blank(*p)) {
        return SPMM_NUMBER_BAD;
    }
    if (overflow) {
        return SPMM_NUMBER_OVERFLOW;
    }
    *value = negative ? -x : x;
    *at    = p;
    return SPMM_NUMBER_OK;
}

/** [+-]digits[.digits][(e|E|d|D)[+-]digits], at least one digit, into the nearest double.  NaN,
 *  infinities and hexadecimal numbers are BAD. */
spmm_number_t spmmi_parse_real(const char **at, const char *end, double *value);

/** [+-]digits of any length, into the nearest double. */
spmm_number_t spmmi_parse_whole(const char **at, const char *end, double *value);

#endif /* SPMM_MATRIX_TEXT_NUMBER_H */
