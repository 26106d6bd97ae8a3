/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market text: as a file, the same gzipped, and its parsers over pieces of lines.  All three
 * must come to the same end. */
#include "fuzz.h"

#include <string.h>
#include <zlib.h>

#include "matrix/read/matrix_market.h"

enum { MOST_PACKED = 4096, ROOM = 4 };

static spmm_status_t read_file(const void *bytes, size_t size, spmm_type_t type, int64_t facts[3])
{
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    spmm_matrix_t     *A    = NULL;
    spmm_status_t      status;

    status = spmm_matrix_read(spmm_fuzz_ctx, spmm_fuzz_file(bytes, size), type, 1, &A);
    spmm_fuzz_status(status, spmm_last_error(spmm_fuzz_ctx));
    if (status == SPMM_OK) {
        spmm_fuzz_matrix(A);
        (void)spmm_matrix_get_info(A, &info);
        facts[0] = info.rows;
        facts[1] = info.cols;
        facts[2] = info.nnz;
    }
    (void)spmm_matrix_destroy(&A);
    return status;
}

static spmm_status_t read_packed(const uint8_t *data, size_t size, spmm_type_t type,
                                 int64_t facts[3])
{
    static unsigned char packed[2 * MOST_PACKED];
    static z_stream      z;

    spmm_fuzz_check((z.state != NULL
                         ? deflateReset(&z)
                         : deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 1, Z_DEFAULT_STRATEGY)) == Z_OK,
                    "zlib starts");
    z.next_in   = (unsigned char *)(uintptr_t)data;
    z.avail_in  = (unsigned)size;
    z.next_out  = packed;
    z.avail_out = sizeof packed;
    spmm_fuzz_check(deflate(&z, Z_FINISH) == Z_STREAM_END, "zlib packs");
    return read_file(packed, z.total_out, type, facts);
}

/* The parsers line by line, with room for one line's entries at a time. */
static spmm_status_t parse(const char *at, const char *end, int64_t *entries)
{
    spmm_mm_header_t  header = {0};
    spmm_mm_cursor_t  cursor = {0};
    spmm_entry_t      room[ROOM];
    spmm_text_error_t error = {0};
    spmm_status_t     status;

    status = spmmi_mm_parse_header(&header, &at, end, &error);
    if (status != SPMM_OK || !header.complete) {
        return SPMM_ERR_IO;
    }
    cursor.limit = header.entries;
    while (at < end) {
        spmm_entries_t list    = {.entry = room, .capacity = ROOM};
        const char    *newline = memchr(at, '\n', (size_t)(end - at));
        const char    *line    = newline == NULL ? end : newline + 1;

        status = spmmi_mm_parse_entries(&header, &cursor, &at, line, &list, &error);
        if (status != SPMM_OK) {
            spmm_fuzz_check(error.line > 0 && error.text[0] != '\0', "a bad line is named");
            return status;
        }
        /* Places show what lies on the diagonal of an array. */
        if (header.format == SPMM_MM_ARRAY && spmmi_mm_place_array(&header, 0, &list) > 0) {
            return SPMM_ERR_IO;
        }
    }
    *entries = cursor.entries;
    return cursor.entries == header.entries ? SPMM_OK : SPMM_ERR_IO;
}

void spmm_fuzz_one(const uint8_t *data, size_t size)
{
    static const spmm_type_t types[]  = {SPMM_TYPE_AUTO, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF,
                                         SPMM_C_32F};
    const spmm_type_t        type     = types[size % 5];
    int64_t                  plain[3] = {0}, packed[3] = {0}, entries = 0;
    const spmm_status_t      whole = read_file(data, size, type, plain);

    if (size < 2 || size > MOST_PACKED || data[0] == 0x1f || data[0] != '%') {
        return;
    }
    /* Of two mistakes in a file either may be met first. */
    spmm_fuzz_check((read_packed(data, size, type, packed) == SPMM_OK) == (whole == SPMM_OK) &&
                        memcmp(plain, packed, sizeof plain) == 0,
                    "a gzipped file reads like the plain one");
    /* What does not fit the type or the memory shows only in the file. */
    if (whole == SPMM_OK || whole == SPMM_ERR_IO) {
        char                text[MOST_PACKED];
        const spmm_status_t lines = (memcpy(text, data, size), parse(text, text + size, &entries));

        spmm_fuzz_check((lines == SPMM_OK) == (whole == SPMM_OK),
                        "lines one by one read like the whole file");
    }
}
