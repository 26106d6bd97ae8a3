/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_limit.h  The modelled lower time of a product on one H200. */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/** What the model asks of a pattern. */
typedef struct {
    int64_t rows, nnz;
    int64_t used_cols; /**< columns with an entry */
    int64_t pairs;     /**< (window, active column) pairs, windows of 16 rows in natural order */
} bench_pattern_t;

/** One pass over the entries.  @return an exit code after a sentence on stderr */
int bench_pattern_scan(int64_t rows, int64_t cols, const int64_t *row_ptr, const int64_t *col_idx,
                       bench_pattern_t *pattern);

/** Lower time in seconds = max(compulsory bytes of device memory / copy rate,
 *  pairs * n * elem / rate of gathers that hit L2): A (32-bit CSR) and the used rows of B are read
 *  once and C is written once; each window fetches each of its active rows of B once.  The rates
 *  are those measured on one H200, fixed here so that tables stay comparable when the cost model of
 *  the library changes.  Reordering, larger windows and L1 hits can beat the second term.
 *  @param[in] elem  bytes of a value of A, B and C */
double bench_limit_seconds(const bench_pattern_t *pattern, int64_t n, size_t elem);

/** The second term at the rate of random rows out of all used rows of B, which falls where those
 *  exceed L2: what a pattern without any locality would take. */
double bench_gather_seconds(const bench_pattern_t *pattern, int64_t n, size_t elem);

#endif /* BENCH_LIMIT_H */
