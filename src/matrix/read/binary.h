/* SPDX-License-Identifier: Apache-2.0 */
/** @file binary.h
 *  Binary files of rows: where row offsets, columns and values lie and how they are encoded.  What
 *  reads and writes them is the same for all such formats, each of which fills this description.
 */
#ifndef SPMM_MATRIX_BINARY_H
#define SPMM_MATRIX_BINARY_H

#include "matrix/read/file.h"

/** Numbers of one kind, one after the other. */
typedef struct {
    int64_t at;    /**< bytes before the first */
    int     width; /**< bytes of each: 4 or 8 */
} spmm_numbers_t;

typedef struct {
    int64_t        rows, cols, nnz;
    bool           big_endian;
    bool           lengths; /**< rows: entries of each of them; else rows + 1 offsets */
    spmm_numbers_t row, col;
    spmm_numbers_t part;  /**< of the values: real numbers */
    int            parts; /**< of a value: 1, 2: complex, 0: the file has no values */
    int64_t        end;   /**< bytes of the matrix */
} spmm_binary_t;

void spmmi_binary_encode(int64_t value, int width, bool big_endian, unsigned char *bytes);
void spmmi_binary_encode_real(double value, int width, bool big_endian, unsigned char *bytes);

/* The binary formats of rows: recognise, read, describe one to be written. */

/** Does a file that begins with @p head hold binary CSR; PETSc's binary format?  @p head is zero
 *  past the file's end. */
bool spmmi_csr_file_matches(const unsigned char head[SPMM_FILE_HEAD]);
bool spmmi_petsc_file_matches(const unsigned char head[SPMM_FILE_HEAD]);

/** Read an open file.  Collective, agreed.
 *  @param[in] head  the first bytes of the file, the same on every rank */
spmm_status_t spmmi_csr_file_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                                  spmm_type_t type, uint64_t seed, spmm_matrix_t **A);
spmm_status_t spmmi_petsc_file_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                                    spmm_type_t type, uint64_t seed, spmm_matrix_t **A);

/** Where a file to be written has its parts.  Local.
 *  @param[in]  shape       its rows, cols, nnz and parts
 *  @param[in]  part_width  bytes of a part: 4 or 8
 *  @param[out] head        what stands before b->row.at */
typedef spmm_status_t (*spmm_binary_describe_t)(spmm_env_t *env, const spmm_binary_t *shape,
                                                int part_width, unsigned char head[SPMM_FILE_HEAD],
                                                spmm_binary_t *b);
spmm_status_t spmmi_csr_file_describe(spmm_env_t *env, const spmm_binary_t *shape, int part_width,
                                      unsigned char head[SPMM_FILE_HEAD], spmm_binary_t *b);
spmm_status_t spmmi_petsc_file_describe(spmm_env_t *env, const spmm_binary_t *shape, int part_width,
                                        unsigned char head[SPMM_FILE_HEAD], spmm_binary_t *b);

#endif /* SPMM_MATRIX_BINARY_H */
