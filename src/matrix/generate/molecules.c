/* SPDX-License-Identifier: Apache-2.0 */
/* A block-diagonal union of `count` small undirected graphs shaped like organic molecules: heavy
 * atoms in a branching chain with some six-rings, the other half of the atoms bonded to one heavy
 * atom each.  No loops; about 2.1 entries per row.  A unit is a molecule.
 *
 * Sizes vary by up to a quarter around `atoms`; molecules 2 k and 2 k + 1 differ from it by
 * opposite amounts, so where a molecule starts is known without summing the sizes before it. */
#include <inttypes.h>

#include "base/hash.h"
#include "matrix/generate/generate.h"

enum { COUNT, ATOMS };

/* One bond in so many heavy atoms closes a ring of RING atoms; one in BRANCH leaves the chain. */
enum { RING = 6, RING_EVERY = 6, BRANCH_EVERY = 4, BRANCH_REACH = 4 };

/* Streams of the hash. */
enum { SIZE, PARENT, CLOSE };

static spmm_status_t shape(spmm_error_t *err, spmm_generator_t *g)
{
    const int64_t count = g->value[COUNT].whole, atoms = g->value[ATOMS].whole;

    if (__builtin_mul_overflow(count, atoms, &g->rows)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "count=%" PRId64 " times atoms=%" PRId64 " is 2^63 atoms or more", count,
                          atoms);
    }
    g->cols    = g->rows;
    g->n_units = count;
    g->most    = 4 * (atoms + atoms / 4); /* bonds of a tree and its rings, both ways */
    return SPMM_OK;
}

static void put_bond(spmm_sink_t *sink, int64_t first, int64_t i, int64_t j)
{
    spmmi_sink_put(sink, first + i, first + j);
    spmmi_sink_put(sink, first + j, first + i);
}

/* Atom i, heavy, bonds to an earlier heavy atom: the last one, or one a little before it. */
static int64_t parent_of(uint64_t h, int64_t i)
{
    const int64_t reach = i < BRANCH_REACH ? i : BRANCH_REACH;

    return spmmi_below(h, BRANCH_EVERY) != 0 ? i - 1 : i - 1 - spmmi_below(spmmi_mix64(h), reach);
}

static void emit(const spmm_generator_t *g, int64_t unit, spmm_sink_t *sink)
{
    const int64_t  atoms = g->value[ATOMS].whole, pair = unit / 2;
    const bool     alone = unit == pair * 2 && unit + 1 == g->n_units;
    const uint64_t h     = spmmi_hash2(g->seed, pair, SIZE);
    const int64_t  spare = alone ? 0 : spmmi_below(h, atoms / 4 + 1);
    const int64_t  more  = (h & 1) != 0 ? spare : -spare; /* of molecule 2 k */
    const int64_t  first = unit * atoms + (unit % 2 != 0 ? more : 0);
    const int64_t  size  = atoms + (unit % 2 != 0 ? -more : more);
    const int64_t  heavy = size - size / 2;

    for (int64_t i = 1; i < size; i++) {
        const uint64_t draw = spmmi_hash2(g->seed + PARENT, unit, i);

        put_bond(sink, first, i, i < heavy ? parent_of(draw, i) : spmmi_below(draw, heavy));
        if (i < heavy && i >= RING - 1 &&
            spmmi_below(spmmi_hash2(g->seed + CLOSE, unit, i), RING_EVERY) == 0) {
            put_bond(sink, first, i, i - (RING - 1));
        }
    }
}

const spmm_generator_kind_t spmmi_generator_molecules = {
    .name  = "molecules",
    .key   = {{"count", false, false, 0.0, 1, INT64_MAX}, {"atoms", false, false, 0.0, 1, 1000000}},
    .shape = shape,
    .emit  = emit,
};
