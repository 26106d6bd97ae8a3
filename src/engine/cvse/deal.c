/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cvse/deal.h"

#include <string.h>

#include "base/alloc.h"
#include "spmm_dist/context.h"

enum { WIDTH = SPMM_CVSE_BLOCK, HALF = WIDTH / 2, BANKS = SPMM_CVSE_BANKS };

static int64_t places_of(const spmm_cvse_t *f)
{
    return (int64_t)f->n_blocks * WIDTH;
}

static int64_t col_at(int64_t place)
{
    return place / WIDTH * WIDTH + spmmi_cvse_col_at((int32_t)(place % WIDTH));
}

/* Vectors left in each bank, in the order of columns. */
typedef struct {
    int64_t head[BANKS], end[BANKS];
} banks_t;

/* The bank that the next vector of a half is taken from: one that it has taken least from, of those
 * the fullest. */
static int next_bank(const banks_t *left, const int taken[])
{
    int best = -1;

    for (int b = 0; b < BANKS; b++) {
        const int64_t here = left->end[b] - left->head[b];

        if (here > 0 && (best < 0 || taken[b] < taken[best] ||
                         (taken[b] == taken[best] && here > left->end[best] - left->head[best]))) {
            best = b;
        }
    }
    return best;
}

/* @param queue  room for as many places as the window has */
static void deal_window(const spmm_cvse_t *f, int32_t w, int32_t *queue, int32_t *from)
{
    const int64_t first  = (int64_t)f->window_ptr[w] * WIDTH;
    const int64_t places = (int64_t)f->window_ptr[w + 1] * WIDTH - first;
    banks_t       left   = {0};
    int           taken[BANKS];

    for (int b = 0, n = 0; b < BANKS; b++) {
        left.head[b] = n;
        for (int64_t k = first; k < first + places; k++) {
            if (f->col[col_at(k)] != SPMM_TC_NO_COLUMN && f->col[col_at(k)] % BANKS == b) {
                queue[n++] = (int32_t)k;
            }
        }
        left.end[b] = n;
    }
    for (int64_t k = 0; k < places; k++) {
        int bank;

        if (k % HALF == 0) {
            memset(taken, 0, sizeof taken);
        }
        bank = next_bank(&left, taken);
        if (bank < 0) {
            from[first + k] = (int32_t)(first + k); /* places without a column come last */
        } else {
            from[first + k] = queue[left.head[bank]++];
            taken[bank]++;
        }
    }
}

spmm_status_t spmmi_cvse_deal(spmm_env_t *env, const spmm_cvse_t *format, int threads,
                              int32_t **from)
{
    const int64_t places = places_of(format);
    int32_t      *queue  = NULL; /* a window's places: its own ones of all */

    *from = NULL;
    if (places == 0) {
        return SPMM_OK;
    }
    if (places > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "cvse: the vectors of a block for slabs do not fit 32 bits");
    }
    if (SPMM_NEW(*from, places) == NULL || SPMM_NEW(queue, places) == NULL) {
        spmmi_free_all(*from);
        *from = NULL;
        return spmmi_fail_memory(&env->err, places, 2 * sizeof **from, "the order of vectors");
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t w = 0; w < format->n_windows; w++) {
        deal_window(format, w, queue + (int64_t)format->window_ptr[w] * WIDTH, *from);
    }
    spmmi_free(queue);
    return SPMM_OK;
}

/* Block @p b of what is dealt out. */
static void deal_cols(const spmm_cvse_t *format, const int32_t *from, int32_t b, int32_t *to)
{
    for (int64_t k = (int64_t)b * WIDTH; k < ((int64_t)b + 1) * WIDTH; k++) {
        to[col_at(k)] = format->col[col_at(from[k])];
    }
}

static void deal_bits(const spmm_cvse_t *format, const int32_t *from, int32_t b, uint16_t *to)
{
    const int32_t height = format->height;

    memset(to + (int64_t)b * height, 0, (size_t)height * sizeof *to);
    for (int64_t k = (int64_t)b * WIDTH; k < ((int64_t)b + 1) * WIDTH; k++) {
        const uint16_t *const bits = format->bits + from[k] / WIDTH * (int64_t)height;

        for (int32_t r = 0; r < height; r++) {
            to[k / WIDTH * height + r] |=
                (uint16_t)((bits[r] >> from[k] % WIDTH & 1u) << k % WIDTH);
        }
    }
}

static void deal_values(const spmm_cvse_t *format, const int32_t *from, int32_t b, size_t size,
                        const void *values, void *to)
{
    const int32_t height = format->height;
    const int64_t block  = (int64_t)WIDTH * height;

    for (int64_t k = (int64_t)b * WIDTH; k < ((int64_t)b + 1) * WIDTH; k++) {
        for (int32_t r = 0; r < height; r++) {
            const int64_t at =
                k / WIDTH * block + spmmi_cvse_value_at(height, r, (int32_t)(k % WIDTH));
            const int64_t source =
                from[k] / WIDTH * block + spmmi_cvse_value_at(height, r, from[k] % WIDTH);

            memcpy((char *)to + (size_t)at * size, (const char *)values + (size_t)source * size,
                   size);
        }
    }
}

void *spmmi_cvse_dealt(const spmm_cvse_t *format, const int32_t *from, int threads,
                       const void *host, size_t size)
{
    void *const to = spmmi_alloc(format->n_blocks, size);

    if (to == NULL) {
        return NULL;
    }
#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(threads))
    for (int32_t b = 0; b < format->n_blocks; b++) {
        if (host == format->col) {
            deal_cols(format, from, b, to);
        } else if (host == format->bits) {
            deal_bits(format, from, b, to);
        } else {
            deal_values(format, from, b, size / WIDTH / (size_t)format->height, host, to);
        }
    }
    return to;
}
