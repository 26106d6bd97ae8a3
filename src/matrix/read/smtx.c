/* SPDX-License-Identifier: Apache-2.0 */
/** @file smtx.c
 *  The text files of the Deep Learning Matrix Collection (Gale, Zaharia, Young, Elsen 2020): a line
 *  `rows, columns, entries`, one of row offsets and one of column indices, from 0, without values.
 *  Lines are as long as the matrix and files small, so rank 0 reads them number by number.
 */
#include <ctype.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "matrix/assemble.h"
#include "matrix/read/file.h"

enum { PIECE = 1 << 16 /* bytes read at a time */ };

typedef struct {
    spmm_file_t *file;
    int64_t      offset;     /* of the next byte to read */
    int          begin, end; /* the part of buffer not yet consumed */
    char         buffer[PIECE];
} stream_t;

bool spmmi_smtx_matches(const unsigned char head[SPMM_FILE_HEAD])
{
    int k = 0;

    while (k < SPMM_FILE_HEAD && isdigit(head[k])) {
        k++;
    }
    if (k == 0) {
        return false;
    }
    while (k < SPMM_FILE_HEAD && head[k] == ' ') {
        k++;
    }
    return k < SPMM_FILE_HEAD && head[k] == ',';
}

/* The next character, -1 at the end of the file. */
static spmm_status_t peek(stream_t *in, int *c)
{
    if (in->begin == in->end) {
        const int64_t left = in->file->size - in->offset;

        in->begin = 0;
        in->end   = (int)(left < PIECE ? left : PIECE);
        if (in->end == 0) {
            *c = -1;
            return SPMM_OK;
        }
        SPMM_TRY(spmmi_file_read(in->file, in->offset, in->buffer, in->end));
        in->offset += in->end;
    }
    *c = (unsigned char)in->buffer[in->begin];
    return SPMM_OK;
}

static spmm_status_t fail_number(const stream_t *in, const char *what, int64_t k, const char *why)
{
    return spmmi_fail(&in->file->env->err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN ": %s %" PRId64 " (from 0) %s", in->file->path, what, k, why);
}

/* Number @p k of what the file lists, from 0 to @p most; commas and blanks stand between them. */
static spmm_status_t next_number(stream_t *in, const char *what, int64_t k, int64_t most,
                                 int64_t *value)
{
    int     c      = 0;
    int64_t x      = 0;
    int     digits = 0;

    SPMM_TRY(peek(in, &c));
    while (c == ',' || (c >= 0 && isspace(c))) {
        in->begin++;
        SPMM_TRY(peek(in, &c));
    }
    while (c >= '0' && c <= '9') {
        if (x > (INT64_MAX - 9) / 10) {
            return fail_number(in, what, k, "has too many digits");
        }
        x = 10 * x + (c - '0');
        digits++;
        in->begin++;
        SPMM_TRY(peek(in, &c));
    }
    if (digits == 0) {
        return fail_number(in, what, k,
                           c < 0 ? "is missing: the file ends before it"
                                 : "is not a number of digits only");
    }
    if (c >= 0 && c != ',' && !isspace(c)) {
        return fail_number(in, what, k, "is not a number of digits only");
    }
    if (x > most) {
        return fail_number(in, what, k, "is above what the sizes of the first line allow");
    }
    *value = x;
    return SPMM_OK;
}

/* Rows that have so many entries. */
static spmm_status_t read_offsets(stream_t *in, const int64_t size[3], int64_t *row_ptr)
{
    for (int64_t i = 0; i <= size[0]; i++) {
        SPMM_TRY(next_number(in, "row offset", i, size[2], &row_ptr[i]));
        if (row_ptr[i] < (i == 0 ? 0 : row_ptr[i - 1]) || (i == 0 && row_ptr[i] != 0) ||
            (i == size[0] && row_ptr[i] != size[2])) {
            return fail_number(in, "row offset", i,
                               "is wrong: offsets rise from 0 to the number of entries");
        }
    }
    return SPMM_OK;
}

static spmm_status_t read_entries(stream_t *in, const int64_t size[3], const int64_t *row_ptr,
                                  spmm_entries_t *list)
{
    int64_t k = 0;

    if (SPMM_NEW(list->entry, size[2]) == NULL) {
        return spmmi_fail_memory(&in->file->env->err, size[2], sizeof *list->entry,
                                 "the entries of a file");
    }
    list->count = list->capacity = size[2];
    for (int64_t i = 0; i < size[0]; i++) {
        for (; k < row_ptr[i + 1]; k++) {
            list->entry[k] = (spmm_entry_t){.row = i, .value = 1.0};
            SPMM_TRY(next_number(in, "column index", k, size[1] - 1, &list->entry[k].col));
        }
    }
    return SPMM_OK;
}

/* @p size  rows, columns, entries */
static spmm_status_t read_all(stream_t *in, int64_t size[3], spmm_entries_t *list)
{
    static const char *const name[] = {"the number of rows, number",
                                       "the number of columns, number",
                                       "the number of entries, number"};
    int64_t                 *row_ptr;
    spmm_status_t            status;
    int                      c = 0;

    for (int k = 0; k < 3; k++) {
        /* Each entry and each row takes a digit and a separator at least. */
        SPMM_TRY(next_number(in, name[k], k, k == 1 ? INT64_MAX : in->file->size, &size[k]));
    }
    if (SPMM_NEW(row_ptr, size[0] + 1) == NULL) {
        return spmmi_fail_memory(&in->file->env->err, size[0] + 1, sizeof *row_ptr, "row offsets");
    }
    status = read_offsets(in, size, row_ptr);
    if (status == SPMM_OK) {
        status = read_entries(in, size, row_ptr, list);
    }
    spmmi_free(row_ptr);
    while (status == SPMM_OK) {
        status = peek(in, &c);
        if (c < 0) {
            break;
        }
        if (!isspace(c)) {
            return spmmi_fail(&in->file->env->err, SPMM_ERR_IO,
                              SPMM_PATH_SHOWN ": text follows after the last column index",
                              in->file->path);
        }
        in->begin++;
    }
    return status;
}

spmm_status_t spmmi_smtx_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                              spmm_type_t type, uint64_t seed, spmm_matrix_t **A)
{
    spmm_env_t    *env     = file->env;
    int64_t        size[3] = {0};
    spmm_entries_t list    = {0};
    spmm_status_t  status  = SPMM_OK;

    (void)head;
    (void)seed;
    if (env->rank == 0) {
        stream_t *in = spmmi_alloc_zero(1, sizeof *in);

        if (in == NULL) {
            status = spmmi_fail_memory(&env->err, 1, sizeof *in, "a piece of a file");
        } else {
            in->file = file;
            status   = read_all(in, size, &list);
        }
        spmmi_free(in);
    }
    status = spmmi_file_agree(env, spmmi_await(env, 0, status));
    if (status == SPMM_OK) {
        status = spmmi_bcast(env, size, 3 * sizeof *size, 0);
    }
    if (status == SPMM_OK) {
        status = spmmi_assemble(env, size[0], size[1], &list, SPMM_DUPLICATES_SUM, 0,
                                type == SPMM_TYPE_AUTO ? SPMM_R_64F : type, A);
    }
    spmmi_entries_free(&list);
    return status;
}
