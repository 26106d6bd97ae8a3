/* SPDX-License-Identifier: Apache-2.0 */
/** @file temp_file.h  Files that rank 0 writes and every rank of the test reads.  All
 *  collective. */
#ifndef SPMM_TEMP_FILE_H
#define SPMM_TEMP_FILE_H

#include <stddef.h>

/** Write a file; returns its path, valid until the next call, which removes the file when all ranks
 *  have come to it; so does the end of the program. */
const char *spmm_temp_write(const void *bytes, size_t size);
/** The same, in builds with zlib, gzipped as one member and with @p garbage bytes of other data
 *  after it; the last @p cut bytes of the member are left out. */
const char *spmm_temp_write_gzip(const void *bytes, size_t size, size_t cut, size_t garbage);

/** The same in blocks of BGZF of @p block bytes of text each and an empty one at the end; byte
 *  @p damaged of the file, if it is not 0, is another. */
const char *spmm_temp_write_bgzf(const void *bytes, size_t size, size_t block, size_t damaged);

#endif /* SPMM_TEMP_FILE_H */
