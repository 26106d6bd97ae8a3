/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "spmm_dist/context.h"
#include "spmm_dist/version.h"

const char *spmm_status_string(spmm_status_t status)
{
    switch (status) {
    case SPMM_OK:
        return "success";
    case SPMM_ERR_ARGUMENT:
        return "argument outside its documented range";
    case SPMM_ERR_MEMORY:
        return "out of host or device memory";
    case SPMM_ERR_UNSUPPORTED:
        return "not supported by this build or device";
    case SPMM_ERR_IO:
        return "file missing, malformed or not writable";
    case SPMM_ERR_DEVICE:
        return "CUDA call failed";
    case SPMM_ERR_COMM:
        return "MPI or NCCL call failed or timed out";
    case SPMM_ERR_RANGE:
        return "index or value does not fit its type";
    case SPMM_ERR_INTERNAL:
        return "internal check failed";
    }
    return "unknown status"; /* no default above: -Wswitch then reports a forgotten case */
}

const char *spmm_version(void)
{
    return SPMM_VERSION_STRING;
}

static _Thread_local char thread_text[SPMM_ERROR_TEXT];

void spmmi_error_clear(spmm_error_t *err)
{
    for (; err != NULL; err = err->parent) {
        err->status  = SPMM_OK;
        err->text[0] = '\0';
    }
}

/* Sentences quote files and arguments: one line, and nothing in it commands a terminal. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

spmm_status_t spmmi_fail(spmm_error_t *err, spmm_status_t status, const char *format, ...)
{
    va_list args;

    if (err != NULL && err->status != SPMM_OK) {
        return status;
    }
    va_start(args, format);
    (void)vsnprintf(thread_text, sizeof thread_text, format, args);
    va_end(args);
    make_printable(thread_text);
    for (; err != NULL; err = err->parent) {
        err->status = status;
        (void)snprintf(err->text, sizeof err->text, "%s", thread_text);
    }
    return status;
}

spmm_status_t spmmi_fail_bytes(spmm_error_t *err, size_t bytes, const char *what)
{
    return spmmi_fail(err, SPMM_ERR_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
}

spmm_status_t spmmi_fail_memory(spmm_error_t *err, int64_t count, size_t size, const char *what)
{
    if (size == 1) {
        return spmmi_fail_bytes(err, (size_t)count, what);
    }
    return spmmi_fail(err, SPMM_ERR_MEMORY,
                      "out of memory: %" PRId64 " elements of %zu bytes for %s", count, size, what);
}

const char *spmmi_error_thread_text(void)
{
    return thread_text;
}
