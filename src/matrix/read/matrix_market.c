/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/matrix_market.h"

#include <inttypes.h>
#include <string.h>

#include "matrix/read/text.h"

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

/* Numbers that make a value, and entries that stand for it. */
static int parts_of(const spmm_mm_header_t *header)
{
    return header->field == SPMM_MM_COMPLEX ? 2 : 1;
}

static const char *expected_tokens(const spmm_mm_header_t *header)
{
    const bool complex = header->field == SPMM_MM_COMPLEX;

    if (header->format == SPMM_MM_ARRAY) {
        return complex ? "real part, imaginary part" : "one value";
    }
    return complex                            ? "row, column, real part, imaginary part"
           : header->field == SPMM_MM_PATTERN ? "row, column"
                                              : "row, column, value";
}

static spmm_status_t fail_short(const spmm_mm_header_t *header, int found, int64_t line,
                                spmm_text_error_t *err)
{
    return spmmi_text_fail(err, SPMM_ERR_IO, line, "the line ends after %d of its numbers (%s)",
                           found, expected_tokens(header));
}

/* An index of 1 .. size, from 0 in *index. */
static inline spmm_status_t parse_index(const char **at, const char *end, const char *what,
                                        int64_t size, int64_t line, int64_t *index,
                                        spmm_text_error_t *err)
{
    int64_t             value  = 0;
    const spmm_number_t number = spmmi_parse_int(at, end, &value);

    if (number == SPMM_NUMBER_BAD) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line, "the %s index '%s' is not a whole number",
                               what, spmmi_text_token(*at, end).text);
    }
    if (number == SPMM_NUMBER_OVERFLOW) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line, "the %s index %s is outside 1 to %" PRId64,
                               what, spmmi_text_token(*at, end).text, size);
    }
    if (value < 1 || value > size) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line,
                               "the %s index %" PRId64 " is outside 1 to %" PRId64, what, value,
                               size);
    }
    *index = value - 1;
    return SPMM_OK;
}

static spmm_status_t parse_value(const spmm_mm_header_t *header, const char **at, const char *end,
                                 int64_t line, double *value, spmm_text_error_t *err)
{
    const bool          real = header->field != SPMM_MM_INTEGER;
    const spmm_number_t number =
        real ? spmmi_parse_real(at, end, value) : spmmi_parse_whole(at, end, value);

    if (number == SPMM_NUMBER_BAD) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line, "the value '%s' is not a %s number",
                               spmmi_text_token(*at, end).text, real ? "finite decimal" : "whole");
    }
    if (number == SPMM_NUMBER_OVERFLOW) {
        return spmmi_text_fail(err, SPMM_ERR_RANGE, line, "the value %s overflows a double",
                               spmmi_text_token(*at, end).text);
    }
    return SPMM_OK;
}

static inline spmm_status_t check_line_end(const spmm_mm_header_t *header, const char *at,
                                           const char *end, int64_t line, spmm_text_error_t *err)
{
    at = spmmi_skip_blanks(at, end);
    if (at < end) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line, "the line goes on with '%s' after (%s)",
                               spmmi_text_token(at, end).text, expected_tokens(header));
    }
    return SPMM_OK;
}

/* The numbers of a value, of which @p found stand before on the line. */
static spmm_status_t parse_parts(const spmm_mm_header_t *header, const char **at, const char *end,
                                 int found, int64_t line, double value[2], spmm_text_error_t *err)
{
    for (int part = 0; part < parts_of(header); part++) {
        *at = spmmi_skip_blanks(*at, end);
        if (*at == end) {
            return fail_short(header, found + part, line, err);
        }
        SPMM_TRY(parse_value(header, at, end, line, &value[part], err));
    }
    return SPMM_OK;
}

static void put(const spmm_mm_header_t *header, int64_t row, int64_t col, const double value[2],
                spmm_entries_t *list)
{
    const int parts = parts_of(header);

    for (int part = 0; part < parts; part++) {
        list->entry[list->count++] =
            (spmm_entry_t){.row = row, .col = parts * col + part, .value = value[part]};
    }
}

/* The mirror image of an entry that lies off the diagonal. */
static void put_image(const spmm_mm_header_t *header, int64_t row, int64_t col,
                      const double value[2], spmm_entries_t *list)
{
    const bool   skew     = header->symmetry == SPMM_MM_SKEW;
    const double image[2] = {skew ? -value[0] : value[0],
                             skew || header->symmetry == SPMM_MM_HERMITIAN ? -value[1] : value[1]};

    if (header->symmetry != SPMM_MM_GENERAL && row != col) {
        put(header, col, row, image, list);
    }
}

/* An entry of the diagonal is its own mirror image. */
static spmm_status_t check_diagonal(const spmm_mm_header_t *header, int64_t row,
                                    const double value[2], int64_t line, spmm_text_error_t *err)
{
    if (header->symmetry == SPMM_MM_SKEW && (value[0] != 0.0 || value[1] != 0.0)) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line,
                               "entry (%" PRId64 ", %" PRId64 ") lies on the diagonal, which a "
                               "skew-symmetric file does not store",
                               row + 1, row + 1);
    }
    if (header->symmetry == SPMM_MM_HERMITIAN && value[1] != 0.0) {
        return spmmi_text_fail(err, SPMM_ERR_IO, line, SPMM_MM_NOT_HERMITIAN, row + 1, row + 1);
    }
    return SPMM_OK;
}

static spmm_status_t parse_coordinate(const spmm_mm_header_t *header, const char *at,
                                      const char *end, int64_t line, spmm_entries_t *list,
                                      spmm_text_error_t *err)
{
    double  value[2] = {1.0, 0.0};
    int64_t row = 0, col = 0;

    SPMM_TRY(parse_index(&at, end, "row", header->rows, line, &row, err));
    at = spmmi_skip_blanks(at, end);
    if (at == end) {
        return fail_short(header, 1, line, err);
    }
    SPMM_TRY(parse_index(&at, end, "column", header->cols, line, &col, err));
    if (header->field != SPMM_MM_PATTERN) {
        SPMM_TRY(parse_parts(header, &at, end, 2, line, value, err));
    }
    SPMM_TRY(check_line_end(header, at, end, line, err));
    if (row == col) {
        SPMM_TRY(check_diagonal(header, row, value, line, err));
    }
    put(header, row, col, value, list);
    put_image(header, row, col, value, list);
    return SPMM_OK;
}

static spmm_status_t parse_array(const spmm_mm_header_t *header, int64_t place, const char *at,
                                 const char *end, int64_t line, spmm_entries_t *list,
                                 spmm_text_error_t *err)
{
    double value[2] = {0.0, 0.0};

    SPMM_TRY(parse_parts(header, &at, end, 0, line, value, err));
    SPMM_TRY(check_line_end(header, at, end, line, err));
    if (value[0] != 0.0 || value[1] != 0.0) {
        put(header, place, 0, value, list);
    }
    return SPMM_OK;
}

/* A line of a coordinate file as programs write them: numbers of digits with one blank between them
 * and no blank beside them.
 * @return the next line; NULL: a careful look is needed, or there is a mistake */
static const char *quick_line(const spmm_mm_header_t *header, const char *at, const char *end,
                              int64_t *row, int64_t *col, double value[2])
{
    const int parts = header->field == SPMM_MM_PATTERN ? 0 : parts_of(header);
    uint64_t  i, j;

    if ((at = spmmi_quick_digits(at, end, &i)) == NULL || *at != ' ' ||
        (at = spmmi_quick_digits(at + 1, end, &j)) == NULL || i - 1 >= (uint64_t)header->rows ||
        j - 1 >= (uint64_t)header->cols) {
        return NULL;
    }
    for (int part = 0; part < parts; part++) {
        if (*at != ' ' || (at = spmmi_quick_real(at + 1, end, &value[part])) == NULL) {
            return NULL;
        }
    }
    at += *at == '\r'; /* quick parsers leave room */
    *row = (int64_t)i - 1;
    *col = (int64_t)j - 1;
    return *at == '\n' ? at + 1 : NULL;
}

/* Lines that a quick look is enough for. */
static void parse_quickly(const spmm_mm_header_t *header, spmm_mm_cursor_t *cursor, const char **at,
                          const char *end, int64_t room, spmm_entries_t *list)
{
    const bool diagonal =
        header->symmetry == SPMM_MM_GENERAL || header->symmetry == SPMM_MM_SYMMETRIC;
    double  value[2] = {1.0, 0.0};
    int64_t row, col;

    while (cursor->entries < cursor->limit && list->capacity - list->count >= room) {
        const char *next = quick_line(header, *at, end, &row, &col, value);

        if (next == NULL || (row == col && !diagonal)) {
            return;
        }
        put(header, row, col, value, list);
        put_image(header, row, col, value, list);
        cursor->lines++;
        cursor->entries++;
        *at = next;
    }
}

spmm_status_t spmmi_mm_parse_entries(const spmm_mm_header_t *header, spmm_mm_cursor_t *cursor,
                                     const char **at, const char *end, spmm_entries_t *list,
                                     spmm_text_error_t *err)
{
    const bool    sparse = header->format == SPMM_MM_COORDINATE;
    const int64_t room   = 2 * (int64_t)parts_of(header); /* an entry and its mirror image */

    while (*at < end && list->capacity - list->count >= room) {
        const char *newline, *line_end, *line;

        if (sparse && header->field != SPMM_MM_INTEGER) { /* whose values have no point */
            parse_quickly(header, cursor, at, end, room, list);
            if (*at == end || list->capacity - list->count < room) {
                break;
            }
        }
        newline  = memchr(*at, '\n', (size_t)(end - *at));
        line_end = newline == NULL ? end : newline;
        line     = spmmi_skip_blanks(*at, line_end);
        cursor->lines++;
        if (line < line_end && *line != '%') {
            if (cursor->entries == cursor->limit) {
                return spmmi_text_fail(err, SPMM_ERR_IO, cursor->lines,
                                       "here begin more entries than the %" PRId64 " of the header",
                                       header->entries);
            }
            SPMM_TRY(sparse ? parse_coordinate(header, line, line_end, cursor->lines, list, err)
                            : parse_array(header, cursor->entries, line, line_end, cursor->lines,
                                          list, err));
            cursor->entries++;
        }
        *at = newline == NULL ? end : newline + 1;
    }
    return SPMM_OK;
}

/* Stored values of a packed lower triangle of n rows before column j. */
static int64_t triangle_before(const spmm_mm_header_t *header, int64_t j)
{
    const int64_t first = header->symmetry == SPMM_MM_SKEW ? header->rows - 1 : header->rows;

    /* j * first - j (j - 1) / 2, whose terms cannot overflow: first and j are at
     * most n, n * n fits */
    return j * first - ((j & 1) == 0 ? j / 2 * (j - 1) : (j - 1) / 2 * j);
}

int64_t spmmi_mm_place_array(const spmm_mm_header_t *header, int64_t before, spmm_entries_t *list)
{
    const int64_t count   = list->count;
    const int     parts   = parts_of(header);
    const bool    skew    = header->symmetry == SPMM_MM_SKEW;
    const bool    is_real = header->symmetry != SPMM_MM_HERMITIAN || parts == 1;
    int64_t       j = 0, odd = 0;

    for (int64_t k = 0; k < count; k += parts) {
        spmm_entry_t *entry    = &list->entry[k];
        const int64_t place    = before + entry->row;
        const double  value[2] = {entry->value, entry[parts - 1].value};
        int64_t       row = place % header->rows, col = place / header->rows;

        if (header->symmetry != SPMM_MM_GENERAL) {
            while (triangle_before(header, j + 1) <= place) {
                j++;
            }
            row = j + skew + place - triangle_before(header, j);
            col = j;
        }
        for (int part = 0; part < parts; part++) {
            entry[part].row = row;
            entry[part].col = parts * col + part;
        }
        put_image(header, row, col, value, list);
        odd = odd == 0 && !is_real && row == col && value[1] != 0.0 ? row + 1 : odd;
    }
    return odd;
}
