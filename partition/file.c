/* SPDX-License-Identifier: Apache-2.0 */
/** @file file.c
 *  METIS .part files, also gzipped: one part number a line, in row order.  Rank 0 reads and hands
 *  the parts to the owners of the rows, part by part.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/output.h"
#include "matrix/read/gzip.h"
#include "partition/partitioners.h"

enum { TOKEN_TEXT = 32, BUFFER = 1 << 16 };

/** A file being read by rank 0. */
typedef struct {
    spmm_env_t         *env;
    const char         *path;
    FILE               *file;             /**< NULL where it is gzipped */
    spmm_gzip_source_t *packed;           /**< NULL where it is not */
    char               *buffer;           /**< [BUFFER], owned */
    int64_t             at, end;          /**< of buffer: not yet consumed */
    int64_t             rows;             /**< lines wanted */
    int64_t             line;             /**< lines read */
    int64_t             n_parts;          /**< 1 + the highest part so far */
    int64_t             too_high;         /**< first line whose part is no rank; 0: none */
    char                text[TOKEN_TEXT]; /**< of the last line, without blanks around */
    bool                cut;              /**< the line has more than text */
} reader_t;

static spmm_status_t fill(reader_t *in)
{
    in->at = 0;
    if (in->packed != NULL) {
        return spmmi_gzip_read(in->packed, in->buffer, BUFFER, &in->end);
    }
    errno   = 0;
    in->end = (int64_t)fread(in->buffer, 1, BUFFER, in->file);
    if (in->end == 0 && ferror(in->file)) {
        return spmmi_fail(&in->env->err, SPMM_ERR_IO, "cannot read partition file '%.200s': %s",
                          in->path, strerror(errno));
    }
    return SPMM_OK;
}

/* EOF at the end of the file. */
static spmm_status_t next_byte(reader_t *in, int *c)
{
    if (in->at == in->end) {
        SPMM_TRY(fill(in));
    }
    *c = in->end == 0 ? EOF : (unsigned char)in->buffer[in->at++];
    return SPMM_OK;
}

/* The next line into in->text; *end: there is none.  Bytes that do not print become '?'. */
static spmm_status_t next_line(reader_t *in, bool *end)
{
    int c, length = 0;

    in->cut = false;
    for (;;) {
        SPMM_TRY(next_byte(in, &c));
        if (c == EOF || c == '\n') {
            break;
        }
        if (length == 0 && (c == ' ' || c == '\t')) {
            continue;
        }
        if (length < TOKEN_TEXT - 1) {
            in->text[length++] = (char)(isprint(c) || isspace(c) ? c : '?');
        } else {
            in->cut = in->cut || !isspace(c);
        }
    }
    *end = c == EOF && length == 0;
    in->line += !*end;
    while (length > 0 && isspace((unsigned char)in->text[length - 1])) {
        length--;
    }
    in->text[length] = '\0';
    return SPMM_OK;
}

static spmm_status_t next_part(reader_t *in, int32_t *part)
{
    bool  end;
    char *after;
    long  value;

    SPMM_TRY(next_line(in, &end));
    if (end) {
        return spmmi_fail(&in->env->err, SPMM_ERR_IO,
                          "partition file '%.200s' ends after line %" PRId64
                          ", but the matrix has %" PRId64 " rows: one part number a line is needed",
                          in->path, in->line, in->rows);
    }
    errno = 0;
    value = strtol(in->text, &after, 10);
    if (in->cut || after == in->text || *after != '\0' || errno != 0 || value == LONG_MAX) {
        return spmmi_fail(&in->env->err, SPMM_ERR_IO,
                          "partition file '%.200s', line %" PRId64 ": '%s' is not a part number",
                          in->path, in->line, in->text);
    }
    if (value < 0) {
        return spmmi_fail(&in->env->err, SPMM_ERR_IO,
                          "partition file '%.200s', line %" PRId64
                          ": part %ld is negative, parts are counted from 0",
                          in->path, in->line, value);
    }
    in->n_parts = value >= in->n_parts ? (int64_t)value + 1 : in->n_parts;
    if (value >= in->env->size) {
        in->too_high = in->too_high == 0 ? in->line : in->too_high;
        value        = 0;
    }
    *part = (int32_t)value;
    return SPMM_OK;
}

/* All rows are read: nothing but blank lines may follow. */
static spmm_status_t check_end(reader_t *in)
{
    bool end = false;

    while (!end) {
        SPMM_TRY(next_line(in, &end));
        if (!end && in->text[0] != '\0') {
            return spmmi_fail(&in->env->err, SPMM_ERR_IO,
                              "partition file '%.200s', line %" PRId64
                              ": the matrix has only %" PRId64 " rows",
                              in->path, in->line, in->rows);
        }
    }
    if (in->too_high != 0) {
        return spmmi_fail(&in->env->err, SPMM_ERR_IO,
                          "partition file '%.200s' was written for %" PRId64 " parts (line %" PRId64
                          " names one too high), and the number of ranks is %d: "
                          "run on as many ranks as it has parts, or write it anew",
                          in->path, in->n_parts, in->too_high, in->env->size);
    }
    return SPMM_OK;
}

/* Rank 0: read @p count parts into @p part. */
static spmm_status_t read_part(reader_t *in, int32_t count, int32_t *part)
{
    for (int32_t i = 0; i < count; i++) {
        SPMM_TRY(next_part(in, &part[i]));
    }
    return SPMM_OK;
}

/* Rank 0 reads for all, part by part; what goes wrong with one all learn before the next.  @p piece
 * is scratch of rank 0 [SPMM_PIECE].  Agreed but for the last transfer and the end of the file. */
static spmm_status_t distribute(const spmm_matrix_t *A, reader_t *in, int32_t *row_part,
                                int32_t *piece)
{
    spmm_env_t   *env    = A->env;
    spmm_status_t status = SPMM_OK;

    for (int p = 0; p < env->size; p++) {
        const int64_t rows = A->row_offset[p + 1] - A->row_offset[p];

        for (int64_t at = 0; at < rows; at += SPMM_PIECE) {
            const int32_t count = (int32_t)(rows - at < SPMM_PIECE ? rows - at : SPMM_PIECE);
            const size_t  bytes = (size_t)count * sizeof *piece;

            if (env->rank == 0 && status == SPMM_OK) {
                status = read_part(in, count, p == 0 ? row_part + at : piece);
            }
            SPMM_TRY(spmmi_agree(env, status));
            if (p != 0 && env->rank == 0) {
                status = spmmi_send_bytes(env, piece, bytes, p);
            } else if (p != 0 && env->rank == p) {
                status = spmmi_recv_bytes(env, row_part + at, bytes, 0);
            }
        }
    }
    return env->rank == 0 && status == SPMM_OK ? check_end(in) : status;
}

/* A gzipped file begins with bytes that no part number has. */
static spmm_status_t unpack_if_gzipped(reader_t *in)
{
    if (in->end < 2 || (unsigned char)in->buffer[0] != 0x1f ||
        (unsigned char)in->buffer[1] != 0x8b) {
        return SPMM_OK;
    }
    (void)fclose(in->file); /* read only: nothing can be lost */
    in->file = NULL;
    in->at = in->end = 0;
    return spmmi_gzip_open(in->env, in->path, &in->packed);
}

static spmm_status_t open_file(reader_t *in, int32_t **piece)
{
    const char *other;

    if (in->env->rank != 0) {
        return SPMM_OK;
    }
    if (SPMM_NEW(*piece, SPMM_PIECE) == NULL || SPMM_NEW(in->buffer, BUFFER) == NULL) {
        return spmmi_fail_memory(&in->env->err, SPMM_PIECE, sizeof **piece, "a partition");
    }
    in->file = spmmi_input_open(in->path, &other);
    if (other != NULL) {
        return spmmi_fail(&in->env->err, SPMM_ERR_IO, "'%.200s' is %s, not a partition file",
                          in->path, other);
    }
    if (in->file == NULL) {
        return spmmi_fail(&in->env->err, SPMM_ERR_IO, "cannot open partition file '%.200s': %s",
                          in->path, strerror(errno));
    }
    SPMM_TRY(fill(in));
    return unpack_if_gzipped(in);
}

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    reader_t      in    = {.env = A->env, .path = options->argument, .rows = A->rows};
    int32_t      *piece = NULL;
    spmm_status_t status;

    SPMM_TRY(spmmi_partition_alloc(A, partition));
    status = spmmi_agree(A->env, open_file(&in, &piece));
    if (status == SPMM_OK) {
        status = spmmi_agree(A->env, distribute(A, &in, partition->row_part, piece));
    }
    if (in.file != NULL) {
        (void)fclose(in.file); /* read only: nothing can be lost */
    }
    spmmi_gzip_close(in.packed);
    spmmi_free_all(in.buffer, piece);
    SPMM_TRY(status);
    if (A->env->rank == 0 && in.n_parts < A->env->size) {
        partition->note = "of fewer parts than ranks: the last ranks have no rows";
        spmmi_log(A->env, "partition %s: %" PRId64 " parts for %d ranks: the last have no rows",
                  in.path, in.n_parts, A->env->size);
    }
    return spmmi_partition_columns(A, partition);
}

const spmm_partitioner_t spmmi_partitioner_file = {
    .name        = "file",
    .description = "parts read from a METIS .part file, also gzipped: file:PATH",
    .built       = true,
    .run         = run,
};

/* Writes METIS .part files.  Rank 0 collects the parts piece by piece; the file appears under its
 * name only when it is whole. */

/** A file being written by rank 0. */
typedef struct {
    spmm_env_t   *env;
    const char   *path;
    spmm_output_t output;
} writer_t;

static spmm_status_t check_write(const writer_t *out, int error)
{
    return error == 0
               ? SPMM_OK
               : spmmi_fail(&out->env->err, SPMM_ERR_IO, "cannot write partition file '%.200s': %s",
                            out->path, strerror(error));
}

static spmm_status_t open_output(writer_t *out, int32_t **piece)
{
    if (out->env->rank != 0) {
        return SPMM_OK;
    }
    if (SPMM_NEW(*piece, SPMM_PIECE) == NULL) {
        return spmmi_fail_memory(&out->env->err, SPMM_PIECE, sizeof **piece, "a partition");
    }
    return check_write(out, spmmi_output_open(&out->output, out->path, SPMM_OUTPUT_FOLLOW));
}

static spmm_status_t write_piece(const writer_t *out, int32_t count, const int32_t *part)
{
    for (int32_t i = 0; i < count; i++) {
        if (fprintf(out->output.stream, "%" PRId32 "\n", part[i]) < 0) {
            return check_write(out, errno);
        }
    }
    return SPMM_OK;
}

/* Rank 0 takes and writes the parts of all, piece by piece; what goes wrong with one all learn
 * before the next.  @p piece is scratch of rank 0 [SPMM_PIECE].  Agreed but for the last piece. */
static spmm_status_t collect(const spmm_matrix_t *A, const writer_t *out, const int32_t *row_part,
                             int32_t *piece)
{
    spmm_env_t   *env    = A->env;
    spmm_status_t status = SPMM_OK;

    for (int p = 0; p < env->size; p++) {
        const int64_t rows = A->row_offset[p + 1] - A->row_offset[p];

        for (int64_t at = 0; at < rows; at += SPMM_PIECE) {
            const int32_t count = (int32_t)(rows - at < SPMM_PIECE ? rows - at : SPMM_PIECE);
            const size_t  bytes = (size_t)count * sizeof *piece;

            SPMM_TRY(spmmi_agree(env, status));
            if (p != 0 && env->rank == p) {
                status = spmmi_send_bytes(env, row_part + at, bytes, 0);
            } else if (p != 0 && env->rank == 0) {
                status = spmmi_recv_bytes(env, piece, bytes, p);
            }
            if (env->rank == 0 && status == SPMM_OK) {
                status = write_piece(out, count, p == 0 ? row_part + at : piece);
            }
        }
    }
    return status;
}

/* Close and, when all went well, give the file its name. */
static spmm_status_t finish(writer_t *out, spmm_status_t status)
{
    const int error = spmmi_output_close(&out->output, status == SPMM_OK);

    return status == SPMM_OK ? check_write(out, error) : status;
}

spmm_status_t spmmi_partition_write(const spmm_matrix_t *A, const int32_t *row_part,
                                    const char *path)
{
    writer_t      out   = {.env = A->env, .path = path};
    int32_t      *piece = NULL;
    spmm_status_t status;

    status = spmmi_agree(A->env, open_output(&out, &piece));
    if (status == SPMM_OK) {
        status = spmmi_agree(A->env, finish(&out, collect(A, &out, row_part, piece)));
    } else {
        (void)finish(&out, status);
    }
    spmmi_free(piece);
    return status;
}
