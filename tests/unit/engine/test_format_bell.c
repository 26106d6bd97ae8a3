/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_format_bell.c
 *  Blocked-ELL decoded: every entry at its place, zeros elsewhere, block columns ascending and then
 *  -1; the width is the least there is; too much padding is refused; what engine cusparse-bell says
 *  it takes.
 */
#include "format_case.h"

#include "engine/cusparse_bell/format.h"
#include "engine/engine.h"

/* Number of block columns of the fullest row of blocks, by looking at every place. */
static int64_t width_of(const spmm_csr_t *block, int32_t size)
{
    const int32_t n_col_blocks = block->n_cols / size + 1;
    int64_t       most         = 0;

    for (int32_t first = 0; first < block->n_rows; first += size) {
        bool   *seen  = calloc((size_t)n_col_blocks, sizeof *seen);
        int64_t count = 0;

        for (int32_t i = first; i < first + size && i < block->n_rows; i++) {
            for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
                count += !seen[block->col_idx[k] / size];
                seen[block->col_idx[k] / size] = true;
            }
        }
        most = count > most ? count : most;
        free(seen);
    }
    return most;
}

static void check_columns(const spmm_bell_t *bell)
{
    for (int32_t r = 0; r < bell->n_block_rows; r++) {
        const int32_t *col = bell->col + (int64_t)r * bell->width;

        for (int32_t k = 0; k < bell->width; k++) {
            assert_in_range(col[k] + 1, 0, (bell->n_cols - 1) / bell->size + 1);
            assert_true(k == 0 || col[k] == -1 || (col[k - 1] >= 0 && col[k] > col[k - 1]));
        }
    }
}

/* What a reader of the format finds at (i, j). */
static uint16_t value_at(const spmm_bell_t *bell, const uint16_t *places, int32_t i, int32_t j)
{
    const int32_t *col = bell->col + (int64_t)(i / bell->size) * bell->width;

    for (int32_t k = 0; k < bell->width; k++) {
        if (col[k] == j / bell->size) {
            return places[((int64_t)i * bell->width + k) * bell->size + j % bell->size];
        }
    }
    return 0;
}

static void check_values(const spmm_csr_t *block, const spmm_bell_t *bell)
{
    const int64_t n_places = spmmi_bell_places(bell);
    uint16_t     *places   = calloc((size_t)n_places + 1, sizeof *places);
    int64_t       filled   = 0;

    spmmi_bell_fill(bell, block->values, 2, places);
    for (int32_t i = 0; i < block->n_rows; i++) {
        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            assert_int_equal(value_at(bell, places, i, block->col_idx[k]),
                             ((const uint16_t *)block->values)[k]);
            filled -= ((const uint16_t *)block->values)[k] != 0;
        }
    }
    for (int64_t k = 0; k < n_places; k++) {
        filled += places[k] != 0;
    }
    assert_int_equal(filled, 0);
    free(places);
}

static void check_block(const spmm_csr_t *block)
{
    const int64_t  nnz = spmmi_csr_nnz(block);
    int64_t        width[SPMM_BELL_SIZES], found[SPMM_BELL_SIZES];
    spmm_windows_t tall;
    spmm_bell_t    bell;
    spmm_status_t  status;
    double         places = 0.0;
    int32_t        size;

    for (int k = 0; k < SPMM_BELL_SIZES; k++) {
        width[k] = width_of(block, 8 << k);
    }
    spmm_assert_ok(spmmi_windows_create(&spmm_test_env, block, SPMM_WINDOWS_TALL, 2, &tall));
    spmmi_bell_widths(&tall, 2, found);
    assert_memory_equal(found, width, sizeof width);
    size = spmmi_bell_choose(block->n_rows, nnz, width, 128, &places);
    for (int own = 0; own < 2; own++) {
        spmmi_error_clear(&spmm_test_env.err);
        status = spmmi_bell_create(&spmm_test_env, block, own != 0 ? NULL : &tall, 128, 2, &bell);
        if (nnz > 0 && size == 0) {
            assert_int_equal(status, SPMM_ERR_UNSUPPORTED);
            assert_non_null(strstr(spmm_test_env.err.text, "values for each entry"));
            continue;
        }
        spmm_assert_ok(status);
        if (nnz > 0) {
            assert_int_equal(bell.size, size);
            assert_int_equal(bell.width, width[size == 8 ? 0 : size == 16 ? 1 : 2]);
            assert_int_equal(spmmi_bell_places(&bell), (int64_t)places);
            assert_true(places <= (double)SPMM_BELL_MOST * (double)nnz);
        }
        check_columns(&bell);
        check_values(block, &bell);
        spmmi_bell_free(&bell);
    }
    spmmi_windows_free(&tall);
    spmmi_error_clear(&spmm_test_env.err);
}

static void test_shapes(void **state)
{
    for (int s = 0; format_shapes[s].density >= 0.0; s++) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            spmm_csr_t block;

            format_case_random(format_shapes[s].n_rows, format_shapes[s].n_cols,
                               format_shapes[s].density, SPMM_R_16F, seed == 1, seed, &block);
            check_block(&block);
            spmmi_csr_free(&block);
        }
    }
}

static void test_matrices(void **state)
{
    for (int m = 0; format_matrices[m] != NULL; m++) {
        spmm_csr_t block;

        format_case_matrix(format_matrices[m], SPMM_R_16BF, &block);
        check_block(&block);
        spmmi_csr_free(&block);
    }
}

/* Blocks as large as they are dense: 32 for dense tiles, 8 for 8 x 8 ones, none for a long row. */
static void test_choice(void **state)
{
    static const struct {
        int64_t width[SPMM_BELL_SIZES], nnz;
        int32_t size;
    } cases[] = {{{8, 4, 2}, 64 * 64, 32}, {{1, 1, 1}, 512, 8},  {{1, 1, 1}, 32, 8},
                 {{1, 1, 1}, 31, 0},       {{8, 8, 8}, 4096, 8}, {{1000, 500, 250}, 3000, 0}};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double places = -1.0;

        assert_int_equal(spmmi_bell_choose(64, cases[c].nnz, cases[c].width, 128, &places),
                         cases[c].size);
        assert_true(places > 0.0);
    }
}

static void test_failures(void **state)
{
    spmm_csr_t block;
    int        failures = 0;

    format_case_random(65, 50, 0.25, SPMM_R_16F, false, 5, &block);
    for (int64_t k = 0; k < 20; k++) {
        const int64_t live = spmmi_alloc_get_stats().live;
        spmm_bell_t   bell;
        spmm_status_t status;

        spmmi_error_clear(&spmm_test_env.err);
        spmmi_alloc_inject(k);
        status = spmmi_bell_create(&spmm_test_env, &block, NULL, 32, 2, &bell);
        spmmi_alloc_inject(-1);
        assert_true(status == SPMM_OK || status == SPMM_ERR_MEMORY);
        failures += status != SPMM_OK;
        if (status == SPMM_OK) {
            spmmi_bell_free(&bell);
        }
        assert_int_equal(spmmi_alloc_get_stats().live, live);
    }
    assert_in_range(failures, 4, 19);
    spmmi_csr_free(&block);
}

static const spmm_problem_t good = {.ab_type = SPMM_R_16F,
                                    .c_type  = SPMM_R_16F,
                                    .compute = SPMM_COMPUTE_32F,
                                    .layout  = SPMM_LAYOUT_ROW,
                                    .n       = 64};

static void check_refusal(spmm_problem_t problem, spmm_device_t device, const char *words)
{
    const spmm_engine_ops_t *engine        = spmmi_engine_find("cusparse-bell");
    char                     why[SPMM_WHY] = "";

    assert_non_null(engine);
    assert_false(engine->supports(&problem, &device, why));
    if (strstr(why, words) == NULL) {
        print_error("%s\n", why);
    }
    assert_non_null(strstr(why, words));
}

static void test_supports(void **state)
{
    const spmm_engine_ops_t *engine = spmmi_engine_find("cusparse-bell");
    spmm_device_t            gpu = {.kind = SPMM_DEVICE_CUDA, .cc = 90}, old = gpu, cpu = gpu;
    spmm_problem_t           p             = good;
    char                     why[SPMM_WHY] = "";

    old.cc   = 75;
    cpu.kind = SPMM_DEVICE_CPU;
    check_refusal(p, cpu, "needs a GPU");
    check_refusal(p, old, "8.0 or later");
    p.layout = SPMM_LAYOUT_COL;
    check_refusal(p, gpu, "row-major");
    p       = good;
    p.exact = true;
    check_refusal(p, gpu, "exact_nonfinite");
    p        = good;
    p.c_type = SPMM_R_16BF;
    check_refusal(p, gpu, "needs C of");
    p.ab_type = SPMM_R_32F;
    check_refusal(p, gpu, "16f or 16bf");
    p        = good;
    p.c_type = SPMM_R_32F;
    if (engine->built) {
        assert_true(engine->supports(&p, &gpu, why));
        assert_true(engine->supports(&good, &gpu, why));
    } else {
        check_refusal(p, gpu, "build with CUDA");
    }
}

/* A pattern whose padding would be refused is not predicted to run; one of dense blocks is. */
static void test_cost(void **state)
{
    static const char *const specs[] = {"xdys:size=512,dense=0.5,sp24=0", "rmat:scale=11,degree=3",
                                        "stencil5:nx=60,ny=60"};
    const spmm_engine_ops_t *engine  = spmmi_engine_find("cusparse-bell");
    const spmm_device_t      gpu     = {
                 .kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .mem_bw = 4.8e12, .threads = 2};

    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        spmm_pattern_t pattern;
        spmm_csr_t     block;
        double         with, without;

        format_case_matrix(specs[s], SPMM_R_16F, &block);
        spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
        with = engine->cost(&pattern, &good, &gpu);
        spmmi_pattern_free(&pattern);
        without = engine->cost(&pattern, &good, &gpu);
        assert_true(isinf(with) == (s == 1));
        assert_true(with > 1e-6 && without <= with);
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_shapes, test_matrices, test_choice, test_failures, test_supports, test_cost);
