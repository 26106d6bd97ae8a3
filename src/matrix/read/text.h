/* SPDX-License-Identifier: Apache-2.0 */
/** @file text.h  Text from a file as windows of whole lines in bounded memory. */
#ifndef SPMM_MATRIX_TEXT_H
#define SPMM_MATRIX_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/env.h"

/* Decimal numbers in text, without locale and correctly rounded.  Pure functions over memory.
 * A token ends at a blank or at the end of the line; a parser advances *at past a token that it
 * accepts and leaves it alone otherwise. */

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

enum {
    SPMM_QUICK_BYTES = 8, /**< that quick parsers look at together */
    SPMM_QUICK_ROOM  = 64 /**< bytes that a quick parser of reals may look at */
};
static const uint64_t spmmi_ten_to[SPMM_QUICK_BYTES + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/** The next digits of 8 characters at @p p as a number, up to the first that is none: pairs of
 *  digits, of these pairs and so on (Lemire: Number parsing at a gigabyte per second, 2021).
 *  @return how many */
static inline int spmmi_eight_digits(const char *p, uint64_t *value)
{
    uint64_t text, other;
    int      count = SPMM_QUICK_BYTES;

    memcpy(&text, p, sizeof text);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    text = __builtin_bswap64(text);
#endif
    text ^= 0x3030303030303030;
    other = ((text + 0x7676767676767676) | text) & 0x8080808080808080;
    if (other != 0) {
        count = __builtin_ctzll(other) / 8;
        text  = count == 0 ? 0 : text << (64 - 8 * count);
    }
    text   = 10 * text + (text >> 8);
    *value = ((text & 0x000000FF000000FF) * 0x000F424000000064 +
              (text >> 16 & 0x000000FF000000FF) * 0x0000271000000001) >>
             32;
    return count;
}

/** 1 to 15 digits at @p p.
 *  @return the first character behind; NULL: none or more, or so near @p end that only a careful
 *          parser may go on */
static inline const char *spmmi_quick_digits(const char *p, const char *end, uint64_t *value)
{
    uint64_t more;
    int      count;

    if (end - p <= 2 * SPMM_QUICK_BYTES) {
        return NULL;
    }
    count = spmmi_eight_digits(p, value);
    if (count < SPMM_QUICK_BYTES) {
        return count == 0 ? NULL : p + count;
    }
    count = spmmi_eight_digits(p + SPMM_QUICK_BYTES, &more);
    if (count == SPMM_QUICK_BYTES) {
        return NULL;
    }
    *value = *value * spmmi_ten_to[count] + more;
    return p + SPMM_QUICK_BYTES + count;
}

/** [-]digits[.digits][(e|E)[+-]digits] of 19 significant digits at most, into the nearest double.
 *  @return as spmmi_quick_digits() */
const char *spmmi_quick_real(const char *p, const char *end, double *value);

/** [+-]digits[.digits][(e|E|d|D)[+-]digits], at least one digit, into the nearest double.  NaN,
 *  infinities and hexadecimal numbers are BAD. */
spmm_number_t spmmi_parse_real(const char **at, const char *end, double *value);

/** [+-]digits of any length, into the nearest double. */
spmm_number_t spmmi_parse_whole(const char **at, const char *end, double *value);

enum {
    SPMM_TEXT_BUFFER = 4 << 20, /**< bytes in memory at a time; no line may be longer */
    SPMM_TEXT_ERROR  = 192
};

/** What is wrong with a line.  Other failures are sentences in the environment and leave line 0. */
typedef struct {
    spmm_status_t status;
    int64_t       line; /**< counted from 1 where the parser began */
    char          text[SPMM_TEXT_ERROR];
} spmm_text_error_t;

/** Record @p status at @p line and return it. */
spmm_status_t spmmi_text_fail(spmm_text_error_t *err, spmm_status_t status, int64_t line,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/** The token at @p at for a sentence: cut when long, with ? for what cannot be printed. */
typedef struct {
    char text[32];
} spmm_token_t;
spmm_token_t spmmi_text_token(const char *at, const char *end);

/** Where text comes from.  @p got: bytes read, 0 only at the end of the text. */
typedef spmm_status_t (*spmm_text_read_t)(void *self, char *to, int64_t capacity, int64_t *got);

typedef struct {
    spmm_text_read_t read;
    void            *self;       /**< of read, borrowed */
    char            *buffer;     /**< [SPMM_TEXT_BUFFER], owned */
    int64_t          begin, end; /**< the part of buffer not yet consumed */
    int64_t          offset;     /**< of buffer[begin] in the text */
    bool             ended;      /**< the source has no more */
} spmm_text_t;

/** @param[in] offset  of the first byte that @p read will give */
spmm_status_t spmmi_text_open(spmm_error_t *err, spmm_text_read_t read, void *self, int64_t offset,
                              spmm_text_t *text);
void          spmmi_text_close(spmm_text_t *text);

/** The whole lines at hand, at least one, the last without a newline only at the end of the text.
 *  *first == *last: the text has ended.
 *  @param[in]  line  number of the next line, for @p err
 *  @param[out] err   a line longer than the buffer */
spmm_status_t spmmi_text_window(spmm_text_t *text, int64_t line, const char **first,
                                const char **last, spmm_text_error_t *err);
/** Go on at @p to, which lies in the last window. */
void spmmi_text_consume(spmm_text_t *text, const char *to);
/** Consume up to and with the next newline, however far away it is. */
spmm_status_t spmmi_text_skip_line(spmm_text_t *text);

#endif /* SPMM_MATRIX_TEXT_H */
