/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 TIMEOUT 240 */
/* test: RANKS 1 2 DEVICE cuda TIMEOUT 240 */
/** @file test_mixed.c
 *  Options at random, most of them at once: a plan is refused on all ranks alike with a sentence,
 *  or its products are right, while it finds its engines by use and after it, before and after new
 *  values of the matrix and of the plan, and write nothing beside C.
 *
 *  SPMM_TEST_CASES plans instead of 150, SPMM_TEST_FIRST the number of the first: what fails names
 *  its number.  SPMM_TEST_DEVICE=cuda: on GPUs, with larger matrices.
 */
#include "draw.h"
#include "plan_case.h"

/** Rows or columns of A, columns of B. */
enum { MOST = 200, MOST_CPU = 40, MOST_N = 70, MOST_N_CPU = 9, PADS = 4, SHIFTS = 4 };

static draw_t d; /* of the case */

#define NAME(...) draw_name(&d, __VA_ARGS__)

static void draw_on_gpu(product_t *p)
{
    p->o.engine    = NAME("csr-gpu", "cusparse", "strips", "bittcf", "hrpb", "dmma", "cvse", "bcsr",
                          "bcsr-sp24", "dense");
    p->o.transport = NAME("nccl", "nccl-push", "mpi-host");
    p->o.graph     = draw(&d, 6) == 0;
    if ((p->type == SPMM_R_32F || p->type == SPMM_C_32F) && draw(&d, 3) == 0) {
        p->o.compute = SPMM_COMPUTE_32F_FAST_TF32;
    }
}

static const char *draw_tuning(void)
{
    static const char *const key[] = {"order", "schedule", "chunks", "exchange", "measure"};
    static char              text[100];
    const char *const        value[] = {NAME("affinity", "sorted"), NAME("merged", "overlap"),
                                        NAME("1", "2", "4"), NAME("node", "flat"), NAME("no")};
    size_t                   used    = 0;

    for (size_t k = 0; k < sizeof key / sizeof key[0]; k++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", k > 0 ? "," : "",
                                 key[k], value[k] == NULL ? "auto" : value[k]);
    }
    return text;
}

static void draw_options(product_t *p)
{
    static const spmm_type_t halo[] = {SPMM_R_16F, SPMM_R_32F};
    spmm_plan_options_t     *o      = &p->o;

    o->op     = (spmm_op_t)draw(&d, 3);
    o->layout = draw(&d, 2) == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL;
    if (spmm_type_size(p->type) == 2 && draw(&d, 2) == 0) {
        o->c_type = SPMM_R_32F;
    } else if ((p->type == SPMM_R_64F || p->type == SPMM_R_32F) && draw(&d, 6) == 0) {
        o->b_type = p->type == SPMM_R_64F ? SPMM_C_64F : SPMM_C_32F;
    }
    o->partition       = NAME("block", "metis", "auto", "one", "ptscotch");
    o->engine          = NAME("csr-cpu", "bittcf", "hrpb", "dmma", "cvse", "bcsr");
    o->tuning          = draw_tuning();
    o->halo_type       = draw(&d, 6) > 0 ? SPMM_TYPE_AUTO : halo[draw(&d, 2)];
    o->deterministic   = draw(&d, 6) == 0;
    o->reproducible    = draw(&d, 6) == 0;
    o->exact_nonfinite = draw(&d, 6) == 0;
    o->profile         = draw(&d, 6) == 0;
    o->executes        = draw(&d, 2) == 0 ? 0 : 1000000;
}

static product_t draw_product(shape_t *s)
{
    static const spmm_type_t type[]   = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F,
                                         SPMM_C_64F, SPMM_C_32F, SPMM_R_16BF};
    static const int         one_in[] = {2, 3, 12, 60};
    static const double      beta[]   = {0.0, -0.5, 0.25};
    const int64_t            most     = spmm_test_on_gpu() ? MOST : MOST_CPU;
    product_t                p        = {.alpha = 1.5, .may_refuse = true};

    s->rows = s->cols = 1 + draw(&d, most);
    if (draw(&d, 2) == 0) {
        s->cols = 1 + draw(&d, most);
    }
    s->one_in    = one_in[draw(&d, 4)];
    s->dense_row = -1;
    p.n          = 1 + draw(&d, spmm_test_on_gpu() ? MOST_N : MOST_N_CPU);
    p.pad        = draw(&d, PADS);
    p.shift      = draw(&d, 2) == 0 ? 0 : draw(&d, SHIFTS);
    p.beta       = beta[draw(&d, 3)];
    p.repeats    = spmm_test_on_gpu() ? 20 : 2;
    p.type       = type[draw(&d, 6)];
    draw_options(&p);
    if (spmm_test_on_gpu()) {
        draw_on_gpu(&p);
    }
    return p;
}

static void test_plans(void **state)
{
    const int64_t first = spmm_test_number("SPMM_TEST_FIRST", 0);
    const int64_t count = spmm_test_number("SPMM_TEST_CASES", 150);
    int64_t       made  = 0;

    for (int64_t number = first; number < first + count; number++) {
        spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
        shape_t                shape;
        product_t              p;

        d                = (draw_t){.salt = 29, .number = number};
        p                = draw_product(&shape);
        o.device         = spmm_test_on_gpu() ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;
        o.ranks_per_node = (int)draw(&d, 3);
        o.check          = (int)draw(&d, 2);
        spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &ctx));
        plan_case_label("plan %lld", (long long)number);
        made += check_plan(&shape, &p);
        close_context();
    }
    assert_true(made > count / 5); /* of few is asked what cannot be */
}

SPMM_TESTS(test_plans);
