/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_rows.c  The kernels of csr_rows.inc.h for each type and kind of processor.  They are
 *  written in vectors: the compiler is told to make none by itself (cmake/library.cmake), which
 *  would sum the entries of a row by gathering.  And the choice among all kernels of the engine. */
#include "cpu/csr/csr_rows.h"

#include <omp.h>

#include "cpu/cpu_kernels.h"

enum { ROWS_SHORT = 8, ROWS_LONG = 32 }; /* entries of a row */

/* Operand of an empty asm statement: a vector register of the processor, or memory, which clang 14
 * takes for vectors of 8 bytes, too. */
#if defined(__x86_64__) && !defined(__clang__)
#define ROWS_REGISTER(x) "+v"(x)
#elif defined(__aarch64__) && !defined(__clang__)
#define ROWS_REGISTER(x) "+w"(x)
#else
#define ROWS_REGISTER(x) "+m"(x)
#endif

#define ROWS_PASTE(x, type, isa, lanes)  ROWS_PASTE_(x, type, isa, lanes)
#define ROWS_PASTE_(x, type, isa, lanes) x##_##type##_##isa##_##lanes

#define ROWS_ISA plain
#define ROWS_TARGET
#define ROWS_BYTES 16
#include "cpu/csr/csr_types.inc.h"

#ifdef __x86_64__
#define ROWS_ISA    avx2
#define ROWS_TARGET __attribute__((target("avx2,fma")))
#define ROWS_BYTES  32
#include "cpu/csr/csr_types.inc.h"

#define ROWS_ISA    avx512
#define ROWS_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma")))
#define ROWS_BYTES  64
#include "cpu/csr/csr_types.inc.h"

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

static bool always(void)
{
    return true;
}

#define ISA(name, runs_here, isa)                                                                  \
    {                                                                                              \
        name, runs_here, ROWS_PASTE(rows, 64f, isa, any), ROWS_PASTE(rows, 32f, isa, any),         \
            ROWS_PASTE(rows, 64c, isa, any), ROWS_PASTE(rows, 32c, isa, any)                       \
    }

const spmm_csr_isa_t spmmi_csr_isas[SPMM_CSR_ISAS] = {
#ifdef __x86_64__
    ISA("AVX-512", has_avx512, avx512),
    ISA("AVX2", has_avx2, avx2),
#endif
    ISA("no AVX", always, plain),
};

const spmm_csr_isa_t *spmmi_csr_isa(void)
{
    const spmm_csr_isa_t *isa = spmmi_csr_isas;

    while (!isa->runs_here()) {
        isa++;
    }
    return isa;
}

static spmm_csr_rows_t *pick(const spmm_operands_t *x, const spmm_csr_isa_t *isa)
{
    const bool same = x->c_type == x->ab_type;

    switch (x->ab_type) {
    case SPMM_R_64F:
        return same ? isa->rows_64f : NULL;
    case SPMM_R_32F:
        return same ? isa->rows_32f : NULL;
    case SPMM_R_16F:
    case SPMM_R_16BF:
        return spmmi_csr_rows_16(x->ab_type, x->c_type);
    case SPMM_C_64F:
        return same ? isa->rows_64c : NULL;
    case SPMM_C_32F:
        return same ? isa->rows_32c : NULL;
    case SPMM_TYPE_AUTO:
        break;
    }
    return NULL;
}

bool spmmi_cpu_csr_mm_supports(spmm_type_t ab_type, spmm_type_t c_type)
{
    return pick(&(spmm_operands_t){.ab_type = ab_type, .c_type = c_type}, spmmi_csr_isas) != NULL;
}

/* A team costs half a microsecond to start on two cores and several on many, as long as some
 * thousand multiply-adds of one thread take. */
static bool is_worth_a_team(const spmm_csr_mm_args_t *args)
{
    return (args->row_ptr[args->n_rows] + args->n_rows) * args->x.n > 4096;
}

/* Thread t of n_threads. */
static void run(const spmm_csr_mm_args_t *args, spmm_csr_rows_t *rows, int t, int n_threads)
{
    if (args->panel != NULL && args->x.layout == SPMM_LAYOUT_COL) {
        spmmi_csr_panels(args, rows, t, n_threads);
        return;
    }
    rows(args, spmmi_cpu_first_row(args->row_ptr, args->n_rows, t, n_threads),
         spmmi_cpu_first_row(args->row_ptr, args->n_rows, t + 1, n_threads));
}

void spmmi_cpu_csr_mm(const spmm_csr_mm_args_t *args)
{
    spmm_csr_rows_t *const rows = pick(&args->x, args->isa);
    const int              team = spmmi_cpu_team(args->threads);

    if (args->n_rows == 0) {
        return;
    }
    if (team == 1 || !is_worth_a_team(args)) {
        run(args, rows, 0, 1);
        return;
    }
#pragma omp parallel num_threads(team)
    run(args, rows, omp_get_thread_num(), omp_get_num_threads());
}
