/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "matrix/read/file.h"

/* Bytes at a place that tell a format, and what a file of it is. */
static const struct {
    size_t      at, length;
    const char *bytes, *is;
} mark[] = {
    {0, 3, "BZh", "packed by bzip2: unpack it first (bunzip2)"},
    {0, 6, "\xfd\x37zXZ\0", "packed by xz: unpack it first (unxz)"},
    {0, 4, "\x28\xb5\x2f\xfd", "packed by zstd: unpack it first (unzstd)"},
    {0, 4, "\x04\x22\x4d\x18", "packed by lz4: unpack it first (unlz4)"},
    {0, 4, "LZIP", "packed by lzip: unpack it first (lzip -d)"},
    {0, 2, "\x1f\x9d", "packed by compress (.Z): unpack it first (gunzip)"},
    {257, 5, "ustar", "a tar archive: unpack it first, and read the matrix file in it"},
    {0, 6, "\x93NUMPY",
     "a NumPy array (.npy): convert it to Matrix Market, as with numpy.load() and "
     "scipy.io.mmwrite()"},
    {0, 8, "\x89HDF\r\n\x1a\n",
     "an HDF5 file, which this build does not read: convert it to Matrix Market, as with h5py and "
     "scipy.io.mmwrite()"},
    {0, 7, "MATLAB ",
     "a MATLAB file (.mat): convert it to Matrix Market, as with scipy.io.loadmat() and "
     "scipy.io.mmwrite()"},
};

/* The name of the first file of a zip archive, as .npz is one, begins at byte 30. */
static const char *name_zip(const char *head, size_t length)
{
    const size_t name = length > 28 ? (unsigned char)head[26] + 256U * (unsigned char)head[27] : 0;

    if (length < 4 || memcmp(head, "PK\x03\x04", 4) != 0) {
        return NULL;
    }
    if (name >= 4 && 30 + name <= length && memcmp(head + 26 + name, ".npy", 4) == 0) {
        return "a NumPy archive (.npz): convert it to Matrix Market, as with "
               "scipy.sparse.load_npz() "
               "and scipy.io.mmwrite()";
    }
    return "a zip archive: unpack it first, and read the matrix file in it";
}

static bool is_one_of(char c, const char *letters)
{
    return c != '\0' && strchr(letters, toupper((unsigned char)c)) != NULL;
}

/* Harwell-Boeing and Rutherford-Boeing: a title; numbers of lines; a type of three letters and
 * sizes; formats of Fortran. */
static bool is_boeing(const char *head, size_t length)
{
    const char *const end = head + length;
    const char       *line[4], *at = head;

    for (int k = 0; k < 4; k++) {
        line[k] = at;
        at      = at == end ? NULL : memchr(at, '\n', (size_t)(end - at));
        if (at == NULL && k < 3) {
            return false;
        }
        at = at == NULL ? end : at + 1;
    }
    for (const char *c = line[1]; c < line[2]; c++) {
        if (!is_one_of(*c, " 0123456789\r\n")) {
            return false;
        }
    }
    while (line[3] < end && *line[3] == ' ') {
        line[3]++;
    }
    return line[3] - line[2] > 4 && is_one_of(line[2][0], "RCPIQ") &&
           is_one_of(line[2][1], "SUHZR") && is_one_of(line[2][2], "AE") && line[2][3] == ' ' &&
           line[3] < end && *line[3] == '(';
}

const char *spmmi_foreign_format(const char *head, size_t length)
{
    for (size_t k = 0; k < sizeof mark / sizeof *mark; k++) {
        if (length >= mark[k].at + mark[k].length &&
            memcmp(head + mark[k].at, mark[k].bytes, mark[k].length) == 0) {
            return mark[k].is;
        }
    }
    if (is_boeing(head, length)) {
        return "a Harwell-Boeing or Rutherford-Boeing file: convert it to Matrix Market, as with "
               "scipy.io.hb_read() and scipy.io.mmwrite()";
    }
    return name_zip(head, length);
}
