/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse.c
 *  Engine `cvse` on one GPU in the variants that plans measure (src/engine/cvse/variant.c), or in
 *  all.
 *
 *      bench_cvse [--all] N,N,... FILE...
 *
 *  FP16 in and out, device time, median of 20 products after 3, the same B and C again.  A line for
 *  each matrix and N: microseconds of each candidate, the model's first, and with --all the fastest
 *  five of all variants.  A variant reads V/blocks of a warp/columns of a warp/warps of a thread
 *  block; V/pieces: that without tasks.  `!` after a time: C is wrong, compared once with the FP64
 *  product; exit code 1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "engine/cvse/variant.h"
#include "matrix/matrix.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

enum { PRODUCTS = 20, MOST_VARIANTS = 128, SHOWN = 5 };

static bool all; /* variants, not those alone that plans measure */

/** What a variant took. */
typedef struct {
    spmm_cvse_variant_t variant;
    double              seconds;
    bool                right; /**< is C */
} result_t;

static int compare_results(const void *a, const void *b)
{
    const double x = ((const result_t *)a)->seconds, y = ((const result_t *)b)->seconds;

    return (x > y) - (x < y);
}

static spmm_status_t run_variant(const bench_operands_t *o, const spmm_problem_t *problem,
                                 int variant, result_t *x)
{
    const spmm_engine_ops_t *engine = spmmi_engine_find("cvse");
    spmm_problem_t           one    = *problem;
    void                    *format = NULL;
    double                   error  = 0.0;
    spmm_status_t            status;

    one.variant = variant;
    SPMM_TRY(engine->build(o->block, &one, o->device, &format));
    status   = bench_operands_measure(o, engine, format, PRODUCTS, &x->seconds, &error);
    x->right = error <= tool_tolerance(one.c_type, one.compute);
    engine->destroy(format);
    return status;
}

static void print(result_t x)
{
    const spmm_cvse_variant_t s = x.variant;

    if (s.slab > 0) {
        (void)printf(" slab/%d/%d %.2f", (int)s.slab, (int)s.n_warps, 1e6 * x.seconds);
    } else if (s.chain == 0) {
        (void)printf(" %d/pieces %.2f", (int)s.height, 1e6 * x.seconds);
    } else {
        (void)printf(" %d/%d/%d/%d %.2f", (int)s.height, (int)s.chain, (int)s.slice, (int)s.n_warps,
                     1e6 * x.seconds);
    }
    if (!x.right) {
        (void)printf("!");
    }
}

static spmm_status_t run_all(const bench_operands_t *o, const spmm_problem_t *problem,
                             bool *is_wrong)
{
    result_t result[MOST_VARIANTS];
    int      n = 0;

    for (int k = 0; n < MOST_VARIANTS && spmmi_cvse_variant_at(k, &result[n].variant); k++) {
        if (result[n].variant.chain == 0 || result[n].variant.slice == 32 ||
            result[n].variant.slice <= o->n) {
            SPMM_TRY(run_variant(o, problem, SPMM_CVSE_VARIANTS + k, &result[n]));
            *is_wrong = *is_wrong || !result[n].right;
            n++;
        }
    }
    qsort(result, (size_t)n, sizeof *result, compare_results);
    (void)printf(" | of %d:", n);
    for (int k = 0; k < SHOWN && k < n; k++) {
        print(result[k]);
    }
    return SPMM_OK;
}

static spmm_status_t run_width(const bench_operands_t *o, const spmm_problem_t *problem,
                               const char *name, bool *is_wrong)
{
    spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS];
    const int     n = spmmi_cvse_variants(&problem->pattern->tc, o->block->n_rows, o->block->n_cols,
                                          o->n, o->device->n_sm, list);
    double        least  = (double)NAN; /* of right products */
    spmm_status_t status = SPMM_OK;

    (void)printf("%s %d:", name, (int)o->n);
    for (int k = 0; k < n; k++) {
        result_t x = {.variant = list[k]};

        SPMM_TRY(run_variant(o, problem, k, &x));
        *is_wrong = *is_wrong || !x.right;
        least     = x.right ? fmin(least, x.seconds) : least;
        print(x);
    }
    (void)printf(" | least %.2f", 1e6 * least);
    if (all) {
        status = run_all(o, problem, is_wrong);
    }
    (void)printf("\n");
    (void)fflush(stdout);
    return status;
}

static void print_head(const spmm_device_t *device, const bench_program_t *program)
{
    (void)program;
    (void)printf("# %s, FP16, microseconds by V/blocks/columns/warps\n", device->description);
}

int main(int argc, char **argv)
{
    bench_program_t program = {.name  = "bench_cvse",
                               .usage = "[--all] N,N,... FILE...",
                               .unit  = 1,
                               .head  = print_head,
                               .run   = bench_block_widths,
                               .one   = run_width};

    all = argc > 1 && strcmp(argv[1], "--all") == 0;
    return bench_block_main(&program, argv + (all ? 2 : 1));
}
