/* SPDX-License-Identifier: Apache-2.0 */
#include "attention_case.h"

spmm_type_t sum_type(spmm_type_t type)
{
    return type == SPMM_R_64F ? SPMM_R_64F : SPMM_R_32F;
}

/* Memory full of NaN. */
static void *poisoned(int64_t count, spmm_type_t type)
{
    const size_t bytes = (size_t)count * spmm_type_size(type);
    void        *host  = spmm_test_malloc(bytes + 1), *device;

    memset(host, 0xff, bytes);
    device = to_device(host, bytes);
    free(host);
    return device;
}

double *fetch(const void *device, int64_t count, spmm_type_t type)
{
    void   *host = spmm_test_malloc((size_t)count * spmm_type_size(type) + 1);
    double *all  = spmm_test_malloc((size_t)(count + 1) * sizeof *all);

    spmm_assert_ok(spmm_buffer_copy(ctx, host, device, (size_t)count * spmm_type_size(type)));
    for (int64_t i = 0; i < count; i++) {
        all[i] = spmmi_value_get(type, host, i);
    }
    free(host);
    return all;
}

blocks_t make_blocks(const masked_t *m, const case_t *c)
{
    const int64_t n = c->heads * c->k, ld = n + c->pad;
    blocks_t      b = {.n = n, .ld = ld};

    b.in[Q]  = device_operand(Q, m->first_row, m->rows, n, ld, c->type, 0);
    b.in[K]  = device_operand(K, m->first_col, m->cols, n, ld, c->type, 0);
    b.in[V]  = device_operand(V, m->first_col, m->cols, n, ld, c->type, 0);
    b.in[DO] = device_operand(DO, m->first_row, m->rows, n, ld, c->type, 0);
    b.O      = poisoned(m->rows * ld, c->type);
    b.lse    = poisoned(m->rows * c->heads, sum_type(c->type));
    b.dQ     = poisoned(m->rows * ld, c->type);
    b.dK     = poisoned(m->cols * ld, c->type);
    b.dV     = poisoned(m->cols * ld, c->type);
    if (m->cols == 0) { /* without rows a block may be NULL */
        test_context_free(ctx, &b.in[K], &b.in[V], &b.dK, &b.dV);
    }
    return b;
}

void free_blocks(blocks_t *b)
{
    test_context_free(ctx, &b->in[Q], &b->in[K], &b->in[V], &b->in[DO], &b->O, &b->lse, &b->dQ,
                      &b->dK, &b->dV);
}

void spoil(const masked_t *m, const case_t *c, const blocks_t *b, int which, int64_t i, int64_t j,
           double value)
{
    const bool    of_q  = which == Q || which == DO;
    const int64_t first = of_q ? m->first_row : m->first_col, rows = of_q ? m->rows : m->cols;
    const size_t  size = spmm_type_size(c->type);
    double        host;

    if (i >= first && i < first + rows) {
        spmmi_value_set(c->type, &host, 0, value);
        spmm_assert_ok(spmm_buffer_copy(
            ctx, (char *)b->in[which] + (size_t)((i - first) * b->ld + j) * size, &host, size));
    }
}

spmm_attention_plan_t *make_attention(const masked_t *m, const case_t *c, int backward)
{
    spmm_attention_options_t o = SPMM_ATTENTION_OPTIONS_INIT;
    spmm_attention_plan_t   *plan;

    o.kernel   = c->kernel;
    o.backward = backward;
    o.tuning   = test_context_tuning(NULL);
    spmm_assert_ok(spmm_attention_plan_create(m->A, c->heads, c->k, &o, &plan));
    return plan;
}

double scale_of(const case_t *c)
{
    return 3.0 / sqrt((double)c->k);
}

void run_attention(spmm_attention_plan_t *plan, const case_t *c, const blocks_t *b)
{
    spmm_assert_ok(spmm_attention(plan, scale_of(c), b->in[Q], b->ld, b->in[K], b->ld, b->in[V],
                                  b->ld, b->O, b->ld, b->lse, NULL));
}

attention_t open_attention(const mask_t *shape, const case_t *c, int backward)
{
    attention_t a = {.m = make_masked(shape, c->type)};

    a.plan = make_attention(&a.m, c, backward);
    a.b    = make_blocks(&a.m, c);
    return a;
}

void close_attention(attention_t *a)
{
    free_blocks(&a->b);
    spmm_assert_ok(spmm_attention_plan_destroy(&a->plan));
    assert_null(a->plan);
    free_masked(&a->m);
}
