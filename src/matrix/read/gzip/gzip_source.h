/* SPDX-License-Identifier: Apache-2.0 */
/** @file gzip_source.h  The text of a gzipped file, unpacked while it is read. */
#ifndef SPMM_MATRIX_GZIP_SOURCE_H
#define SPMM_MATRIX_GZIP_SOURCE_H

#ifdef SPMM_HAVE_ZLIB
#include <zlib.h>
#endif

#include "matrix/read/text.h"

typedef struct spmm_gzip_source spmm_gzip_source_t;

/** Not collective.  SPMM_ERR_UNSUPPORTED where the build has no zlib. */
spmm_status_t spmmi_gzip_open(spmm_env_t *env, const char *path, spmm_gzip_source_t **source);
void          spmmi_gzip_close(spmm_gzip_source_t *source);

/** A spmm_text_read_t.  The end is reported only when every member of the file is whole and
 *  nothing follows. */
spmm_status_t spmmi_gzip_read(void *source, char *to, int64_t capacity, int64_t *got);

#ifdef SPMM_HAVE_ZLIB
/** Make a stream that unpacks gzip data, with memory of the library; inflateEnd() frees it. */
spmm_status_t spmmi_gzip_start(spmm_error_t *err, z_stream *inflate);
#endif

#endif /* SPMM_MATRIX_GZIP_SOURCE_H */
