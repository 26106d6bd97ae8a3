/* SPDX-License-Identifier: Apache-2.0 */
/** @file file.h  A file that all ranks read through MPI-IO, and the formats that are not Matrix
 *  Market. */
#ifndef SPMM_MATRIX_FILE_H
#define SPMM_MATRIX_FILE_H

#include "base/env.h"
#include "matrix/matrix.h"

/** Longest part of a path in a sentence: with it the sentence still fits. */
#define SPMM_PATH_SHOWN "%.256s"

typedef struct {
    spmm_env_t *env;  /**< borrowed */
    const char *path; /**< borrowed */
    MPI_File    handle;
    int         descriptor; /**< of the same file, for threads */
    int64_t     size;       /**< bytes */
} spmm_file_t;

/** Bytes that threads read anywhere: a file, or what it unpacks to. */
typedef struct {
    /** Read exactly @p bytes at @p offset.  Local, safe for threads. */
    spmm_status_t (*read)(void *self, spmm_error_t *err, int64_t offset, void *to, int64_t bytes);
    void   *self; /**< of read, borrowed */
    int64_t size;
} spmm_bytes_t;

/** Open a file of @p size bytes for reading.  Collective, agreed. */
spmm_status_t spmmi_file_open(spmm_env_t *env, const char *path, int64_t size, spmm_file_t *file);
/** Collective. */
void spmmi_file_close(spmm_file_t *file);

/** Read exactly @p bytes.  Not collective; a file that has become shorter is an error. */
spmm_status_t spmmi_file_read(spmm_file_t *file, int64_t offset, void *to, int64_t bytes);

/** The same for threads, beside MPI, which may be the main thread's alone. */
spmm_bytes_t spmmi_file_bytes(spmm_file_t *file);

/** SPMM_ERR_IO where ranks see different files at @p path, as far as sizes and samples of the
 *  content tell (copies.c).  Collective, agreed.
 *  @param[in] size     bytes, as rank 0 sees it
 *  @param[in] readers  ranks that read the file, from 0
 *  @param[out] digest  of size and samples, on all ranks */
spmm_status_t spmmi_file_compare(spmm_env_t *env, const char *path, int64_t size, int readers,
                                 uint64_t *digest);

/** As spmmi_agree(), but without naming the rank where the content of a file is at fault: then the
 *  sentence is the same for any number of ranks. */
spmm_status_t spmmi_file_agree(spmm_env_t *env, spmm_status_t local);

enum { SPMM_FILE_HEAD = 64 /**< bytes by which formats are recognised */ };

/** What a file is that begins with @p head, and what to do with it, where its format is known but
 *  not read, as bzip2 or Harwell-Boeing: it completes a sentence that begins "the file is".
 *  NULL: no such format is known. */
const char *spmmi_foreign_format(const char *head, size_t length);

/** Does a file that begins with @p head hold a matrix of the Deep Learning Matrix Collection, a
 *  number and a comma?  @p head is zero past the file's end. */
bool spmmi_smtx_matches(const unsigned char head[SPMM_FILE_HEAD]);

/** Read an open `.smtx` file; its entries are 1, so that it needs no seed.  Collective, agreed. */
spmm_status_t spmmi_smtx_read(spmm_file_t *file, const unsigned char head[SPMM_FILE_HEAD],
                              spmm_type_t type, uint64_t seed, spmm_matrix_t **A);

#endif /* SPMM_MATRIX_FILE_H */
