/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/gzip/gzip_source.h"

#include "matrix/read/file.h"

#ifdef SPMM_HAVE_ZLIB

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/output.h"

enum {
    PACKED_BUFFER = 256 << 10, /* bytes */
    GZIP_WINDOW   = 15 + 16    /* zlib: the largest window, gzip headers only */
};

struct spmm_gzip_source {
    spmm_env_t    *env;
    const char    *path;
    FILE          *stream;
    z_stream       inflate;
    bool           ready;     /* inflate has been initialised */
    bool           in_member; /* between the header and the trailer of a member */
    bool           ended;     /* the file has been read to its end */
    unsigned char *packed;    /* [PACKED_BUFFER] */
};

static void *zlib_alloc(void *unused, unsigned count, unsigned size)
{
    (void)unused;
    return spmmi_alloc((int64_t)count, size);
}

static void zlib_free(void *unused, void *ptr)
{
    (void)unused;
    spmmi_free(ptr);
}

spmm_status_t spmmi_gzip_start(spmm_error_t *err, z_stream *inflate)
{
    inflate->zalloc = zlib_alloc;
    inflate->zfree  = zlib_free;
    return inflateInit2(inflate, GZIP_WINDOW) == Z_OK
               ? SPMM_OK
               : spmmi_fail(err, SPMM_ERR_MEMORY, "out of memory: zlib could not start");
}

spmm_status_t spmmi_gzip_open(spmm_env_t *env, const char *path, spmm_gzip_source_t **source)
{
    spmm_gzip_source_t *self;
    spmm_status_t       status;
    const char         *other;

    if (SPMM_NEW_ZERO(self, 1) == NULL) {
        return spmmi_fail_memory(&env->err, 1, sizeof *self, "a gzip source");
    }
    self->env  = env;
    self->path = path;
    if (SPMM_NEW(self->packed, PACKED_BUFFER) == NULL) {
        status = spmmi_fail_memory(&env->err, PACKED_BUFFER, 1, "gzip input");
        goto undo;
    }
    status = spmmi_gzip_start(&env->err, &self->inflate);
    if (status != SPMM_OK) {
        goto undo;
    }
    self->ready  = true;
    self->stream = spmmi_input_open(path, &other);
    if (self->stream == NULL) {
        status = spmmi_fail(&env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " cannot be opened: %s", path,
                            strerror(errno));
        goto undo;
    }
    *source = self;
    return SPMM_OK;

undo:
    spmmi_gzip_close(self);
    return status;
}

void spmmi_gzip_close(spmm_gzip_source_t *source)
{
    if (source == NULL) {
        return;
    }
    if (source->stream != NULL) {
        (void)fclose(source->stream);
    }
    if (source->ready) {
        (void)inflateEnd(&source->inflate);
    }
    spmmi_free_all(source->packed, source);
}

static spmm_status_t fail(spmm_gzip_source_t *self, const char *problem)
{
    return spmmi_fail(&self->env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN ": %s", self->path, problem);
}

static spmm_status_t refill(spmm_gzip_source_t *self)
{
    const size_t got = fread(self->packed, 1, PACKED_BUFFER, self->stream);

    if (got == 0 && ferror(self->stream)) {
        return spmmi_fail(&self->env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN " cannot be read: %s",
                          self->path, strerror(errno));
    }
    self->ended            = got == 0;
    self->inflate.next_in  = self->packed;
    self->inflate.avail_in = (unsigned)got;
    return SPMM_OK;
}

/* Between members: another one may follow (gzip files can be concatenated), nothing else may. */
static spmm_status_t begin_member(spmm_gzip_source_t *self)
{
    if (self->inflate.avail_in == 0) {
        SPMM_TRY(refill(self));
    }
    if (self->ended) {
        return SPMM_OK;
    }
    if (self->inflate.next_in[0] != 0x1f || inflateReset(&self->inflate) != Z_OK) {
        return fail(self, "other data follows the end of the gzip data");
    }
    self->in_member = true;
    return SPMM_OK;
}

static spmm_status_t unpack(spmm_gzip_source_t *self)
{
    char problem[160];

    if (self->inflate.avail_in == 0) {
        SPMM_TRY(refill(self));
    }
    if (self->ended) {
        return fail(self, "the gzip data ends too early: the file has been cut");
    }
    switch (inflate(&self->inflate, Z_NO_FLUSH)) {
    case Z_STREAM_END:
        self->in_member = false;
        return SPMM_OK;
    case Z_OK:
    case Z_BUF_ERROR: /* no progress yet: more input is needed */
        return SPMM_OK;
    case Z_MEM_ERROR:
        return spmmi_fail(&self->env->err, SPMM_ERR_MEMORY, "out of memory: zlib ran out of it");
    default:
        (void)snprintf(problem, sizeof problem, "the gzip data is damaged (%.100s)",
                       self->inflate.msg == NULL ? "no detail" : self->inflate.msg);
        return fail(self, problem);
    }
}

spmm_status_t spmmi_gzip_read(void *source, char *to, int64_t capacity, int64_t *got)
{
    spmm_gzip_source_t *self = source;
    const unsigned      room =
        (unsigned)(capacity < SPMM_TEXT_BUFFER ? capacity : (int64_t)SPMM_TEXT_BUFFER);

    self->inflate.next_out  = (unsigned char *)to;
    self->inflate.avail_out = room;
    while (self->inflate.avail_out == room) {
        if (!self->in_member) {
            SPMM_TRY(begin_member(self));
            if (self->ended) {
                break;
            }
        }
        SPMM_TRY(unpack(self));
    }
    *got = (int64_t)(room - self->inflate.avail_out);
    return SPMM_OK;
}

#else /* without zlib */

spmm_status_t spmmi_gzip_open(spmm_env_t *env, const char *path, spmm_gzip_source_t **source)
{
    (void)source;
    return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                      SPMM_PATH_SHOWN " is gzipped and this build has no zlib: gunzip it first",
                      path);
}

void spmmi_gzip_close(spmm_gzip_source_t *source)
{
    (void)source;
}

spmm_status_t spmmi_gzip_read(void *source, char *to, int64_t capacity, int64_t *got)
{
    (void)source;
    (void)to;
    (void)capacity;
    *got = 0;
    return SPMM_OK;
}

#endif
