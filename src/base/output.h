/* SPDX-License-Identifier: Apache-2.0 */
/** @file output.h
 *  Files that appear under their name only when they are whole: until then, and where a disk is
 *  full, the old file stands.  Input that is a file and nothing else.  It needs nothing of the
 *  library, so that the programs of tools/ compile it, too.
 */
#ifndef SPMM_BASE_OUTPUT_H
#define SPMM_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

enum { SPMM_OUTPUT_PATH = 4096 };

typedef struct {
    FILE *stream;                      /**< to write to; NULL: not open */
    char  target[SPMM_OUTPUT_PATH];    /**< the file itself, not a link to it */
    char  temporary[SPMM_OUTPUT_PATH]; /**< beside it; "": a device or pipe, written in place */
} spmm_output_t;

/** What becomes of links at the end of a path: a user's lead to the file that is meant; in a folder
 *  that others may write to they may be planted.  FILE follows them, and is ESPIPE at once where
 *  they lead to a device or pipe. */
typedef enum { SPMM_OUTPUT_FOLLOW, SPMM_OUTPUT_REPLACE, SPMM_OUTPUT_FILE } spmm_output_links_t;

/** Open a temporary file beside the one that @p path means.  @return 0 or an errno */
int spmmi_output_open(spmm_output_t *out, const char *path, spmm_output_links_t links);

/** @p whole: sync the file and give it its name; else remove it.  Nothing to do where it is not
 *  open.  @return 0, or the errno of what failed since it was opened: the old file stands */
int spmmi_output_close(spmm_output_t *out, bool whole);

/** Could @p path be written, links followed?  Nothing of it changes; devices and pipes are not
 *  touched.  @return 0 or an errno */
int spmmi_output_check(const char *path);

/** Open a regular file to be read, and never wait for the writer of a pipe.
 *  @param[out] other  what stands at @p path instead, as "a directory"; NULL: see errno
 *  @return NULL where there is no such file, or none that may be read */
FILE *spmmi_input_open(const char *path, const char **other);

#endif /* SPMM_BASE_OUTPUT_H */
