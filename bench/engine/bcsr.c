/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr.c
 *  Engines `bcsr` and `bcsr-sp24` on one GPU with every variant of thread block, beside the one
 *  that the model takes (src/engine/bcsr/variant.c).
 *
 *      bench_bcsr N,N,... MATRIX...
 *
 *  MATRIX: a file, or a generator's spec.  FP16 in and out, device time, median of 20 products
 *  after 3, the same B and C again.  `*` marks the variant of bcsr, `+` that of bcsr-sp24 where it
 *  is another one.  `!`: C of the variant is wrong, compared once with the FP64 product; exit code
 *  1.
 */
#include <stdio.h>

#include "block.h"
#include "engine/bcsr/variant.h"
#include "matrix/matrix.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

enum { PRODUCTS = 20 };

/** What create() is to take; kinds hand nothing through. */
static spmm_bcsr_variant_t wanted;

static spmm_status_t create_wanted(spmm_tc_engine_t *f, const spmm_csr_t *block)
{
    return spmmi_bcsr_lay_out(f, block, spmmi_pattern_windows(f->problem.pattern), wanted);
}

static spmm_status_t run_variant(const bench_operands_t *o, const spmm_problem_t *problem,
                                 double *seconds, bool *right)
{
    spmm_tc_kind_t kind   = *spmmi_bcsr_kind(wanted.sp24, SPMM_BCSR_KERNELS);
    void          *format = NULL;
    double         error  = 0.0;
    spmm_status_t  status;

    kind.create = create_wanted;
    SPMM_TRY(spmmi_tc_build(&kind, o->block, problem, o->device, &format));
    status =
        bench_operands_measure(o, spmmi_engine_find("bcsr"), format, PRODUCTS, seconds, &error);
    *right = error <= tool_tolerance(problem->c_type, problem->compute);
    spmmi_tc_destroy(format);
    return status;
}

static bool same_variant(spmm_bcsr_variant_t a, spmm_bcsr_variant_t b)
{
    return a.kernel == b.kernel && a.rows == b.rows && a.slice == b.slice && a.split == b.split &&
           a.sp24 == b.sp24;
}

/* Microseconds of every variant. */
static spmm_status_t run_variants(const bench_operands_t *o, const spmm_problem_t *problem,
                                  const char *name, bool *is_wrong)
{
    const spmm_pattern_t *p = problem->pattern;
    spmm_bcsr_variant_t   model[2][SPMM_BCSR_RANKED];

    for (int sp24 = 0; sp24 < 2; sp24++) {
        (void)spmmi_bcsr_best(spmmi_bcsr_facts(p), o->block->n_rows, o->n, o->device->n_sm,
                              SPMM_BCSR_KERNELS, sp24 != 0, model[sp24]);
    }
    (void)printf("%-34.34s %5d %9.2f %9.2f", name, (int)o->n,
                 1e6 * spmmi_bcsr_cost(p, problem, o->device),
                 1e6 * spmmi_bcsr_cost_sp24(p, problem, o->device));
    for (int k = 0; k < SPMM_BCSR_VARIANTS; k++) {
        double seconds = 0.0;
        bool   right   = false;

        wanted = spmmi_bcsr_variants[k];
        SPMM_TRY(run_variant(o, problem, &seconds, &right));
        *is_wrong = *is_wrong || !right;
        (void)printf(" %9.2f%c", 1e6 * seconds,
                     !right                              ? '!'
                     : same_variant(wanted, model[0][0]) ? '*'
                     : same_variant(wanted, model[1][0]) ? '+'
                                                         : ' ');
    }
    (void)printf("\n");
    return SPMM_OK;
}

static void print_head(const spmm_device_t *device, const bench_program_t *program)
{
    (void)program;
    (void)printf(
        "# %s, FP16, microseconds: predicted of bcsr and bcsr-sp24, then by steps (S), lists (L) "
        "and rows (R), tile rows x columns, / warps of a tile row, + with 2:4 tiles\n%-34s %5s %9s "
        "%9s",
        device->description, "matrix", "N", "bcsr", "bcsr-sp24");
    for (int k = 0; k < SPMM_BCSR_VARIANTS; k++) {
        const spmm_bcsr_variant_t s        = spmmi_bcsr_variants[k];
        char                      name[32] = "";

        if (s.kernel != SPMM_BCSR_BY_STEPS) {
            (void)snprintf(name, sizeof name, "%c%dx%d/%d%s",
                           s.kernel == SPMM_BCSR_BY_ROWS ? 'R' : 'L', (int)s.rows, (int)s.slice,
                           (int)s.split, s.sp24 ? "+" : "");
        } else {
            (void)snprintf(name, sizeof name, "S%dx%d", (int)s.rows, (int)s.slice);
        }
        (void)printf(" %9s ", name);
    }
    (void)printf("\n");
}

int main(int argc, char **argv)
{
    bench_program_t program = {.name  = "bench_bcsr",
                               .usage = "N,N,... MATRIX...",
                               .unit  = 1,
                               .head  = print_head,
                               .run   = bench_block_widths,
                               .one   = run_variants};

    (void)argc;
    return bench_block_main(&program, argv + 1);
}
