/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* Part files: written, read back, and malformed in every way. */
#include <sys/stat.h>

#include "partition/partition.h"
#include "temp_file.h"
#include "test_main.h"
#include "test_matrix.h"

enum { PATH_TEXT = 512, ROWS = 5 };

static spmm_status_t read_parts(const spmm_matrix_t *A, const char *path,
                                spmm_partition_t *partition)
{
    char spec[PATH_TEXT + 80];

    (void)snprintf(spec, sizeof spec, "file:%s", path);
    return spmmi_partition_create(A, spec, NULL, partition);
}

static bool full(int64_t i, int64_t j)
{
    return true;
}

static const spmm_test_rule_t five = {"five rows", ROWS, ROWS, full};

static void test_round_trip(void **state)
{
    const char *path = spmm_temp_write("", 0);

    for (const spmm_test_rule_t *rule = spmm_test_rules; rule->name != NULL; rule++) {
        spmm_matrix_t   *A = spmm_test_matrix(rule, SPMM_TEST_FIRST_EMPTY, SPMM_TEST_EVEN);
        spmm_partition_t back;
        int32_t         *part;

        assert_non_null(SPMM_NEW(part, A->n_rows));
        for (int32_t i = 0; i < A->n_rows; i++) {
            part[i] = (int32_t)spmmi_below(spmmi_hash2(5, A->row_offset[spmm_test_env.rank] + i, 0),
                                           spmm_test_env.size);
        }
        spmm_assert_ok(spmmi_partition_write(A, part, path));
        spmm_assert_ok(read_parts(A, path, &back));
        assert_string_equal(back.method, "file");
        assert_memory_equal(back.row_part, part, (size_t)A->n_rows * sizeof *part);
        spmmi_partition_free(&back);
        spmmi_free(part);
        spmmi_matrix_free(A);
    }
}

/* The format itself: one number a line, in row order. */
static void test_written_text(void **state)
{
    const char    *path = spmm_temp_write("", 0);
    spmm_matrix_t *A    = spmm_test_matrix(&five, SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    int32_t       *part;
    char           text[64];
    size_t         length;
    FILE          *file;

    assert_non_null(SPMM_NEW(part, A->n_rows));
    for (int32_t i = 0; i < A->n_rows; i++) {
        part[i] = 10 * (int32_t)(A->row_offset[spmm_test_env.rank] + i);
    }
    spmm_assert_ok(spmmi_partition_write(A, part, path));
    file = fopen(path, "r");
    assert_non_null(file);
    length       = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    assert_string_equal(text, "0\n10\n20\n30\n40\n");
    spmmi_free(part);
    spmmi_matrix_free(A);
}

static void test_lenient(void **state)
{
    const char *texts[] = {"0\n0\n0\n0\n0", "0\r\n0\r\n0\r\n0\r\n0\r\n", " 0\n0 \n\t0\n0\n0\n\n \n",
                           "0                                 \n0\n0\n0\n0\n"};
    spmm_matrix_t   *A  = spmm_test_matrix(&five, SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    spmm_partition_t partition;

    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        spmm_assert_ok(read_parts(A, spmm_temp_write(texts[t], strlen(texts[t])), &partition));
        for (int32_t i = 0; i < A->n_rows; i++) {
            assert_int_equal(partition.row_part[i], 0);
        }
        if (spmm_test_env.rank == 0) { /* one part: what it is for more ranks is said */
            assert_int_equal(partition.note != NULL, spmm_test_env.size > 1);
        }
        spmmi_partition_free(&partition);
    }
    spmmi_matrix_free(A);
}

static void expect_sentence(const spmm_matrix_t *A, const char *path, const char *sentence)
{
    spmm_partition_t partition;

    spmm_assert_refused(read_parts(A, path, &partition), partition.row_part, SPMM_ERR_IO, sentence);
}

#define TEXT(text) text, sizeof(text) - 1

static void test_malformed(void **state)
{
    static const struct {
        const char *text;
        size_t      length;
        const char *sentence;
    } bad[] = {
        {TEXT(""), "ends after line 0, but the matrix has 5 rows"},
        {TEXT("0\n0\n0\n"), "ends after line 3, but the matrix has 5 rows"},
        {TEXT("0\n0\n0\n0\n0\n0\n"), "line 6: the matrix has only 5 rows"},
        {TEXT("0\n0\n0\n0\n0\n\nx\n"), "line 7: the matrix has only 5 rows"},
        {TEXT("0\nzero\n0\n0\n0\n"), "line 2: 'zero' is not a part number"},
        {TEXT("0\n0 0\n0\n0\n0\n"), "line 2: '0 0' is not a part number"},
        {TEXT("0\n0.5\n0\n0\n0\n"), "line 2: '0.5' is not a part number"},
        {TEXT("0\n\n0\n0\n0\n0\n"), "line 2: '' is not a part number"},
        {TEXT("0\n0\n0\n-1\n0\n"), "line 4: part -1 is negative"},
        {TEXT("0\n99999999999999999999\n0\n0\n0\n"), "line 2: '99999999999999999999' is not"},
        {TEXT("0\n0\0x\n0\n0\n0\n"), "line 2: '0?x' is not a part number"},
        {TEXT("\x7f\x45LF\x02\n"), "line 1: '?ELF?' is not a part number"},
        {TEXT("0\n0                               1\n0\n0\n0\n"), "line 2: '0' is not a part"},
        {TEXT("0\n00000000000000000000000000000001\n0\n0\n0\n"), "line 2: '0000"},
        {TEXT("0\n0\n70\n99\n0\n"), "was written for 100 parts (line 3 names one too high)"},
        {TEXT("0\n0\n70\n"), "ends after line 3"},
    };
    spmm_matrix_t *A = spmm_test_matrix(&five, SPMM_TEST_EVEN, SPMM_TEST_EVEN);

    for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
        expect_sentence(A, spmm_temp_write(bad[b].text, bad[b].length), bad[b].sentence);
    }
    expect_sentence(A, "/nonexistent/missing.part", "No such file");
    expect_sentence(A, "/tmp", "is a directory");
    spmmi_matrix_free(A);
}

#ifdef SPMM_HAVE_ZLIB
/* More text than one buffer holds; cut and followed by other data. */
static void test_gzipped(void **state)
{
    enum { LINES = 80000 };
    const spmm_test_rule_t rule = {"long", LINES, 1, full};
    spmm_matrix_t         *A    = spmm_test_matrix(&rule, SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    char                  *text = spmm_test_malloc(2 * (size_t)LINES);
    const int              size = spmm_test_env.size;
    spmm_partition_t       partition;

    for (int64_t i = 0; i < LINES; i++) {
        text[2 * i]     = (char)('0' + spmmi_below(spmmi_hash2(9, i, 0), size));
        text[2 * i + 1] = '\n';
    }
    spmm_assert_ok(read_parts(A, spmm_temp_write_gzip(text, 2 * (size_t)LINES, 0, 0), &partition));
    for (int32_t i = 0; i < A->n_rows; i++) {
        assert_int_equal(partition.row_part[i],
                         text[2 * (A->row_offset[spmm_test_env.rank] + i)] - '0');
    }
    spmmi_partition_free(&partition);
    expect_sentence(A, spmm_temp_write_gzip(text, 2 * (size_t)LINES, 20, 0), "has been cut");
    expect_sentence(A, spmm_temp_write_gzip(text, 2 * (size_t)LINES, 0, 5), "other data follows");
    expect_sentence(A, spmm_temp_write_gzip(text, (size_t)LINES, 0, 0), "ends after line 40000");
    free(text);
    spmmi_matrix_free(A);
}
#endif

/* Ranks wait for rank 0 to read the parts of those before them, which is no exchange that is
 * late. */
static void test_slow_reader(void **state)
{
    enum { LINES = 3000000 };
    const spmm_test_rule_t rule = {"long", LINES, 1, full};
    const char            *path;
    spmm_matrix_t         *A    = spmm_test_matrix(&rule, SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    char                  *text = spmm_test_malloc(2 * (size_t)LINES);
    spmm_partition_t       partition;

    for (int64_t i = 0; i < LINES; i++) {
        memcpy(text + 2 * i, "0\n", 2);
    }
    path                    = spmm_temp_write(text, 2 * (size_t)LINES);
    spmm_test_env.timeout_s = 0.1;
    spmm_assert_ok(read_parts(A, path, &partition));
    spmm_test_env.timeout_s = 0.0;
    spmmi_partition_free(&partition);
    free(text);
    spmmi_matrix_free(A);
}

static void expect_unwritable(const spmm_matrix_t *A, const int32_t *part, const char *path,
                              const char *sentence)
{
    assert_int_equal(spmmi_partition_write(A, part, path), SPMM_ERR_IO);
    assert_non_null(strstr(spmm_test_env.err.text, path));
    assert_non_null(strstr(spmm_test_env.err.text, sentence));
    spmmi_error_clear(&spmm_test_env.err);
}

/* A failed write is told on all ranks, even where it shows only at the end. */
static void test_unwritable(void **state)
{
    const spmm_test_rule_t  long_rule = {"long", 20000, 1, full};
    const spmm_test_rule_t *rules[]   = {&five, &long_rule};

    for (size_t r = 0; r < 2; r++) {
        spmm_matrix_t   *A = spmm_test_matrix(rules[r], SPMM_TEST_EVEN, SPMM_TEST_EVEN);
        struct stat      facts;
        spmm_partition_t keep;

        spmm_assert_ok(spmmi_partition_create(A, "keep", NULL, &keep));
        expect_unwritable(A, keep.row_part, "/dev/full", "No space left");
        assert_true(stat("/dev/full", &facts) == 0 && S_ISCHR(facts.st_mode));
        expect_unwritable(A, keep.row_part, "/nonexistent/x.part", "No such file");
        expect_unwritable(A, keep.row_part, "/tmp", "Is a directory");
        spmmi_partition_free(&keep);
        spmmi_matrix_free(A);
    }
}

#ifdef SPMM_HAVE_ZLIB
SPMM_TESTS(test_round_trip, test_written_text, test_lenient, test_malformed, test_gzipped,
           test_slow_reader, test_unwritable);
#else
SPMM_TESTS(test_round_trip, test_written_text, test_lenient, test_malformed, test_slow_reader,
           test_unwritable);
#endif
