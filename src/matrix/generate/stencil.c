/* SPDX-License-Identifier: Apache-2.0 */
/* Finite differences on an nx x ny (x nz) grid, x fastest: stars of 5 and 7 points, boxes of 9 and
 * 27.  Neighbours outside the grid are dropped (Dirichlet).  With dof unknowns per point every
 * coupling is a dense dof x dof block.  A unit is a grid point. */
#include "matrix/generate/generate.h"

enum { NX, NY, DOF, NZ };

static int64_t depth(const spmm_generator_t *g)
{
    return g->kind->key[NZ].name != NULL ? g->value[NZ].whole : 1;
}

static spmm_status_t shape(spmm_error_t *err, spmm_generator_t *g)
{
    const int64_t nx = g->value[NX].whole, ny = g->value[NY].whole, dof = g->value[DOF].whole;

    if (__builtin_mul_overflow(nx, ny, &g->n_units) ||
        __builtin_mul_overflow(g->n_units, depth(g), &g->n_units) ||
        __builtin_mul_overflow(g->n_units, dof, &g->rows)) {
        return spmmi_fail(
            err, SPMM_ERR_ARGUMENT,
            "the grid of generator %s has 2^63 unknowns or more; give smaller nx, ny%s",
            g->kind->name, g->kind->key[NZ].name != NULL ? ", nz" : "");
    }
    g->cols = g->rows;
    g->most = g->kind->points * dof * dof; /* dof is at most 2^10 */
    return SPMM_OK;
}

static void put_block(const spmm_generator_t *g, int64_t from, int64_t to, spmm_sink_t *sink)
{
    const int64_t dof = g->value[DOF].whole;

    for (int64_t i = from * dof; i < (from + 1) * dof; i++) {
        for (int64_t j = to * dof; j < (to + 1) * dof; j++) {
            spmmi_sink_put(sink, i, j);
        }
    }
}

static void emit(const spmm_generator_t *g, int64_t point, spmm_sink_t *sink)
{
    const int64_t nx = g->value[NX].whole, ny = g->value[NY].whole, nz = depth(g);
    const int64_t x = point % nx, y = point / nx % ny, z = point / nx / ny;
    const bool    star = g->kind->points == 5 || g->kind->points == 7;

    for (int64_t w = z - (z > 0); w <= z + 1 && w < nz; w++) {
        for (int64_t v = y - (y > 0); v <= y + 1 && v < ny; v++) {
            for (int64_t u = x - (x > 0); u <= x + 1 && u < nx; u++) {
                if (!star || (u != x) + (v != y) + (w != z) <= 1) {
                    put_block(g, point, (w * ny + v) * nx + u, sink);
                }
            }
        }
    }
}

#define PLANE_KEYS                                                                                 \
    {"nx", false, false, 0.0, 1, INT64_MAX}, {"ny", false, false, 0.0, 1, INT64_MAX},              \
    {                                                                                              \
        "dof", false, true, 1.0, 1, 1024                                                           \
    }
#define SPACE_KEYS                                                                                 \
    PLANE_KEYS,                                                                                    \
    {                                                                                              \
        "nz", false, false, 0.0, 1, INT64_MAX                                                      \
    }

const spmm_generator_kind_t spmmi_generator_stencil5 = {
    .name = "stencil5", .key = {PLANE_KEYS}, .points = 5, .shape = shape, .emit = emit};
const spmm_generator_kind_t spmmi_generator_stencil9 = {
    .name = "stencil9", .key = {PLANE_KEYS}, .points = 9, .shape = shape, .emit = emit};
const spmm_generator_kind_t spmmi_generator_stencil7 = {
    .name = "stencil7", .key = {SPACE_KEYS}, .points = 7, .shape = shape, .emit = emit};
const spmm_generator_kind_t spmmi_generator_stencil27 = {
    .name = "stencil27", .key = {SPACE_KEYS}, .points = 27, .shape = shape, .emit = emit};
