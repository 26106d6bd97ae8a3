/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 NEEDS ZLIB_FOUND */
/* Malformed files: the same status and the same whole sentence on every rank and for any number of
 * ranks, soon, and with nothing left allocated. */
#include "test_main.h"

#include <sys/stat.h>
#include <unistd.h>

#include "matrix/matrix.h"
#include "matrix/read/file.h"
#include "temp_file.h"

#define BANNER            "%%MatrixMarket matrix coordinate real general\n"
#define BAD_NUMBER(token) ", line 3: the value '" token "' is not a finite decimal number"

static void expect_once(const char *path, spmm_status_t status, const char *sentence)
{
    const int64_t  live  = spmmi_alloc_get_stats().live;
    const double   start = spmmi_now();
    spmm_matrix_t *A     = NULL;
    char           all[600];
    spmm_status_t  found;

    (void)snprintf(all, sizeof all, "%s%s", path, sentence);
    spmmi_error_clear(&spmm_test_env.err);
    found = spmmi_matrix_from_file(&spmm_test_env, path, SPMM_R_64F, 1, &A);
    assert_string_equal(spmm_test_env.err.text, all);
    assert_int_equal(found, status);
    assert_null(A);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
    assert_true(spmmi_now() - start < 20.0); /* also on a machine that is busy */
    spmmi_error_clear(&spmm_test_env.err);
}

/* Also where threads share the text of a rank. */
static void expect(const char *path, spmm_status_t status, const char *sentence)
{
    const spmm_env_t own = spmm_test_env;

    expect_once(path, status, sentence);
    spmm_test_env.threads       = 3;
    spmm_test_env.message_limit = 8;
    expect_once(path, status, sentence);
    spmm_test_env.threads       = own.threads;
    spmm_test_env.message_limit = own.message_limit;
}

static void expect_text(const char *text, spmm_status_t status, const char *sentence)
{
    expect(spmm_temp_write(text, strlen(text)), status, sentence);
    if (text[0] != '\0') {
        expect(spmm_temp_write_gzip(text, strlen(text), 0, 0), status, sentence);
        expect(spmm_temp_write_bgzf(text, strlen(text), 11, 0), status, sentence);
    }
}

#define NOT_HERMITIAN " lies on the diagonal, where a Hermitian matrix has no imaginary part"
#define NO_BANNER                                                                                  \
    " where a Matrix Market file begins with %%MatrixMarket; it is in none of the other "          \
    "formats either"

static const struct {
    const char *text, *sentence;
} bad_header[] = {
    {"hello\n", ", line 1: found 'hello'" NO_BANNER},
    {"\n" BANNER, ", line 1: found ''" NO_BANNER},
    {"\x7f"
     "ELF\x02",
     ", line 1: found '?ELF?'" NO_BANNER},
    {"%%MatrixMarket vector coordinate real general\n",
     ", line 1: the object 'vector' is not supported: only matrix"},
    {"%%MatrixMarket matrix\n",
     ", line 1: the banner does not name the format (coordinate and array)"},
    {"%%MatrixMarket matrix coordinate quaternion general\n1 1 1\n1 1 1 0\n",
     ", line 1: the field 'quaternion' is not supported: only real, double, integer, complex and "
     "pattern"},
    {"%%MatrixMarket matrix coordinate real unitary\n1 1 1\n1 1 1\n",
     ", line 1: the symmetry 'unitary' is not supported: only general, symmetric, skew-symmetric "
     "and hermitian"},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1\n",
     ", line 3: the line ends after 3 of its numbers (row, column, real part, imaginary part)"},
    {"%%MatrixMarket matrix array pattern general\n1 1\n",
     ", line 1: a pattern cannot be an array: it has no values"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n",
     ", line 1: a pattern cannot be skew-symmetric: it has no values"},
    {"%%MatrixMarket matrix coordinate real general extra\n",
     ", line 1: the banner goes on with 'extra' after its end"},
    {BANNER "% only\n% comments\n", ", line 3: the file ends before its line of sizes"},
    {BANNER "3 3\n", ", line 2: the line ends after 2 of three sizes (rows, columns, entries)"},
    {BANNER "3 3 1 9\n",
     ", line 2: the line goes on with '9' after its three sizes (rows, columns, entries)"},
    {BANNER "-3 3 1\n", ", line 2: a size is negative"},
    {BANNER "3 x 1\n", ", line 2: the size 'x' is not a whole number"},
    {BANNER "3 3.5 1\n", ", line 2: the size '3.5' is not a whole number"},
    {BANNER "99999999999999999999 3 1\n",
     ", line 2: the size '99999999999999999999' does not fit 64 bits"},
    {BANNER "0 3 1\n1 1 1\n", ", line 2: 1 entries are declared for a matrix without rows"},
    {"%%MatrixMarket matrix coordinate real symmetric\n\n% c\n3 4 1\n",
     ", line 4: a symmetric matrix is square, this one has 3 rows and 4 columns"},
    {"%%MatrixMarket matrix array real general\n9000000000000000000 9000000000000000000\n",
     ", line 2: 9000000000000000000 x 9000000000000000000 values are more than 64 bits count"},
    {BANNER "3 3 4611686018427387904\n1 1 1\n2 2 2\n",
     ", line 4: the file ends after 2 of the 4611686018427387904 entries of its header"}};

static const struct {
    const char *text, *sentence;
} bad_body[] = {
    {BANNER "3 3 3\n1 1 1\n2 2 2\n",
     ", line 4: the file ends after 2 of the 3 entries of its header"},
    {BANNER "3 3 1\n1 1 1\n\n% c\n2 2 2\n3 3 3\n",
     ", line 6: here begin more entries than the 1 of the header"},
    {BANNER "3 3 2\n1 1 1\n4 1 1\n", ", line 4: the row index 4 is outside 1 to 3"},
    {BANNER "3 3 2\n1 0 1\n3 1 1\n", ", line 3: the column index 0 is outside 1 to 3"},
    {BANNER "3 3 1\n-1 1 1\n", ", line 3: the row index -1 is outside 1 to 3"},
    {BANNER "3 3 1\n1 99999999999999999999 1\n",
     ", line 3: the column index 99999999999999999999 is outside 1 to 3"},
    {BANNER "3 3 1\n1.5 1 1\n", ", line 3: the row index '1.5' is not a whole number"},
    {BANNER "3 3 1\nrow 1 1\n", ", line 3: the row index 'row' is not a whole number"},
    {BANNER "3 3 1\n1\n", ", line 3: the line ends after 1 of its numbers (row, column, value)"},
    {BANNER "3 3 2\n1 1 1\n2 2",
     ", line 4: the line ends after 2 of its numbers (row, column, value)"},
    {BANNER "3 3 1\n1 1 1 1\n", ", line 3: the line goes on with '1' after (row, column, value)"},
    {BANNER "3 3 1\n1 1 1 % c\n", ", line 3: the line goes on with '%' after (row, column, value)"},
    {BANNER "3 3 1\n1 1 NaN\n", BAD_NUMBER("NaN")},
    {BANNER "3 3 1\n1 1 -inf\n", BAD_NUMBER("-inf")},
    {BANNER "3 3 1\n1 1 1,5\n", BAD_NUMBER("1,5")},
    {BANNER "3 3 1\n1 1 0x1p3\n", BAD_NUMBER("0x1p3")},
    {BANNER "3 3 1\n1 1 \x01\x02\xff\n", BAD_NUMBER("???")},
    {BANNER "3 3 1\n1 1 abcdefghijklmnopqrstuvwxyz\n", BAD_NUMBER("abcdefghijklmnopqrstuvwx...")},
    {"%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 2.5\n",
     ", line 3: the value '2.5' is not a whole number"},
    {"%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 1 1\n",
     ", line 3: the line goes on with '1' after (row, column)"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 2 1\n",
     ", line 3: entry (2, 2) lies on the diagonal, which a skew-symmetric file does not store"},
    {"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 3\n2 1 1\n1 1 0\n3 3 -2\n",
     ", line 5: entry (3, 3) lies on the diagonal, which a skew-symmetric file does not store"},
    {"%%MatrixMarket matrix coordinate complex skew-symmetric\n2 2 2\n1 1 0 0\n2 2 0 1\n",
     ", line 4: entry (2, 2) lies on the diagonal, which a skew-symmetric file does not store"},
    {"%%MatrixMarket matrix coordinate complex hermitian\n3 3 3\n1 1 5 0\n2 1 0 1\n3 3 0 1e-9\n",
     ", line 5: entry (3, 3)" NOT_HERMITIAN},
    {"%%MatrixMarket matrix array complex hermitian\n2 2\n5 -1\n1 -2\n7 1\n",
     ": entry (1, 1)" NOT_HERMITIAN},
    {"%%MatrixMarket matrix array complex hermitian\n2 2\n5 0\n1 -2\n7 1\n",
     ": entry (2, 2)" NOT_HERMITIAN},
    {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
     ", line 5: the file ends after 3 of the 4 entries of its header"},
    {"%%MatrixMarket matrix array real general\n2 2\n1 2\n3 4\n",
     ", line 3: the line goes on with '2' after (one value)"},
    {"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n4\n",
     ", line 6: here begin more entries than the 3 of the header"}};

static void test_bad_headers(void **state)
{
    for (size_t i = 0; i < sizeof bad_header / sizeof *bad_header; i++) {
        expect_text(bad_header[i].text, SPMM_ERR_IO, bad_header[i].sentence);
    }
}

static void test_bad_bodies(void **state)
{
    for (size_t i = 0; i < sizeof bad_body / sizeof *bad_body; i++) {
        expect_text(bad_body[i].text, SPMM_ERR_IO, bad_body[i].sentence);
    }
    expect_text(BANNER "3 3 1\n1 1 1e999\n", SPMM_ERR_RANGE,
                ", line 3: the value 1e999 overflows a double");
}

/* Errors far into a file that all ranks share: the true line, and of several the first. */
static void test_lines_of_a_long_file(void **state)
{
    enum { LINES = 30000, ROOM = 16 * LINES };
    char *text = spmm_test_malloc(ROOM);

    for (int bad = 0; bad < 4; bad++) {
        int  used = snprintf(text, ROOM, "%s%% a comment\n9 9 %d\n", BANNER,
                            bad == 3 ? 22222 : LINES + (bad == 2));
        char expected[100];

        for (int k = 1; k <= LINES; k++) {
            const bool wrong = (bad == 0 && k == 27777) || (bad == 1 && k >= 12345 && k % 3 == 0);

            used += snprintf(text + used, ROOM - (size_t)used, "%d %d %d\n", wrong ? 0 : 1 + k % 9,
                             1 + k % 7, k);
        }
        (void)snprintf(expected, sizeof expected, ", line %d: %s",
                       (const int[]){27780, 12348, 30003, 22226}[bad],
                       (const char *[]){
                           "the row index 0 is outside 1 to 9", "the row index 0 is outside 1 to 9",
                           "the file ends after 30000 of the 30001 entries of its "
                           "header",
                           "here begin more entries than the 22222 of the header"}[bad]);
        expect_text(text, SPMM_ERR_IO, expected);
    }
    free(text);
}

static void test_endless_line(void **state)
{
    enum { SIZE = 9 << 20 };
    char *text = spmm_test_malloc(SIZE);

    memset(text, ' ', SIZE);
    memcpy(text, BANNER "3 3 1\n", strlen(BANNER "3 3 1\n"));
    expect(spmm_temp_write(text, SIZE), SPMM_ERR_IO,
           ", line 3: the line is longer than 4194304 bytes, which no Matrix Market line is");
    memset(text, 0, SIZE);
    expect(spmm_temp_write(text, SIZE), SPMM_ERR_IO,
           ", line 1: the line is longer than 4194304 bytes, which no Matrix Market line is");
    free(text);
}

static void test_bad_gzip(void **state)
{
    enum { SIZE = 60000 };
    static char text[SIZE];
    int         used = snprintf(text, SIZE, "%s9 9 5000\n", BANNER);

    for (int k = 0; k < 5000; k++) {
        used += snprintf(text + used, SIZE - (size_t)used, "%d %d %d\n", 1 + k % 9, 1 + k % 7, k);
    }
    for (size_t cut = 1; cut < 5000; cut *= 4) {
        expect(spmm_temp_write_gzip(text, (size_t)used, cut, 0), SPMM_ERR_IO,
               ": the gzip data ends too early: the file has been cut");
    }
    expect(spmm_temp_write_gzip(text, (size_t)used, 0, 5), SPMM_ERR_IO,
           ": other data follows the end of the gzip data");
    expect(spmm_temp_write_gzip(text, (size_t)used, 8, 8), SPMM_ERR_IO,
           ": the gzip data is damaged (incorrect data check)");
    expect(spmm_temp_write("\x1f\x8bnot gzip after all", 20), SPMM_ERR_IO,
           ": the gzip data is damaged (unknown compression method)");
    expect(spmm_temp_write("\x1f\x8b", 2), SPMM_ERR_IO,
           ": the gzip data ends too early: the file has been cut");
    expect(spmm_temp_write_gzip("", 0, 0, 0), SPMM_ERR_IO, ", line 1: the file is empty");
    expect(spmm_temp_write_bgzf("", 0, 9, 0), SPMM_ERR_IO, ", line 1: the file is empty");
    for (size_t damaged = 30; damaged < 60; damaged += 7) {
        expect(spmm_temp_write_bgzf(text, (size_t)used, 200, damaged), SPMM_ERR_IO,
               ": the gzip data is damaged (a block of it)");
    }
}

#define BOEING                                                                                     \
    "is a Harwell-Boeing or Rutherford-Boeing file: convert it to Matrix Market, as with "         \
    "scipy.io.hb_read() and scipy.io.mmwrite()"

/* Formats of others, by their first bytes; the name of a file says nothing. */
static const struct {
    const char *bytes;
    size_t      size;
    const char *sentence;
} foreign[] = {
    {"BZh91AY&SY\x12", 11, "is packed by bzip2: unpack it first (bunzip2)"},
    {"\xfd\x37zXZ\0\0\x04", 8, "is packed by xz: unpack it first (unxz)"},
    {"\x28\xb5\x2f\xfd\x04", 5, "is packed by zstd: unpack it first (unzstd)"},
    {"PK\x03\x04\x14\0\0\0\0\0\0\0!\0\xa3\xd9\0\0\0\0\0\0\0\0\0\0\x0b\0\0\0indices.npy\x93NUMPY",
     47,
     "is a NumPy archive (.npz): convert it to Matrix Market, as with scipy.sparse.load_npz() and "
     "scipy.io.mmwrite()"},
    {"PK\x03\x04\x14\0\0\0\0\0\0\0!\0\xa3\xd9\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.mtx%", 36,
     "is a zip archive: unpack it first, and read the matrix file in it"},
    {"\x93NUMPY\1\0v\0{", 11,
     "is a NumPy array (.npy): convert it to Matrix Market, as with numpy.load() and "
     "scipy.io.mmwrite()"},
    {"\x89HDF\r\n\x1a\n\2", 9,
     "is an HDF5 file: convert it to Matrix Market, as with h5py and scipy.io.mmwrite() "
     "(docs/reference/files.md)"},
    {"MATLAB 5.0 MAT-file, Platform: GLNXA64", 38,
     "is a MATLAB file (.mat): convert it to Matrix Market, as with scipy.io.loadmat() and "
     "scipy.io.mmwrite()"},
    {"1SYMMETRIC STIFFNESS MATRIX SMALL GENERALIZED EIGENVALUE PROBLEM        BCSSTK01\n"
     "            94             4            12            78             0\n"
     "RSA                       48            48           224             0\n"
     "(16I5)          (16I5)          (3E25.16)           (3E25.16)           \n"
     "    1    9\n",
     299, BOEING},
    {"a, b\r\n 4 1 1 2\r\nira   2 2 3 0\r\n (26I3) (26I3)\r\n", 47, BOEING},
};

static void test_foreign_formats(void **state)
{
    char sentence[256], tar[512] = "a/a.mtx";

    for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++) {
        (void)snprintf(sentence, sizeof sentence, " %s", foreign[k].sentence);
        expect(spmm_temp_write(foreign[k].bytes, foreign[k].size), SPMM_ERR_IO, sentence);
        (void)snprintf(sentence, sizeof sentence, ", line 1: what is gzipped %s",
                       foreign[k].sentence);
        expect(spmm_temp_write_gzip(foreign[k].bytes, foreign[k].size, 0, 0), SPMM_ERR_IO,
               sentence);
    }
    (void)memcpy(tar + 257, "ustar", sizeof "ustar");
    expect(spmm_temp_write_gzip(tar, sizeof tar, 0, 0), SPMM_ERR_IO,
           ", line 1: what is gzipped is a tar archive: unpack it first, and read the matrix file "
           "in it");
    assert_null(spmmi_foreign_format(BANNER, strlen(BANNER)));
    assert_null(spmmi_foreign_format("a\nb\nRSA \n(\n", 12));
    assert_null(spmmi_foreign_format("", 0));
}

static void test_no_file(void **state)
{
    const char *path;

    expect("/nowhere/at/all.mtx", SPMM_ERR_IO, " cannot be opened: No such file or directory");
    expect("", SPMM_ERR_IO, " cannot be opened: No such file or directory");
    expect("/tmp", SPMM_ERR_IO, " is a directory, not a matrix file");
    expect("/dev/null", SPMM_ERR_IO, " is a device, pipe or socket, not a matrix file");
    expect_text("", SPMM_ERR_IO, " is empty");
    if (geteuid() != 0) { /* root may read everything */
        path = spmm_temp_write("x", 1);
        assert_true(spmm_test_env.rank != 0 || chmod(path, 0) == 0);
        MPI_Barrier(spmm_test_env.comm);
        expect(path, SPMM_ERR_IO, " cannot be opened: Permission denied");
    }
}

SPMM_TESTS(test_bad_headers, test_bad_bodies, test_lines_of_a_long_file, test_endless_line,
           test_bad_gzip, test_foreign_formats, test_no_file);
