/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cvse/variant.h"

#include <math.h>

#include "engine/cvse/args.h"
#include "engine/cvse/tasks.h"

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

/* Warps on a multiprocessor, by registers (cvse_short_launch.cuh). */
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
 * times did. */
double spmmi_cvse_variant_s(const spmm_tc_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
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
 * and 512 columns on one H100 (docs/explanation/engines/cvse.md). */
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
           part * spmmi_cvse_variant_s(facts, n_rows, n, n_sm, variant);
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
            const double seconds = spmmi_cvse_variant_s(facts, n_rows, n, n_sm, variant);

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
    const spmm_cvse_variant_t pieces = {.height = height};
    const double        many = 12.0; /* waves: starts hardly count, and pieces have slices of 256 */
    const double        far  = 20.0; /* blocks of a warp that take as long as a second kernel */
    const int64_t       wide = 128;  /* narrower, a wave has few slabs, and tasks are faster */
    int                 count = 0;
    bool                cut, shared, early;
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
        list[count++] = pieces;
    }
    list[count++] = first;
    count += best_of(facts, n_rows, n, n_sm, (wanted_t){.height = 24 - height}, &list[count]);
    count += best_of(facts, n_rows, n, n_sm, (wanted_t){.height = height, .not_slice = first.slice},
                     &list[count]);
    if (!cut && (x.longest > 0.5 * far || x.waves > 4.0 || n > 128)) {
        list[count++] = pieces;
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
