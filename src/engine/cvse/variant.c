/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cvse/variant.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/cvse/args.h"
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

int32_t spmmi_cvse_team(int64_t blocks, int32_t chain, int32_t n_warps)
{
    int32_t team = 1;

    while (team < n_warps && blocks > (int64_t)team * chain) {
        team *= 2;
    }
    return team;
}

/* 0 for teams of 16, ..., 4 for single warps. */
static int class_of(int32_t team)
{
    int c = SPMM_CVSE_TEAMS - 1;

    for (; team > 1; team /= 2) {
        c--;
    }
    return c;
}

static int32_t team_of(const int32_t *block_ptr, int32_t w, int32_t chain, int32_t n_warps)
{
    return spmmi_cvse_team((int64_t)block_ptr[w + 1] - block_ptr[w], chain, n_warps);
}

/* Thread blocks of each class, then up to each. */
static spmm_status_t count(spmm_env_t *env, int32_t n_windows, const int32_t *block_ptr,
                           int32_t chain, spmm_cvse_tasks_t *t)
{
    int64_t windows[SPMM_CVSE_TEAMS] = {0}, blocks = 0;

    for (int32_t w = 0; w < n_windows; w++) {
        windows[class_of(team_of(block_ptr, w, chain, t->n_warps))]++;
    }
    for (int c = 0; c < SPMM_CVSE_TEAMS; c++) {
        const int64_t team     = INT64_C(1) << (SPMM_CVSE_TEAMS - 1 - c);
        const int64_t together = team < t->n_warps ? t->n_warps / team : 1;

        blocks += (windows[c] + together - 1) / together;
        t->end[c] = (int32_t)blocks;
    }
    t->n_tasks = blocks * t->n_warps;
    if (t->n_tasks > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "%" PRId64 " tasks of warps on one rank, more than 2^31 - 1; use more "
                          "ranks or another engine",
                          t->n_tasks);
    }
    return SPMM_OK;
}

/* The tasks of window w, from *at on; members have nearly equal runs of its blocks. */
static void deal(const int32_t *block_ptr, int32_t w, int32_t team, int64_t at,
                 spmm_cvse_tasks_t *t)
{
    const int64_t first = block_ptr[w], n = block_ptr[w + 1] - first;

    for (int32_t m = 0; m < team; m++) {
        const int32_t from = (int32_t)(first + n * m / team);
        const int32_t left = (int32_t)(first + n * (m + 1) / team) - from;

        t->first[at + m] = left > 0 ? from : -1;
        t->task[at + m]  = (spmm_cvse_task_t){
             .window = w, .block = from + (left > 0), .more = left > 0 ? left - 1 : 0};
    }
}

spmm_status_t spmmi_cvse_tasks_create(spmm_env_t *env, int32_t n_windows, const int32_t *block_ptr,
                                      int32_t chain, int32_t n_warps, spmm_cvse_tasks_t *tasks)
{
    spmm_cvse_tasks_t t                   = {.n_warps = n_warps};
    int64_t           at[SPMM_CVSE_TEAMS] = {0};

    memset(tasks, 0, sizeof *tasks);
    SPMM_TRY(count(env, n_windows, block_ptr, chain, &t));
    SPMM_NEW(t.task, t.n_tasks);
    SPMM_NEW(t.first, t.n_tasks);
    if (t.task == NULL || t.first == NULL) {
        spmmi_cvse_tasks_free(&t);
        return spmmi_fail_memory(&env->err, t.n_tasks, sizeof *t.task, "tasks of warps");
    }
    for (int64_t k = 0; k < t.n_tasks; k++) {
        t.first[k] = -1;
        t.task[k]  = (spmm_cvse_task_t){.window = -1};
    }
    for (int c = 1; c < SPMM_CVSE_TEAMS; c++) {
        at[c] = (int64_t)t.end[c - 1] * n_warps;
    }
    for (int32_t w = 0; w < n_windows; w++) {
        const int32_t  team = team_of(block_ptr, w, chain, n_warps);
        int64_t *const to   = &at[class_of(team)];

        deal(block_ptr, w, team, *to, &t);
        *to += team;
    }
    *tasks = t;
    return SPMM_OK;
}

void spmmi_cvse_tasks_free(spmm_cvse_tasks_t *tasks)
{
    spmmi_free_all(tasks->task, tasks->first);
    memset(tasks, 0, sizeof *tasks);
}

void spmmi_cvse_tasks_gather(const spmm_cvse_tasks_t *tasks, const void *from, size_t size,
                             int blank, void *to)
{
    for (int64_t k = 0; k < tasks->n_tasks; k++) {
        char *const place = (char *)to + (size_t)k * size;

        if (tasks->first[k] < 0) {
            memset(place, blank, size);
        } else {
            memcpy(place, (const char *)from + (size_t)tasks->first[k] * size, size);
        }
    }
}

/** What a product takes with tasks of one variant. */
typedef struct {
    double waves;   /**< tasks of all slices, in times of what is resident at once */
    double mean;    /**< blocks of a task */
    double longest; /**< the same, of the longest */
} account_t;

/* Bytes that the vectors of one height take a product through: an index, their values and a row of
 * B for each. */
static double vector_bytes(const spmm_tc_facts_t *facts, int32_t height, int64_t n)
{
    return (double)facts->pairs[height / 16] * (4.0 + 2.0 * height + 2.0 * (double)n);
}

/* V = 16 where it saves a good part of the bytes: it takes twice the sums in registers, so fewer
 * warps are resident, and multiplies more zeros. */
int32_t spmmi_cvse_height(const spmm_tc_facts_t *facts, int64_t n)
{
    const double worth_it = 0.75;

    return vector_bytes(facts, 16, n) < worth_it * vector_bytes(facts, 8, n) ? 16 : 8;
}

int32_t spmmi_cvse_team_limit(int32_t n_windows, int32_t blocks, int32_t n_sm)
{
    enum { WARPS = 32, LEAST_FEW = 4, LEAST = 6, LEAST_MANY = 12 };
    const int32_t share = blocks / (WARPS * n_sm);
    const int32_t least = n_windows <= SPMM_TC_FEW * n_sm ? LEAST_FEW
                          : n_windows > WARPS * n_sm      ? LEAST_MANY
                                                          : LEAST;

    return share > least ? share : least;
}

/* Warps on a multiprocessor, by registers (cvse_short.cuh). */
static double resident(spmm_cvse_variant_t variant)
{
    const bool flat = variant.height == 8, small = variant.n_warps == 4;

    return variant.slice == 32   ? 32.0
           : variant.slice == 64 ? (variant.n_warps == 16 ? 16.0
                                    : flat                ? (small ? 28.0 : 24.0)
                                                          : (small ? 20.0 : 16.0))
                                 : (flat && small ? 20.0 : 16.0);
}

/* Windows by powers of two of their length; one of each bin stands for all, the longest for
 * itself. */
static account_t account(const spmm_tc_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                         spmm_cvse_variant_t variant)
{
    const spmm_tc_lengths_t *lengths = &facts->lengths[variant.height / 16];
    const double             slices  = ceil((double)n / variant.slice);
    const double             longest = ceil((double)lengths->longest / SPMM_CVSE_BLOCK);
    double                   tasks = 0.0, blocks = 0.0;
    double                   empty = (double)spmmi_windows_count(n_rows, variant.height);
    account_t                x     = {.longest = 1.0};

    for (int bin = 0; bin < SPMM_TC_BINS; bin++) {
        const double windows = (double)lengths->windows[bin];

        if (windows > 0.0) {
            const double each = ceil((double)lengths->pairs[bin] / windows / SPMM_CVSE_BLOCK);

            tasks += windows * spmmi_cvse_team((int64_t)each, variant.chain, variant.n_warps);
            blocks += windows * each;
            empty -= windows;
        }
    }
    tasks += fmax(empty, 0.0);
    x.longest = fmax(
        1.0, ceil(longest / spmmi_cvse_team((int64_t)longest, variant.chain, variant.n_warps)));
    x.mean  = fmax(1.0, blocks / fmax(tasks, 1.0));
    x.waves = tasks * slices / (resident(variant) * n_sm);
    return x;
}

/* Every wave of warps takes its start and its blocks, and what is longer than that comes on top.
 * Where all tasks are about as long, those that find no room in a first wave wait for its end.
 * Seconds of one H200, chosen to rank the variants of 17 matrices at N = 32 and 128 as their
 * times did.  Seconds are beyond what all variants of V take. */
static double cvse_variant_s(const spmm_tc_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                             spmm_cvse_variant_t variant)
{
    const double start_s = 1.3e-6;
    const double step_s  = variant.slice == 32 ? 0.3e-6 : variant.slice == 64 ? 0.38e-6 : 0.48e-6;

    const account_t x     = account(facts, n_rows, n, n_sm, variant);
    const bool      twice = x.waves > 1.0 && x.waves < 2.0 && x.longest < 2.0 * x.mean;
    const double    waves = twice ? 2.0 : fmax(1.0, x.waves);

    return waves * (start_s + x.mean * step_s) + fmax(0.0, x.longest - waves * x.mean) * step_s;
}

bool spmmi_cvse_variant_at(int k, spmm_cvse_variant_t *variant)
{
    enum { CHAINS = 6, KINDS = 8, SLABS = 6 };
    static const int32_t chains[CHAINS]  = {8, 6, 4, 3, 2, 1}; /* of equals the fewest warps */
    static const int32_t kinds[KINDS][2] = {{32, 4}, {32, 8},  {32, 16}, {64, 4},
                                            {64, 8}, {64, 16}, {128, 4}, {128, 8}};
    const int            height = 8 << (k & 1), tasks = k / 2 - 1;

    if (tasks >= CHAINS * KINDS) {
        const int slab = k - 2 - 2 * CHAINS * KINDS;

        *variant = (spmm_cvse_variant_t){
            .height = 8, .slab = slab < SLABS / 2 ? 64 : 32, .n_warps = 16 >> slab % (SLABS / 2)};
        return slab < SLABS;
    }
    if (k < 2) {
        *variant = (spmm_cvse_variant_t){.height = height};
        return k >= 0;
    }
    *variant = (spmm_cvse_variant_t){.height  = height,
                                     .chain   = chains[tasks / KINDS % CHAINS],
                                     .slice   = kinds[tasks % KINDS][0],
                                     .n_warps = kinds[tasks % KINDS][1]};
    return true;
}

/* Blocks of a window, in the mean. */
static double blocks_of_window(const spmm_tc_facts_t *facts, int32_t windows)
{
    return (double)facts->pairs[0] / SPMM_CVSE_BLOCK / fmax((double)windows, 1.0) + 0.5;
}

bool spmmi_cvse_slab(const spmm_tc_facts_t *facts, int32_t n_rows, int32_t n_cols, int64_t n,
                     int32_t n_sm, spmm_cvse_variant_t *slab)
{
    const double        few = 0.3; /* uses of a row of B in a thread block that are not worth it */
    const int32_t       windows = spmmi_windows_count(n_rows, 8);
    const double        uses    = (double)facts->pairs[0] / fmax((double)n_cols, 1.0);
    int64_t             most    = 0;
    spmm_cvse_variant_t x;

    for (int k = 0; windows > 0 && n_cols > 0 && n % 8 == 0 && spmmi_cvse_variant_at(k, &x); k++) {
        spmm_cvse_slab_work_t w;

        if (x.slab == 0 || (n + x.slab - 1) / x.slab > n_sm ||
            spmmi_cvse_slab_bytes(x.slab, x.n_warps, n_cols) > SPMM_CVSE_SLAB_ROOM) {
            continue;
        }
        w = spmmi_cvse_slab_work(x.slab, x.n_warps, windows, n, n_sm);
        if ((int64_t)w.slabs * w.blocks > most && uses >= few * w.blocks) {
            most  = (int64_t)w.slabs * w.blocks;
            *slab = x;
        }
    }
    return most > 0;
}

/* Launch and start; rows of B that arrive in shared memory; what ldmatrix reads there, 128 bytes at
 * a time; blocks of a warp, one batch after the other.  Constants from 20 pruned weights with 256
 * and 512 columns on one H100. */
double spmmi_cvse_slab_s(const spmm_tc_facts_t *facts, int32_t n_rows, int32_t n_cols, int64_t n,
                         int32_t n_sm, spmm_cvse_variant_t slab)
{
    const double start_s = 5.58e-6, byte_s = 1.07e-11, access_s = 3.75e-10, block_s = 1.73e-7;

    const int32_t               windows = spmmi_windows_count(n_rows, 8);
    const double                each    = blocks_of_window(facts, windows);
    const spmm_cvse_slab_work_t w = spmmi_cvse_slab_work(slab.slab, slab.n_warps, windows, n, n_sm);
    const double here     = fmin((double)(slab.n_warps / w.team * w.rounds), (double)windows);
    const double accesses = here * each * slab.slab / 4.0;

    return start_s + byte_s * (double)n_cols * slab.slab * 2.0 + access_s * accesses +
           block_s * w.rounds * each / w.team;
}

/* The same of tasks: their launch, and what they take from L2, on top of what they are compared
 * by. */
static double tasks_s(const spmm_tc_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                      spmm_cvse_variant_t variant)
{
    const double start_s = 5.28e-6, byte_s = 1.22e-13, part = 0.288;

    const int32_t windows = spmmi_windows_count(n_rows, variant.height);
    const double  slices  = ceil((double)n / variant.slice);
    const double  vectors = (double)facts->pairs[variant.height / 16];
    const double  a_bytes =
        (vectors + SPMM_CVSE_BLOCK / 2.0 * windows) * (4.0 + 2.0 * variant.height);

    return start_s + byte_s * (2.0 * (double)n * vectors + a_bytes * slices) +
           part * cvse_variant_s(facts, n_rows, n, n_sm, variant);
}

/** Which variants to look among; 0: any. */
typedef struct {
    int32_t height, slice, not_slice, not_warps;
} wanted_t;

/* The one of the least predicted time; false: there is none. */
static bool best_of(const spmm_tc_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                    wanted_t wanted, spmm_cvse_variant_t *best)
{
    const int64_t       up    = (n + 7) / 8 * 8; /* columns of whole accesses */
    double              least = INFINITY;
    spmm_cvse_variant_t variant;

    for (int k = 0; spmmi_cvse_variant_at(k, &variant); k++) {
        if (variant.chain > 0 && variant.height == wanted.height &&
            (variant.slice == 32 || variant.slice <= up) &&
            (wanted.slice == 0 || variant.slice == wanted.slice) &&
            variant.slice != wanted.not_slice && variant.n_warps != wanted.not_warps) {
            const double seconds = cvse_variant_s(facts, n_rows, n, n_sm, variant);

            if (seconds < least) {
                least = seconds;
                *best = variant;
            }
        }
    }
    return least < INFINITY;
}

int spmmi_cvse_variants(const spmm_tc_facts_t *facts, int32_t n_rows, int32_t n_cols, int64_t n,
                        int32_t n_sm, spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS])
{
    const int32_t             height = spmmi_cvse_height(facts, n);
    const spmm_cvse_variant_t items  = {.height = height};
    const double  many  = 12.0; /* waves: starts hardly count, and work items have slices of 256 */
    const double  far   = 20.0; /* blocks of a warp that take as long as a second kernel */
    const int64_t wide  = 128;  /* narrower, a wave has few slabs, and tasks are faster */
    int           count = 0;
    bool          cut, shared, early;
    spmm_cvse_variant_t first, slab;
    account_t           x;

    shared = spmmi_cvse_slab(facts, n_rows, n_cols, n, n_sm, &slab);
    (void)best_of(facts, n_rows, n, n_sm, (wanted_t){.height = height}, &first);
    early = shared && n >= wide &&
            spmmi_cvse_slab_s(facts, n_rows, n_cols, n, n_sm, slab) <
                tasks_s(facts, n_rows, n, n_sm, first);
    if (early) {
        list[count++] = slab;
    }
    x   = account(facts, n_rows, n, n_sm, first);
    cut = x.longest > far + x.waves * x.mean || (n > 128 && x.waves > many);
    if (cut) {
        list[count++] = items;
    }
    list[count++] = first;
    count += best_of(facts, n_rows, n, n_sm, (wanted_t){.height = 24 - height}, &list[count]);
    count += best_of(facts, n_rows, n, n_sm, (wanted_t){.height = height, .not_slice = first.slice},
                     &list[count]);
    if (!cut && (x.longest > 0.5 * far || x.waves > 4.0 || n > 128)) {
        list[count++] = items;
    } else if (!cut) {
        count +=
            best_of(facts, n_rows, n, n_sm,
                    (wanted_t){.height = height, .slice = first.slice, .not_warps = first.n_warps},
                    &list[count]);
    }
    if (shared && !early) {
        list[count++] = slab;
    }
    return count;
}
