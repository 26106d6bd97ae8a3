/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* pread() */
#include "matrix/read/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"

spmm_status_t spmmi_file_open(spmm_env_t *env, const char *path, int64_t size, spmm_file_t *file)
{
    spmm_status_t status                    = SPMM_OK;
    char          why[MPI_MAX_ERROR_STRING] = "unknown error";
    int           length                    = 0;
    int           code;

    *file = (spmm_file_t){
        .env = env, .path = path, .handle = MPI_FILE_NULL, .descriptor = -1, .size = size};
    /* Each rank for itself, as the reads are: a collective open hangs in Open MPI where nodes have
     * copies of their own, for a lock file that it makes beside one of them. */
    code = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file->handle);
    if (code != MPI_SUCCESS) {
        (void)MPI_Error_string(code, why, &length);
        file->handle = MPI_FILE_NULL;
        status       = spmmi_fail(&env->err, SPMM_ERR_IO,
                                  SPMM_PATH_SHOWN " cannot be opened by MPI-IO: %.160s", path, why);
    } else {
        (void)MPI_File_set_errhandler(file->handle, MPI_ERRORS_RETURN);
        file->descriptor = open(path, O_RDONLY | O_CLOEXEC);
        if (file->descriptor < 0) {
            status = spmmi_fail(&env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " cannot be opened: %s",
                                path, strerror(errno));
        }
    }
    status = spmmi_agree(env, status);
    if (status != SPMM_OK) {
        spmmi_file_close(file);
    }
    return status;
}

void spmmi_file_close(spmm_file_t *file)
{
    if (file->handle != MPI_FILE_NULL) {
        (void)MPI_File_close(&file->handle);
    }
    if (file->descriptor >= 0) {
        (void)close(file->descriptor);
        file->descriptor = -1;
    }
}

static spmm_status_t fail_short(spmm_error_t *err, const spmm_file_t *file, int64_t offset)
{
    return spmmi_fail(err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN " ends at byte %" PRId64 " of %" PRId64
                                      ": it was changed while being read",
                      file->path, offset, file->size);
}

static spmm_status_t read_descriptor(void *self, spmm_error_t *err, int64_t offset, void *to,
                                     int64_t bytes)
{
    const spmm_file_t *file = self;
    char              *at   = to;

    while (bytes > 0) {
        const ssize_t got = pread(file->descriptor, at, (size_t)bytes, (off_t)offset);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return spmmi_fail(err, SPMM_ERR_IO,
                              SPMM_PATH_SHOWN ": reading at byte %" PRId64 " failed: %s",
                              file->path, offset, strerror(errno));
        }
        if (got == 0) {
            return fail_short(err, file, offset);
        }
        at += got;
        offset += got;
        bytes -= got;
    }
    return SPMM_OK;
}

spmm_bytes_t spmmi_file_bytes(spmm_file_t *file)
{
    return (spmm_bytes_t){.read = read_descriptor, .self = file, .size = file->size};
}

spmm_status_t spmmi_file_read(spmm_file_t *file, int64_t offset, void *to, int64_t bytes)
{
    const int64_t limit = (int64_t)spmmi_message_limit(file->env);
    char         *at    = to;

    while (bytes > 0) {
        const int  part = (int)(bytes < limit ? bytes : limit);
        MPI_Status done;
        int        got  = 0;
        const int  code = MPI_File_read_at(file->handle, offset, at, part, MPI_BYTE, &done);

        if (code != MPI_SUCCESS) {
            char text[MPI_MAX_ERROR_STRING] = "unknown error";
            int  length                     = 0;

            (void)MPI_Error_string(code, text, &length);
            return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                              SPMM_PATH_SHOWN ": reading at byte %" PRId64 " failed: %.160s",
                              file->path, offset, text);
        }
        SPMM_MPI(file->env, MPI_Get_count(&done, MPI_BYTE, &got));
        if (got <= 0) {
            return fail_short(&file->env->err, file, offset);
        }
        at += got;
        offset += got;
        bytes -= got;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_file_agree(spmm_env_t *env, spmm_status_t local)
{
    int  first = local == SPMM_OK ? env->size : env->rank;
    int  status;
    char text[SPMM_ERROR_TEXT];

    SPMM_TRY(spmmi_allreduce(env, &first, 1, MPI_INT, MPI_MIN));
    if (first == env->size) {
        return SPMM_OK;
    }
    status = (int)local;
    SPMM_TRY(spmmi_bcast(env, &status, sizeof status, first));
    if (status != SPMM_ERR_IO && status != SPMM_ERR_RANGE && status != SPMM_ERR_UNSUPPORTED) {
        return spmmi_agree(env, local);
    }
    memcpy(text, env->err.text, sizeof text);
    SPMM_TRY(spmmi_bcast(env, text, sizeof text, first));
    spmmi_error_clear(&env->err);
    return spmmi_fail(&env->err, (spmm_status_t)status, "%s", text);
}

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
     "an HDF5 file: convert it to Matrix Market, as with h5py and scipy.io.mmwrite() "
     "(docs/reference/files.md)"},
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
