/* SPDX-License-Identifier: Apache-2.0 */
/** @file petsc_file.c
 *  PETSc's binary format of a sparse matrix (MatView, MatLoad), big endian: class, rows, cols, nnz,
 *  entries of each row, columns, values in FP64.  Numbers have 4 bytes, or 8 where PETSc was built
 *  for 64-bit indices.  The file does not say whether it comes from a real or a complex PETSc: the
 *  length tells, or where other objects follow their class.
 */
#include "matrix/read/csr_file.h"

#include <inttypes.h>

enum {
    CLASS_MATRIX = 1211216,
    CLASS_FIRST  = 1211211, /* of objects that files may hold: index sets, vectors, matrices ... */
    CLASS_LAST   = 1211230,
    HEADER       = 4 /* numbers */
};

static int width_of(const unsigned char *head)
{
    return spmmi_binary_decode(head, 4, true) == CLASS_MATRIX   ? 4
           : spmmi_binary_decode(head, 8, true) == CLASS_MATRIX ? 8
                                                                : 0;
}

bool spmmi_petsc_file_matches(const unsigned char head[SPMM_FILE_HEAD])
{
    return width_of(head) > 0;
}

/* Does the matrix end with the file, or another object begin there?  @p follows: it does */
static spmm_status_t check_end(spmm_file_t *file, const spmm_binary_t *b, bool *follows)
{
    const int     width = b->row.width;
    unsigned char next[8];
    int64_t class;

    *follows = b->end == file->size;
    if (*follows || b->end > file->size - width) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_file_read(file, b->end, next, width));
    class    = spmmi_binary_decode(next, width, true);
    *follows = class >= CLASS_FIRST && class <= CLASS_LAST;
    return SPMM_OK;
}

static spmm_status_t parse(spmm_file_t *file, const unsigned char *head, spmm_binary_t *b)
{
    const int width   = width_of(head);
    bool      follows = false;

    *b = (spmm_binary_t){.rows       = spmmi_binary_decode(head + width, width, true),
                         .cols       = spmmi_binary_decode(head + 2 * width, width, true),
                         .nnz        = spmmi_binary_decode(head + 3 * width, width, true),
                         .row        = {.at = HEADER * width},
                         .big_endian = true,
                         .lengths    = true};
    if (file->size < b->row.at || b->rows < 0 || b->cols < 0 || b->nnz < 0) {
        return spmmi_fail(&file->env->err, SPMM_ERR_IO, SPMM_PATH_SHOWN ": %s", file->path,
                          b->nnz == -1 ? "PETSc wrote this matrix as a dense one, which is not "
                                         "supported: write it as AIJ"
                                       : "the file ends within the header of a PETSc matrix, or a "
                                         "size in it is negative");
    }
    if (b->rows == 0 && b->nnz > 0) {
        return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                          SPMM_PATH_SHOWN ": %" PRId64 " entries in a matrix without rows",
                          file->path, b->nnz);
    }
    for (b->parts = 1; b->parts <= 2; b->parts++) {
        if (spmmi_binary_place(b, width, width, 8)) {
            SPMM_TRY(check_end(file, b, &follows));
        }
        if (follows) {
            return SPMM_OK;
        }
    }
    return spmmi_fail(&file->env->err, SPMM_ERR_IO,
                      SPMM_PATH_SHOWN ": the file has %" PRId64 " bytes, which is not the length "
                                      "of a PETSc matrix with %" PRId64 " rows and %" PRId64
                                      " real or complex entries",
                      file->path, file->size, b->rows, b->nnz);
}

spmm_status_t spmmi_petsc_file_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                                    spmm_type_t type, uint64_t seed, spmm_matrix_t **A)
{
    spmm_binary_t b;

    SPMM_TRY(spmmi_file_agree(file->env, parse(file, head, &b)));
    return spmmi_binary_read(file, &b, type, seed, A);
}

spmm_status_t spmmi_petsc_file_describe(spmm_env_t *env, const spmm_binary_t *shape, int part_width,
                                        unsigned char head[SPMM_FILE_HEAD], spmm_binary_t *b)
{
    const bool narrow =
        shape->rows <= INT32_MAX && shape->cols <= INT32_MAX && shape->nnz <= INT32_MAX;
    const int width = narrow ? 4 : 8;

    (void)part_width; /* FP64 */
    *b            = *shape;
    b->big_endian = b->lengths = true;
    b->row.at                  = HEADER * width;
    if (!spmmi_binary_place(b, width, width, 8)) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "a PETSc file of %" PRId64 " entries is longer than 64 bits count",
                          b->nnz);
    }
    for (int k = 0; k < HEADER; k++) {
        const int64_t number[HEADER] = {CLASS_MATRIX, b->rows, b->cols, b->nnz};

        spmmi_binary_encode(number[k], width, true, head + k * width);
    }
    return SPMM_OK;
}
