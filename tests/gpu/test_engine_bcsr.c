/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/** @file test_engine_bcsr.c
 *  Engines bcsr and bcsr-sp24 on a GPU, by steps, lists and rows, against FP64 sums over the stored
 *  entries, A and B in FP16 and BF16, C in that type and in FP32, and the values that the GPU makes
 *  of CSR against those of the CPU.  With SPMM_TEST_SMALL in the environment only small cases, for
 *  compute-sanitizer.
 */
#include "format_case.h"
#include "gpu_engine.h"

#include "cuda/bcsr/bcsr.h"
#include "engine/bcsr/format.h"
#include "engine/bcsr/variant.h"

/* The engines by one kernel, whatever the model takes. */
#define BUILD(name, sp24, kernel)                                                                  \
    static spmm_status_t name(const spmm_engine_ops_t *engine, const spmm_csr_t *block,            \
                              const spmm_problem_t *problem, const spmm_device_t *on,              \
                              void **format)                                                       \
    {                                                                                              \
        const spmm_engine_ops_t one = {.kind = spmmi_bcsr_kind(sp24, kernel)};                     \
        return spmmi_tc_build(&one, block, problem, on, format);                                   \
    }
BUILD(dense_steps, false, SPMM_BCSR_BY_STEPS)
BUILD(dense_lists, false, SPMM_BCSR_BY_LISTS)
BUILD(sp24_lists, true, SPMM_BCSR_BY_LISTS)
BUILD(dense_rows, false, SPMM_BCSR_BY_ROWS)
BUILD(sp24_rows, true, SPMM_BCSR_BY_ROWS)

/* By steps, by lists and by rows, the latter two without and with 2:4 tiles; both types of A and
 * B, both of C; half of the cases are brief. */
#define WAYS(name, build, even)                                                                    \
    {name, SPMM_COMPUTE_32F, SPMM_R_16F, false, false, !(even), build},                            \
        {name, SPMM_COMPUTE_32F, SPMM_R_16F, true, false, even, build},                            \
        {name, SPMM_COMPUTE_32F, SPMM_R_16BF, false, false, even, build},                          \
    {                                                                                              \
        name, SPMM_COMPUTE_32F, SPMM_R_16BF, true, false, !(even), build                           \
    }
const gpu_engine_t gpu_engines[] = {
    WAYS("bcsr", dense_steps, true),     WAYS("bcsr", dense_lists, false),
    WAYS("bcsr-sp24", sp24_lists, true), WAYS("bcsr", dense_rows, false),
    WAYS("bcsr-sp24", sp24_rows, false), {0}};
enum { N_CASES = 20, N_TYPES = 4 };

/* Of 16x32 tiles, each there with @p density, a part has all entries, a part two at most of any
 * four columns, and a part those on one side alone. */
static void make_mixed(int32_t n_rows, int32_t n_cols, double density, spmm_type_t type,
                       bool mapped, spmm_csr_t *block)
{
    int64_t nnz = 0;

    spmm_assert_ok(
        spmmi_csr_alloc(&spmm_test_env, n_rows, n_cols, (int64_t)n_rows * n_cols, type, block));
    block->row_ptr[0] = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        for (int32_t c = 0; c < n_cols; c++) {
            const uint64_t tile = spmmi_hash2(5, i / 16, c / 32), q = spmmi_hash2(6, i, c / 4);
            const int      kind = (int)(tile % 4);
            const bool     in   = kind == 0   ? true
                                  : kind == 3 ? c % 32 / 16 == (int)(tile / 4 % 2)
                                              : c % 4 == (int)(q % 4) || c % 4 == (int)(q / 4 % 4);

            if (in && spmmi_unit(spmmi_hash2(7, i / 16, c / 32)) < density) {
                block->col_idx[nnz] = c;
                spmmi_value_set(type, block->values, nnz,
                                nnz % 11 == 0 ? 0.0
                                              : 2.0 * spmmi_unit(spmmi_hash2(8, nnz, 0)) - 1.0);
                nnz++;
            }
        }
        block->row_ptr[i + 1] = nnz;
    }
    block->c_rows = n_rows;
    if (mapped) {
        format_case_map(block);
    }
}

static void check_fill(const spmm_csr_t *block, int32_t rows, bool sp24)
{
    void              *csr = NULL, *values = NULL, *got;
    void              *copy[7] = {NULL};
    spmm_bcsr_arrays_t a;
    spmm_bcsr_t        f;

    spmm_assert_ok(spmmi_bcsr_create(&spmm_test_env, block, NULL, rows, sp24, 4, &f));
    spmm_assert_ok(spmmi_bcsr_fill(&spmm_test_env, &f, block->values, 4));
    a = spmmi_bcsr_arrays(&f);
    {
        const void *const from[7] = {a.step, a.bits_ptr,  a.bits,     a.row_ptr,
                                     a.tile, a.entry_ptr, a.panel_ptr};
        const size_t      wide = (size_t)f.n_wide, row = ((size_t)f.n_tile_rows + 1) * 4;
        const size_t      bytes[7] = {
                 (size_t)f.n_steps * 16,      (size_t)f.n_steps * 4, wide * 64, row, wide * 8, row,
                 ((size_t)f.n_panels + 1) * 4};

        for (int k = 0; k < 7; k++) {
            spmm_assert_ok(spmmi_device_upload(&gpu_device, from[k], bytes[k], &copy[k]));
        }
    }
    a.step      = copy[0];
    a.bits_ptr  = copy[1];
    a.bits      = copy[2];
    a.row_ptr   = copy[3];
    a.tile      = copy[4];
    a.entry_ptr = copy[5];
    a.panel_ptr = copy[6];
    spmm_assert_ok(
        spmmi_device_upload(&gpu_device, block->values, (size_t)spmmi_csr_nnz(block) * 2, &csr));
    spmm_assert_ok(gpu_device.ops->alloc(&gpu_device, spmmi_bcsr_value_bytes(&f), &values));
    assert_int_equal(spmmi_cuda_bcsr_fill(&a, csr, values, NULL), cudaSuccess);
    spmm_assert_ok(gpu_device.ops->stream_sync(&gpu_device, NULL));
    got = spmmi_alloc((int64_t)spmmi_bcsr_value_bytes(&f), 1);
    assert_non_null(got);
    spmm_assert_ok(gpu_device.ops->fetch(&gpu_device, got, values, spmmi_bcsr_value_bytes(&f)));
    assert_memory_equal(got, f.values, spmmi_bcsr_value_bytes(&f));
    spmmi_free(got);
    gpu_device.ops->release(&gpu_device, csr);
    gpu_device.ops->release(&gpu_device, values);
    for (int k = 0; k < 7; k++) {
        gpu_device.ops->release(&gpu_device, copy[k]);
    }
    spmmi_bcsr_free(&f);
}

/* Values and metadata, bit by bit. */
static void test_fill(void **state)
{
    for (int k = 0; k < 6; k++) {
        spmm_csr_t mixed, random;

        make_mixed(gpu_case_small() ? 100 : 1000, 333, 0.4, SPMM_R_16F, false, &mixed);
        format_case_random(200, 301, 0.1 * k, SPMM_R_16BF, false, (uint64_t)k, &random);
        check_fill(&mixed, 4 << k % 3, k / 3 != 0);
        check_fill(&random, 4 << k % 3, k / 3 != 0);
        spmmi_csr_free(&mixed);
        spmmi_csr_free(&random);
    }
}

/* Every kind of tile and none, ragged edges; few panels, which are cut, and many.  Every width of
 * slices, with leading dimensions for accesses of 16, 4 and 2 bytes; half of them, the other half
 * with the next case. */
static void test_widths(void **state)
{
    static const struct {
        int32_t n_rows, n_cols;
        double  density;
    } variants[] = {{77, 99, 0.6}, {300, 200, 0.3}, {40, 3001, 0.8}, {1030, 64, 1.0}};
    static const int64_t widths[]   = {1, 8, 32, 64, 100, 128, 7, 40, 72, 256, 300, 512};
    static const int64_t extra[]    = {0, 1, 8};
    const int            n_variants = gpu_case_small() ? 2 : 4;

    for (int s = 0; s < n_variants * N_CASES; s++) {
        const tc_case_t t = gpu_engine_case(s % N_CASES);
        spmm_csr_t      block;

        make_mixed(variants[s / N_CASES].n_rows, variants[s / N_CASES].n_cols,
                   variants[s / N_CASES].density, t.type, s % 3 == 0, &block);
        tc_case_widths(&t, &block, widths, t.small ? 5 : 12, extra, s % 2);
        spmmi_csr_free(&block);
    }
}

/* Every variant of thread block, with panels whole and cut; what a plan takes is the model's
 * choice. */
static spmm_bcsr_variant_t wanted;
static int32_t             wanted_cut;

static spmm_status_t create_wanted(spmm_tc_engine_t *f, const spmm_csr_t *block)
{
    return spmmi_bcsr_lay_out(f, block, wanted);
}

static spmm_tc_limits_t limits_wanted(const spmm_device_t *on, const spmm_problem_t *problem,
                                      int32_t n_windows, int32_t blocks)
{
    return (spmm_tc_limits_t){.team = 0, .cut = wanted_cut};
}

static void check_variant(const tc_case_t *t, const spmm_csr_t *block, int64_t n)
{
    spmm_tc_kind_t kind   = *spmmi_bcsr_kind(wanted.sp24, SPMM_BCSR_KERNELS);
    void          *format = NULL;
    product_t      p      = {.block   = block,
                             .problem = tc_case_problem(t, n),
                             .alpha   = 1.5,
                             .beta    = n % 3 == 0 ? -0.5 : 0.0};

    kind.create      = create_wanted;
    kind.limits      = limits_wanted;
    kind.limits_made = NULL;
    make_product(&p, n, 0);
    spmm_assert_ok(spmmi_tc_build(&(spmm_engine_ops_t){.kind = &kind}, block, &p.problem,
                                  &gpu_device, &format));
    run_product(t->engine, &gpu_device, format, &p);
    check_product(&p);
    spmmi_tc_destroy(format);
    free_product(&p);
}

static void test_blocks(void **state)
{
    static const int64_t widths[] = {128, 72, 264, 33};
    const int            n_widths = gpu_case_small() ? 2 : 4;

    for (int c = 0; c < N_TYPES; c++) {
        const tc_case_t t = gpu_engine_case(c);
        spmm_csr_t      block;

        make_mixed(gpu_case_small() ? 90 : 150, gpu_case_small() ? 250 : 2300, 0.3, t.type,
                   c % 3 == 0, &block);
        for (int k = 0; k < 2 * SPMM_BCSR_VARIANTS * n_widths; k++) {
            const int cut = k / SPMM_BCSR_VARIANTS % 2, w = k / SPMM_BCSR_VARIANTS / 2;

            wanted     = spmmi_bcsr_variants[k % SPMM_BCSR_VARIANTS];
            wanted_cut = cut != 0 ? 3 : INT32_MAX;
            if ((k % SPMM_BCSR_VARIANTS + cut + w + c) % 2 ==
                0) { /* the others with the next case */
                check_variant(&t, &block, widths[w]);
            }
        }
        spmmi_csr_free(&block);
    }
}

/* The zeros of 2:4 tiles, and the columns that their metadata names without need, meet rows of B
 * that are not finite. */
static void test_padding(void **state)
{
    for (int c = 0; c < N_CASES; c++) {
        const tc_case_t t = gpu_engine_case(c);
        spmm_csr_t      block;
        product_t       p = {.block = &block, .problem = tc_case_problem(&t, 64), .alpha = 1.0};

        make_mixed(150, 130, 0.5, t.type, false, &block);
        make_product(&p, 64, 0);
        for (int64_t k = 0; k < p.b_size; k++) {
            if (spmmi_hash2(9, k, 0) % 97 == 0) {
                spmmi_value_set(t.type, p.B, k, k % 2 == 0 ? (double)INFINITY : (double)NAN);
            }
        }
        tc_case_check(&t, &p);
        free_product(&p);
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_engine_open, test_fill, test_engine_asynchronous, test_widths, test_blocks,
           test_engine_shapes, test_engine_edges, test_engine_matrices, test_engine_accuracy,
           test_padding, test_engine_special_values, test_engine_same_bits, test_engine_life,
           test_engine_far);
