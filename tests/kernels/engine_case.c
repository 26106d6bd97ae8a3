/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_case.h"

#include <math.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "spmm_dist/context.h"

/* A block with columns spread by a hash; rows 0, 5, 10 ... are empty. */
void make_block(int32_t n_rows, int32_t n_cols, pattern_kind_t kind, spmm_type_t type, bool mapped,
                spmm_csr_t *block)
{
    int64_t *row_ptr = gpu_test_host(((size_t)n_rows + 1) * sizeof *row_ptr);
    int64_t  nnz     = 0;

    row_ptr[0] = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        int32_t length = i % 5 == 0 ? 0 : 1 + (int32_t)spmm_below(spmm_mix64((uint64_t)i), 20);

        length         = kind == NO_ENTRIES ? 0 : kind == DENSE_ROW && i == 3 ? n_cols : length;
        length         = length < n_cols ? length : n_cols;
        row_ptr[i + 1] = row_ptr[i] + length;
    }
    nnz = row_ptr[n_rows];
    spmm_assert_ok(spmm_csr_alloc(&spmm_test_env, n_rows, n_cols, nnz, type, block));
    memcpy(block->row_ptr, row_ptr, ((size_t)n_rows + 1) * sizeof *row_ptr);
    for (int32_t i = 0; i < n_rows; i++) {
        const int64_t first = row_ptr[i], length = row_ptr[i + 1] - first;

        for (int64_t k = 0; k < length; k++) { /* one column from each of length equal pieces */
            const int64_t from = k * n_cols / length, to = (k + 1) * n_cols / length;

            block->col_idx[first + k] =
                (int32_t)(from + spmm_below(spmm_hash2(1, i, k), to - from));
            spmm_value_set(type, block->values, first + k, spmm_random_value(2, i, k));
        }
    }
    block->c_rows = n_rows;
    if (mapped) {
        block->row_map = spmm_alloc(n_rows, sizeof(int32_t));
        assert_non_null(block->row_map);
        block->c_rows = 2 * n_rows + 1;
        for (int32_t i = 0; i < n_rows; i++) {
            block->row_map[i] = 2 * i + i % 2;
        }
    }
    free(row_ptr);
}

void make_product(product_t *p, int64_t n, int64_t extra)
{
    const bool cols = p->problem.layout == SPMM_LAYOUT_COL;

    p->n      = n;
    p->ldb    = (cols ? p->block->n_cols : n) + extra;
    p->ldc    = (cols ? p->block->c_rows : n) + extra;
    p->b_size = (cols ? n : p->block->n_cols) * p->ldb;
    p->c_size = (cols ? n : p->block->c_rows) * p->ldc;
    p->B      = gpu_test_host((size_t)p->b_size * spmm_type_size(p->problem.ab_type));
    p->C      = gpu_test_host((size_t)p->c_size * spmm_type_size(p->problem.c_type));
    p->got    = gpu_test_host((size_t)p->c_size * spmm_type_size(p->problem.c_type));
    for (int64_t k = 0; k < p->b_size; k++) {
        spmm_value_set(p->problem.ab_type, p->B, k, spmm_random_value(3, k, n));
    }
    for (int64_t k = 0; k < p->c_size; k++) {
        /* beta == 0 must not read C: a NaN would show. */
        spmm_value_set(p->problem.c_type, p->C, k,
                       p->beta == 0.0 ? (double)NAN : spmm_random_value(4, k, n));
    }
}

void free_product(product_t *p)
{
    free(p->B);
    free(p->C);
    free(p->got);
}

static double bound(const spmm_problem_t *problem)
{
    switch (problem->c_type) {
    case SPMM_R_64F:
        return 1e-12;
    case SPMM_R_32F:
        return 5e-6;
    case SPMM_R_16F:
        return 2e-3;
    default:
        return 1.6e-2;
    }
}

/* Row i of A times column j of B, and of |A| times |B|, in FP64. */
static void reference(const product_t *p, int32_t i, int64_t j, double *sum, double *magnitude)
{
    const bool cols = p->problem.layout == SPMM_LAYOUT_COL;

    *sum       = 0.0;
    *magnitude = 0.0;
    for (int64_t k = p->block->row_ptr[i]; k < p->block->row_ptr[i + 1]; k++) {
        const int64_t row = p->block->col_idx[k];
        const double  a   = spmm_value_get(p->block->type, p->block->values, k);
        const double  b =
            spmm_value_get(p->problem.ab_type, p->B, cols ? row + j * p->ldb : row * p->ldb + j);

        *sum += p->alpha * a * b;
        *magnitude += fabs(p->alpha * a * b);
    }
}

/* Compare all of C: products where a row of A maps, the old bits everywhere else. */
void check_product(const product_t *p)
{
    const bool   cols = p->problem.layout == SPMM_LAYOUT_COL;
    const size_t elem = spmm_type_size(p->problem.c_type);
    char        *seen = calloc((size_t)p->c_size + 1, 1);

    assert_non_null(seen);
    for (int32_t i = 0; i < p->block->n_rows; i++) {
        const int64_t to = p->block->row_map == NULL ? i : p->block->row_map[i];

        for (int64_t j = 0; j < p->n; j++) {
            const int64_t at = cols ? to + j * p->ldc : to * p->ldc + j;
            double        want, magnitude, old, got;

            reference(p, i, j, &want, &magnitude);
            old = p->beta == 0.0 ? 0.0 : p->beta * spmm_value_get(p->problem.c_type, p->C, at);
            got = spmm_value_get(p->problem.c_type, p->got, at);
            if (!(fabs(got - want - old) <= bound(&p->problem) * (magnitude + fabs(old)))) {
                fail_msg("row %d of %d, column %lld of %lld, types %s to %s, layout %d, beta %g: "
                         "%.17g, not %.17g",
                         (int)i, (int)p->block->n_rows, (long long)j, (long long)p->n,
                         spmm_type_name(p->problem.ab_type), spmm_type_name(p->problem.c_type),
                         (int)p->problem.layout, p->beta, got, want + old);
            }
            seen[at] = 1;
        }
    }
    for (int64_t k = 0; k < p->c_size; k++) {
        if (seen[k] == 0) {
            assert_memory_equal((char *)p->got + (size_t)k * elem, (char *)p->C + (size_t)k * elem,
                                elem);
        }
    }
    free(seen);
}

/* Execute on a stream of its own and fetch C into p->got. */
void run_product(const spmm_engine_ops_t *engine, const spmm_device_t *device, void *format,
                 product_t *p)
{
    const size_t  b_bytes = (size_t)p->b_size * spmm_type_size(p->problem.ab_type);
    const size_t  c_bytes = (size_t)p->c_size * spmm_type_size(p->problem.c_type);
    spmm_stream_t stream;
    void         *B, *C;

    spmm_assert_ok(device->ops->stream_create(device, false, &stream));
    (void)gpu_test_put(device, p->B, b_bytes, 0, &B);
    (void)gpu_test_put(device, p->C, c_bytes, 0, &C);
    spmm_assert_ok(engine->execute(format, p->n, p->alpha, B, p->ldb, p->beta, C, p->ldc, stream));
    spmm_assert_ok(device->ops->stream_sync(device, stream));
    spmm_assert_ok(device->ops->fetch(device, p->got, C, c_bytes));
    device->ops->release(device, B);
    device->ops->release(device, C);
    device->ops->stream_destroy(device, stream);
}

/* Build once, execute with changing n, ld and scalars, as plans do. */
void check_engine_block(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                        const spmm_csr_t *block, spmm_type_t c_type, spmm_layout_t layout,
                        int64_t planned, bool deterministic)
{
    static const double  betas[] = {0.0, 1.0, -0.5};
    const int64_t        n[]     = {planned, 1, planned, planned > 6 ? 7 : 1, planned};
    const spmm_problem_t problem = {
        block->type, c_type,  block->type == SPMM_R_64F ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F,
        layout,      planned, deterministic};
    char   why[SPMM_WHY];
    size_t host = 0, on_device = 0;
    void  *format;

    assert_true(engine->supports(&problem, device, why));
    spmm_assert_ok(engine->build(block, &problem, device, &format));
    engine->bytes(format, &host, &on_device);
    assert_true(host > 0);
    assert_true(on_device >= (size_t)spmm_csr_nnz(block) * (4 + spmm_type_size(block->type)));
    for (int e = 0; e < 5; e++) {
        product_t p = {.block = block, .problem = problem, .alpha = 1.5, .beta = betas[e % 3]};

        make_product(&p, n[e], e % 3);
        run_product(engine, device, format, &p);
        check_product(&p);
        free_product(&p);
    }
    engine->destroy(format);
}
