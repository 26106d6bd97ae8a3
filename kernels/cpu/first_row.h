/* SPDX-License-Identifier: Apache-2.0 */
/** @file first_row.h
 *  How rows are dealt out to threads: to those that multiply them, and to those that write them
 *  first, beside which memory lies.
 */
#ifndef SPMM_CPU_FIRST_ROW_H
#define SPMM_CPU_FIRST_ROW_H

#include <stdint.h>

/** First row of thread @p t of @p n_threads, or the end for that behind the last: rows and entries
 *  together are dealt out evenly, so that empty rows, which still write C, count too. */
static inline int64_t spmmi_cpu_first_row(const int64_t *row_ptr, int64_t n_rows, int t,
                                          int n_threads)
{
    const int64_t work = row_ptr[n_rows] + n_rows;
    const int64_t want = work / n_threads * t + work % n_threads * t / n_threads;
    int64_t       low = 0, high = n_rows;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (row_ptr[mid] + mid < want) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return t == n_threads ? n_rows : low;
}

#endif /* SPMM_CPU_FIRST_ROW_H */
