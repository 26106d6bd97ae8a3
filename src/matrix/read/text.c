/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/read/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "matrix/read/text_number.h"

spmm_status_t spmmi_text_fail(spmm_text_error_t *err, spmm_status_t status, int64_t line,
                              const char *format, ...)
{
    va_list args;

    err->status = status;
    err->line   = line;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}

spmm_token_t spmmi_text_token(const char *at, const char *end)
{
    enum { SHOWN = 24 };
    spmm_token_t token;
    int          n = 0;

    for (; at < end && !spmmi_is_blank(*at) && *at != '\n' && n < SHOWN; at++) {
        token.text[n++] = *at > ' ' && *at <= '~' ? *at : '?';
    }
    if (at < end && !spmmi_is_blank(*at) && *at != '\n') {
        memcpy(token.text + n, "...", 3);
        n += 3;
    }
    token.text[n] = '\0';
    return token;
}

spmm_status_t spmmi_text_open(spmm_error_t *err, spmm_text_read_t read, void *self, int64_t offset,
                              spmm_text_t *text)
{
    *text = (spmm_text_t){.read = read, .self = self, .offset = offset};
    if (SPMM_NEW(text->buffer, SPMM_TEXT_BUFFER) == NULL) {
        return spmmi_fail_memory(err, SPMM_TEXT_BUFFER, 1, "a text buffer");
    }
    return SPMM_OK;
}

void spmmi_text_close(spmm_text_t *text)
{
    spmmi_free(text->buffer);
    text->buffer = NULL;
}

static spmm_status_t fill(spmm_text_t *text)
{
    int64_t got;

    if (text->begin > 0) {
        memmove(text->buffer, text->buffer + text->begin, (size_t)(text->end - text->begin));
        text->end -= text->begin;
        text->begin = 0;
    }
    SPMM_TRY(text->read(text->self, text->buffer + text->end, SPMM_TEXT_BUFFER - text->end, &got));
    text->end += got;
    text->ended = got == 0;
    return SPMM_OK;
}

spmm_status_t spmmi_text_window(spmm_text_t *text, int64_t line, const char **first,
                                const char **last, spmm_text_error_t *err)
{
    for (;;) {
        int64_t end = text->end;

        while (!text->ended && end > text->begin && text->buffer[end - 1] != '\n') {
            end--;
        }
        if (text->ended || end > text->begin) {
            *first = text->buffer + text->begin;
            *last  = text->buffer + end;
            return SPMM_OK;
        }
        if (text->end - text->begin == SPMM_TEXT_BUFFER) {
            return spmmi_text_fail(
                err, SPMM_ERR_IO, line,
                "the line is longer than %d bytes, which no Matrix Market line is",
                (int)SPMM_TEXT_BUFFER);
        }
        SPMM_TRY(fill(text));
    }
}

void spmmi_text_consume(spmm_text_t *text, const char *to)
{
    const int64_t bytes = to - (text->buffer + text->begin);

    text->begin += bytes;
    text->offset += bytes;
}

spmm_status_t spmmi_text_skip_line(spmm_text_t *text)
{
    for (;;) {
        const char *first = text->buffer + text->begin;
        const char *last  = text->buffer + text->end;
        const char *line  = memchr(first, '\n', (size_t)(last - first));

        spmmi_text_consume(text, line == NULL ? last : line + 1);
        if (line != NULL || text->ended) {
            return SPMM_OK;
        }
        SPMM_TRY(fill(text));
    }
}
