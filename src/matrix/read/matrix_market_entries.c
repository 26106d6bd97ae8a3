/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "matrix/read/matrix_market.h"
#include "matrix/read/text_number.h"

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
