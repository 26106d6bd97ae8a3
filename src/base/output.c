/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 /* as Linux follows */, MOST_NAMES = 100 };

/* Links there stand for open files, as /dev/stdout does: what is replaced would stay open. */
static bool is_open_file(const char *path)
{
    return strncmp(path, "/proc/", strlen("/proc/")) == 0 ||
           strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0;
}

/* From the link @p path to the file, which need not be there. */
static int follow(char path[SPMM_OUTPUT_PATH])
{
    for (int k = 0; k < MOST_LINKS && !is_open_file(path); k++) {
        char          text[SPMM_OUTPUT_PATH];
        const ssize_t length = readlink(path, text, sizeof text - 1);
        const char   *slash  = strrchr(path, '/');
        size_t        folder;

        if (length < 0) {
            return errno == EINVAL || errno == ENOENT ? 0 : errno; /* no link, no file */
        }
        text[length] = '\0';
        folder       = text[0] == '/' || slash == NULL ? 0 : (size_t)(slash + 1 - path);
        if (folder + (size_t)length >= SPMM_OUTPUT_PATH) {
            return ENAMETOOLONG;
        }
        memcpy(path + folder, text, (size_t)length + 1);
    }
    return is_open_file(path) ? 0 : ELOOP;
}

/* Find the file, and what is there.  @param[out] mode  of the old file; 0: there is none */
static int aim(spmm_output_t *out, const char *path, spmm_output_links_t links, mode_t *mode)
{
    struct stat old;
    int         error;

    out->stream       = NULL;
    out->temporary[0] = '\0';
    *mode             = 0;
    if (strlen(path) >= sizeof out->target) {
        return ENAMETOOLONG;
    }
    (void)strcpy(out->target, path);
    if (links == SPMM_OUTPUT_REPLACE) {
        return 0;
    }
    error = follow(out->target);
    if (error != 0 || stat(out->target, &old) != 0) {
        return error;
    }
    *mode = old.st_mode;
    if (S_ISDIR(old.st_mode)) {
        return EISDIR;
    }
    return access(out->target, W_OK) == 0 ? 0 : errno;
}

static bool is_in_place(const spmm_output_t *out, mode_t mode)
{
    return mode != 0 && (!S_ISREG(mode) || is_open_file(out->target));
}

/* A name that nobody has: of other processes, of equal numbers on other nodes, and of links that
 * somebody planted.  @return a descriptor, -1 with errno set */
static int create(spmm_output_t *out)
{
    char host[64] = "";
    int  file     = -1;

    (void)gethostname(host, sizeof host - 1);
    for (int k = 0; k < MOST_NAMES && file < 0 && (k == 0 || errno == EEXIST); k++) {
        const int length = snprintf(out->temporary, sizeof out->temporary, "%s.%s.%ld.%d.tmp",
                                    out->target, host, (long)getpid(), k);

        if (length < 0 || (size_t)length >= sizeof out->temporary) {
            errno = ENAMETOOLONG;
            return -1;
        }
        file = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    return file;
}

int spmmi_output_open(spmm_output_t *out, const char *path, spmm_output_links_t links)
{
    mode_t mode;
    int    error = aim(out, path, links, &mode);
    int    file;

    if (error != 0) {
        return error;
    }
    if (is_in_place(out, mode) && links == SPMM_OUTPUT_FILE) {
        return ESPIPE;
    }
    if (is_in_place(out, mode)) {
        out->stream = fopen(out->target, "w");
        return out->stream == NULL ? errno : 0;
    }
    file = create(out);
    if (file < 0) {
        return errno;
    }
    if (mode != 0) {
        (void)fchmod(file, mode & 07777); /* who could read the old file can read the new one */
    }
    out->stream = fdopen(file, "w");
    if (out->stream == NULL) {
        error = errno;
        (void)close(file);
        (void)unlink(out->temporary);
    }
    return error;
}

int spmmi_output_close(spmm_output_t *out, bool whole)
{
    const bool in_place = out->temporary[0] == '\0';
    int        error    = 0;

    if (out->stream == NULL) {
        return 0;
    }
    if (fflush(out->stream) != 0) { /* again what a full disk did not take */
        error = errno;
    } else if (ferror(out->stream)) {
        error = EIO;
    } else if (whole && !in_place && fsync(fileno(out->stream)) != 0) {
        error = errno;
    }
    if (fclose(out->stream) != 0 && error == 0) {
        error = errno;
    }
    out->stream = NULL;
    if (!in_place && whole && error == 0 && rename(out->temporary, out->target) != 0) {
        error = errno;
    }
    if (!in_place && (!whole || error != 0)) {
        (void)unlink(out->temporary);
    }
    return error;
}

int spmmi_output_check(const char *path)
{
    spmm_output_t out;
    mode_t        mode;
    int           error = aim(&out, path, SPMM_OUTPUT_FOLLOW, &mode);

    if (error != 0 || is_in_place(&out, mode)) {
        return error;
    }
    error = spmmi_output_open(&out, path, SPMM_OUTPUT_FOLLOW);
    return error == 0 ? spmmi_output_close(&out, false) : error;
}

/* @return whether it is a regular file */
static bool is_input(const struct stat *facts, const char **other)
{
    if (!S_ISREG(facts->st_mode)) {
        *other = S_ISDIR(facts->st_mode) ? "a directory" : "a device, pipe or socket";
        errno  = S_ISDIR(facts->st_mode) ? EISDIR : ESPIPE;
    }
    return S_ISREG(facts->st_mode);
}

/* Opening alone may rewind a device or end the writer of a pipe, so that it is looked at before;
 * what takes its place meanwhile is not waited for. */
FILE *spmmi_input_open(const char *path, const char **other)
{
    struct stat facts;
    FILE       *stream = NULL;
    int         file;

    *other = NULL;
    if (stat(path, &facts) != 0 || !is_input(&facts, other)) {
        return NULL;
    }
    file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &facts) == 0 && is_input(&facts, other)) {
        stream = fdopen(file, "r");
    }
    if (file >= 0 && stream == NULL) {
        const int error = errno;

        (void)close(file);
        errno = error;
    }
    return stream;
}
