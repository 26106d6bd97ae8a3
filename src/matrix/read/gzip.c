/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/gzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/output.h"

#ifdef SPMM_HAVE_ZLIB

#include <zlib.h>

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

/* Make a stream that unpacks gzip data, with memory of the library; inflateEnd() frees it. */
static spmm_status_t gzip_start(spmm_error_t *err, z_stream *inflate)
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
    status = gzip_start(&env->err, &self->inflate);
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

enum {
    HEADER  = 18,      /* bytes of a block up to its data */
    TRAILER = 8,       /* check sum and length of the text */
    LONGEST = 1 << 16, /* bytes of a block, and of its text */
    AT_ONCE = 4096     /* blocks that the list has room for at first */
};

/* Bytes of the block, 0 for what is none: 31, 139, deflate, with an extra field of 6 bytes, in it
 * 66, 67, 2 bytes that give the length less 1. */
static int64_t length_of(const unsigned char head[HEADER])
{
    static const unsigned char start[] = {31, 139, 8, 4}, extra[] = {6, 0, 66, 67, 2, 0};

    return memcmp(head, start, sizeof start) == 0 && memcmp(head + 10, extra, sizeof extra) == 0
               ? 1 + head[16] + 256 * (int64_t)head[17]
               : 0;
}

bool spmmi_bgzf_matches(const unsigned char head[SPMM_FILE_HEAD])
{
    return length_of(head) > 0;
}

/* Append a block, or the end of all. */
static spmm_status_t append(spmm_bgzf_t *b, int64_t *room, spmm_bgzf_block_t block)
{
    spmm_bgzf_block_t *grown = b->block;

    if (b->n == *room) {
        *room = *room == 0 ? AT_ONCE : 2 * *room;
        grown = spmmi_realloc(b->block, *room, sizeof *grown);
    }
    if (grown == NULL) {
        return spmmi_fail_memory(&b->file->env->err, *room, sizeof *grown, "blocks of a file");
    }
    b->block         = grown;
    b->block[b->n++] = block;
    return SPMM_OK;
}

/* Bytes of text of the block that ends with @p trailer. */
static int64_t text_of(const unsigned char trailer[4])
{
    return trailer[0] + 256 * (int64_t)trailer[1] + 65536 * (int64_t)trailer[2] +
           ((int64_t)trailer[3] << 24);
}

/* Each step reads the end of one block and the start of the next.  Local.
 * @param[out] all  the file is blocks and nothing else */
static spmm_status_t find_blocks(spmm_bgzf_t *b, bool *all)
{
    const spmm_bytes_t file = spmmi_file_bytes(b->file);
    spmm_bgzf_block_t  next = {0};
    int64_t            room = 0, text = 0, length = 0;

    for (*all = true; *all && next.at < file.size; next.at += length) {
        const int64_t lead = next.at == 0 ? 0 : 4, left = file.size - next.at;
        const int64_t n                 = left < HEADER ? left : HEADER;
        unsigned char bytes[4 + HEADER] = {0};

        SPMM_TRY(
            file.read(file.self, &b->file->env->err, next.at - lead, bytes + 4 - lead, n + lead));
        text = text_of(bytes);
        next.text += text;
        length = length_of(bytes + 4);
        *all   = length >= HEADER + TRAILER && length <= left && text <= LONGEST;
        SPMM_TRY(append(b, &room, next));
    }
    if (*all) {
        unsigned char bytes[4];

        SPMM_TRY(file.read(file.self, &b->file->env->err, next.at - 4, bytes, sizeof bytes));
        text = text_of(bytes);
        next.text += text;
        *all = text <= LONGEST && next.text > 0;
        SPMM_TRY(append(b, &room, next));
        b->n--;
    }
    return SPMM_OK;
}

static spmm_status_t fail_block(const spmm_bgzf_t *b, spmm_error_t *err, const char *problem)
{
    return spmmi_fail(err, SPMM_ERR_IO, SPMM_PATH_SHOWN ": %s", b->file->path, problem);
}

/** What one call of read_text() unpacks with. */
typedef struct {
    z_stream       inflate;
    unsigned char *packed; /* [LONGEST], and behind it [LONGEST] of text */
} tool_t;

/* The whole text of block @p k. */
static spmm_status_t unpack_block(const spmm_bgzf_t *b, spmm_error_t *err, tool_t *tool, int64_t k,
                                  unsigned char *to)
{
    const spmm_bytes_t file   = spmmi_file_bytes(b->file);
    const int64_t      length = b->block[k + 1].at - b->block[k].at;
    const int64_t      text   = b->block[k + 1].text - b->block[k].text;
    int                code;

    SPMM_TRY(file.read(file.self, err, b->block[k].at, tool->packed, length));
    tool->inflate.next_in   = tool->packed;
    tool->inflate.avail_in  = (unsigned)length;
    tool->inflate.next_out  = to;
    tool->inflate.avail_out = (unsigned)text;
    code                    = inflateReset(&tool->inflate);
    code                    = code == Z_OK ? inflate(&tool->inflate, Z_FINISH) : code;
    return code == Z_STREAM_END && tool->inflate.avail_out == 0 && tool->inflate.avail_in == 0
               ? SPMM_OK
               : fail_block(b, err, "the gzip data is damaged (a block of it)");
}

static int64_t block_with(const spmm_bgzf_t *b, int64_t offset)
{
    int64_t low = 0, high = b->n;

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        *(b->block[middle].text <= offset ? &low : &high) = middle;
    }
    return low;
}

static spmm_status_t unpack_range(const spmm_bgzf_t *b, spmm_error_t *err, tool_t *tool,
                                  int64_t offset, unsigned char *to, int64_t bytes)
{
    for (int64_t k = block_with(b, offset); bytes > 0; k++) {
        const int64_t  skip = offset - b->block[k].text;
        const int64_t  all  = b->block[k + 1].text - b->block[k].text;
        const int64_t  part = all - skip < bytes ? all - skip : bytes;
        unsigned char *text = tool->packed + LONGEST;

        SPMM_TRY(unpack_block(b, err, tool, k, part == all ? to : text));
        if (part < all) {
            memcpy(to, text + skip, (size_t)part);
        }
        to += part;
        offset += part;
        bytes -= part;
    }
    return SPMM_OK;
}

static spmm_status_t read_text(void *self, spmm_error_t *err, int64_t offset, void *to,
                               int64_t bytes)
{
    const spmm_bgzf_t *b    = self;
    tool_t             tool = {.packed = NULL};
    spmm_status_t      status;

    if (SPMM_NEW(tool.packed, 2 * LONGEST) == NULL) {
        return spmmi_fail_memory(err, 2 * (int64_t)LONGEST, 1, "a block of a file");
    }
    status = gzip_start(err, &tool.inflate);
    if (status == SPMM_OK) {
        status = unpack_range(b, err, &tool, offset, to, bytes);
        (void)inflateEnd(&tool.inflate);
    }
    spmmi_free(tool.packed);
    return status;
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

bool spmmi_bgzf_matches(const unsigned char head[SPMM_FILE_HEAD])
{
    (void)head;
    return false;
}

static spmm_status_t find_blocks(spmm_bgzf_t *b, bool *all)
{
    (void)b;
    *all = false;
    return SPMM_OK;
}

static spmm_status_t read_text(void *self, spmm_error_t *err, int64_t offset, void *to,
                               int64_t bytes)
{
    (void)self;
    (void)offset;
    (void)to;
    (void)bytes;
    return spmmi_fail(err, SPMM_ERR_UNSUPPORTED, "this build has no zlib");
}

#endif

/* Rank 0 finds them, and the others get its list. */
static spmm_status_t share(spmm_bgzf_t *b)
{
    spmm_env_t   *env    = b->file->env;
    spmm_status_t status = SPMM_OK;
    bool          all    = false;

    if (env->rank == 0) {
        status = find_blocks(b, &all);
        b->n   = all ? b->n : 0;
    }
    SPMM_TRY(spmmi_file_agree(env, status));
    SPMM_TRY(spmmi_bcast(env, &b->n, sizeof b->n, 0));
    if (b->n == 0) {
        return SPMM_OK;
    }
    if (env->rank > 0 && SPMM_NEW(b->block, b->n + 1) == NULL) {
        status = spmmi_fail_memory(&env->err, b->n, sizeof *b->block, "blocks of a file");
    }
    SPMM_TRY(spmmi_file_agree(env, status));
    return spmmi_bcast(env, b->block, (size_t)(b->n + 1) * sizeof *b->block, 0);
}

spmm_status_t spmmi_bgzf_open(spmm_file_t *file, spmm_bgzf_t *blocks)
{
    spmm_status_t status;

    *blocks = (spmm_bgzf_t){.file = file};
    status  = share(blocks);
    if (status != SPMM_OK) {
        spmmi_bgzf_close(blocks);
    }
    return status;
}

void spmmi_bgzf_close(spmm_bgzf_t *blocks)
{
    spmmi_free(blocks->block);
    blocks->block = NULL;
}

spmm_bytes_t spmmi_bgzf_bytes(spmm_bgzf_t *blocks)
{
    return (spmm_bytes_t){.read = read_text, .self = blocks, .size = blocks->block[blocks->n].text};
}
