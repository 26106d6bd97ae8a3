/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a pruned layer: every vector of `vector` rows by one column stays with probability 1 -
 * sparsity.  A unit is a row of vectors; the last has fewer rows where they do not divide. */
#include "base/hash.h"
#include "matrix/generate/generate.h"

enum { ROWS, COLS, SPARSITY, VECTOR };

static spmm_status_t shape(spmm_error_t *err, spmm_generator_t *g)
{
    const int64_t vector = g->value[VECTOR].whole;

    (void)err;
    g->rows    = g->value[ROWS].whole;
    g->cols    = g->value[COLS].whole;
    g->n_units = g->rows / vector + (g->rows % vector != 0);
    if (__builtin_mul_overflow(g->cols, vector, &g->most)) {
        g->most = INT64_MAX; /* refused as too many entries */
    }
    return SPMM_OK;
}

static void emit(const spmm_generator_t *g, int64_t unit, spmm_sink_t *sink)
{
    const int64_t vector = g->value[VECTOR].whole, first = unit * vector;
    const int64_t last     = g->rows - first < vector ? g->rows : first + vector;
    const double  sparsity = g->value[SPARSITY].real;

    for (int64_t col = 0; col < g->cols; col++) {
        if (spmmi_unit(spmmi_hash2(g->seed, unit, col)) >= sparsity) {
            for (int64_t row = first; row < last; row++) {
                spmmi_sink_put(sink, row, col);
            }
        }
    }
}

const spmm_generator_kind_t spmmi_generator_pruned = {
    .name  = "pruned",
    .key   = {{"rows", false, false, 0.0, 1, INT64_MAX},
              {"cols", false, false, 0.0, 1, INT64_MAX},
              {"sparsity", true, false, 0.0, 0, 1},
              {"vector", false, true, 1.0, 1, 1024}},
    .shape = shape,
    .emit  = emit,
};
