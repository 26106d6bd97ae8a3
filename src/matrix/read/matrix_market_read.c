/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "matrix/read/gzip_source.h"
#include "matrix/read/matrix_market.h"

enum {
    FIRST_ENTRIES = 1024,     /* room of a list that begins to grow */
    PAST_RANGE    = 64 << 10, /* bytes read at a time to finish the last line of a range */
    HEADER_PIECE  = 64 << 10  /* bytes read at a time while only the header is wanted */
};

/* A part of an open file as a source of text. */
typedef struct {
    spmm_file_t *file;
    int64_t      at;   /* next byte to read */
    int64_t      last; /* read up to here in long pieces, then in short ones */
    int64_t      piece;
} file_range_t;

static spmm_status_t read_file_range(void *self, char *to, int64_t capacity, int64_t *got)
{
    file_range_t *range = self;
    int64_t       bytes = range->at < range->last ? range->last - range->at : range->piece;

    bytes = bytes < capacity ? bytes : capacity;
    bytes = bytes < range->file->size - range->at ? bytes : range->file->size - range->at;
    SPMM_TRY(spmmi_file_read(range->file, range->at, to, bytes));
    range->at += bytes;
    *got = bytes;
    return SPMM_OK;
}

/* What one rank knows while it reads. */
typedef struct {
    spmm_env_t       *env;
    const char       *path;
    spmm_mm_header_t  header;
    int64_t           body; /* offset of the first byte after the header */
    spmm_mm_cursor_t  cursor;
    spmm_entries_t    list;
    spmm_text_error_t error; /* of a line counted from the first one that the rank reads */
} reader_t;

/* The sentence for a bad line, unless a failure of another kind has left one. */
static spmm_status_t fail_at_line(reader_t *reader, spmm_status_t status, int64_t lines_before)
{
    if (status == SPMM_OK || reader->error.line == 0) {
        return status;
    }
    return spmmi_fail(&reader->env->err, status, SPMM_PATH_SHOWN ", line %" PRId64 ": %s",
                      reader->path, lines_before + reader->error.line, reader->error.text);
}

static spmm_status_t reserve(spmm_env_t *env, spmm_entries_t *list, int64_t more)
{
    spmm_entry_t *grown;
    int64_t       capacity = list->capacity + list->capacity / 2;

    if (list->capacity - list->count >= more) {
        return SPMM_OK;
    }
    capacity = capacity < FIRST_ENTRIES ? FIRST_ENTRIES : capacity;
    capacity = capacity < list->count + more ? list->count + more : capacity;
    grown    = spmmi_realloc(list->entry, capacity, sizeof *grown);
    if (grown == NULL) {
        return spmmi_fail_memory(&env->err, capacity, sizeof *grown, "the entries of a file");
    }
    list->entry    = grown;
    list->capacity = capacity;
    return SPMM_OK;
}

static spmm_status_t read_header(reader_t *reader, spmm_text_t *text)
{
    spmm_mm_header_t *header = &reader->header;
    const char       *at, *end;

    while (!header->complete) {
        SPMM_TRY(spmmi_text_window(text, header->lines + 1, &at, &end, &reader->error));
        if (at == end) {
            return spmmi_text_fail(&reader->error, SPMM_ERR_IO,
                                   header->lines + (header->lines == 0),
                                   header->lines == 0 ? "the file is empty"
                                                      : "the file ends before its line of sizes");
        }
        SPMM_TRY(spmmi_mm_parse_header(header, &at, end, &reader->error));
        spmmi_text_consume(text, at);
    }
    reader->body = text->offset;
    return SPMM_OK;
}

/* Parse the lines that begin before offset @p last of the text. */
static spmm_status_t read_lines(reader_t *reader, spmm_text_t *text, int64_t last)
{
    const char *at, *end;

    while (text->offset < last) {
        SPMM_TRY(spmmi_text_window(text, reader->cursor.lines + 1, &at, &end, &reader->error));
        if (at == end) {
            break;
        }
        if (end - at >
            last - 1 - text->offset) { /* the next line after byte last - 1 is not ours */
            const char *own     = at + (last - 1 - text->offset);
            const char *newline = memchr(own, '\n', (size_t)(end - own));

            end = newline == NULL ? end : newline + 1;
        }
        while (at < end) {
            SPMM_TRY(reserve(reader->env, &reader->list, FIRST_ENTRIES));
            SPMM_TRY(spmmi_mm_parse_entries(&reader->header, &reader->cursor, &at, end,
                                            &reader->list, &reader->error));
        }
        spmmi_text_consume(text, at);
    }
    return SPMM_OK;
}

static spmm_status_t fail_too_few(reader_t *reader, int64_t lines, int64_t found)
{
    return spmmi_fail(&reader->env->err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN ", line %" PRId64 ": the file ends after %" PRId64
                                      " of the %" PRId64 " entries of its header",
                      reader->path, lines, found, reader->header.entries);
}

/* Rows, columns and mirror images for an array, @p before entries of which lie on lower ranks. */
static spmm_status_t place(reader_t *reader, int64_t before)
{
    const spmm_mm_header_t *header = &reader->header;

    if (header->format == SPMM_MM_COORDINATE) {
        return SPMM_OK;
    }
    if (header->symmetry != SPMM_MM_GENERAL) {
        SPMM_TRY(reserve(reader->env, &reader->list, reader->list.count));
    }
    spmmi_mm_place_array(header, before, &reader->list);
    return SPMM_OK;
}

static spmm_status_t read_file_header(reader_t *reader, spmm_file_t *file)
{
    file_range_t  range = {.file = file, .piece = HEADER_PIECE};
    spmm_text_t   text;
    spmm_status_t status;

    SPMM_TRY(spmmi_text_open(reader->env, read_file_range, &range, 0, &text));
    status = fail_at_line(reader, read_header(reader, &text), 0);
    spmmi_text_close(&text);
    return status;
}

/* This rank's share of the body.  The lines of a range are those that begin in it. */
static spmm_status_t read_file_body(reader_t *reader, spmm_file_t *file, int64_t limit)
{
    const int64_t bytes = file->size - reader->body;
    const int64_t first =
        reader->body + spmmi_file_share(bytes, reader->env->size, reader->env->rank);
    const int64_t last =
        reader->body + spmmi_file_share(bytes, reader->env->size, reader->env->rank + 1);
    const bool    within = first > reader->body;
    file_range_t  range  = {.file = file, .at = first - within, .last = last, .piece = PAST_RANGE};
    spmm_text_t   text;
    spmm_status_t status = SPMM_OK;

    reader->cursor     = (spmm_mm_cursor_t){.limit = limit};
    reader->list.count = 0;
    if (first == last) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_text_open(reader->env, read_file_range, &range, range.at, &text));
    if (within) { /* a line begins here where the byte before ends one */
        status = spmmi_text_skip_line(&text);
    }
    if (status == SPMM_OK) {
        status = read_lines(reader, &text, last);
    }
    spmmi_text_close(&text);
    return status;
}

/* Lines and entries on lower ranks and on all. */
typedef struct {
    int64_t lines, entries;
} totals_t;

static spmm_status_t sum_totals(reader_t *reader, totals_t *before, totals_t *all)
{
    int64_t below[2] = {reader->cursor.lines, reader->cursor.entries};
    int64_t sum[2]   = {below[0], below[1]};

    SPMM_TRY(spmmi_exscan(reader->env, below, 2));
    SPMM_TRY(spmmi_allreduce(reader->env, sum, 2, MPI_INT64_T, MPI_SUM));
    *before = (totals_t){.lines = reader->header.lines + below[0], .entries = below[1]};
    *all    = (totals_t){.lines = reader->header.lines + sum[0], .entries = sum[1]};
    return SPMM_OK;
}

/* Compare the number of entries with the header.  Where there are too many, the rank that holds the
 * first one too many reads its range again to find its line. */
static spmm_status_t check_count(reader_t *reader, spmm_file_t *file, const totals_t *before,
                                 const totals_t *all)
{
    const int64_t declared = reader->header.entries;

    if (all->entries < declared) {
        return fail_too_few(reader, all->lines, all->entries);
    }
    if (all->entries > declared && before->entries <= declared &&
        declared < before->entries + reader->cursor.entries) {
        const spmm_status_t status = read_file_body(reader, file, declared - before->entries);

        if (status == SPMM_OK) {
            return spmmi_fail(&reader->env->err, SPMM_ERR_IO,
                              SPMM_PATH_SHOWN " was changed while being read", reader->path);
        }
        return fail_at_line(reader, status, before->lines);
    }
    return SPMM_OK;
}

static spmm_status_t read_text(reader_t *reader, spmm_file_t *file)
{
    spmm_env_t   *env    = reader->env;
    spmm_status_t status = SPMM_OK;
    totals_t      before, all;

    if (env->rank == 0) {
        status = read_file_header(reader, file);
    }
    SPMM_TRY(spmmi_file_agree(env, status));
    SPMM_TRY(spmmi_bcast(env, &reader->header, sizeof reader->header, 0));
    SPMM_TRY(spmmi_bcast(env, &reader->body, sizeof reader->body, 0));
    status = read_file_body(reader, file, INT64_MAX);
    SPMM_TRY(sum_totals(reader, &before, &all));
    /* All lines below the lowest failing rank have been counted: its sentence is the one kept. */
    SPMM_TRY(spmmi_file_agree(env, fail_at_line(reader, status, before.lines)));
    SPMM_TRY(spmmi_file_agree(env, check_count(reader, file, &before, &all)));
    return spmmi_file_agree(env, place(reader, before.entries));
}

static spmm_status_t finish(reader_t *reader, spmm_type_t type, spmm_status_t status,
                            spmm_matrix_t **A)
{
    const bool complex = reader->header.field == SPMM_MM_COMPLEX;

    reader->list.complex = complex;
    if (type == SPMM_TYPE_AUTO) {
        type = complex ? SPMM_C_64F : SPMM_R_64F;
    }
    if (status == SPMM_OK && complex && !spmmi_is_complex(type)) {
        status = spmmi_fail(&reader->env->err, SPMM_ERR_ARGUMENT,
                            SPMM_PATH_SHOWN " holds complex values, which type %s cannot: use 64c "
                                            "or 32c",
                            reader->path, spmmi_type_name(type));
    }
    if (status == SPMM_OK) {
        status = spmmi_assemble(reader->env, reader->header.rows, reader->header.cols,
                                &reader->list, SPMM_DUPLICATES_SUM, 0, type, A);
    }
    spmmi_entries_free(&reader->list);
    return status;
}

spmm_status_t spmmi_mm_read_text(spmm_file_t *file, spmm_type_t type, spmm_matrix_t **A)
{
    reader_t reader = {.env = file->env, .path = file->path};

    return finish(&reader, type, read_text(&reader, file), A);
}

/* The whole file, on one rank. */
static spmm_status_t read_gzip(reader_t *reader)
{
    spmm_gzip_source_t *source = NULL;
    spmm_text_t         text   = {0};
    spmm_status_t       status = spmmi_gzip_open(reader->env, reader->path, &source);

    if (status == SPMM_OK) {
        status = spmmi_text_open(reader->env, spmmi_gzip_read, source, 0, &text);
    }
    if (status == SPMM_OK) {
        status = read_header(reader, &text);
    }
    if (status == SPMM_OK) {
        reader->cursor =
            (spmm_mm_cursor_t){.lines = reader->header.lines, .limit = reader->header.entries};
        status = read_lines(reader, &text, INT64_MAX);
    }
    status = fail_at_line(reader, status, 0);
    if (status == SPMM_OK && reader->cursor.entries < reader->header.entries) {
        status = fail_too_few(reader, reader->cursor.lines, reader->cursor.entries);
    }
    if (status == SPMM_OK) {
        status = place(reader, 0);
    }
    spmmi_text_close(&text);
    spmmi_gzip_close(source);
    return status;
}

static spmm_status_t read_gzip_and_share(reader_t *reader)
{
    spmm_env_t   *env    = reader->env;
    spmm_status_t status = SPMM_OK;

    if (env->rank == 0) {
        status = read_gzip(reader);
    }
    SPMM_TRY(spmmi_file_agree(env, spmmi_await(env, 0, status)));
    SPMM_TRY(spmmi_bcast(env, &reader->header, sizeof reader->header, 0));
    return SPMM_OK;
}

spmm_status_t spmmi_mm_read_gzip(spmm_env_t *env, const char *path, spmm_type_t type,
                                 spmm_matrix_t **A)
{
    reader_t reader = {.env = env, .path = path};

    return finish(&reader, type, read_gzip_and_share(&reader), A);
}
