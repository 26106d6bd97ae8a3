/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo_case.h  Pseudo-random needs of all ranks, known to every rank without messages. */
#ifndef SPMM_TEST_HALO_CASE_H
#define SPMM_TEST_HALO_CASE_H

#include "test_main.h"

typedef struct {
    int64_t *offset; /**< [size + 1]: uneven, rank 1 of several owns nothing */
    int64_t *need;   /**< of this rank */
    int64_t  n_need;
    uint64_t seed;
    double   density; /**< part of all foreign indices that a rank needs */
} halo_case_t;

/** Does @p rank need @p index?  The last of several ranks needs nothing. */
static inline bool halo_case_needs(const halo_case_t *c, int rank, int64_t index)
{
    const bool owns   = index >= c->offset[rank] && index < c->offset[rank + 1];
    const bool silent = spmm_test_env.size > 1 && rank == spmm_test_env.size - 1;

    return !owns && !silent && spmmi_unit(spmmi_hash2(c->seed, rank, index)) < c->density;
}

static inline halo_case_t halo_case_make(int64_t n, double density, uint64_t seed)
{
    const int   size = spmm_test_env.size;
    halo_case_t c    = {.seed = seed, .density = density};

    assert_non_null(SPMM_NEW(c.offset, (int64_t)size + 1));
    assert_non_null(SPMM_NEW(c.need, n));
    c.offset[0] = 0;
    for (int p = 0; p < size; p++) {
        c.offset[p + 1] = p + 1 == size ? n : n * (p + 1) * (p + 1) / ((int64_t)size * size);
        if (p == 1 && p + 1 < size) {
            c.offset[p + 1] = c.offset[p];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (halo_case_needs(&c, spmm_test_env.rank, i)) {
            c.need[c.n_need++] = i;
        }
    }
    return c;
}

static inline void halo_case_free(halo_case_t *c)
{
    spmmi_free(c->offset);
    spmmi_free(c->need);
}

#endif /* SPMM_TEST_HALO_CASE_H */
