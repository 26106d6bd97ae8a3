/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_tc_load.c
 *  What facts tell of the work items, against the work items themselves; and what explain says of
 *  them.
 */
#include "test_main.h"

#include "engine/windows/tc.h"

enum { WINDOWS = 90, HEIGHT = 8, SIDE = 8, COLS = 4096 };

/* Blocks of window w: short, of 20 blocks, one of 300, some empty; those of a bin are equal. */
static int32_t blocks_of(int32_t w)
{
    return w == 7 ? 300 : w % 10 == 3 ? 20 : w % 10 == 5 ? 0 : 2;
}

/* The first row of window w has 8 entries for each block. */
static void make_block(spmm_csr_t *block)
{
    int64_t nnz = 0, k = 0;

    for (int32_t w = 0; w < WINDOWS; w++) {
        nnz += (int64_t)SIDE * blocks_of(w);
    }
    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, WINDOWS * HEIGHT, COLS, nnz, SPMM_R_32F, block));
    for (int32_t i = 0; i < WINDOWS * HEIGHT; i++) {
        const int32_t n = i % HEIGHT == 0 ? SIDE * blocks_of(i / HEIGHT) : 0;

        block->row_ptr[i] = k;
        for (int32_t j = 0; j < n; j++) {
            block->col_idx[k++] = j;
        }
    }
    block->row_ptr[WINDOWS * HEIGHT] = k;
    assert_int_equal(k, nnz);
}

static void make_items(spmm_tc_limits_t limits, spmm_tc_items_t *items)
{
    int32_t  block_ptr[WINDOWS + 1] = {0};
    int32_t *start;

    for (int32_t w = 0; w < WINDOWS; w++) {
        block_ptr[w + 1] = block_ptr[w] + blocks_of(w);
    }
    assert_non_null(SPMM_NEW_ZERO(start, block_ptr[WINDOWS] + 1));
    spmm_assert_ok(spmmi_tc_items_create(&spmm_test_env, WINDOWS, block_ptr, start, limits, items));
    spmmi_free(start);
}

static int32_t longest(const spmm_tc_items_t *p, int32_t from, int32_t to)
{
    int32_t most = 0;

    for (int32_t k = from; k < to; k++) {
        most = p->item[k].n_blocks > most ? p->item[k].n_blocks : most;
    }
    return most;
}

static void check_load(const spmm_pattern_t *pattern, int32_t team, int32_t cut)
{
    const spmm_tc_limits_t limits = {.team = team, .cut = cut};
    const spmm_tc_load_t   load   = spmmi_tc_load(pattern, HEIGHT, SIDE, limits);
    spmm_tc_items_t        p;

    make_items(limits, &p);
    assert_int_equal((int)load.single, p.n_items - p.n_team);
    assert_int_equal((int)load.team, p.n_team);
    assert_int_equal((int)load.parts, p.n_partial);
    assert_true(fabs(load.longest_team - longest(&p, 0, p.n_team)) < 1.0);
    assert_true(fabs(load.longest_single - longest(&p, p.n_team, p.n_items)) < 1.0);
    spmmi_tc_items_free(&p);
}

static void test_load(void **state)
{
    spmm_pattern_t pattern;
    spmm_csr_t     block;

    make_block(&block);
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    assert_int_equal(pattern.tc.lengths[0].longest, 300 * SIDE);
    check_load(&pattern, 8, 64);
    check_load(&pattern, 20, 20);
    check_load(&pattern, 19, 1000);
    check_load(&pattern, 300, 300);
    check_load(&pattern, 1000, 2000);
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
}

/* Every window is in one bin, with its pairs. */
static void test_lengths(void **state)
{
    spmm_pattern_t pattern;
    spmm_csr_t     block;

    make_block(&block);
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    for (int h = 0; h < 2; h++) {
        const spmm_tc_lengths_t *l       = &pattern.tc.lengths[h];
        int64_t                  windows = 0, pairs = 0;

        for (int bin = 0; bin < SPMM_TC_BINS; bin++) {
            windows += l->windows[bin];
            pairs += l->pairs[bin];
            assert_true(l->pairs[bin] >= l->windows[bin] << bin);
            assert_true(l->pairs[bin] < l->windows[bin] << (bin + 1) || l->windows[bin] == 0);
        }
        assert_int_equal(pairs, pattern.tc.pairs[h]);
        assert_int_equal(windows, h == 0 ? WINDOWS - 9 : WINDOWS / 2);
    }
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
}

static const int32_t two_windows[3] = {0, 4, 40};

static spmm_tc_view_t view(const void *arrays)
{
    return (spmm_tc_view_t){.n_windows = 2, .height = 8, .block_ptr = two_windows};
}
static spmm_tc_limits_t limits_9(const spmm_device_t *device, const spmm_problem_t *problem,
                                 int32_t n_windows, int32_t blocks)
{
    assert_int_equal(device->n_sm, 3);
    assert_int_equal(problem->n, 64);
    assert_int_equal(n_windows, 2);
    assert_int_equal(blocks, 40);
    return (spmm_tc_limits_t){.team = 9, .cut = 30};
}
static double waves(const spmm_device_t *device, const spmm_problem_t *problem, int32_t n_windows)
{
    return 0.5;
}

static void described(const spmm_tc_engine_t *f, char *text, size_t size)
{
    const spmm_pattern_t pattern = {.tc = {.ibd = 16.0}};
    FILE                *out     = tmpfile();
    size_t               n;

    assert_non_null(out);
    spmmi_tc_describe(f, &pattern, out);
    rewind(out);
    n       = fread(text, 1, size - 1, out);
    text[n] = '\0';
    (void)fclose(out);
}

static void test_describe(void **state)
{
    const spmm_device_t  gpu   = {.kind = SPMM_DEVICE_CUDA, .n_sm = 3};
    const spmm_device_t  cpu   = {.kind = SPMM_DEVICE_CPU, .n_sm = 3};
    const spmm_tc_kind_t kind  = {.name = "test", .view = view, .limits = limits_9, .waves = waves};
    spmm_tc_kind_t       plain = kind;
    spmm_tc_engine_t     f     = {
                .kind = &kind, .device = &gpu, .problem = {.n = 64}, .work = {.n_items = 2}};
    char text[1024];

    described(&f, text, sizeof text);
    assert_non_null(strstr(text, "2 windows of 8 rows, 20.0 blocks in the mean, 36 in the longest, "
                                 "IBD 16.00\n"));
    assert_non_null(strstr(text, "num_loads 1.80 / num_waves 0.50 = 3.60\n"));
    assert_non_null(strstr(text, "balanced: no, since none is longer than 9 blocks\n"));
    f.work      = (spmm_tc_work_t){.n_items = 6, .n_team = 5, .n_partial = 2, .n_splits = 1};
    plain.waves = NULL;
    f.kind      = &plain;
    described(&f, text, sizeof text);
    assert_null(strstr(text, "num_waves"));
    assert_non_null(strstr(text, "balanced: yes, 1 longer than 30 blocks are cut into 2, 3 others "
                                 "longer than 9 are shared by the warps of a thread block\n"));
    f.device = &cpu; /* one warp after the other: nothing to balance */
    described(&f, text, sizeof text);
    assert_string_equal(text, "");
}

SPMM_TESTS(test_load, test_lengths, test_describe);
