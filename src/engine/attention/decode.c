/* SPDX-License-Identifier: Apache-2.0 */
/** @file decode.c  From windows and panels back to rows. */
#include <stdlib.h>

#include "engine/attention/format.h"

enum { CHUNK = SPMM_ATTENTION_CHUNK };

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Columns of row r of window w of group number @p k of the list.
 * @return how many; col may be NULL */
static int64_t decode_row(const spmm_attention_list_t *list, int32_t k, int32_t w, int32_t r,
                          int32_t *col)
{
    const int32_t  n = list->panels[k + 1] - list->panels[k];
    const int32_t *first =
        list->chunks + (int64_t)list->panels[k] * list->variant.windows + (int64_t)w * n;
    int64_t count = 0;

    for (int32_t p = 0; p < n; p++) {
        const int32_t *of_panel = list->col + (int64_t)(list->panels[k] + p) * list->variant.width;

        for (int64_t s = first[p] * (int64_t)CHUNK; s < first[p + 1] * (int64_t)CHUNK; s++) {
            if ((list->slot[s] >> (SPMM_ATTENTION_BITS + r) & 1u) != 0) {
                if (col != NULL) {
                    col[count] = of_panel[list->slot[s] & ((1u << SPMM_ATTENTION_BITS) - 1)];
                }
                count++;
            }
        }
    }
    return count;
}

void spmmi_attention_decode(const spmm_attention_list_t *list, int64_t *row_ptr, int32_t *col)
{
    const int32_t height = list->variant.height, rows = height * list->variant.windows;

    row_ptr[0] = 0;
    for (int fill = 0; fill < 2; fill++) {
        for (int32_t k = 0; k < list->n_groups; k++) {
            for (int32_t q = 0; q < rows && list->group[k] * rows + q < list->n_rows; q++) {
                const int32_t  i  = list->group[k] * rows + q;
                int32_t *const to = fill != 0 ? col + row_ptr[i] : NULL;
                const int64_t  n  = decode_row(list, k, q / height, q % height, to);

                if (fill != 0) {
                    qsort(to, (size_t)n, sizeof *to, ascending);
                } else {
                    row_ptr[i + 1] = n;
                }
            }
        }
        for (int32_t i = 0; i < list->n_rows && fill == 0; i++) {
            row_ptr[i + 1] += row_ptr[i];
        }
    }
}
