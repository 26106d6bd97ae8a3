/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_cvse_variant.c
 *  The tasks that windows of CVSE are dealt out in: every block in exactly one, teams side by side
 *  in a thread block; and the variants that are proposed.
 */
#include "format_case.h"
#include "test_main.h"

#include "engine/cvse/variant.h"
#include "engine/engine.h"

extern const spmm_engine_ops_t spmmi_engine_cvse;

enum { MOST_WINDOWS = 400, N_SM = 132 };

static void make_windows(int32_t n, uint64_t seed, int64_t most, int32_t block_ptr[])
{
    block_ptr[0] = 0;
    for (int32_t w = 0; w < n; w++) {
        const uint64_t hash   = spmmi_hash2(seed, w, 0);
        int64_t        blocks = hash % 4 == 0 ? 0 : spmmi_below(spmmi_mix64(hash), most);

        blocks           = hash % 29 == 3 ? 40 * blocks : blocks;
        block_ptr[w + 1] = block_ptr[w] + (int32_t)blocks;
    }
}

/* Warps that the class of the thread block of task k is for. */
static int32_t team_at(const spmm_cvse_tasks_t *t, int64_t k)
{
    for (int c = 0; c < SPMM_CVSE_TEAMS; c++) {
        if (k < (int64_t)t->end[c] * t->n_warps) {
            return 16 >> c;
        }
    }
    return 0;
}

/* The team from task k on has all of its window, in order and in nearly equal parts. */
static void check_team(const spmm_cvse_tasks_t *t, int64_t k, int32_t team,
                       const int32_t block_ptr[], int32_t chain)
{
    const int32_t w  = t->task[k].window;
    int32_t       at = block_ptr[w], most = 0;

    assert_int_equal(k % team, 0);
    assert_int_equal(team, spmmi_cvse_team(block_ptr[w + 1] - block_ptr[w], chain, t->n_warps));
    for (int32_t m = 0; m < team; m++) {
        const spmm_cvse_task_t *task  = &t->task[k + m];
        const int32_t           first = t->first[k + m];

        assert_int_equal(task->window, w);
        assert_int_equal(task->unused, 0);
        if (first >= 0) {
            assert_int_equal(first, at);
            assert_int_equal(task->block, at + 1);
            at += 1 + task->more;
            most = 1 + task->more > most ? 1 + task->more : most;
        } else {
            assert_int_equal(task->more, 0);
        }
    }
    assert_int_equal(at, block_ptr[w + 1]);
    assert_true(most <= chain || team == t->n_warps);
}

static void check_tasks(int32_t n, const int32_t block_ptr[], int32_t chain, int32_t n_warps)
{
    spmm_cvse_tasks_t t;
    char              seen[MOST_WINDOWS] = {0};
    int32_t           windows = 0, last = -1, last_team = 0;

    spmm_assert_ok(spmmi_cvse_tasks_create(&spmm_test_env, n, block_ptr, chain, n_warps, &t));
    assert_int_equal(t.n_tasks, (int64_t)t.end[SPMM_CVSE_TEAMS - 1] * n_warps);
    for (int64_t k = 0; k < t.n_tasks;) {
        const int32_t team = team_at(&t, k), w = t.task[k].window;

        assert_in_range(team, 1, n_warps);
        if (w < 0) { /* the rest of a thread block */
            assert_int_equal(t.first[k], -1);
            assert_int_equal(t.task[k].more, 0);
            k++;
            continue;
        }
        assert_true(team != last_team || w > last);
        assert_int_equal(seen[w]++, 0);
        check_team(&t, k, team, block_ptr, chain);
        last      = w;
        last_team = team;
        windows++;
        k += team;
    }
    assert_int_equal(windows, n);
    spmmi_cvse_tasks_free(&t);
    assert_null(t.task);
}

static void test_tasks(void **state)
{
    static const int32_t sizes[] = {0, 1, 3, 4, 5, 90, MOST_WINDOWS};
    int32_t              block_ptr[MOST_WINDOWS + 1];

    for (int s = 0; s < 7; s++) {
        for (int32_t chain = 1; chain <= 8; chain++) {
            for (int32_t n_warps = 4; n_warps <= 16; n_warps *= 2) {
                make_windows(sizes[s], (uint64_t)(s + chain), 1 + 9 * (s % 3), block_ptr);
                check_tasks(sizes[s], block_ptr, chain, n_warps);
            }
        }
    }
}

static void test_gather(void **state)
{
    static const int32_t block_ptr[] = {0, 3, 3, 4};
    static const int16_t from[]      = {10, 11, 20, 21, 30, 31, 40, 41};
    int16_t              to[16]; /* two for each task */
    spmm_cvse_tasks_t    t;

    spmm_assert_ok(spmmi_cvse_tasks_create(&spmm_test_env, 3, block_ptr, 8, 4, &t));
    assert_int_equal(t.n_tasks, 4);
    spmmi_cvse_tasks_gather(&t, from, 2 * sizeof *from, 0xff, to);
    assert_int_equal(to[0], 10);
    assert_int_equal(to[1], 11);
    assert_int_equal(to[2], -1);
    assert_int_equal(to[4], 40);
    assert_int_equal(to[7], -1);
    spmmi_cvse_tasks_free(&t);
    spmm_assert_ok(spmmi_cvse_tasks_create(&spmm_test_env, 3, block_ptr, 2, 4, &t));
    assert_int_equal(t.n_tasks, 8); /* a team of two, and two alone */
    spmmi_cvse_tasks_gather(&t, from, 2 * sizeof *from, 0, to);
    assert_int_equal(to[0], 10);
    assert_int_equal(to[2], 20);
    assert_int_equal(to[4], 0);
    spmmi_cvse_tasks_free(&t);
}

/* Windows of 8 rows with as many active columns each; two of them share none. */
static spmm_tc_facts_t facts_of(int64_t windows, int64_t columns, int64_t longest)
{
    spmm_tc_facts_t f = {0};

    for (int h = 0; h < 2; h++) {
        const int64_t n = windows >> h, each = columns << h;
        int           bin = 0;

        while (bin < SPMM_TC_BINS - 1 && each >> (bin + 1) > 0) {
            bin++;
        }
        f.pairs[h]                = n * each;
        f.lengths[h].windows[bin] = n;
        f.lengths[h].pairs[bin]   = n * each;
        f.lengths[h].longest      = longest > each ? longest : each;
    }
    return f;
}

static bool is_same(spmm_cvse_variant_t a, spmm_cvse_variant_t b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static spmm_cvse_variant_t first_variant(spmm_tc_facts_t facts, int64_t windows, int64_t n)
{
    spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS];
    const int count = spmmi_cvse_variants(&facts, (int32_t)(8 * windows), 0, n, N_SM, list);

    assert_in_range(count, 2, SPMM_CVSE_VARIANTS);
    for (int k = 0; k < count; k++) {
        assert_true(list[k].height == 8 || list[k].height == 16);
        assert_true(list[k].chain == 0 || list[k].slice == 32 || list[k].slice < n + 8);
        for (int before = 0; before < k; before++) {
            assert_false(is_same(list[k], list[before]));
        }
    }
    return list[0];
}

static void test_variants(void **state)
{
    spmm_cvse_variant_t variant;

    /* lp_maros_r7: 392 windows of 8 blocks, shared by as many warps as are idle. */
    variant = first_variant(facts_of(392, 120, 0), 392, 32);
    assert_int_equal(variant.height, 8);
    assert_int_equal(variant.slice, 32);
    assert_true(variant.chain <= 2);
    variant = first_variant(facts_of(392, 120, 0), 392, 128);
    assert_true(variant.chain > 0 && variant.chain <= 4);
    /* Few long windows take large thread blocks. */
    variant = first_variant(facts_of(256, 300, 0), 256, 32);
    assert_true(variant.n_warps >= 8);
    /* One long window among many short ones does not go to 4 warps. */
    variant = first_variant(facts_of(1300, 60, 2400), 1300, 32);
    assert_int_equal(variant.n_warps, 16);
    /* lp_fit2d: a few windows that no team of 16 comes through in time. */
    variant = first_variant(facts_of(4, 9800, 0), 4, 32);
    assert_int_equal(variant.chain, 0);
    /* Many windows: no teams, and 128 columns for a warp. */
    variant = first_variant(facts_of(100000, 40, 0), 100000, 128);
    assert_true(variant.chain >= 3);
    assert_int_equal(variant.slice, 128);
    variant = first_variant(facts_of(100000, 40, 0), 100000, 121); /* as many whole accesses */
    assert_int_equal(variant.slice, 128);
    /* Wide B, many windows: work items. */
    variant = first_variant(facts_of(100000, 40, 0), 100000, 512);
    assert_int_equal(variant.chain, 0);
    /* Narrow B. */
    variant = first_variant(facts_of(1000, 40, 0), 1000, 3);
    assert_int_equal(variant.slice, 32);
    /* No entries. */
    variant = first_variant((spmm_tc_facts_t){0}, 10, 32);
    assert_true(variant.chain > 0);
}

/* Slabs are predicted and proposed where the code has tensor maps and the device room. */
static void test_devices(void **state)
{
    static const struct {
        int  cc, code;
        bool slabs;
    } those[] = {{90, 0, true},    {90, 90, true},  {90, 80, false},   {100, 90, true},
                 {100, 80, false}, {80, 80, false}, {120, 120, false}, {120, 90, false}};
    const spmm_pattern_t pattern = {
        .n_rows = 2048, .n_cols = 512, .nnz = 100000, .tc = facts_of(256, 50, 0)};
    const spmm_problem_t problem = {
        .ab_type = SPMM_R_16F, .c_type = SPMM_R_16F, .n = 512, .pattern = &pattern};
    spmm_cost_term_t terms[SPMM_COST_TERMS];

    for (size_t k = 0; k < sizeof those / sizeof those[0]; k++) {
        const spmm_device_t device = {.kind   = SPMM_DEVICE_CUDA,
                                      .cc     = those[k].cc,
                                      .code   = those[k].code,
                                      .n_sm   = N_SM,
                                      .mem_bw = 3e12};
        const spmm_device_t none   = {.kind = SPMM_DEVICE_CUDA, .cc = 80, .n_sm = N_SM};
        const int           others = spmmi_engine_cvse.variants(&pattern, &problem, &none);

        assert_int_equal(spmmi_engine_cvse.variants(&pattern, &problem, &device) > others,
                         those[k].slabs);
        assert_int_equal(spmmi_engine_cvse.cost(&pattern, &problem, &device, terms) == 1,
                         those[k].slabs);
    }
}

/* Windows that share rows of B get them from shared memory, in one wave of thread blocks. */
static void test_slabs(void **state)
{
    spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS], slab;
    spmm_tc_facts_t     facts = facts_of(256, 50, 0);
    int                 count = spmmi_cvse_variants(&facts, 2048, 512, 512, N_SM, list);

    assert_int_equal(list[0].slab, 64);
    assert_int_equal(list[0].n_warps, 16);
    for (int k = 1; k < count; k++) {
        assert_int_equal(list[k].slab, 0);
    }
    assert_true(spmmi_cvse_slab(&facts, 2048, 512, 128, N_SM, &slab));
    assert_int_equal(slab.slab, 64);
    assert_int_equal(slab.n_warps, 8);
    /* Many rows of B: behind the others. */
    count = spmmi_cvse_variants(&facts, 2048, 1400, 256, N_SM, list);
    assert_int_equal(list[0].slab, 0);
    assert_true(list[count - 1].slab > 0);
    /* Narrow B: the same. */
    count = spmmi_cvse_variants(&facts, 2048, 512, 64, N_SM, list);
    assert_int_equal(list[0].slab, 0);
    assert_true(list[count - 1].slab > 0);
    /* B that fits no shared memory, widths that tensor maps do not have, few vectors, no rows or
     * columns. */
    assert_false(spmmi_cvse_slab(&facts, 2048, 5000, 512, N_SM, &slab));
    assert_false(spmmi_cvse_slab(&facts, 2048, 512, 100, N_SM, &slab));
    assert_false(spmmi_cvse_slab(&facts, 2048, 0, 512, N_SM, &slab));
    assert_false(spmmi_cvse_slab(&facts, 0, 512, 512, N_SM, &slab));
    facts = facts_of(256, 2, 0);
    assert_false(spmmi_cvse_slab(&facts, 2048, 1024, 512, N_SM, &slab));
}

/* Weights of 8 windows' rows and more, some vectors in each window, that one H100 was seen to take
 * so long for: the model says about as much, and which of slabs and tasks are faster. */
static void test_slab_model(void **state)
{
    static const struct {
        int32_t             windows, n_cols, vectors;
        int64_t             n;
        spmm_cvse_variant_t slab;
        double              us, tasks_us; /* of tasks the fastest */
    } seen[] = {{256, 512, 51, 512, {.slab = 64, .n_warps = 16}, 7.5, 7.79},
                {256, 512, 110, 512, {.slab = 64, .n_warps = 16}, 8.46, 9.57},
                {256, 1024, 221, 512, {.slab = 64, .n_warps = 16}, 10.29, 12.86},
                {256, 1024, 221, 256, {.slab = 64, .n_warps = 16}, 8.9, 8.93},
                {64, 512, 79, 256, {.slab = 64, .n_warps = 4}, 6.56, 5.78},
                {64, 512, 51, 512, {.slab = 64, .n_warps = 8}, 6.34, 5.73},
                {64, 2048, 315, 512, {.slab = 32, .n_warps = 16}, 9.68, 8.18},
                {64, 2048, 380, 512, {.slab = 32, .n_warps = 16}, 10.13, 10.29},
                /* from here on the constants have not seen it */
                {512, 1024, 157, 512, {.slab = 64, .n_warps = 16}, 12.74, INFINITY},
                {512, 1024, 221, 512, {.slab = 64, .n_warps = 16}, 14.45, INFINITY}};

    for (size_t k = 0; k < sizeof seen / sizeof *seen; k++) {
        const spmm_tc_facts_t facts = facts_of(seen[k].windows, seen[k].vectors, 0);
        const int32_t         rows  = 8 * seen[k].windows;
        const double          us =
            1e6 * spmmi_cvse_slab_s(&facts, rows, seen[k].n_cols, seen[k].n, N_SM, seen[k].slab);
        spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS];

        assert_true(fabs(us / seen[k].us - 1.0) < 0.08);
        (void)spmmi_cvse_variants(&facts, rows, seen[k].n_cols, seen[k].n, N_SM, list);
        if (fabs(seen[k].us / seen[k].tasks_us - 1.0) > 0.05) {
            assert_int_equal(list[0].slab > 0, seen[k].us < seen[k].tasks_us);
        }
    }
}

/* Every window has its warps, in one wave where that is possible. */
static void test_slab_work(void **state)
{
    static const int32_t warps[]  = {4, 8, 16};
    static const int64_t widths[] = {8, 64, 256, 512, 4096, 16384};

    for (int k = 0; k < 3 * 6 * 2; k++) {
        const int32_t n_warps = warps[k % 3], columns = k / 18 == 0 ? 32 : 64;
        const int64_t n = widths[k / 3 % 6];

        for (int32_t windows = 1; windows < 3000; windows = 2 * windows + 1) {
            const spmm_cvse_slab_work_t w =
                spmmi_cvse_slab_work(columns, n_warps, windows, n, N_SM);
            const int32_t here = n_warps / w.team * w.rounds;

            assert_true((int64_t)w.slabs * columns >= n);
            assert_true((int64_t)(w.slabs - 1) * columns < n);
            assert_true(w.blocks * here >= windows);
            assert_true((w.blocks - 1) * here < windows);
            assert_true(w.slabs > N_SM ? w.blocks == 1 : w.slabs * w.blocks <= N_SM);
            assert_true(w.team == 1 || w.rounds == 1);
        }
    }
    assert_int_equal(spmmi_cvse_slab_work(32, 16, 64, 512, N_SM).team, 2);
    assert_int_equal(spmmi_cvse_slab_work(32, 8, 64, 512, N_SM).team, 1);
}

/* The most vectors of one bank in each half of a block, added up: accesses that wait. */
static int64_t count_turns(const spmm_cvse_t *f, const int32_t *from)
{
    int64_t turns = 0;

    for (int64_t k = 0; k < (int64_t)f->n_blocks * 16; k += 8) {
        int taken[SPMM_CVSE_BANKS] = {0}, most = 0;

        for (int64_t p = k; p < k + 8; p++) {
            const int64_t at  = from == NULL ? p : from[p];
            const int32_t col = f->col[at / 16 * 16 + spmmi_cvse_col_at((int32_t)(at % 16))];

            if (col >= 0 && ++taken[col % SPMM_CVSE_BANKS] > most) {
                most = taken[col % SPMM_CVSE_BANKS];
            }
        }
        turns += most;
    }
    return turns;
}

/* Lists, bits and values of a place all come from the same one, of the same window. */
static void check_dealt(const spmm_cvse_t *f, const int32_t *from)
{
    int32_t  *col   = spmmi_cvse_dealt(f, from, 3, f->col, 16 * sizeof *col);
    uint16_t *bits  = spmmi_cvse_dealt(f, from, 3, f->bits, 8 * sizeof *bits);
    uint16_t *value = spmmi_cvse_dealt(f, from, 3, f->values, 128 * sizeof *value);
    char     *seen  = calloc((size_t)f->n_blocks, 16);

    for (int32_t w = 0; w < f->n_windows; w++) {
        for (int32_t k = 16 * f->window_ptr[w]; k < 16 * f->window_ptr[w + 1]; k++) {
            const int32_t b = k / 16, p = k % 16, to = from[k] / 16, q = from[k] % 16;

            assert_in_range(to, f->window_ptr[w], f->window_ptr[w + 1] - 1);
            assert_int_equal(seen[from[k]]++, 0);
            assert_int_equal(col[16 * b + spmmi_cvse_col_at(p)],
                             f->col[16 * to + spmmi_cvse_col_at(q)]);
            for (int32_t r = 0; r < 8; r++) {
                assert_int_equal(bits[8 * b + r] >> p & 1, f->bits[8 * to + r] >> q & 1);
                assert_int_equal(
                    value[128 * b + spmmi_cvse_value_at(8, r, p)],
                    ((const uint16_t *)f->values)[128 * to + spmmi_cvse_value_at(8, r, q)]);
            }
        }
    }
    free(seen);
    spmmi_free_all(col, bits, value);
}

/* Eight vectors in eight banks where a window has them. */
static void test_deal(void **state)
{
    spmm_csr_t  block;
    spmm_cvse_t f;
    int32_t    *from;

    format_case_random(203, 300, 0.1, SPMM_R_16F, false, 7, &block);
    spmm_assert_ok(spmmi_cvse_create(&spmm_test_env, &block, NULL, 8, 1, &f));
    spmm_assert_ok(spmmi_cvse_deal(&spmm_test_env, &f, 3, &from));
    check_dealt(&f, from);
    assert_true(3 * count_turns(&f, from) < 2 * count_turns(&f, NULL));
    spmmi_free(from);
    spmmi_cvse_free(&f);
    spmmi_csr_free(&block);
}

/* All are different, and each kernel is there. */
static void test_variant_at(void **state)
{
    spmm_cvse_variant_t a, b;
    int                 n = 0;

    for (; spmmi_cvse_variant_at(n, &a); n++) {
        for (int k = 0; k < n; k++) {
            assert_true(spmmi_cvse_variant_at(k, &b));
            assert_false(is_same(a, b));
        }
    }
    assert_int_equal(n, 2 + 2 * 8 * 6 + 6);
    assert_false(spmmi_cvse_variant_at(-1, &a));
}

SPMM_TESTS(test_tasks, test_gather, test_variants, test_devices, test_slabs, test_slab_work,
           test_slab_model, test_deal, test_variant_at);
