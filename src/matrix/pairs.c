/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/pairs.h"

#include <string.h>

/* Runs up to this length are sorted by insertion: most rows end here. */
enum { INSERTION_RUN = 24 };

static void insertion_sort(spmm_pair_t *pair, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const spmm_pair_t x = pair[i];
        int64_t           j = i;

        for (; j > 0 && pair[j - 1].col > x.col; j--) {
            pair[j] = pair[j - 1];
        }
        pair[j] = x;
    }
}

/* in[0 .. left) and in[left .. n) are sorted; out gets both, equal columns from the left first. */
static void merge(const spmm_pair_t *in, int64_t left, int64_t n, spmm_pair_t *out)
{
    int64_t i = 0, j = left;

    for (int64_t k = 0; k < n; k++) {
        out[k] = j >= n || (i < left && in[i].col <= in[j].col) ? in[i++] : in[j++];
    }
}

void spmmi_pairs_sort(spmm_pair_t *pair, int64_t n, spmm_pair_t *scratch)
{
    spmm_pair_t *in = pair, *out = scratch;
    int64_t      sorted = 1;

    while (sorted < n && pair[sorted - 1].col <= pair[sorted].col) {
        sorted++;
    }
    if (sorted >= n) {
        return;
    }
    for (int64_t at = 0; at < n; at += INSERTION_RUN) {
        insertion_sort(pair + at, n - at < INSERTION_RUN ? n - at : INSERTION_RUN);
    }
    for (int64_t run = INSERTION_RUN; run < n; run *= 2) {
        spmm_pair_t *const swap = in;

        for (int64_t at = 0; at < n; at += 2 * run) {
            const int64_t rest = n - at;

            merge(in + at, rest < run ? rest : run, rest < 2 * run ? rest : 2 * run, out + at);
        }
        in  = out;
        out = swap;
    }
    if (in != pair) {
        memcpy(pair, in, (size_t)n * sizeof *pair);
    }
}
