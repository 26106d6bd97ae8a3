/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bcsr/walk.h"

#include <string.h>

#include "engine/tc/format.h"

enum {
    SIDE  = SPMM_BCSR_SIDE,
    WIDTH = SPMM_BCSR_WIDTH,
    PARTS = SPMM_BCSR_PARTS,
    TALL  = SPMM_BCSR_TALL
};

static void look_ahead(spmm_bcsr_walk_t *w, int32_t k)
{
    const int32_t t = w->first + k;

    w->next[k] = w->at[k] < w->tall->count[t] ? w->tall->col[w->tall->first[t] + w->at[k]] / WIDTH
                                              : INT32_MAX;
}

void spmmi_bcsr_walk_start(spmm_bcsr_walk_t *w, const spmm_windows_t *tall, int32_t panel,
                           int32_t rows, bool sp24)
{
    const int32_t windows = rows / PARTS, left = tall->n_windows - panel * windows;

    memset(w, 0, sizeof *w);
    w->tall  = tall;
    w->first = panel * windows;
    w->n     = left < windows ? left : windows;
    w->sp24  = sp24;
    for (int32_t k = 0; k < TALL; k++) {
        w->next[k] = INT32_MAX;
    }
    for (int32_t k = 0; k < w->n; k++) {
        look_ahead(w, k);
    }
}

/* The next step's number of columns / WIDTH, INT32_MAX: there is none. */
static int32_t next_col(const spmm_bcsr_walk_t *w)
{
    int32_t least = INT32_MAX;

    for (int32_t k = 0; k < TALL; k++) {
        least = w->next[k] < least ? w->next[k] : least;
    }
    return least;
}

/* Bits of window k of the panel in columns WIDTH col on. */
static void take_window(spmm_bcsr_walk_t *w, int32_t k, int32_t col)
{
    const int32_t  t    = w->first + k;
    const int64_t  base = w->tall->first[t];
    const int32_t  n    = w->tall->count[t];
    const int32_t *cols = w->tall->col + base;
    int32_t        at   = w->at[k];

    for (; at < n && cols[at] / WIDTH == col; at++) {
        const uint32_t bit = (uint32_t)1 << cols[at] % WIDTH;

        for (uint64_t left = w->tall->rows[base + at]; left != 0; left &= left - 1) {
            const int32_t r   = spmmi_cpu_lowest_bit(left);
            const int32_t row = k * PARTS + r / SIDE;

            w->bits[row][r % SIDE] |= bit;
            w->cols[row] |= bit;
            w->any |= (uint32_t)1 << row;
        }
    }
    w->at[k] = at;
    look_ahead(w, k);
}

/* Bit 4 q: columns 4 q to 4 q + 3 have three entries. */
static uint32_t with_three(uint32_t x)
{
    const uint32_t pairs = x & x >> 1 & 0x55555555u;   /* both of two columns */
    const uint32_t ones  = (x | x >> 1) & 0x55555555u; /* any of two columns */

    return (pairs & ones >> 2 & 0x11111111u) | (pairs >> 2 & ones & 0x11111111u);
}

/* No row with three entries in four columns, as where none of all has. */
static bool is_legal(const uint32_t bits[SIDE], uint32_t all)
{
    uint32_t three = with_three(all);

    if (three == 0) {
        return true;
    }
    three = 0;
    for (int r = 0; r < SIDE; r++) {
        three |= with_three(bits[r]);
    }
    return three == 0;
}

static void classify(spmm_bcsr_walk_t *w, int32_t r)
{
    const uint32_t row = (uint32_t)1 << r, all = w->cols[r];

    if (is_legal(w->bits[r], all)) {
        w->legal |= row;
        if (w->sp24 && (all & 0xffff) != 0 && all >> 16 != 0) {
            w->step.sp24 = (uint16_t)(w->step.sp24 | row);
            return;
        }
    }
    w->step.left  = (uint16_t)(w->step.left | ((all & 0xffff) != 0 ? row : 0));
    w->step.right = (uint16_t)(w->step.right | (all >> 16 != 0 ? row : 0));
}

bool spmmi_bcsr_walk_next(spmm_bcsr_walk_t *w)
{
    const int32_t col = next_col(w);

    for (uint64_t left = w->any; left != 0; left &= left - 1) {
        const int32_t r = spmmi_cpu_lowest_bit(left);

        memset(w->bits[r], 0, sizeof w->bits[r]);
        w->cols[r] = 0;
    }
    w->any   = 0;
    w->legal = 0;
    w->step  = (spmm_bcsr_step_t){.col = col == INT32_MAX ? -1 : col};
    if (col == INT32_MAX) {
        return false;
    }
    for (int32_t k = 0; k < w->n; k++) {
        if (w->next[k] == col) {
            take_window(w, k, col);
        }
    }
    for (uint64_t left = w->any; left != 0; left &= left - 1) {
        classify(w, spmmi_cpu_lowest_bit(left));
    }
    return true;
}
