/* SPDX-License-Identifier: Apache-2.0 */
#include "api/overlap.h"

static bool is_empty(const spmm_extent_t *x)
{
    return x->lines == 0 || x->line == 0;
}

/* Behind the last byte of a block that is not empty. */
static uintptr_t end_of(const spmm_extent_t *x)
{
    return x->at + (x->lines - 1) * x->apart + x->line;
}

bool spmmi_extents_overlap(const spmm_extent_t *a, const spmm_extent_t *b)
{
    const spmm_extent_t *low = a->at <= b->at ? a : b, *high = low == a ? b : a;
    size_t               apart, into;

    if (is_empty(a) || is_empty(b) || end_of(low) <= high->at) {
        return false;
    }
    if (low->lines == 1 && high->lines == 1) { /* of a single line `apart` means nothing */
        return true;
    }
    if (low->lines > 1 && high->lines > 1 && low->apart != high->apart) {
        return true;
    }
    apart = low->lines > 1 ? low->apart : high->apart;
    into  = (high->at - low->at) % apart;
    return into < low->line || into + high->line > apart;
}
