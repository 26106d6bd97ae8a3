/* SPDX-License-Identifier: Apache-2.0 */
/* All (i, j) with -lower <= j - i <= upper, or a random part of them.  A unit is a row. */
#include "base/hash.h"
#include "matrix/generate/generate.h"

enum { ROWS, LOWER, UPPER, BAND, FILL };

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static spmm_status_t shape(spmm_error_t *err, spmm_generator_t *g)
{
    spmm_spec_value_t *lower = &g->value[LOWER], *upper = &g->value[UPPER];

    if (g->value[BAND].given ? lower->given || upper->given : !lower->given || !upper->given) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "generator banded needs either lower= and upper=, or band= for both");
    }
    g->rows = g->cols = g->n_units = g->value[ROWS].whole;
    lower->whole = at_most(g->value[BAND].given ? g->value[BAND].whole : lower->whole, g->rows - 1);
    upper->whole = at_most(g->value[BAND].given ? g->value[BAND].whole : upper->whole, g->rows - 1);
    g->most      = at_most(lower->whole, g->rows - 1 - upper->whole) + upper->whole + 1;
    return SPMM_OK;
}

static void emit(const spmm_generator_t *g, int64_t row, spmm_sink_t *sink)
{
    const double  fill  = g->value[FILL].real;
    const int64_t first = row - at_most(row, g->value[LOWER].whole);
    const int64_t last  = row + at_most(g->rows - 1 - row, g->value[UPPER].whole);

    for (int64_t col = first; col <= last; col++) {
        if (fill >= 1.0 || spmmi_unit(spmmi_hash2(g->seed, row, col)) < fill) {
            spmmi_sink_put(sink, row, col);
        }
    }
}

const spmm_generator_kind_t spmmi_generator_banded = {
    .name  = "banded",
    .key   = {{"rows", false, false, 0.0, 1, INT64_MAX},
              {"lower", false, true, 0.0, 0, INT64_MAX},
              {"upper", false, true, 0.0, 0, INT64_MAX},
              {"band", false, true, 0.0, 0, INT64_MAX},
              {"fill", true, true, 1.0, 0, 1}},
    .shape = shape,
    .emit  = emit,
};
