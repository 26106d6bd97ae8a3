/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c  CSR with OpenMP: the reference every other engine is checked against. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/csr_cpu/csr_mm.h"
#include "engine/engine.h"
#include "spmm_dist/context.h"

typedef struct {
    spmm_csr_t block; /**< a copy of what build() was given */
    int        threads;
} csr_cpu_t;

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
    csr_cpu_t *f = format;

    if (f != NULL) {
        spmmi_csr_free(&f->block);
        spmmi_free(f);
    }
}

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    const int64_t nnz = spmmi_csr_nnz(block);
    spmm_status_t status;
    csr_cpu_t    *f;

    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "a CSR engine");
    }
    (void)problem;
    f->threads = device->n_sm;
    status =
        spmmi_csr_alloc(device->env, block->n_rows, block->n_cols, nnz, block->type, &f->block);
    if (status == SPMM_OK && block->row_map != NULL &&
        SPMM_NEW(f->block.row_map, block->n_rows) == NULL) {
        status = spmmi_fail_memory(&device->env->err, block->n_rows, sizeof(int32_t), "a row map");
    }
    if (status != SPMM_OK) {
        destroy(f);
        return status;
    }
    f->block.c_rows = block->c_rows;
    memcpy(f->block.row_ptr, block->row_ptr, ((size_t)block->n_rows + 1) * sizeof(int64_t));
    memcpy(f->block.col_idx, block->col_idx, (size_t)nnz * sizeof(int32_t));
    memcpy(f->block.values, block->values, (size_t)nnz * spmm_type_size(block->type));
    if (block->row_map != NULL) {
        memcpy(f->block.row_map, block->row_map, (size_t)block->n_rows * sizeof(int32_t));
    }
    *format = f;
    return SPMM_OK;
}

static spmm_status_t refill(void *format, const void *values)
{
    csr_cpu_t *f = format;

    memcpy(f->block.values, values,
           (size_t)spmmi_csr_nnz(&f->block) * spmm_type_size(f->block.type));
    return SPMM_OK;
}

static spmm_status_t places(const void *format, void **values, int64_t *count, int32_t **from)
{
    const csr_cpu_t *f = format;

    *values = f->block.values;
    *count  = spmmi_csr_nnz(&f->block);
    *from   = NULL;
    return SPMM_OK;
}

static spmm_status_t execute(void *format, const spmm_operands_t *x)
{
    const csr_cpu_t *f = format;

    spmmi_cpu_csr_mm(&(spmm_csr_mm_args_t){.n_rows  = f->block.n_rows,
                                           .row_ptr = f->block.row_ptr,
                                           .col_idx = f->block.col_idx,
                                           .values  = f->block.values,
                                           .row_map = f->block.row_map,
                                           .x       = *x,
                                           .threads = f->threads});
    return SPMM_OK;
}

static void bytes(const void *format, size_t *host, size_t *device)
{
    const csr_cpu_t *f = format;

    *host   = sizeof *f + spmmi_csr_bytes(&f->block);
    *device = 0;
}

const spmm_engine_ops_t spmmi_engine_csr_cpu = {
    .name        = "csr-cpu",
    .description = "CSR with OpenMP on the CPU, all types; the reference",
    .built       = true,
    .supports    = supports,
    .cost        = cost,
    .build       = build,
    .refill      = refill,
    .places      = places,
    .execute     = execute,
    .bytes       = bytes,
    .destroy     = destroy,
};
