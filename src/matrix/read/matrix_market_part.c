/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/matrix_market_part.h"

#include <string.h>

#include "base/alloc.h"

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

int64_t spmmi_mm_piece(int64_t lines)
{
    return lines < PIECE_ENTRIES / 4 ? 4 * lines + ROOM : PIECE_ENTRIES;
}

spmm_status_t spmmi_mm_grow(spmm_error_t *err, spmm_entries_t *list, int64_t more)
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

spmm_status_t spmmi_mm_read_header(spmm_mm_header_t *header, spmm_mm_part_t *part,
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

spmm_status_t spmmi_mm_read_head(spmm_mm_header_t *header, const spmm_bytes_t *bytes, int64_t *body,
                                 spmm_mm_part_t *part)
{
    range_t       range = {.bytes = bytes, .err = &part->err, .piece = HEADER_PIECE};
    spmm_text_t   text;
    spmm_status_t status;

    SPMM_TRY(spmmi_text_open(&part->err, read_range, &range, 0, &text));
    status = spmmi_mm_read_header(header, part, &text);
    *body  = text.offset;
    spmmi_text_close(&text);
    return status;
}

spmm_status_t spmmi_mm_read_lines(const spmm_mm_header_t *header, spmm_mm_part_t *part,
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
            SPMM_TRY(spmmi_mm_grow(&part->err, &part->list, ROOM));
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

spmm_status_t spmmi_mm_read_part(const spmm_mm_header_t *header, const spmm_bytes_t *bytes,
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
    part->capacity = spmmi_mm_piece((last - first) / LEAST_LINE);
    SPMM_TRY(spmmi_text_open(&part->err, read_range, &range, range.at, &text));
    if (within) { /* a line begins here where the byte before ends one */
        status = spmmi_text_skip_line(&text);
    }
    if (status == SPMM_OK) {
        status = spmmi_mm_read_lines(header, part, &text, last);
    }
    spmmi_text_close(&text);
    return status;
}
