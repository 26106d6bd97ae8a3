/* SPDX-License-Identifier: Apache-2.0 */
/* The synthetic matrices XdYs of the thesis on sparse tensor cores (paper 003, section 3.1.2):
 * tiles of 16 x 32, X percent of them dense, Y percent 2:4 sparse, the others empty.  Each tile is
 * drawn on its own, so shares are met on average, and exactly where they are 0 or add up to 1.
 * A unit is a row of tiles; the last row and column of tiles are cut where they do not divide. */
#include "base/hash.h"
#include "matrix/generate/generate.h"

enum { SIZE, DENSE, SP24, FILL };
enum { TILE_ROWS = 16, TILE_COLS = 32, GROUP = 4 };

/* The pairs of two out of a group of four columns, as bits. */
static const uint8_t pairs[] = {0x3, 0x5, 0x9, 0x6, 0xa, 0xc};

static spmm_status_t shape(spmm_error_t *err, spmm_generator_t *g)
{
    const double both     = g->value[DENSE].real + g->value[SP24].real;
    const double rounding = 1e-12; /* of fractions that add up to 1 */

    g->rows = g->cols = g->value[SIZE].whole;
    g->n_units        = g->rows / TILE_ROWS + (g->rows % TILE_ROWS != 0);
    if (__builtin_mul_overflow(g->cols, (int64_t)TILE_ROWS, &g->most)) {
        g->most = INT64_MAX; /* refused as too many entries */
    }
    if (both > 1.0 + rounding) {
        return spmmi_fail(
            err, SPMM_ERR_ARGUMENT,
            "generator xdys: dense and sp24 add up to %g; they are shares of all tiles", both);
    }
    return SPMM_OK;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* @p sparse: two of four columns, drawn for each row; else all.  Of these a part of `fill`. */
static void emit_tile(const spmm_generator_t *g, int64_t unit, int64_t first_col, bool sparse,
                      spmm_sink_t *sink)
{
    const double  fill     = g->value[FILL].real;
    const int64_t last_row = least(g->rows, (unit + 1) * TILE_ROWS);
    const int64_t last_col = least(g->cols, first_col + TILE_COLS);

    for (int64_t row = unit * TILE_ROWS; row < last_row; row++) {
        uint8_t kept = 0xf;

        for (int64_t col = first_col; col < last_col; col++) {
            const uint64_t key = spmmi_hash2(g->seed + 1, row, col); /* + 1: tiles have their own */

            if (sparse && col % GROUP == 0) {
                kept = pairs[spmmi_below(spmmi_mix64(key), (int64_t)sizeof pairs)];
            }
            if ((kept >> (col % GROUP) & 1) != 0 && (fill >= 1.0 || spmmi_unit(key) < fill)) {
                spmmi_sink_put(sink, row, col);
            }
        }
    }
}

static void emit(const spmm_generator_t *g, int64_t unit, spmm_sink_t *sink)
{
    const double dense = g->value[DENSE].real, sp24 = g->value[SP24].real;

    for (int64_t first_col = 0; first_col < g->cols; first_col += TILE_COLS) {
        const double drawn = spmmi_unit(spmmi_hash2(g->seed, unit, first_col));

        if (drawn < dense || drawn < dense + sp24) {
            emit_tile(g, unit, first_col, drawn >= dense, sink);
        }
    }
}

const spmm_generator_kind_t spmmi_generator_xdys = {
    .name  = "xdys",
    .key   = {{"size", false, false, 0.0, 1, INT64_MAX - TILE_COLS},
              {"dense", true, false, 0.0, 0, 1},
              {"sp24", true, false, 0.0, 0, 1},
              {"fill", true, true, 1.0, 0, 1}},
    .shape = shape,
    .emit  = emit,
};
