/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_file.h  The binary formats of rows: recognise, read, describe one to be written. */
#ifndef SPMM_MATRIX_CSR_FILE_H
#define SPMM_MATRIX_CSR_FILE_H

#include "matrix/read/binary.h"

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

#endif /* SPMM_MATRIX_CSR_FILE_H */
