/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_options.h"

enum { WINDOW = 16 };

static const double copy_rate = 4.3e12; /* bytes per second, device to device */
static const double l2_rate   = 8.9e12; /* of random rows of 512 bytes, in L2 */

int bench_pattern_scan(int64_t rows, int64_t cols, const int64_t *row_ptr, const int64_t *col_idx,
                       bench_pattern_t *pattern)
{
    int64_t *last = calloc((size_t)cols + 1, sizeof *last); /* window that used a column, from 1 */

    if (last == NULL) {
        (void)fprintf(stderr, "spmm_bench: out of host memory for %lld columns\n", (long long)cols);
        return BENCH_OTHER;
    }
    memset(pattern, 0, sizeof *pattern);
    pattern->rows = rows;
    pattern->nnz  = row_ptr[rows];
    for (int64_t i = 0; i < rows; i++) {
        const int64_t window = i / WINDOW + 1;

        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            int64_t *const at = &last[col_idx[k]];

            if (*at != window) {
                pattern->used_cols += *at == 0;
                pattern->pairs++;
                *at = window;
            }
        }
    }
    free(last);
    return BENCH_GOOD;
}

/* Bytes per second of random rows of 512 bytes out of a working set of @p bytes. */
static double gather_rate(double bytes)
{
    static const struct {
        double bytes, rate;
    } table[]      = {{32e6, 8.9e12},  {48e6, 8.8e12},  {64e6, 7.2e12},
                      {128e6, 5.7e12}, {512e6, 4.8e12}, {2048e6, 4.5e12}};
    const int last = (int)(sizeof table / sizeof table[0]) - 1;

    if (bytes <= table[0].bytes) {
        return table[0].rate; /* constant outside the table */
    }
    for (int k = 1; k <= last; k++) {
        if (bytes <= table[k].bytes) {
            const double t = (bytes - table[k - 1].bytes) / (table[k].bytes - table[k - 1].bytes);

            return table[k - 1].rate + t * (table[k].rate - table[k - 1].rate);
        }
    }
    return table[last].rate;
}

double bench_limit_seconds(const bench_pattern_t *pattern, int64_t n, size_t elem)
{
    const double row = (double)n * (double)elem; /* bytes of a row of B or C */
    const double a   = (double)pattern->nnz * (double)(elem + sizeof(int32_t)) +
                     (double)(pattern->rows + 1) * (double)sizeof(int32_t);
    const double dense  = ((double)pattern->used_cols + (double)pattern->rows) * row;
    const double memory = (a + dense) / copy_rate;
    const double gather = (double)pattern->pairs * row / l2_rate;

    return memory > gather ? memory : gather;
}

double bench_gather_seconds(const bench_pattern_t *pattern, int64_t n, size_t elem)
{
    const double row = (double)n * (double)elem;

    return (double)pattern->pairs * row / gather_rate((double)pattern->used_cols * row);
}
