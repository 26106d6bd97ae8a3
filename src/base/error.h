/* SPDX-License-Identifier: Apache-2.0 */
/** @file error.h  Statuses and their sentences inside the library. */
#ifndef SPMM_BASE_ERROR_H
#define SPMM_BASE_ERROR_H

#include <stdbool.h>

#include "spmm_dist/types.h"

enum { SPMM_ERROR_TEXT = 512 };

/** The last failure.  The first sentence of a call stands: later ones only unwind it. */
typedef struct spmm_error spmm_error_t;
struct spmm_error {
    spmm_status_t status;
    char          text[SPMM_ERROR_TEXT];
    spmm_error_t *parent; /**< gets what this one gets; NULL: none */
};

/** Forget the last failure; every public call starts with it. */
void spmmi_error_clear(spmm_error_t *err);

/** Record @p status with a sentence (what, where, what to do) unless one stands already.
 *  @p err may be NULL; the sentence is then only kept for the thread.  Returns @p status. */
spmm_status_t spmmi_fail(spmm_error_t *err, spmm_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** SPMM_ERR_MEMORY for @p bytes meant as @p what. */
spmm_status_t spmmi_fail_bytes(spmm_error_t *err, size_t bytes, const char *what);

/** SPMM_ERR_MEMORY for @p count elements of @p size bytes meant as @p what. */
spmm_status_t spmmi_fail_memory(spmm_error_t *err, int64_t count, size_t size, const char *what);

/** Does a failure say only that this one of several ways cannot be taken? */
static inline bool spmmi_is_refusal(spmm_status_t status)
{
    return status == SPMM_ERR_MEMORY || status == SPMM_ERR_RANGE || status == SPMM_ERR_UNSUPPORTED;
}

/** The last sentence recorded on this thread, "" when there was none. */
const char *spmmi_error_thread_text(void);

/** Return the status of @p call from the enclosing function unless it is SPMM_OK.  Only where
 *  nothing has been acquired yet; otherwise set `status` and `goto` the undo label. */
#define SPMM_TRY(call)                                                                             \
    do {                                                                                           \
        const spmm_status_t spmmi_try_status_ = (call);                                            \
        if (spmmi_try_status_ != SPMM_OK) {                                                        \
            return spmmi_try_status_;                                                              \
        }                                                                                          \
    } while (0)

#endif /* SPMM_BASE_ERROR_H */
