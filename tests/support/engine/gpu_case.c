/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_case.h"

#include "gpu_gate.h"

#include "spmm_dist/context.h"

bool gpu_case_small(void)
{
    return getenv("SPMM_TEST_SMALL") != NULL;
}

/* Fewer columns than x has, then x. */
static void prepare(const spmm_engine_ops_t *engine, const spmm_device_t *device, void *format,
                    const spmm_operands_t *x)
{
    spmm_operands_t less = *x;

    less.n = x->n / 4;
    spmm_assert_ok(engine->execute(format, &less));
    spmm_assert_ok(engine->execute(format, x));
    spmm_assert_ok(device->ops->stream_sync(device, x->stream));
}

void check_asynchronous(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                        const spmm_problem_t *problem, bool mapped, bool prepared)
{
    const size_t    elem = spmm_type_size(problem->ab_type);
    spmm_csr_t      block;
    product_t       p = {.block = &block, .problem = *problem, .alpha = 1.0, .beta = 0.0};
    spmm_operands_t x;
    spmm_stream_t   stream;
    void           *format, *B, *C;

    make_block(500, 9000, DENSE_ROW, problem->ab_type, mapped, &block);
    make_product(&p, problem->n, 0);
    (void)device_test_put(device, p.B, (size_t)p.b_size * elem, 0, &B);
    (void)device_test_put(device, p.C, (size_t)p.c_size * elem, 0, &C);
    spmm_assert_ok(device->ops->stream_create(device, false, &stream));
    spmm_assert_ok(engine->build(engine, &block, problem, device, &format));
    x = operands_of(&p, B, C, stream);
    if (prepared) {
        prepare(engine, device, format, &x);
    }
    gpu_gate_close((cudaStream_t)stream);
    spmm_assert_ok(engine->execute(format, &x));
    spmm_assert_ok(engine->execute(format, &x));
    assert_int_equal(cudaStreamQuery((cudaStream_t)stream), cudaErrorNotReady);
    gpu_gate_open();
    spmm_assert_ok(device->ops->stream_sync(device, stream));
    spmm_assert_ok(device->ops->fetch(device, p.got, C, (size_t)p.c_size * elem));
    check_product(&p);
    device->ops->release(device, B);
    device->ops->release(device, C);
    device->ops->stream_destroy(device, stream);
    engine->destroy(format);
    free_product(&p);
    spmmi_csr_free(&block);
}

/* The rows of a small dense block where they stand in a far larger one. */
typedef struct {
    int64_t step;  /* rows of the large one from each row to the next */
    int64_t ld;    /* of the large one */
    void   *large; /* on the device */
} far_t;

static void move_rows(const spmm_device_t *device, const far_t *far, const product_t *p, void *host,
                      int64_t ld, int64_t n_rows, bool back)
{
    const size_t elem = spmm_type_size(p->problem.c_type);

    for (int64_t i = 0; i < n_rows; i++) {
        char *near  = (char *)host + (size_t)(i * ld) * elem;
        char *there = (char *)far->large + (size_t)(i * far->step * far->ld) * elem;

        if (back) {
            spmm_assert_ok(device->ops->fetch(device, near, there, (size_t)p->n * elem));
        } else {
            spmm_assert_ok(device->ops->copy(device, there, near, (size_t)p->n * elem, NULL));
        }
    }
    spmm_assert_ok(device->ops->stream_sync(device, NULL));
}

/* p, a product of p->block, with row i of B in row i * b.step and that of C in i * c.step. */
static void run_far(const spmm_engine_ops_t *engine, const spmm_device_t *device, product_t *p,
                    far_t b, far_t c)
{
    const size_t    elem  = spmm_type_size(p->problem.c_type);
    spmm_csr_t      block = *p->block;
    spmm_operands_t x;
    void           *format;

    if (device->ops->alloc(device, (size_t)(block.n_cols * b.step * b.ld) * elem, &b.large) !=
            SPMM_OK ||
        device->ops->alloc(device, (size_t)(block.n_rows * c.step * c.ld) * elem, &c.large) !=
            SPMM_OK) {
        print_message("too little device memory for rows behind 2^31 elements\n");
        device->ops->release(device, b.large);
        spmmi_error_clear(&spmm_test_env.err);
        return;
    }
    block.n_cols *= (int32_t)b.step;
    block.c_rows  = block.n_rows * (int32_t)c.step;
    block.col_idx = spmm_test_malloc((size_t)spmmi_csr_nnz(&block) * sizeof *block.col_idx);
    block.row_map = spmm_test_malloc((size_t)block.n_rows * sizeof *block.row_map);
    for (int64_t k = 0; k < spmmi_csr_nnz(&block); k++) {
        block.col_idx[k] = p->block->col_idx[k] * (int32_t)b.step;
    }
    for (int32_t i = 0; i < block.n_rows; i++) {
        block.row_map[i] = i * (int32_t)c.step;
    }
    move_rows(device, &b, p, p->B, p->ldb, p->block->n_cols, false);
    move_rows(device, &c, p, p->C, p->ldc, p->block->n_rows, false);
    spmm_assert_ok(engine->build(engine, &block, &p->problem, device, &format));
    x     = operands_of(p, b.large, c.large, NULL);
    x.ldb = b.ld;
    x.ldc = c.ld;
    spmm_assert_ok(engine->execute(format, &x));
    spmm_assert_ok(device->ops->stream_sync(device, NULL));
    move_rows(device, &c, p, p->got, p->ldc, p->block->n_rows, true);
    check_product(p);
    engine->destroy(format);
    device->ops->release(device, b.large);
    device->ops->release(device, c.large);
    spmm_test_free(block.col_idx, block.row_map);
}

void check_far(const spmm_engine_ops_t *engine, const spmm_device_t *device,
               const spmm_problem_t *problem)
{
    /* 40 rows at this distance end behind 2^31 elements. */
    const far_t close = {.step = 1, .ld = 64}, far = {.step = 1700, .ld = 32769};
    spmm_csr_t  block;
    product_t   p = {.block = &block, .problem = *problem, .alpha = 1.5, .beta = 0.5};

    make_block(40, 40, DENSE_ROWS, problem->ab_type, false, &block);
    make_product(&p, 33, 0);
    run_far(engine, device, &p, far, close);
    run_far(engine, device, &p, close, far);
    free_product(&p);
    spmmi_csr_free(&block);
}
