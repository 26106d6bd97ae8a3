/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.c  Sparse attention and its gradients on the CPU: the reference of the CUDA
 *  kernels. */
#include "cpu/attention/attention.h"

#include <math.h>
#include <stddef.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

enum {
    PARTS = 8, /* sums side by side: vector registers */
    RUN   = 64 /* columns of O at a time */
};

/** The entries of a row. */
typedef struct {
    const int32_t *col;
    int64_t        count;
} list_t;

#define SAME(x) (x)

#define NAME(x) x##_64f
#define X_T     double
#define LOAD    SAME
#define STORE   SAME
#define ACC_T   double
#define EXP     exp
#define LOG     log
#include "cpu/attention/attention.inc.h"

#define NAME(x) x##_32f
#define X_T     float
#define LOAD    SAME
#define STORE   SAME
#define ACC_T   float
#define EXP     expf
#define LOG     logf
#include "cpu/attention/attention.inc.h"

#define NAME(x) x##_16f
#define X_T     uint16_t
#define LOAD    spmmi_half_to_float
#define STORE   spmmi_half_from_float
#define ACC_T   float
#define EXP     expf
#define LOG     logf
#include "cpu/attention/attention.inc.h"

#define NAME(x) x##_16bf
#define X_T     uint16_t
#define LOAD    spmmi_bf16_to_float
#define STORE   spmmi_bf16_from_float
#define ACC_T   float
#define EXP     expf
#define LOG     logf
#include "cpu/attention/attention.inc.h"

/** What a storage type does with one row and head. */
typedef struct {
    spmm_type_t type;
    void (*forward)(const list_t *, int64_t, int64_t, const spmm_attention_args_t *);
    void (*stats)(int64_t, int64_t, const spmm_attention_stats_t *);
    void (*query)(const list_t *, int64_t, int64_t, const spmm_attention_gradient_t *);
    void (*key)(const list_t *, int64_t, int64_t, const spmm_attention_gradient_t *);
} functions_t;

static const functions_t *pick(spmm_type_t type)
{
    static const functions_t all[] = {
        {SPMM_R_64F, forward_64f, stats_64f, query_64f, key_64f},
        {SPMM_R_32F, forward_32f, stats_32f, query_32f, key_32f},
        {SPMM_R_16F, forward_16f, stats_16f, query_16f, key_16f},
        {SPMM_R_16BF, forward_16bf, stats_16bf, query_16bf, key_16bf}};

    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        if (all[k].type == type) {
            return &all[k];
        }
    }
    return NULL;
}

bool spmmi_cpu_attention_supports(spmm_type_t type)
{
    return pick(type) != NULL;
}

static list_t entries_of(const spmm_attention_rows_t *mask, int64_t i)
{
    return (list_t){.col   = mask->col + mask->row_ptr[i],
                    .count = mask->row_ptr[i + 1] - mask->row_ptr[i]};
}

static int64_t row_of(const spmm_attention_rows_t *mask, int64_t i)
{
    return mask->row_map == NULL ? i : mask->row_map[i];
}

void spmmi_cpu_attention(const spmm_attention_rows_t *mask, const spmm_attention_args_t *args)
{
    const functions_t *f = pick(args->type);

#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t t = 0; t < mask->n_rows * args->heads; t++) {
        const int64_t i   = t / args->heads;
        const list_t  row = entries_of(mask, i);

        if (row.count > 0 || !args->resume) {
            f->forward(&row, row_of(mask, i), t % args->heads, args);
        }
    }
}

void spmmi_cpu_attention_stats(const spmm_attention_stats_t *args)
{
    const functions_t *f = pick(args->type);

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t t = 0; t < args->n_rows * args->heads; t++) {
        f->stats(t / args->heads, t % args->heads, args);
    }
}

void spmmi_cpu_attention_query(const spmm_attention_rows_t     *mask,
                               const spmm_attention_gradient_t *args)
{
    const functions_t *f = pick(args->type);

#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t t = 0; t < mask->n_rows * args->heads; t++) {
        const list_t row = entries_of(mask, t / args->heads);

        f->query(&row, row_of(mask, t / args->heads), t % args->heads, args);
    }
}

void spmmi_cpu_attention_key(const spmm_attention_rows_t     *mask,
                             const spmm_attention_gradient_t *args)
{
    const functions_t *f = pick(args->type);

#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(args->threads))
    for (int64_t t = 0; t < mask->n_rows * args->heads; t++) {
        const list_t row = entries_of(mask, t / args->heads);

        f->key(&row, row_of(mask, t / args->heads), t % args->heads, args);
    }
}
