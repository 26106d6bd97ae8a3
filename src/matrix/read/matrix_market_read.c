/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "matrix/read/gzip.h"
#include "matrix/read/matrix_market.h"

/* What one thread reads of a Matrix Market file.  All is local, and
 * failures stand in the part: a sentence in err, or a line in error. */

typedef struct {
    spmm_status_t     status;
    spmm_error_t      err;
    spmm_text_error_t error; /**< of a line counted from the first one of the part */
    spmm_mm_cursor_t  cursor;
    spmm_entries_t    list; /**< of an array all entries, else some that wait to be packed */
    spmm_bag_t        bag;
    int64_t           capacity; /**< of the pieces of the bag: mm_piece() */
} spmm_mm_part_t;

enum {
    ROOM          = 2048,    /* entries of a part that wait to be packed */
    PIECE_ENTRIES = 1 << 21, /* 32 MiB: malloc gives these back to the system */
    LEAST_LINE    = 4,       /* bytes of a line with an entry */
    PAST_RANGE    = 4 << 10, /* bytes read at a time to finish the last line of a range */
    HEADER_PIECE  = 64 << 10 /* bytes read at a time while only the header is wanted */
};

/* A range of bytes as a source of text. */
typedef struct {
    const spmm_bytes_t *bytes;
    spmm_error_t       *err;
    int64_t             at;   /* next byte to read */
    int64_t             last; /* read up to here in long pieces, then in short ones */
    int64_t             piece;
} range_t;

static spmm_status_t read_range(void *self, char *to, int64_t capacity, int64_t *got)
{
    range_t *range = self;
    int64_t  bytes = range->at < range->last ? range->last - range->at : range->piece;

    bytes = bytes < capacity ? bytes : capacity;
    bytes = bytes < range->bytes->size - range->at ? bytes : range->bytes->size - range->at;
    SPMM_TRY(range->bytes->read(range->bytes->self, range->err, range->at, to, bytes));
    range->at += bytes;
    *got = bytes;
    return SPMM_OK;
}

/* Entries of a piece for so many lines; a line makes four at most, two parts and their images. */
static int64_t mm_piece(int64_t lines)
{
    return lines < PIECE_ENTRIES / 4 ? 4 * lines + ROOM : PIECE_ENTRIES;
}

/* Room for @p more entries. */
static spmm_status_t mm_grow(spmm_error_t *err, spmm_entries_t *list, int64_t more)
{
    int64_t       capacity = list->capacity + list->capacity / 2;
    spmm_entry_t *grown;

    if (list->capacity - list->count >= more) {
        return SPMM_OK;
    }
    capacity = capacity < list->count + more ? list->count + more : capacity;
    grown    = spmmi_realloc(list->entry, capacity, sizeof *grown);
    if (grown == NULL) {
        return spmmi_fail_memory(err, capacity, sizeof *grown, "the entries of a file");
    }
    list->entry    = grown;
    list->capacity = capacity;
    return SPMM_OK;
}

/* Pack the entries that wait. */
static spmm_status_t flush(spmm_mm_part_t *part)
{
    spmm_entries_t *list = &part->list;

    spmmi_bag_pack(&part->bag, list->entry, list->count);
    SPMM_TRY(spmmi_bag_put(&part->err, &part->bag, list->entry, list->count, part->capacity));
    list->count = 0;
    return SPMM_OK;
}

/* The banner and the sizes. */
static spmm_status_t mm_read_header(spmm_mm_header_t *header, spmm_mm_part_t *part,
                                    spmm_text_t *text)
{
    const char *at, *end;

    while (!header->complete) {
        SPMM_TRY(spmmi_text_window(text, header->lines + 1, &at, &end, &part->error));
        if (at == end) {
            return spmmi_text_fail(&part->error, SPMM_ERR_IO, header->lines + (header->lines == 0),
                                   header->lines == 0 ? "the file is empty"
                                                      : "the file ends before its line of sizes");
        }
        SPMM_TRY(spmmi_mm_parse_header(header, &at, end, &part->error));
        spmmi_text_consume(text, at);
    }
    return SPMM_OK;
}

/* The same at the begin of @p bytes.
 * @param[out] body  offset of what follows them */
static spmm_status_t mm_read_head(spmm_mm_header_t *header, const spmm_bytes_t *bytes,
                                  int64_t *body, spmm_mm_part_t *part)
{
    range_t       range = {.bytes = bytes, .err = &part->err, .piece = HEADER_PIECE};
    spmm_text_t   text;
    spmm_status_t status;

    SPMM_TRY(spmmi_text_open(&part->err, read_range, &range, 0, &text));
    status = mm_read_header(header, part, &text);
    *body  = text.offset;
    spmmi_text_close(&text);
    return status;
}

/* The lines that begin before offset @p last of the text. */
static spmm_status_t mm_read_lines(const spmm_mm_header_t *header, spmm_mm_part_t *part,
                                   spmm_text_t *text, int64_t last)
{
    const char *at, *end;

    while (text->offset < last) {
        SPMM_TRY(spmmi_text_window(text, part->cursor.lines + 1, &at, &end, &part->error));
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
            SPMM_TRY(mm_grow(&part->err, &part->list, ROOM));
            SPMM_TRY(
                spmmi_mm_parse_entries(header, &part->cursor, &at, end, &part->list, &part->error));
            if (header->format == SPMM_MM_COORDINATE) {
                SPMM_TRY(flush(part));
            }
        }
        spmmi_text_consume(text, at);
    }
    return SPMM_OK;
}

/* The lines that begin in bytes @p first to @p last. */
static spmm_status_t mm_read_part(const spmm_mm_header_t *header, const spmm_bytes_t *bytes,
                                  int64_t body, int64_t first, int64_t last, spmm_mm_part_t *part)
{
    const bool    within = first > body;
    range_t       range  = {.bytes = bytes};
    spmm_text_t   text;
    spmm_status_t status = SPMM_OK;

    if (first == last) {
        return SPMM_OK;
    }
    range.err      = &part->err;
    range.at       = first - within;
    range.last     = last;
    range.piece    = PAST_RANGE;
    part->capacity = mm_piece((last - first) / LEAST_LINE);
    SPMM_TRY(spmmi_text_open(&part->err, read_range, &range, range.at, &text));
    if (within) { /* a line begins here where the byte before ends one */
        status = spmmi_text_skip_line(&text);
    }
    if (status == SPMM_OK) {
        status = mm_read_lines(header, part, &text, last);
    }
    spmmi_text_close(&text);
    return status;
}

enum { LEAST_PART = 256 << 10 /* bytes that are worth waking a thread for */ };

/* Tests ask for short parts as for short messages. */
static int64_t least_part(const spmm_env_t *env)
{
    return env->message_limit > 0 && env->message_limit < LEAST_PART ? (int64_t)env->message_limit
                                                                     : LEAST_PART;
}

/* What one rank knows while it reads. */
typedef struct {
    spmm_env_t      *env;
    const char      *path;
    spmm_mm_header_t header;
    int64_t          body; /* offset of the first byte after the header */
    spmm_mm_cursor_t cursor;
    spmm_mm_part_t  *part; /* [n_parts], owned */
    int              n_parts;
    spmm_bag_t       bag; /* in the end the entries of all parts */
} reader_t;

static bool is_array(const reader_t *reader)
{
    return reader->header.format == SPMM_MM_ARRAY;
}

static void free_parts(reader_t *reader)
{
    for (int t = 0; t < reader->n_parts; t++) {
        spmmi_entries_free(&reader->part[t].list);
        spmmi_bag_free(&reader->part[t].bag);
    }
    spmmi_free(reader->part);
    reader->part    = NULL;
    reader->n_parts = 0;
}

/* Once the header is known. */
static void choose_form(reader_t *reader)
{
    const spmm_mm_header_t *header = &reader->header;

    reader->bag.complex = header->field == SPMM_MM_COMPLEX;
    reader->bag.wide    = is_array(reader) || spmmi_bag_must_be_wide(header->rows, header->cols,
                                                                  reader->bag.complex ? 2 : 1);
}

static spmm_status_t make_parts(reader_t *reader, int count)
{
    free_parts(reader);
    if (SPMM_NEW_ZERO(reader->part, count) == NULL) {
        return spmmi_fail_memory(&reader->env->err, count, sizeof *reader->part, "parts of a file");
    }
    reader->n_parts = count;
    for (int t = 0; t < count; t++) {
        reader->part[t].bag    = reader->bag;
        reader->part[t].cursor = (spmm_mm_cursor_t){.limit = INT64_MAX};
    }
    return SPMM_OK;
}

/* The sentence for the first bad line, unless a failure of another kind has left one. */
static spmm_status_t fail_at_line(reader_t *reader, const spmm_mm_part_t *part,
                                  int64_t lines_before)
{
    if (part->status == SPMM_OK) {
        return SPMM_OK;
    }
    if (part->error.line == 0) {
        return spmmi_fail(&reader->env->err, part->status, "%s", part->err.text);
    }
    return spmmi_fail(&reader->env->err, part->status, SPMM_PATH_SHOWN ", line %" PRId64 ": %s",
                      reader->path, lines_before + part->error.line, part->error.text);
}

static spmm_status_t fail_too_few(reader_t *reader, int64_t lines, int64_t found)
{
    return spmmi_fail(&reader->env->err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN ", line %" PRId64 ": the file ends after %" PRId64
                                      " of the %" PRId64 " entries of its header",
                      reader->path, lines, found, reader->header.entries);
}

/* The bags of the parts become one.  Those of an array get rows, columns and mirror images;
 * @p before entries of it lie on lower ranks. */
static spmm_status_t collect(reader_t *reader, int64_t before)
{
    spmm_error_t *err = &reader->env->err;

    for (int t = 0; t < reader->n_parts; t++) {
        spmm_mm_part_t *part = &reader->part[t];

        if (is_array(reader)) {
            spmm_entries_t *list = &part->list;
            int64_t         odd;

            if (reader->header.symmetry != SPMM_MM_GENERAL) {
                SPMM_TRY(mm_grow(err, list, list->count));
            }
            odd = spmmi_mm_place_array(&reader->header, before, list);
            if (odd > 0) {
                return spmmi_fail(err, SPMM_ERR_IO, SPMM_PATH_SHOWN ": " SPMM_MM_NOT_HERMITIAN,
                                  reader->path, odd, odd);
            }
            SPMM_TRY(spmmi_bag_add(err, &part->bag,
                                   (spmm_piece_t){.data     = list->entry,
                                                  .block    = list->entry,
                                                  .count    = list->count,
                                                  .capacity = list->capacity}));
            *list = (spmm_entries_t){0};
        }
        before += part->cursor.entries;
        SPMM_TRY(spmmi_bag_take(err, &reader->bag, &part->bag));
    }
    return SPMM_OK;
}

/* This rank's share of the body, in parts of about equal length, one for each thread. */
static spmm_status_t read_body(reader_t *reader, const spmm_bytes_t *bytes, int parts,
                               int64_t limit)
{
    const spmm_env_t *env   = reader->env;
    const int64_t     all   = bytes->size - reader->body;
    const int64_t     first = spmmi_even_share(all, env->size, env->rank) + reader->body;
    const int64_t     mine = spmmi_even_share(all, env->size, env->rank + 1) + reader->body - first;

    SPMM_TRY(make_parts(reader, parts));
    reader->part[0].cursor.limit = limit;
#pragma omp parallel for schedule(static, 1) num_threads(parts) if (parts > 1)
    for (int t = 0; t < parts; t++) {
        spmm_mm_part_t *part = &reader->part[t];

        part->status = mm_read_part(&reader->header, bytes, reader->body,
                                    first + spmmi_even_share(mine, parts, t),
                                    first + spmmi_even_share(mine, parts, t + 1), part);
    }
    reader->cursor = (spmm_mm_cursor_t){0};
    for (int t = 0; t < parts; t++) {
        reader->cursor.lines += reader->part[t].cursor.lines;
        reader->cursor.entries += reader->part[t].cursor.entries;
    }
    return SPMM_OK;
}

/* The first failure of this rank's parts. */
static spmm_status_t fail_first(reader_t *reader, int64_t lines_before)
{
    for (int t = 0; t < reader->n_parts; t++) {
        SPMM_TRY(fail_at_line(reader, &reader->part[t], lines_before));
        lines_before += reader->part[t].cursor.lines;
    }
    return SPMM_OK;
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
static spmm_status_t check_count(reader_t *reader, const spmm_bytes_t *bytes,
                                 const totals_t *before, const totals_t *all)
{
    const int64_t declared = reader->header.entries;

    if (all->entries < declared) {
        return fail_too_few(reader, all->lines, all->entries);
    }
    if (all->entries > declared && before->entries <= declared &&
        declared < before->entries + reader->cursor.entries) {
        SPMM_TRY(read_body(reader, bytes, 1, declared - before->entries));
        SPMM_TRY(fail_first(reader, before->lines));
        return spmmi_fail(&reader->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN " was changed while being read", reader->path);
    }
    return SPMM_OK;
}

static spmm_status_t read_bytes(reader_t *reader, const spmm_bytes_t *bytes)
{
    spmm_env_t    *env     = reader->env;
    const int      threads = spmmi_cpu_team(env->threads);
    spmm_mm_part_t head    = {.status = SPMM_OK};
    spmm_status_t  status  = SPMM_OK;
    totals_t       before, all;
    int64_t        parts;

    if (env->rank == 0) {
        head.status = mm_read_head(&reader->header, bytes, &reader->body, &head);
        status      = fail_at_line(reader, &head, 0);
    }
    SPMM_TRY(spmmi_file_agree(env, status));
    SPMM_TRY(spmmi_bcast(env, &reader->header, sizeof reader->header, 0));
    SPMM_TRY(spmmi_bcast(env, &reader->body, sizeof reader->body, 0));
    choose_form(reader);
    parts  = (bytes->size - reader->body) / env->size / least_part(env) + 1;
    status = read_body(reader, bytes, parts < threads ? (int)parts : threads, INT64_MAX);
    SPMM_TRY(sum_totals(reader, &before, &all));
    /* All lines below the lowest failing rank have been counted: its sentence is the one kept. */
    SPMM_TRY(spmmi_file_agree(env, status == SPMM_OK ? fail_first(reader, before.lines) : status));
    SPMM_TRY(spmmi_file_agree(env, check_count(reader, bytes, &before, &all)));
    return spmmi_file_agree(env, collect(reader, before.entries));
}

static spmm_status_t finish(reader_t *reader, spmm_type_t type, spmm_status_t status,
                            spmm_matrix_t **A)
{
    const bool complex = reader->header.field == SPMM_MM_COMPLEX;

    free_parts(reader);
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
        status = spmmi_assemble_bag(reader->env, reader->header.rows, reader->header.cols,
                                    &reader->bag, SPMM_DUPLICATES_SUM, 0, type, A);
    }
    spmmi_bag_free(&reader->bag);
    return status;
}

spmm_status_t spmmi_mm_read_text(const spmm_file_t *file, const spmm_bytes_t *text,
                                 spmm_type_t type, spmm_matrix_t **A)
{
    reader_t reader = {.env = file->env, .path = file->path};

    return finish(&reader, type, read_bytes(&reader, text), A);
}

/* The whole file, on one rank. */
static spmm_status_t read_gzip_lines(reader_t *reader, spmm_text_t *text)
{
    spmm_mm_part_t part = {.status = SPMM_OK};

    part.status = mm_read_header(&reader->header, &part, text);
    if (part.status == SPMM_OK) {
        choose_form(reader);
        SPMM_TRY(make_parts(reader, 1));
        reader->part[0].cursor.limit = reader->header.entries;
        reader->part[0].capacity     = mm_piece(reader->header.entries);
        reader->part[0].status = mm_read_lines(&reader->header, &reader->part[0], text, INT64_MAX);
    }
    SPMM_TRY(fail_at_line(reader, &part, 0));
    SPMM_TRY(fail_first(reader, reader->header.lines));
    reader->cursor = reader->part[0].cursor;
    if (reader->cursor.entries < reader->header.entries) {
        return fail_too_few(reader, reader->header.lines + reader->cursor.lines,
                            reader->cursor.entries);
    }
    return collect(reader, 0);
}

static spmm_status_t read_gzip(reader_t *reader)
{
    spmm_gzip_source_t *source = NULL;
    spmm_text_t         text   = {0};
    spmm_status_t       status = spmmi_gzip_open(reader->env, reader->path, &source);

    if (status == SPMM_OK) {
        status = spmmi_text_open(&reader->env->err, spmmi_gzip_read, source, 0, &text);
    }
    if (status == SPMM_OK) {
        status = read_gzip_lines(reader, &text);
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
    choose_form(reader);
    return SPMM_OK;
}

spmm_status_t spmmi_mm_read_gzip(spmm_env_t *env, const char *path, spmm_type_t type,
                                 spmm_matrix_t **A)
{
    reader_t reader = {.env = env, .path = path};

    return finish(&reader, type, read_gzip_and_share(&reader), A);
}
