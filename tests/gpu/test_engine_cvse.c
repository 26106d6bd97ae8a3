/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/** @file test_engine_cvse.c
 *  Engine cvse on a GPU against FP64 sums over the stored entries, A and B in FP16 and BF16, C in
 *  that type and in FP32.  With SPMM_TEST_SMALL in the environment only small cases, for
 *  compute-sanitizer.
 */
#include "engine/cvse/variant.h"
#include "format_case.h"
#include "gpu_engine.h"

const gpu_engine_t gpu_engines[] = {
    {"cvse", SPMM_COMPUTE_32F, SPMM_R_16F, false, false, false, NULL},
    {"cvse", SPMM_COMPUTE_32F, SPMM_R_16F, true, false, false, NULL},
    {"cvse", SPMM_COMPUTE_32F, SPMM_R_16BF, false, false, false, NULL},
    {"cvse", SPMM_COMPUTE_32F, SPMM_R_16BF, true, false, false, NULL},
    {0},
};
enum { N_CASES = 4 };

/* Windows of 8 rows where rows share few columns, of 16 where they share most; few windows and
 * many; windows cut into work items.  Every width at which another kernel is chosen, with leading
 * dimensions for accesses of 16, 8 and 2 bytes. */
static void test_widths(void **state)
{
    static const struct {
        int32_t n_rows, n_cols;
        double  density;
    } variants[] = {
        {203, 150, 0.05}, {75, 90, 0.9}, {40, 3000, 0.8}, {30, 3000, 0.1}, {6000, 40, 0.6}};
    static const int64_t widths[]   = {1,  4,  8,  12,  31,  32,  36,  40,  64,
                                       72, 96, 99, 100, 128, 136, 256, 300, 512};
    static const int64_t extra[]    = {0, 4, 8};
    const int            n_variants = gpu_case_small() ? 2 : 5;

    for (int s = 0; s < n_variants * N_CASES; s++) {
        const tc_case_t t = gpu_engine_case(s % N_CASES);
        spmm_csr_t      block;

        format_case_random(variants[s / N_CASES].n_rows, variants[s / N_CASES].n_cols,
                           variants[s / N_CASES].density, t.type, s % 3 == 0, (uint64_t)s, &block);
        tc_case_widths(&t, &block, widths, t.small ? 9 : 18, extra, -1);
        spmmi_csr_free(&block);
    }
}

/* Every way to share the work out: windows for one warp, for teams and empty ones; new values. */
static void check_variant(const tc_case_t *t, const spmm_csr_t *block, int variant, int k)
{
    static const int64_t widths[] = {32, 36, 64, 72, 128, 136, 160, 33};
    const int64_t        n        = widths[k % 8];
    product_t            p        = {.block   = block,
                                     .problem = tc_case_problem(t, n),
                                     .alpha   = k % 2 == 0 ? 1.0 : -1.5,
                                     .beta    = k % 4 == 1 ? 0.5 : 0.0};

    p.problem.variant = SPMM_CVSE_VARIANTS + variant;
    make_product(&p, n, k % 3 == 0 ? 8 : 0);
    tc_case_check(t, &p);
    free_product(&p);
}

static void test_every_variant(void **state)
{
    static const int64_t edges[] = {127, 31, 63, 7, 99, 130, 15, 65, 20, 257};
    static const struct {
        int32_t n_rows, n_cols;
        double  density;
    } blocks[]         = {{203, 150, 0.05}, {75, 900, 0.4}, {30, 3000, 0.3}};
    const int n_blocks = gpu_case_small() ? 1 : 3;

    for (int s = 0; s < n_blocks * N_CASES; s++) {
        const tc_case_t     t = gpu_engine_case(s % N_CASES);
        spmm_cvse_variant_t variant;
        spmm_csr_t          block;

        format_case_random(blocks[s / N_CASES].n_rows, blocks[s / N_CASES].n_cols,
                           blocks[s / N_CASES].density, t.type, s % 3 == 1, (uint64_t)s + 40,
                           &block);
        for (int k = 0; spmmi_cvse_variant_at(k, &variant); k++) {
            for (int w = 0; w < 2 && (variant.chain <= 1 || variant.chain == 3); w++) {
                check_variant(&t, &block, k, k / 2 + 3 * w + s);
                tc_case_edge(&t, &block, edges[(k / 2 + 3 * w + s) % 10], k + w,
                             SPMM_CVSE_VARIANTS + k);
            }
        }
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_engine_open, test_engine_asynchronous, test_widths, test_every_variant,
           test_engine_shapes, test_engine_edges, test_engine_matrices, test_engine_accuracy,
           test_engine_special_values, test_engine_same_bits, test_engine_life, test_engine_far);
