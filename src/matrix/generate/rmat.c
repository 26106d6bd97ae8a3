/* SPDX-License-Identifier: Apache-2.0 */
/* R-MAT (Chakrabarti, Zhan, Faloutsos 2004) with the parameters of Graph500 as defaults: each of
 * degree * 2^scale edges falls into a quadrant of the matrix with probabilities a, b, c, d, then
 * into a quadrant of that quadrant, and so on.  Directed; loops stay.  A unit is an edge. */
#include "base/hash.h"
#include "matrix/generate/generate.h"

enum { SCALE, DEGREE, A, B, C };

static spmm_status_t shape(spmm_error_t *err, spmm_generator_t *g)
{
    const double sum = g->value[A].real + g->value[B].real + g->value[C].real;

    if (sum > 1.0 + 1e-12) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "a=%g, b=%g, c=%g: the probabilities add up to %g, more than 1",
                          g->value[A].real, g->value[B].real, g->value[C].real, sum);
    }
    g->rows = g->cols = (int64_t)1 << g->value[SCALE].whole;
    g->n_units        = g->rows * g->value[DEGREE].whole; /* < 2^61 by the keys' ranges */
    g->most           = 1;
    g->exact          = true;
    return SPMM_OK;
}

static void emit(const spmm_generator_t *g, int64_t unit, spmm_sink_t *sink)
{
    const double   a = g->value[A].real, b = g->value[B].real, c = g->value[C].real;
    const uint64_t to_a = (uint64_t)(a * 0x1p32), to_b = (uint64_t)((a + b) * 0x1p32);
    const uint64_t to_c = (uint64_t)((a + b + c) * 0x1p32);
    const uint64_t key  = spmmi_mix64(g->seed ^ spmmi_mix64((uint64_t)unit));
    uint64_t       h    = 0;
    int64_t        row = 0, col = 0;

    for (int64_t level = 0; level < g->value[SCALE].whole; level++) {
        uint64_t u;

        h = (level & 1) == 0 ? spmmi_mix64(key + (uint64_t)level) : h >> 32;
        u = h & 0xffffffffu;
        /* Quadrants in the order a b c d: columns 0 1 0 1, rows 0 0 1 1. */
        row = row << 1 | (u >= to_b);
        col = col << 1 | ((u >= to_a) ^ (u >= to_b) ^ (u >= to_c));
    }
    spmmi_sink_put(sink, row, col);
}

const spmm_generator_kind_t spmmi_generator_rmat = {
    .name  = "rmat",
    .key   = {{"scale", false, false, 0.0, 1, 40},
              {"degree", false, false, 0.0, 1, 1 << 20},
              {"a", true, true, 0.57, 0, 1},
              {"b", true, true, 0.19, 0, 1},
              {"c", true, true, 0.19, 0, 1}},
    .shape = shape,
    .emit  = emit,
};
