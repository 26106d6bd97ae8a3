/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_engines.h"

#include "clock_device.h"

static const double us = 1e-6;

fake_engine_t         fakes[N_FAKES];
spmm_candidate_t      fake_candidates[N_FAKES];
spmm_csr_t            fake_block;
int                   fake_held;
int64_t               fake_executes;
_Atomic(double)       fake_load_s;
spmm_engine_settled_t fake_settled;

static int           most_held;
static spmm_device_t device; /* the CPU, with a clock of its own */

/** A format: which engine, in which variant. */
typedef struct {
    int engine, variant;
} fake_format_t;

static spmm_status_t fake_build(const spmm_engine_ops_t *engine, const spmm_csr_t *csr,
                                const spmm_problem_t *problem, const spmm_device_t *on,
                                void **format)
{
    const int      k       = (int)((const fake_engine_t *)engine->kind - fakes);
    const int      variant = k == BASELINE ? 0 : problem->variant; /* its first is numbered 1 */
    fake_format_t *mine;

    assert_ptr_equal(csr, &fake_block);
    assert_ptr_equal(on, &device);
    fakes[k].builds++;
    assert_in_range(variant, 0, fakes[k].more_variants);
    if (variant > 0 && fakes[k].variant_s[variant] == 0.0) {
        return spmmi_fail(&spmm_test_env.err, SPMM_ERR_MEMORY, "no room for a variant");
    }
    fakes[k].layout = problem->layout;
    if (fakes[k].builds <= fakes[k].no_room) {
        return spmmi_fail(&spmm_test_env.err, SPMM_ERR_MEMORY, "no room for fake %d", k);
    }
    if (fakes[k].build_status != SPMM_OK) {
        return spmmi_fail(&spmm_test_env.err, fakes[k].build_status, "fake %d is not built", k);
    }
    if (SPMM_NEW(mine, 1) == NULL) {
        return spmmi_fail_memory(&spmm_test_env.err, 1, sizeof *mine, "a fake");
    }
    *mine     = (fake_format_t){k, variant};
    *format   = mine;
    most_held = ++fake_held > most_held ? fake_held : most_held;
    fakes[k].held++;
    return SPMM_OK;
}

static spmm_status_t fake_execute(void *format, const spmm_operands_t *x)
{
    const int k = ((const fake_format_t *)format)->engine;
    const int v = ((const fake_format_t *)format)->variant;

    fakes[k].executes++;
    fakes[k].beta = x->beta.re;
    fakes[k].n    = x->n;
    fakes[k].ldb  = x->ldb;
    fakes[k].ldc  = x->ldc;
    for (int64_t i = 0; i < fake_block.n_cols * x->n; i++) {
        assert_true(((const float *)x->B)[i] != 0.0f);
    }
    assert_int_not_equal(x->c_type, SPMM_TYPE_AUTO);
    for (int64_t i = 0; i < fake_block.c_rows * x->n && x->c_type == SPMM_R_32F; i++) {
        assert_true(x->beta.re == 0.0 || isfinite(((const float *)x->C)[i]));
    }
    if (fakes[k].execute_status != SPMM_OK) {
        return spmmi_fail(&spmm_test_env.err, fakes[k].execute_status, "fake %d does not run", k);
    }
    clock_device_now += v == 0 ? fakes[k].seconds : fakes[k].variant_s[v];
    return SPMM_OK;
}

static void fake_bytes(const void *format, size_t *host, size_t *on_device)
{
    *host      = sizeof(fake_format_t);
    *on_device = fakes[((const fake_format_t *)format)->engine].bytes;
}

void fake_destroy(void *format)
{
    if (format != NULL) {
        fake_held--;
        fakes[((const fake_format_t *)format)->engine].held--;
        spmmi_free(format);
    }
}

#define FAKE(k)                                                                                    \
    static int variants_##k(const spmm_pattern_t *pattern, const spmm_problem_t *problem,          \
                            const spmm_device_t *on)                                               \
    {                                                                                              \
        assert_ptr_equal(pattern, problem->pattern);                                               \
        return 1 + fakes[k].more_variants;                                                         \
    }
FAKE(0)
FAKE(1)
FAKE(2)
FAKE(3)
FAKE(4)

static double least_bytes(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    assert_non_null(pattern);
    assert_int_equal(problem->n, PLANNED);
    return (double)fakes[3].bytes;
}

#define FAKE_OPS(k, title)                                                                         \
    {                                                                                              \
        .facts.name = (title), .facts.baseline = (k) == BASELINE,                                  \
        .facts.always_tried = (k) == ALWAYS, .facts.load_s = (k) == 0 ? &fake_load_s : NULL,       \
        .least_bytes = (k) == 3 ? least_bytes : NULL, .variants = variants_##k,                    \
        .build = fake_build, .kind = &fakes[k], .execute = fake_execute, .bytes = fake_bytes,      \
        .destroy = fake_destroy                                                                    \
    }
static const spmm_engine_ops_t engines[] = {FAKE_OPS(0, "zero"), FAKE_OPS(1, "one"),
                                            FAKE_OPS(2, "two"), FAKE_OPS(3, "three"),
                                            FAKE_OPS(4, "baseline")};

void fake_prepare(const double predicted[N_FAKES])
{
    static int64_t row_ptr[] = {0, 1, 3, 3, 4};
    static int32_t col[]     = {0, 2, 6, 1};
    static float   values[]  = {1, 2, 3, 4};

    if (device.ops == NULL) {
        clock_device_open(&device);
    }
    fake_block = (spmm_csr_t){.n_rows  = 4,
                              .n_cols  = N_COLS,
                              .row_ptr = row_ptr,
                              .col_idx = col,
                              .values  = values,
                              .type    = SPMM_R_32F,
                              .c_rows  = 5};
    memset(fakes, 0, sizeof fakes);
    fake_held = most_held = 0;
    fake_load_s           = 0.0;
    fake_executes         = (int64_t)1 << 40; /* whatever the host's clock says, measuring pays */
    for (int k = 0; k < N_FAKES; k++) {
        fakes[k].seconds   = k == BASELINE ? 150 * us : 100 * us;
        fake_candidates[k] = (spmm_candidate_t){.name        = engines[k].facts.name,
                                                .engine      = &engines[k],
                                                .layout      = SPMM_LAYOUT_ROW,
                                                .c_type      = SPMM_R_32F,
                                                .usable      = predicted[k] > 0.0,
                                                .why         = "is not asked",
                                                .predicted_s = predicted[k] * us,
                                                .measured_s  = NAN};
        if (!fake_candidates[k].usable) {
            fake_candidates[k].predicted_s = INFINITY;
        }
    }
    spmmi_error_clear(&spmm_test_env.err);
}

spmm_status_t fake_settle(const char *name, bool measures)
{
    const spmm_engine_choice_t choice = {
        .name = name, .measures = measures, .beta = 1.0, .executes = fake_executes};
    static const spmm_pattern_t pattern;
    const spmm_problem_t        problem = {.ab_type = SPMM_R_32F,
                                           .c_type  = SPMM_R_32F,
                                           .compute = SPMM_COMPUTE_32F,
                                           .layout  = SPMM_LAYOUT_ROW,
                                           .n       = PLANNED,
                                           .pattern = &pattern};

    return spmmi_engine_settle(&choice, &fake_block, &problem, &device, fake_candidates, N_FAKES,
                               &fake_settled);
}

void fake_check_taken(int k)
{
    fake_check_variant(k, 0);
}

void fake_check_variant(int k, int variant)
{
    assert_ptr_equal(fake_settled.picked, &fake_candidates[k]);
    assert_non_null(fake_settled.format);
    assert_int_equal(((const fake_format_t *)fake_settled.format)->variant, variant);
    assert_int_equal(fake_held, 1);
    assert_int_equal(fakes[k].held, 1);
    assert_true(most_held <= 2);
    assert_int_equal(spmm_test_env.err.status, SPMM_OK);
    assert_string_equal(spmm_test_env.err.text, "");
    fake_destroy(fake_settled.format);
}
