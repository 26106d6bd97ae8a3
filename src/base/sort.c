/* SPDX-License-Identifier: Apache-2.0 */
/** @file sort.c  Least-significant-digit radix sort, 11 bits a pass. */
#include "base/sort.h"

#include <string.h>

#include "base/alloc.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

typedef struct {
    uint64_t *key;
    int64_t  *value; /* NULL: keys alone */
} list_t;

/* Stable counting sort of from into to by the digit at @p shift; count is scratch [DIGITS]. */
static void pass(list_t from, list_t to, int64_t n, int shift, int64_t *count)
{
    int64_t start = 0;

    memset(count, 0, DIGITS * sizeof *count);
    for (int64_t i = 0; i < n; i++) {
        count[(from.key[i] >> shift) & (DIGITS - 1)]++;
    }
    for (int d = 0; d < DIGITS; d++) {
        const int64_t here = count[d];

        count[d] = start;
        start += here;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = count[(from.key[i] >> shift) & (DIGITS - 1)]++;

        to.key[at] = from.key[i];
        if (from.value != NULL) {
            to.value[at] = from.value[i];
        }
    }
}

static void sort(list_t list, list_t scratch, int64_t n, uint64_t highest)
{
    int64_t count[DIGITS];
    list_t  from = list, to = scratch;

    for (int shift = 0; shift < 64 && (highest >> shift) != 0; shift += DIGIT_BITS) {
        const list_t swap = from;

        pass(from, to, n, shift, count);
        from = to;
        to   = swap;
    }
    if (from.key != list.key) {
        memcpy(list.key, from.key, (size_t)n * sizeof *list.key);
        if (list.value != NULL) {
            memcpy(list.value, from.value, (size_t)n * sizeof *list.value);
        }
    }
}

spmm_status_t spmmi_sort_u64_with(spmm_env_t *env, uint64_t *key, int64_t *value, int64_t n)
{
    list_t        scratch = {NULL, NULL};
    uint64_t      highest = 0;
    bool          sorted  = true;
    spmm_status_t status  = SPMM_OK;

    for (int64_t i = 0; i < n; i++) {
        highest = key[i] > highest ? key[i] : highest;
        sorted  = sorted && (i == 0 || key[i - 1] <= key[i]);
    }
    if (sorted) {
        return SPMM_OK;
    }
    if (SPMM_NEW(scratch.key, n) == NULL || (value != NULL && SPMM_NEW(scratch.value, n) == NULL)) {
        status = spmmi_fail_memory(&env->err, n, sizeof *key, "sorting");
    } else {
        sort((list_t){key, value}, scratch, n, highest);
    }
    spmmi_free_all(scratch.key, scratch.value);
    return status;
}

spmm_status_t spmmi_sort_u64(spmm_env_t *env, uint64_t *key, int64_t n)
{
    return spmmi_sort_u64_with(env, key, NULL, n);
}

int64_t spmmi_unique_u64(uint64_t *key, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || key[kept - 1] != key[i]) {
            key[kept++] = key[i];
        }
    }
    return kept;
}

double spmmi_median(double *values, int n)
{
    for (int i = 1; i < n; i++) {
        for (int k = i; k > 0 && values[k] < values[k - 1]; k--) {
            const double larger = values[k - 1];

            values[k - 1] = values[k];
            values[k]     = larger;
        }
    }
    return values[n / 2];
}
