/* SPDX-License-Identifier: Apache-2.0 */
/* Every row draws `degree` columns, each equally likely; a column drawn twice stands once.  A unit
 * is a row. */
#include <inttypes.h>

#include "base/hash.h"
#include "matrix/generate/generate.h"

enum { ROWS, COLS, DEGREE };

static spmm_status_t shape(spmm_error_t *err, spmm_generator_t *g)
{
    g->rows    = g->value[ROWS].whole;
    g->cols    = g->value[COLS].given ? g->value[COLS].whole : g->rows;
    g->n_units = g->rows;
    g->most    = g->value[DEGREE].whole;
    g->exact   = true;
    if (g->most > g->cols) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "degree=%" PRId64 ": a row of %" PRId64 " columns has no room for it",
                          g->most, g->cols);
    }
    return SPMM_OK;
}

static void emit(const spmm_generator_t *g, int64_t row, spmm_sink_t *sink)
{
    for (int64_t k = 0; k < g->most; k++) {
        spmmi_sink_put(sink, row, spmmi_below(spmmi_hash2(g->seed, row, k), g->cols));
    }
}

const spmm_generator_kind_t spmmi_generator_uniform = {
    .name  = "uniform",
    .key   = {{"rows", false, false, 0.0, 1, INT64_MAX},
              {"cols", false, true, 0.0, 1, INT64_MAX},
              {"degree", false, false, 0.0, 1, INT64_MAX}},
    .shape = shape,
    .emit  = emit,
};
