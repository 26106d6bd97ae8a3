/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_file.c
 *  Binary CSR, little endian.  Pattern: int64 magic, rows, cols, nnz; int32 row_ptr[rows + 1],
 *  col_idx[nnz].  With values: int64 another magic, rows, cols, nnz, bytes of a column index (4 or
 *  8), kind of the values; int64 row_ptr[rows + 1], col_idx[nnz], values[nnz].
 */
#include "matrix/read/csr_file.h"

#include <inttypes.h>

enum { PATTERN = 0x43535231, VALUES = 0x43535232, WORD = 8, PATTERN_HEADER = 4, VALUES_HEADER = 6 };

/* Kinds of values in a file. */
static const struct {
    int parts, width;
} kind[] = {{0, 0}, {1, 8}, {1, 4}, {2, 8}, {2, 4}};
enum { KINDS = sizeof kind / sizeof *kind };

static int64_t word_at(const unsigned char *head, int k)
{
    return spmmi_binary_decode(head + k * WORD, WORD, false);
}

bool spmmi_csr_file_matches(const unsigned char head[SPMM_FILE_HEAD])
{
    return word_at(head, 0) == PATTERN || word_at(head, 0) == VALUES;
}

static spmm_status_t fail(const spmm_file_t *file, const char *problem)
{
    return spmmi_fail(&file->env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN ": %s", file->path, problem);
}

static spmm_status_t parse(const spmm_file_t *file, const unsigned char *head, spmm_binary_t *b)
{
    const bool    pattern  = word_at(head, 0) == PATTERN;
    const int64_t col_size = pattern ? 4 : word_at(head, 4), k = pattern ? 0 : word_at(head, 5);
    const int64_t most = pattern ? INT32_MAX : INT64_MAX;

    *b = (spmm_binary_t){
        .rows = word_at(head, 1), .cols = word_at(head, 2), .nnz = word_at(head, 3)};
    b->row.at = WORD * (pattern ? PATTERN_HEADER : VALUES_HEADER);
    if (file->size < b->row.at) {
        return fail(file, "the file ends within the header of binary CSR");
    }
    if (b->rows < 0 || b->cols < 0 || b->nnz < 0 || b->nnz > most ||
        (col_size == 4 && b->cols > (int64_t)INT32_MAX + 1)) {
        return fail(file, "a size in the header is negative or beyond 32-bit indices");
    }
    if ((col_size != 4 && col_size != 8) || k < 0 || k >= KINDS) {
        return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN ": the header asks for columns of %" PRId64
                                          " bytes and values of kind %" PRId64
                                          "; there are 4 and 8, and kinds 0 to %d",
                          file->path, col_size, k, KINDS - 1);
    }
    b->parts = kind[k].parts;
    if (!spmmi_binary_place(b, pattern ? 4 : 8, (int)col_size, kind[k].width) ||
        b->end != file->size) {
        return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN
                          ": the file has %" PRId64 " bytes, which is not the length "
                          "of binary CSR with %" PRId64 " rows and %" PRId64 " entries",
                          file->path, file->size, b->rows, b->nnz);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_csr_file_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                                  spmm_type_t type, uint64_t seed, spmm_matrix_t **A)
{
    spmm_binary_t b;

    SPMM_TRY(spmmi_file_agree(file->env, parse(file, head, &b)));
    return spmmi_binary_read(file, &b, type, seed, A);
}

spmm_status_t spmmi_csr_file_describe(spmm_env_t *env, const spmm_binary_t *shape, int part_width,
                                      unsigned char head[SPMM_FILE_HEAD], spmm_binary_t *b)
{
    const int col_size = shape->cols <= (int64_t)INT32_MAX + 1 ? 4 : 8;
    int64_t   k        = 0;

    while (kind[k].parts != shape->parts || kind[k].width != part_width) {
        k++;
    }
    *b        = *shape;
    b->row.at = WORD * VALUES_HEADER;
    if (!spmmi_binary_place(b, 8, col_size, part_width)) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "binary CSR of %" PRId64 " entries is longer than 64 bits count", b->nnz);
    }
    for (int w = 0; w < VALUES_HEADER; w++) {
        const int64_t word[VALUES_HEADER] = {VALUES, b->rows, b->cols, b->nnz, col_size, k};

        spmmi_binary_encode(word[w], WORD, false, head + w * WORD);
    }
    return SPMM_OK;
}
