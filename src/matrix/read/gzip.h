/* SPDX-License-Identifier: Apache-2.0 */
/** @file gzip.h  The text of gzipped files. */
#ifndef SPMM_MATRIX_READ_GZIP_H
#define SPMM_MATRIX_READ_GZIP_H

#include "matrix/read/file.h"
#include "matrix/read/text.h"

/** The text of a gzipped file, unpacked while it is read. */
typedef struct spmm_gzip_source spmm_gzip_source_t;

/** Not collective.  SPMM_ERR_UNSUPPORTED where the build has no zlib. */
spmm_status_t spmmi_gzip_open(spmm_env_t *env, const char *path, spmm_gzip_source_t **source);
void          spmmi_gzip_close(spmm_gzip_source_t *source);

/** A spmm_text_read_t.  The end is reported only when every member of the file is whole and
 *  nothing follows. */
spmm_status_t spmmi_gzip_read(void *source, char *to, int64_t capacity, int64_t *got);

/* Gzipped files in blocks that say how long they are (BGZF, section 4.1 of the SAM/BAM
 * specification; the program bgzip): any part of the text can be unpacked without what is before
 * it, by several threads and ranks at a time. */

/** Bytes of the file and of the text before a block. */
typedef struct {
    int64_t at, text;
} spmm_bgzf_block_t;

typedef struct {
    spmm_file_t       *file;  /**< borrowed */
    int64_t            n;     /**< blocks */
    spmm_bgzf_block_t *block; /**< [n + 1], owned */
} spmm_bgzf_t;

/** Does a file that begins with @p head begin with such a block, which this build can unpack? */
bool spmmi_bgzf_matches(const unsigned char head[SPMM_FILE_HEAD]);

/** Find the blocks.  Collective, agreed; n is 0 where something else than blocks follows, or the
 *  text is empty: then the file is a gzipped one as any other. */
spmm_status_t spmmi_bgzf_open(spmm_file_t *file, spmm_bgzf_t *blocks);
void          spmmi_bgzf_close(spmm_bgzf_t *blocks);

/** The text, as long as @p blocks are open. */
spmm_bytes_t spmmi_bgzf_bytes(spmm_bgzf_t *blocks);

#endif /* SPMM_MATRIX_READ_GZIP_H */
