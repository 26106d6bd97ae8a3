/* SPDX-License-Identifier: Apache-2.0 */
/** @file text.h  Text from a file as windows of whole lines in bounded memory. */
#ifndef SPMM_MATRIX_TEXT_H
#define SPMM_MATRIX_TEXT_H

#include "base/env.h"

enum {
    SPMM_TEXT_BUFFER = 4 << 20, /**< bytes in memory at a time; no line may be longer */
    SPMM_TEXT_ERROR  = 192
};

/** What is wrong with a line.  Other failures are sentences in the environment and leave line 0. */
typedef struct {
    spmm_status_t status;
    int64_t       line; /**< counted from 1 where the parser began */
    char          text[SPMM_TEXT_ERROR];
} spmm_text_error_t;

/** Record @p status at @p line and return it. */
spmm_status_t spmmi_text_fail(spmm_text_error_t *err, spmm_status_t status, int64_t line,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/** The token at @p at for a sentence: cut when long, with ? for what cannot be printed. */
typedef struct {
    char text[32];
} spmm_token_t;
spmm_token_t spmmi_text_token(const char *at, const char *end);

/** Where text comes from.  @p got: bytes read, 0 only at the end of the text. */
typedef spmm_status_t (*spmm_text_read_t)(void *self, char *to, int64_t capacity, int64_t *got);

typedef struct {
    spmm_text_read_t read;
    void            *self;       /**< of read, borrowed */
    char            *buffer;     /**< [SPMM_TEXT_BUFFER], owned */
    int64_t          begin, end; /**< the part of buffer not yet consumed */
    int64_t          offset;     /**< of buffer[begin] in the text */
    bool             ended;      /**< the source has no more */
} spmm_text_t;

/** @param[in] offset  of the first byte that @p read will give */
spmm_status_t spmmi_text_open(spmm_error_t *err, spmm_text_read_t read, void *self, int64_t offset,
                              spmm_text_t *text);
void          spmmi_text_close(spmm_text_t *text);

/** The whole lines at hand, at least one, the last without a newline only at the end of the text.
 *  *first == *last: the text has ended.
 *  @param[in]  line  number of the next line, for @p err
 *  @param[out] err   a line longer than the buffer */
spmm_status_t spmmi_text_window(spmm_text_t *text, int64_t line, const char **first,
                                const char **last, spmm_text_error_t *err);
/** Go on at @p to, which lies in the last window. */
void spmmi_text_consume(spmm_text_t *text, const char *to);
/** Consume up to and with the next newline, however far away it is. */
spmm_status_t spmmi_text_skip_line(spmm_text_t *text);

#endif /* SPMM_MATRIX_TEXT_H */
