/* SPDX-License-Identifier: Apache-2.0 */
/** @file matrix_market.h
 *  Matrix Market exchange format (Boisvert, Pozo, Remington: NISTIR 5935).  The parsers are pure
 *  functions over whole lines in memory; the readers feed them from files.
 */
#ifndef SPMM_MATRIX_MATRIX_MARKET_H
#define SPMM_MATRIX_MATRIX_MARKET_H

#include "matrix/assemble.h"
#include "matrix/read/file.h"
#include "matrix/read/text.h"

typedef enum { SPMM_MM_COORDINATE = 0, SPMM_MM_ARRAY } spmm_mm_format_t;
typedef enum {
    SPMM_MM_REAL = 0,
    SPMM_MM_INTEGER,
    SPMM_MM_PATTERN,
    SPMM_MM_COMPLEX
} spmm_mm_field_t;
typedef enum {
    SPMM_MM_GENERAL = 0,
    SPMM_MM_SYMMETRIC,
    SPMM_MM_SKEW,
    SPMM_MM_HERMITIAN
} spmm_mm_symmetry_t;

/** Banner and size line; zeroed before the first line. */
typedef struct {
    spmm_mm_format_t   format;
    spmm_mm_field_t    field;
    spmm_mm_symmetry_t symmetry;
    int64_t            rows, cols;
    int64_t            entries;  /**< stored in the file: declared, or those of the array */
    int64_t            lines;    /**< consumed so far */
    bool               complete; /**< the size line has been read */
} spmm_mm_header_t;

/** Consume header lines of [*at, end), whole lines, until the size line or @p end.
 *  @param[in,out] at   moves past the lines consumed
 *  @param[out]    err  what is wrong with which line */
spmm_status_t spmmi_mm_parse_header(spmm_mm_header_t *header, const char **at, const char *end,
                                    spmm_text_error_t *err);

/** What is wrong with an entry, whose row is given twice, of a diagonal that must be real. */
#define SPMM_MM_NOT_HERMITIAN                                                                      \
    "entry (%" PRId64 ", %" PRId64 ") lies on the diagonal, where a Hermitian matrix has no "      \
    "imaginary part"

/** How far the body has been read. */
typedef struct {
    int64_t lines;   /**< consumed */
    int64_t entries; /**< consumed, as stored: mirrored ones and zeros of arrays do not change it */
    int64_t limit;   /**< one entry more than this is an error */
} spmm_mm_cursor_t;

/** Consume body lines of [*at, end), whole lines, until @p end or until @p list has no room for
 *  the at most four that a line makes.
 *  @param[in,out] list  entries are appended within its capacity, symmetric ones mirrored, complex
 *                       ones by parts (bag.h); those of an array are non-zero, with their place
 *                       in the file, counted from cursor.entries == 0, as row, in column 0: see
 *                       spmmi_mm_place_array() */
spmm_status_t spmmi_mm_parse_entries(const spmm_mm_header_t *header, spmm_mm_cursor_t *cursor,
                                     const char **at, const char *end, spmm_entries_t *list,
                                     spmm_text_error_t *err);

/** Give the entries of an array their rows and columns and mirror symmetric ones.
 *  @param[in]     before  entries of the file before those counted in @p list
 *  @param[in,out] list    ascending places; with room for as many again unless general
 *  @return the first row, from 1, in which a Hermitian one has an imaginary part on the diagonal;
 *          0: none */
int64_t spmmi_mm_place_array(const spmm_mm_header_t *header, int64_t before, spmm_entries_t *list);

/** Read the @p text of an open file: every rank the lines that begin in its range of bytes.
 *  Collective, agreed. */
spmm_status_t spmmi_mm_read_text(const spmm_file_t *file, const spmm_bytes_t *text,
                                 spmm_type_t type, spmm_matrix_t **A);

/** Read a gzipped file on rank 0.  Collective, agreed. */
spmm_status_t spmmi_mm_read_gzip(spmm_env_t *env, const char *path, spmm_type_t type,
                                 spmm_matrix_t **A);

#endif /* SPMM_MATRIX_MATRIX_MARKET_H */
