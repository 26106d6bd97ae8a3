/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_cusparse_refusals.c
 *  What cuSPARSE refuses, as that of CUDA 13.4 does for some mixed types, engine cusparse refuses
 *  when a plan is made, and other engines serve.
 */
#include <cusparse.h>

#include "engine/cusparse/product_cuda.h"
#include "engine/tune/autotune.h"
#include "test_main.h"

extern const spmm_engine_ops_t spmmi_engine_cusparse;

static spmm_device_t device;
static const int64_t row_ptr[] = {0, 2, 3, 5};
static const int32_t col[] = {0, 2, 1, 0, 3}, swapped[] = {1, 0, 2};
static const float   values[] = {1, 2, 3, 4, 5};

void spmm_test_set_up(void)
{
    if (device.ops == NULL) {
        spmm_assert_ok(spmmi_device_open(&spmm_test_env, SPMM_DEVICE_CPU, NULL, &device));
    }
    memset(&fake_refusal, 0, sizeof fake_refusal);
    spmmi_error_clear(&spmm_test_env.err);
}

static spmm_csr_t block_of(spmm_type_t type, bool mapped)
{
    return (spmm_csr_t){.n_rows  = 3,
                        .n_cols  = 4,
                        .row_ptr = (int64_t *)(uintptr_t)row_ptr,
                        .col_idx = (int32_t *)(uintptr_t)col,
                        .values  = (void *)(uintptr_t)values,
                        .row_map = mapped ? (int32_t *)(uintptr_t)swapped : NULL,
                        .type    = type,
                        .c_rows  = 3};
}

static spmm_problem_t problem_of(spmm_type_t ab, spmm_type_t c, int64_t n, spmm_layout_t layout)
{
    return (spmm_problem_t){
        .ab_type = ab, .c_type = c, .compute = SPMM_COMPUTE_32F, .layout = layout, .n = n};
}

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem, void **format)
{
    *format = NULL;
    spmmi_error_clear(&spmm_test_env.err);
    return spmmi_engine_cusparse.build(&spmmi_engine_cusparse, block, problem, &device, format);
}

/* A format multiplies, also blocks that begin anywhere. */
static void check_runs(void *format, const spmm_problem_t *problem)
{
    static double   B[64], C[64];
    const bool      cols = problem->layout == SPMM_LAYOUT_COL;
    spmm_operands_t x    = {.n       = problem->n,
                            .alpha   = {.re = 1.0},
                            .B       = B,
                            .C       = C,
                            .ab_type = problem->ab_type,
                            .c_type  = problem->c_type,
                            .layout  = problem->layout};

    for (int pad = 0; pad < 2; pad++) {
        x.ldb = (cols ? 4 : problem->n) + pad;
        x.ldc = (cols ? 3 : problem->n) + pad;
        spmm_assert_ok(spmmi_engine_cusparse.execute(format, &x));
    }
}

/* Size, preparation or product of one pair of types: no other pair is harmed. */
static void test_types(void **state)
{
    static const cusparseStatus_t codes[] = {CUSPARSE_STATUS_NOT_SUPPORTED,
                                             CUSPARSE_STATUS_ARCH_MISMATCH,
                                             CUSPARSE_STATUS_INVALID_VALUE};
    const spmm_csr_t half = block_of(SPMM_R_16F, false), mapped = block_of(SPMM_R_16F, true);

    for (int k = 0; k < 3 * 3 * 2 * 2 * 4; k++) {
        const spmm_layout_t layout = k / 9 % 2 == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL;
        const int64_t       n      = k / 18 % 2 == 0 ? 8 : 1;
        spmm_problem_t      mixed  = problem_of(SPMM_R_16F, SPMM_R_32F, n, layout);
        spmm_problem_t      plain  = problem_of(SPMM_R_16F, SPMM_R_16F, n, layout);
        void               *format;

        fake_refusal = (fake_refusal_t){
            .calls = 1 << k % 3, .ab = CUDA_R_16F, .c = CUDA_R_32F, .code = codes[k / 3 % 3]};
        mixed.deterministic = plain.deterministic = k / 36 == 1;
        mixed.variant = plain.variant = k / 36 > 1 ? k / 36 - 1 : 0;
        if (mixed.deterministic && fake_refusal.calls == FAKE_PREPROCESS) {
            continue; /* such products are not prepared */
        }
        assert_int_equal(build(&half, &mixed, &format), SPMM_ERR_UNSUPPORTED);
        assert_non_null(strstr(spmm_test_env.err.text, "cuSPARSE"));
        assert_true(mixed.variant > 0 ||
                    strstr(spmm_test_env.err.text, "use more ranks or another engine") != NULL);
        assert_int_equal(build(&mapped, &plain, &format), SPMM_ERR_UNSUPPORTED); /* sums in FP32 */
        assert_int_equal(fake_descriptors, 0);
        spmm_assert_ok(build(&half, &plain, &format));
        check_runs(format, &plain);
        spmmi_engine_cusparse.destroy(format);
        assert_int_equal(fake_descriptors, 0);
    }
}

/* One algorithm, or all but one: the others serve. */
static void test_algorithms(void **state)
{
    static const int algorithms[] = {CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2,
                                     CUSPARSE_SPMM_CSR_ALG3, -CUSPARSE_SPMM_CSR_ALG3};
    const spmm_csr_t block        = block_of(SPMM_R_32F, false);

    for (int k = 0; k < 4 * 3; k++) {
        const spmm_problem_t   problem = problem_of(SPMM_R_32F, SPMM_R_32F, 6, SPMM_LAYOUT_ROW);
        void                  *format;
        const spmm_cusparse_t *f;

        fake_refusal = (fake_refusal_t){.calls     = 1 << k % 3,
                                        .ab        = CUDA_R_32F,
                                        .c         = CUDA_R_32F,
                                        .algorithm = algorithms[k / 3],
                                        .code      = CUSPARSE_STATUS_NOT_SUPPORTED};
        spmm_assert_ok(build(&block, &problem, &format));
        f = format;
        assert_int_not_equal(f->algorithm, algorithms[k / 3]);
        assert_int_not_equal(f->careful, algorithms[k / 3]);
        check_runs(format, &problem);
        spmmi_engine_cusparse.destroy(format);
    }
}

static spmm_status_t other_build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                                 const spmm_problem_t *problem, const spmm_device_t *on,
                                 void **format)
{
    *format = &device;
    return SPMM_OK;
}

/* A plan goes on with another engine and keeps the reason; by name it is an error. */
static void test_plan(void **state)
{
    static const spmm_engine_ops_t other   = {.facts = {.name = "other"}, .build = other_build};
    const spmm_csr_t               block   = block_of(SPMM_R_16F, false);
    const spmm_problem_t           problem = problem_of(SPMM_R_16F, SPMM_R_32F, 8, SPMM_LAYOUT_ROW);
    spmm_engine_choice_t           choice  = {.name = "auto"};
    spmm_candidate_t      list[2] = {spmmi_candidate_new("cusparse"), spmmi_candidate_new("other")};
    spmm_engine_settled_t settled;

    for (int k = 0; k < 2; k++) {
        list[k].engine      = k == 0 ? &spmmi_engine_cusparse : &other;
        list[k].layout      = SPMM_LAYOUT_ROW;
        list[k].c_type      = SPMM_R_32F;
        list[k].usable      = true;
        list[k].predicted_s = 1e-6 * (k + 1);
    }
    fake_refusal = (fake_refusal_t){.calls = FAKE_SIZE,
                                    .ab    = CUDA_R_16F,
                                    .c     = CUDA_R_32F,
                                    .code  = CUSPARSE_STATUS_NOT_SUPPORTED};
    spmm_assert_ok(spmmi_engine_settle(&choice, &block, &problem, &device, list, 2, &settled));
    assert_ptr_equal(settled.picked, &list[1]);
    assert_false(list[0].usable);
    assert_non_null(strstr(list[0].why, "operation not supported"));
    choice.name    = "cusparse";
    list[0].usable = true;
    assert_int_equal(spmmi_engine_settle(&choice, &block, &problem, &device, list, 2, &settled),
                     SPMM_ERR_UNSUPPORTED);
    assert_non_null(strstr(spmm_test_env.err.text, "A and B in 16f and C in 32f"));
}

SPMM_TESTS(test_types, test_algorithms, test_plan);
