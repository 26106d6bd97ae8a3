/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/entries.h"

#include "base/alloc.h"

void spmmi_entries_free(spmm_entries_t *list)
{
    spmmi_free(list->entry);
    *list = (spmm_entries_t){0};
}
