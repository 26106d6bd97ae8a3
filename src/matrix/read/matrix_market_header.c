/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "matrix/read/matrix_market.h"
#include "matrix/read/text_number.h"

typedef struct {
    const char *at, *end;
} word_t;

static word_t next_word(const char **at, const char *end)
{
    word_t word;

    word.at = spmmi_skip_blanks(*at, end);
    *at     = word.at;
    while (*at < end && !spmmi_is_blank(**at)) {
        ++*at;
    }
    word.end = *at;
    return word;
}

static char ascii_lower(char c) /* not tolower(): the locale must not matter */
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool word_is(word_t word, const char *text)
{
    if ((size_t)(word.end - word.at) != strlen(text)) {
        return false;
    }
    for (const char *p = word.at; p < word.end; p++, text++) {
        if (ascii_lower(*p) != ascii_lower(*text)) {
            return false;
        }
    }
    return true;
}

/* Index of @p word in @p names, -1 when it is none of them. */
static int find_word(word_t word, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (word_is(word, names[i])) {
            return i;
        }
    }
    return -1;
}

static const char *const format_name[]   = {"coordinate", "array"};
static const char *const field_name[]    = {"real", "integer", "pattern", "complex", "double"};
static const char *const symmetry_name[] = {"general", "symmetric", "skew-symmetric", "hermitian"};

static spmm_status_t unknown(spmm_text_error_t *err, const char *what, word_t word,
                             const char *known)
{
    if (word.at == word.end) {
        return spmmi_text_fail(err, SPMM_ERR_IO, 1, "the banner does not name the %s (%s)", what,
                               known);
    }
    return spmmi_text_fail(err, SPMM_ERR_IO, 1, "the %s '%s' is not supported: only %s", what,
                           spmmi_text_token(word.at, word.end).text, known);
}

/* @p text, to @p end, begins with another word than a banner does. */
static spmm_status_t fail_banner(const char *text, const char *end, word_t word,
                                 spmm_text_error_t *err)
{
    const char *foreign = spmmi_foreign_format(text, (size_t)(end - text));

    if (foreign != NULL) { /* gzipped: of other files the first bytes are known */
        return spmmi_text_fail(err, SPMM_ERR_IO, 1, "what is gzipped is %s", foreign);
    }
    return spmmi_text_fail(err, SPMM_ERR_IO, 1,
                           "found '%s' where a Matrix Market file begins with %%%%MatrixMarket; "
                           "it is in none of the other formats either",
                           spmmi_text_token(word.at, word.end).text);
}

/* "%%MatrixMarket matrix FORMAT FIELD SYMMETRY", in any case: the line up to @p end.
 * @p text, @p text_end: all that has been read */
static spmm_status_t parse_banner(spmm_mm_header_t *header, const char *at, const char *end,
                                  const char *text, const char *text_end, spmm_text_error_t *err)
{
    word_t word = next_word(&at, end);
    int    found;

    if (!word_is(word, "%%MatrixMarket")) {
        return fail_banner(text, text_end, word, err);
    }
    word = next_word(&at, end);
    if (!word_is(word, "matrix")) {
        return unknown(err, "object", word, "matrix");
    }
    word  = next_word(&at, end);
    found = find_word(word, format_name, 2);
    if (found < 0) {
        return unknown(err, "format", word, "coordinate and array");
    }
    header->format = (spmm_mm_format_t)found;
    word           = next_word(&at, end);
    found          = find_word(word, field_name, 5);
    if (found < 0) {
        return unknown(err, "field", word, "real, double, integer, complex and pattern");
    }
    header->field = found == 4 ? SPMM_MM_REAL : (spmm_mm_field_t)found;
    word          = next_word(&at, end);
    found         = find_word(word, symmetry_name, 4);
    if (found < 0) {
        return unknown(err, "symmetry", word, "general, symmetric, skew-symmetric and hermitian");
    }
    header->symmetry = (spmm_mm_symmetry_t)found;
    word             = next_word(&at, end);
    if (word.at != word.end) {
        return spmmi_text_fail(err, SPMM_ERR_IO, 1, "the banner goes on with '%s' after its end",
                               spmmi_text_token(word.at, word.end).text);
    }
    if (header->field == SPMM_MM_PATTERN &&
        (header->format == SPMM_MM_ARRAY || header->symmetry == SPMM_MM_SKEW)) {
        return spmmi_text_fail(err, SPMM_ERR_IO, 1, "a pattern cannot be %s: it has no values",
                               header->format == SPMM_MM_ARRAY ? "an array" : "skew-symmetric");
    }
    return SPMM_OK;
}

/* Values stored in the file of an array: a column-major whole, or its lower triangle.  False where
 * the whole overflows 64 bits. */
static bool count_array(spmm_mm_header_t *header)
{
    int64_t whole;

    if (__builtin_mul_overflow(header->rows, header->cols, &whole)) {
        return false;
    }
    switch (header->symmetry) {
    case SPMM_MM_GENERAL:
        header->entries = whole;
        break;
    case SPMM_MM_SYMMETRIC:
    case SPMM_MM_HERMITIAN:
        header->entries = whole / 2 + header->rows / 2 + (header->rows & 1);
        break;
    case SPMM_MM_SKEW:
        header->entries = whole / 2 - header->rows / 2;
        break;
    }
    return true;
}

static spmm_status_t check_sizes(spmm_mm_header_t *header, spmm_text_error_t *err)
{
    const int64_t line = header->lines;

    if (header->rows < 0 || header->cols < 0 || header->entries < 0) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line, "a size is negative");
    }
    if (header->symmetry != SPMM_MM_GENERAL && header->rows != header->cols) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line,
                               "a %s matrix is square, this one has %" PRId64 " rows and %" PRId64
                               " columns",
                               symmetry_name[header->symmetry], header->rows, header->cols);
    }
    if (header->field == SPMM_MM_COMPLEX && header->cols > INT64_MAX / 2) { /* columns of parts */
        return spmmi_text_fail(err, SPMM_ERR_IO, line, "%" PRId64 " columns are too many",
                               header->cols);
    }
    if (header->format == SPMM_MM_ARRAY) {
        if (!count_array(header)) {
            return spmmi_text_fail(err, SPMM_ERR_IO, line,
                                   "%" PRId64 " x %" PRId64 " values are more than 64 bits count",
                                   header->rows, header->cols);
        }
    } else if (header->entries > 0 && (header->rows == 0 || header->cols == 0)) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line,
                               "%" PRId64 " entries are declared for a matrix without %s",
                               header->entries, header->rows == 0 ? "rows" : "columns");
    }
    return SPMM_OK;
}

static spmm_status_t parse_sizes(spmm_mm_header_t *header, const char *at, const char *end,
                                 spmm_text_error_t *err)
{
    const bool        sparse = header->format == SPMM_MM_COORDINATE;
    const char *const expected =
        sparse ? "three sizes (rows, columns, entries)" : "two sizes (rows, columns)";
    int64_t *const size[3] = {&header->rows, &header->cols, &header->entries};
    const int      count   = sparse ? 3 : 2;

    for (int i = 0; i < count; i++) {
        spmm_number_t number;

        at = spmmi_skip_blanks(at, end);
        if (at == end) {
            return spmmi_text_fail(err, SPMM_ERR_IO, header->lines, "the line ends after %d of %s",
                                   i, expected);
        }
        number = spmmi_parse_int(&at, end, size[i]);
        if (number != SPMM_NUMBER_OK) {
            return spmmi_text_fail(
                err, SPMM_ERR_IO, header->lines, "the size '%s' %s", spmmi_text_token(at, end).text,
                number == SPMM_NUMBER_BAD ? "is not a whole number" : "does not fit 64 bits");
        }
    }
    at = spmmi_skip_blanks(at, end);
    if (at < end) {
        return spmmi_text_fail(err, SPMM_ERR_IO, header->lines,
                               "the line goes on with '%s' after its %s",
                               spmmi_text_token(at, end).text, expected);
    }
    return check_sizes(header, err);
}

spmm_status_t spmmi_mm_parse_header(spmm_mm_header_t *header, const char **at, const char *end,
                                    spmm_text_error_t *err)
{
    while (*at < end && !header->complete) {
        const char *newline  = memchr(*at, '\n', (size_t)(end - *at));
        const char *line_end = newline == NULL ? end : newline;
        const char *line     = spmmi_skip_blanks(*at, line_end);

        if (++header->lines == 1) {
            SPMM_TRY(parse_banner(header, line, line_end, *at, end, err));
        } else if (line < line_end && *line != '%') {
            SPMM_TRY(parse_sizes(header, line, line_end, err));
            header->complete = true;
        }
        *at = newline == NULL ? end : newline + 1;
    }
    return SPMM_OK;
}
