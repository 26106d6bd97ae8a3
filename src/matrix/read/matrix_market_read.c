/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "matrix/read/gzip/gzip_source.h"
#include "matrix/read/matrix_market_part.h"

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
                SPMM_TRY(spmmi_mm_grow(err, list, list->count));
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

        part->status = spmmi_mm_read_part(&reader->header, bytes, reader->body,
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
        head.status = spmmi_mm_read_head(&reader->header, bytes, &reader->body, &head);
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

    part.status = spmmi_mm_read_header(&reader->header, &part, text);
    if (part.status == SPMM_OK) {
        choose_form(reader);
        SPMM_TRY(make_parts(reader, 1));
        reader->part[0].cursor.limit = reader->header.entries;
        reader->part[0].capacity     = spmmi_mm_piece(reader->header.entries);
        reader->part[0].status =
            spmmi_mm_read_lines(&reader->header, &reader->part[0], text, INT64_MAX);
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
