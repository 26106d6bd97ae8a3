/* SPDX-License-Identifier: Apache-2.0 */
/** @file matrix_market_part.h  What one thread reads of a Matrix Market file.  All is local, and
 *  failures stand in the part: a sentence in err, or a line in error. */
#ifndef SPMM_MATRIX_MATRIX_MARKET_PART_H
#define SPMM_MATRIX_MATRIX_MARKET_PART_H

#include "matrix/read/matrix_market.h"

typedef struct {
    spmm_status_t     status;
    spmm_error_t      err;
    spmm_text_error_t error; /**< of a line counted from the first one of the part */
    spmm_mm_cursor_t  cursor;
    spmm_entries_t    list; /**< of an array all entries, else some that wait to be packed */
    spmm_bag_t        bag;
    int64_t           capacity; /**< of the pieces of the bag: spmmi_mm_piece() */
} spmm_mm_part_t;

/** Entries of a piece for so many lines; a line makes four at most, two parts and their images. */
int64_t spmmi_mm_piece(int64_t lines);
/** Room for @p more entries. */
spmm_status_t spmmi_mm_grow(spmm_error_t *err, spmm_entries_t *list, int64_t more);

/** The banner and the sizes. */
spmm_status_t spmmi_mm_read_header(spmm_mm_header_t *header, spmm_mm_part_t *part,
                                   spmm_text_t *text);
/** The same at the begin of @p bytes.
 *  @param[out] body  offset of what follows them */
spmm_status_t spmmi_mm_read_head(spmm_mm_header_t *header, const spmm_bytes_t *bytes, int64_t *body,
                                 spmm_mm_part_t *part);
/** The lines that begin before offset @p last of the text. */
spmm_status_t spmmi_mm_read_lines(const spmm_mm_header_t *header, spmm_mm_part_t *part,
                                  spmm_text_t *text, int64_t last);
/** The lines that begin in bytes @p first to @p last. */
spmm_status_t spmmi_mm_read_part(const spmm_mm_header_t *header, const spmm_bytes_t *bytes,
                                 int64_t body, int64_t first, int64_t last, spmm_mm_part_t *part);

#endif /* SPMM_MATRIX_MATRIX_MARKET_PART_H */
