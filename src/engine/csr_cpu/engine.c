/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c  CSR with OpenMP: the reference every other engine is checked against. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/csr_cpu/csr_mm.h"
#include "engine/csr_cpu/format.h"
#include "spmm_dist/context.h"

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    if (device->kind != SPMM_DEVICE_CPU) {
        (void)snprintf(why, SPMM_WHY, "computes on the CPU and B and C are on a GPU");
        return false;
    }
    if (!spmmi_cpu_csr_mm_supports(problem->ab_type, problem->c_type)) {
        (void)snprintf(why, SPMM_WHY, "has no kernel for this pair of types of A and C");
        return false;
    }
    return true;
}

/* Every entry reads a row of B, from main memory when B is large; A and C are read and written
 * once.  Halved for B: neighbouring rows find about every other one in a cache. */
static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    const double ab = (double)spmm_type_size(problem->ab_type);
    const double c  = (double)spmm_type_size(problem->c_type);
    const double n  = (double)problem->n;

    return ((double)pattern->nnz * (sizeof(int32_t) + ab + 0.5 * n * ab) +
            (double)pattern->n_rows * (sizeof(int64_t) + 2.0 * n * c)) /
           device->mem_bw;
}

static void destroy(void *format)
{
    if (format != NULL) {
        spmmi_csr_cpu_free(format);
        spmmi_free(format);
    }
}

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    spmm_csr_cpu_t *f;
    spmm_status_t   status;

    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "a CSR engine");
    }
    status = spmmi_csr_cpu_build(block, problem, device, f);
    if (status != SPMM_OK) {
        destroy(f);
        return status;
    }
    *format = f;
    return SPMM_OK;
}

static void adopt(void *format)
{
    ((spmm_csr_cpu_t *)format)->borrowed = false;
}

static spmm_status_t refill(void *format, const void *values)
{
    spmm_csr_cpu_t *f = format;

    memcpy(f->block.values, values,
           (size_t)spmmi_csr_nnz(&f->block) * spmm_type_size(f->block.type));
    return SPMM_OK;
}

static spmm_status_t places(const void *format, void **values, int64_t *count, int32_t **from)
{
    const spmm_csr_cpu_t *f = format;

    *values = f->block.values;
    *count  = spmmi_csr_nnz(&f->block);
    *from   = NULL;
    return SPMM_OK;
}

static spmm_status_t execute(void *format, const spmm_operands_t *x)
{
    const spmm_csr_cpu_t *f    = format;
    spmm_csr_mm_args_t    args = {.n_rows   = f->block.n_rows,
                                  .row_ptr  = f->block.row_ptr,
                                  .col_idx  = f->block.col_idx,
                                  .values   = f->block.values,
                                  .row_map  = f->block.row_map,
                                  .pieces   = f->pieces,
                                  .panel    = f->panel,
                                  .n_cols   = f->block.n_cols,
                                  .run      = SPMM_CSR_RUN,
                                  .x        = *x,
                                  .isa      = spmmi_csr_isa(),
                                  .in_order = f->in_order,
                                  .threads  = f->threads};

    spmmi_cpu_csr_mm(&args);
    if (f->sums.n_rows > 0) {
        args.n_rows  = f->sums.n_rows;
        args.row_ptr = f->sums.row_ptr;
        args.col_idx = f->sums.col_idx;
        args.values  = f->sums.values;
        args.row_map = f->sums.row_map;
        args.run     = 1; /* each piece is a sum of many: add in FP64 at once */
        args.x.B     = f->pieces;
        args.x.ldb   = x->n;
        spmmi_cpu_csr_mm(&args);
    }
    return SPMM_OK;
}

static void describe(const void *format, const spmm_pattern_t *pattern, FILE *out)
{
    const spmm_csr_cpu_t *f = format;

    (void)pattern;
    (void)fprintf(out, "  row-major vectors of %s; %d rows of more than %d entries in %d pieces\n",
                  spmmi_csr_isa()->name, (int)f->sums.n_rows, (int)SPMM_CSR_PIECE,
                  (int)f->sums.n_cols);
}

static void bytes(const void *format, size_t *host, size_t *device)
{
    const spmm_csr_cpu_t *f = format;

    *host = sizeof *f + spmmi_csr_bytes(&f->block) + spmmi_csr_bytes(&f->sums) + f->piece_bytes +
            f->panel_bytes;
    *device = 0;
}

const spmm_engine_ops_t spmmi_engine_csr_cpu = {
    .name        = "csr-cpu",
    .description = "CSR with OpenMP on the CPU, all types; the reference",
    .built       = true,
    .in_order    = true,
    .supports    = supports,
    .cost        = cost,
    .build       = build,
    .adopt       = adopt,
    .refill      = refill,
    .places      = places,
    .execute     = execute,
    .describe    = describe,
    .bytes       = bytes,
    .destroy     = destroy,
};
