/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 NEEDS ZLIB_FOUND */
/* The parsers of Matrix Market text as functions of memory. */
#include "matrix/read/matrix_market.h"

#include <locale.h>

#include "matrix/read/text.h"
#include "test_main.h"

static spmm_number_t real(const char *text, double *value)
{
    const char         *at     = text;
    const char         *end    = text + strlen(text);
    const spmm_number_t result = spmmi_parse_real(&at, end, value);

    if (result != SPMM_NUMBER_OK) {
        assert_ptr_equal(at, text);
    }
    return result;
}

static int n_quick; /* of the numbers that the quick parser took */

static void assert_bits(const char *text, double value)
{
    const double expected = strtod(text, NULL);

    if (memcmp(&value, &expected, sizeof value) != 0) {
        print_error("%s: %a, not %a\n", text, value, expected);
        fail();
    }
}

static void assert_real(const char *text)
{
    double      value = -12345.0;
    char        line[1500];
    const char *behind;

    assert_int_equal(real(text, &value), SPMM_NUMBER_OK);
    assert_bits(text, value);
    /* The quick parser needs room behind the number, and may decline. */
    (void)snprintf(line, sizeof line, "%s\n%064d", text, 0);
    behind = spmmi_quick_real(line, line + strlen(line), &value);
    if (behind != NULL) {
        assert_ptr_equal(behind, line + strlen(text));
        assert_bits(text, value);
        n_quick++;
    }
}

static void test_reals_are_correctly_rounded(void **state)
{
    /* Halfway points, subnormals, the limits, long digit strings. */
    static const char hard[] =
        "0 -0 0.0 .5 5. +1.25 1e22 1e23 1e-22 8.5e-23 9007199254740993 9007199254740992.5 "
        "9007199254740993.0000000000000000000000001 1.7976931348623157e308 "
        "1.7976931348623158e308 2.2250738585072011e-308 4.9406564584124654e-324 "
        "2.4703282292062327e-324 2.4703282292062328e-324 1e-400 0e999999999999999999999 "
        "123456789012345678901234567890 "
        "0.000000000000000000000000000000000000000000001e45 6929495644600919.5 "
        "100000000000000016777215 100000000000000016777216 9214843084008499.0";
    static const char longest[] =
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
        "97758720709633028641669288791094655554785194040263065748867150582068190890200070838367627e"
        "129";
    char text[1400];
    int  used, count = 0;

    for (const char *at = hard; sscanf(at, "%99s%n", text, &used) == 1; at += used) {
        assert_real(text);
        count++;
    }
    assert_int_equal(count, 27);
    assert_real(longest);
    for (int64_t i = 0; i < 200000; i++) {
        const uint64_t h        = spmmi_hash2(1, i, 0);
        const int      digits   = 1 + (int)(h % 20);
        const int      exponent = (int)(spmmi_hash2(2, i, 0) % 80) - 40;
        double         x;
        uint64_t       bits = spmmi_hash2(3, i, 0);

        (void)snprintf(text, sizeof text, "%.*e", digits, ldexp(spmmi_unit(h), exponent));
        assert_real(text);
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) {
            (void)snprintf(text, sizeof text, "%.17g", x);
            assert_real(text);
        }
    }
    for (int i = 0; i < 50; i++) { /* just above, at and below halfway, after 1000 digits */
        (void)snprintf(text, sizeof text, "%d.5%01000d%d", (1 << 24) + i, 0, i % 3);
        assert_real(text);
        (void)snprintf(text, sizeof text, "9007199254740993.%01000d%de-%d", 0, i % 2, i);
        assert_real(text);
    }
    assert_true(n_quick > 300000); /* of 400000 random ones */
}

static void test_fortran_exponents(void **state)
{
    double value;

    assert_int_equal(real("1.5D+2", &value), SPMM_NUMBER_OK);
    assert_true(value == 150.0);
    assert_int_equal(real("1.5d-1", &value), SPMM_NUMBER_OK);
    assert_true(value == 0.15);
}

static void test_what_is_no_real(void **state)
{
    static const char *const bad[] = {"",    "-",   ".",   "e5",  "1e",   "1e+",  "1.2.3",
                                      "1,5", "nan", "NaN", "inf", "-Inf", "0x10", "1f",
                                      "1-2", "--1", "+",   "abc", "1e5x", "1 e"};
    double                   value = 7.0;

    for (size_t i = 0; i + 1 < sizeof bad / sizeof *bad; i++) {
        char        line[128];
        const char *behind;

        assert_int_equal(real(bad[i], &value), SPMM_NUMBER_BAD);
        (void)snprintf(line, sizeof line, "%s\n%064d", bad[i], 0);
        behind = spmmi_quick_real(line, line + strlen(line), &(double){0.0});
        assert_true(behind == NULL || behind < line + strlen(bad[i])); /* what follows is seen */
    }
    assert_int_equal(real("1e309", &value), SPMM_NUMBER_OVERFLOW);
    assert_int_equal(real("-1.7976931348623159e308", &value), SPMM_NUMBER_OVERFLOW);
    assert_true(value == 7.0);
}

static void test_locale_does_not_matter(void **state)
{
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    double                   value;
    bool                     set = false;

    for (size_t i = 0; i < sizeof comma / sizeof *comma && !set; i++) {
        set = setlocale(LC_NUMERIC, comma[i]) != NULL;
    }
    assert_int_equal(real("3.14159265358979323846", &value), SPMM_NUMBER_OK);
    assert_true(value == 3.14159265358979323846);
    (void)setlocale(LC_NUMERIC, "C");
    if (!set) {
        skip(); /* no locale with a decimal comma here: the check above proved little */
    }
}

static void test_integers(void **state)
{
    static const struct {
        const char   *text;
        spmm_number_t result;
        int64_t       value;
    } cases[] = {{"0", SPMM_NUMBER_OK, 0},
                 {"+12", SPMM_NUMBER_OK, 12},
                 {"-7", SPMM_NUMBER_OK, -7},
                 {"000000000000000000000000042", SPMM_NUMBER_OK, 42},
                 {"9223372036854775807", SPMM_NUMBER_OK, INT64_MAX},
                 {"9223372036854775808", SPMM_NUMBER_OVERFLOW, 0},
                 {"99999999999999999999999", SPMM_NUMBER_OVERFLOW, 0},
                 {"1.0", SPMM_NUMBER_BAD, 0},
                 {"1e3", SPMM_NUMBER_BAD, 0},
                 {"99999999999999999999999x", SPMM_NUMBER_BAD, 0},
                 {"", SPMM_NUMBER_BAD, 0},
                 {"+", SPMM_NUMBER_BAD, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at    = cases[i].text;
        int64_t     value = 0;

        assert_int_equal(spmmi_parse_int(&at, at + strlen(at), &value), cases[i].result);
        assert_true(value == cases[i].value);
    }
}

/* Parse @p text as a whole; returns the status, fills header, list and error. */
static spmm_status_t parse_all(const char *text, spmm_mm_header_t *header, spmm_entries_t *list,
                               spmm_text_error_t *err)
{
    const char      *at     = text;
    const char      *end    = text + strlen(text);
    spmm_mm_cursor_t cursor = {0};

    *header = (spmm_mm_header_t){0};
    *err    = (spmm_text_error_t){0};
    SPMM_TRY(spmmi_mm_parse_header(header, &at, end, err));
    assert_true(header->complete);
    cursor.lines = header->lines;
    cursor.limit = header->entries;
    SPMM_TRY(spmmi_mm_parse_entries(header, &cursor, &at, end, list, err));
    assert_ptr_equal(at, end);
    if (header->format == SPMM_MM_ARRAY) {
        assert_int_equal(spmmi_mm_place_array(header, 0, list), 0);
    }
    return SPMM_OK;
}

/* A text, and rows, columns and values of its entries from 1, in the order of the parser. */
static const char *const good[][2] = {
    {"%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1.5\n2 3 -2e1\n",
     "1 1 1.5  2 3 -20"},
    {"%%matrixmarket MATRIX Coordinate REAL General\r\n% c\r\n\r\n 2 3 1 \r\n\r\n\t2 3 4\t\r\n",
     "2 3 4"},
    {"%%MatrixMarket matrix coordinate double general\n2 3 1\n% inside\n2 3 1d0", "2 3 1"},
    {"%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 5\n2 1 -6\n1 3 7\n",
     "1 1 5  2 1 -6  1 2 -6  1 3 7  3 1 7"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 2.5\n3 1 -1\n",
     "2 1 2.5  1 2 -2.5  3 1 -1  1 3 1"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 3\n1 1 0\n2 1 2.5\n3 3 -0.0\n",
     "1 1 0  2 1 2.5  1 2 -2.5  3 3 0"},
    {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
     "1 1 1  2 1 1  1 2 1"},
    {"%%MatrixMarket matrix array real general\n2 3\n1\n0\n3\n4\n0.0\n6\n",
     "1 1 1  1 2 3  2 2 4  2 3 6"},
    {"%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
     "1 1 1  2 1 2  3 1 3  2 2 4  3 2 5  3 3 6  1 2 2  1 3 3  2 3 5"},
    {"%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n",
     "2 1 1  3 1 2  3 2 3  1 2 -1  1 3 -2  2 3 -3"},
    {"%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 3\n", "2 1 3  1 2 3"},
    /* Complex: columns of parts. */
    {"%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 3 4\n", "1 3 3  1 4 4"},
    {"%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 1 -2\n",
     "2 1 1  2 2 -2  1 3 1  1 4 -2"},
    {"%%MatrixMarket matrix coordinate complex skew-symmetric\n2 2 1\n2 1 1 -2\n",
     "2 1 1  2 2 -2  1 3 -1  1 4 2"},
    {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 5 0\n2 1 1 -2\n",
     "1 1 5  1 2 0  2 1 1  2 2 -2  1 3 1  1 4 2"},
    {"%%MatrixMarket matrix array complex general\n1 3\n0 7\n0 0\n8 0\n",
     "1 1 0  1 2 7  1 5 8  1 6 0"},
    {"%%MatrixMarket matrix array complex hermitian\n2 2\n5 0\n1 -2\n7 0\n",
     "1 1 5  1 2 0  2 1 1  2 2 -2  2 3 7  2 4 0  1 3 1  1 4 2"},
    {"%%MatrixMarket matrix coordinate real general\n0 0 0\n", ""},
    {"%%MatrixMarket matrix array real general\n0 5\n", ""},
    {"%%MatrixMarket matrix array real skew-symmetric\n1 1\n", ""}};

static void test_good_texts(void **state)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        spmm_entry_t      room[16];
        spmm_entries_t    list = {.entry = room, .capacity = 16};
        spmm_mm_header_t  header;
        spmm_text_error_t err;
        int               k = 0, used;

        if (parse_all(good[i][0], &header, &list, &err) != SPMM_OK) {
            print_error("text %zu, line %d: %s\n", i, (int)err.line, err.text);
            fail();
        }
        for (const char *at = good[i][1]; *at != '\0'; at += used, k++) {
            long   row, col;
            double value;

            assert_int_equal(sscanf(at, "%ld %ld %lf%n", &row, &col, &value, &used), 3);
            assert_true(k < list.count);
            assert_int_equal(room[k].row + 1, row);
            assert_int_equal(room[k].col + 1, col);
            assert_true(room[k].value == value);
        }
        assert_int_equal(k, list.count);
    }
}

static void test_stops_for_room_and_goes_on(void **state)
{
    const char *const text   = "2 1 1\n3 1 2\n\n3 2 3\n";
    const char       *at     = text;
    spmm_mm_header_t  header = {
         .symmetry = SPMM_MM_SYMMETRIC, .rows = 3, .cols = 3, .entries = 3, .complete = true};
    spmm_mm_cursor_t  cursor = {.limit = 3};
    spmm_text_error_t err    = {0};
    spmm_entry_t      room[3];
    int               rounds = 0;
    double            sum    = 0.0;

    while (*at != '\0') {
        spmm_entries_t list = {.entry = room, .capacity = 3};

        spmm_assert_ok(
            spmmi_mm_parse_entries(&header, &cursor, &at, text + strlen(text), &list, &err));
        for (int64_t k = 0; k < list.count; k++) {
            sum += room[k].value;
        }
        assert_true(++rounds <= 4);
    }
    assert_int_equal(rounds, 3);
    assert_int_equal(cursor.entries, 3);
    assert_int_equal(cursor.lines, 4);
    assert_true(sum == 12.0);
}

/* A packed triangle cut anywhere gives the same entries. */
static void test_array_parts(void **state)
{
    enum { N = 7, ALL = N * (N + 1) / 2 };
    const spmm_mm_header_t header = {.format   = SPMM_MM_ARRAY,
                                     .symmetry = SPMM_MM_SYMMETRIC,
                                     .rows     = N,
                                     .cols     = N,
                                     .entries  = ALL};

    for (int cut = 0; cut < ALL; cut++) {
        spmm_entry_t   room[2 * ALL];
        spmm_entries_t list = {.entry = room, .capacity = 2 * ALL};
        int            k    = 0;

        for (int i = 0; i + cut < ALL; i++) {
            room[list.count++] = (spmm_entry_t){.row = i, .value = cut + i};
        }
        assert_int_equal(spmmi_mm_place_array(&header, cut, &list), 0);
        for (int j = 0; j < N; j++) {
            for (int i = j; i < N; i++, k++) {
                if (k >= cut) {
                    assert_int_equal(room[k - cut].row, i);
                    assert_int_equal(room[k - cut].col, j);
                    assert_true(room[k - cut].value == k);
                }
            }
        }
    }
}

SPMM_TESTS(test_reals_are_correctly_rounded, test_fortran_exponents, test_what_is_no_real,
           test_locale_does_not_matter, test_integers, test_good_texts,
           test_stops_for_room_and_goes_on, test_array_parts);
