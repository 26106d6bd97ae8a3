/* SPDX-License-Identifier: Apache-2.0 */
/* Engine cusparse against an FP64 product of the same stored values. */
#include <stdatomic.h>
#include <time.h>

#include "engine_case.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"

extern const spmm_engine_ops_t spmm_engine_cusparse;

static spmm_device_t device;

typedef struct {
    spmm_type_t ab, c;
} types_t;

static const types_t type_pairs[] = {{SPMM_R_64F, SPMM_R_64F},   {SPMM_R_32F, SPMM_R_32F},
                                     {SPMM_R_16F, SPMM_R_16F},   {SPMM_R_16F, SPMM_R_32F},
                                     {SPMM_R_16BF, SPMM_R_16BF}, {SPMM_R_16BF, SPMM_R_32F}};
enum { N_PAIRS = sizeof type_pairs / sizeof type_pairs[0] };

static void check_shape(int32_t n_rows, int32_t n_cols, pattern_kind_t kind, int64_t planned)
{
    for (int t = 0; t < N_PAIRS; t++) {
        for (int v = 0; v < 8; v++) {
            spmm_csr_t block;

            make_block(n_rows, n_cols, kind, type_pairs[t].ab, v % 2 != 0, &block);
            check_engine_block(&spmm_engine_cusparse, &device, &block, type_pairs[t].c,
                               v / 2 % 2 == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL, planned,
                               v / 4 != 0);
            spmm_csr_free(&block);
        }
    }
}

static void test_open(void **state)
{
    (void)state;
    gpu_test_open(&device);
}

static void test_mixed(void **state)
{
    static const int64_t widths[] = {1, 2, 7, 32, 33, 128};

    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        check_shape(203, 150, MIXED, widths[w]);
    }
    check_shape(61, 999, MIXED, 512);
}

static void test_dense_row(void **state)
{
    (void)state;
    check_shape(40, 6000, DENSE_ROW, 16);
    check_shape(40, 6000, DENSE_ROW, 128);
}

static void test_empty(void **state)
{
    (void)state;
    check_shape(50, 40, NO_ENTRIES, 32);
    check_shape(50, 0, NO_ENTRIES, 3);
    check_shape(0, 40, MIXED, 8);
    check_shape(0, 0, MIXED, 1);
    check_shape(1, 1, MIXED, 5);
}

static void test_refill(void **state)
{
    const spmm_problem_t problem = {SPMM_R_32F,      SPMM_R_32F, SPMM_COMPUTE_32F,
                                    SPMM_LAYOUT_ROW, 16,         false};
    spmm_csr_t           block;
    void                *format;
    product_t            p = {.block = &block, .problem = problem, .alpha = -1.0, .beta = 0.0};

    (void)state;
    make_block(100, 80, MIXED, SPMM_R_32F, false, &block);
    spmm_assert_ok(spmm_engine_cusparse.build(&block, &problem, &device, &format));
    make_product(&p, 16, 0);
    run_product(&spmm_engine_cusparse, &device, format, &p);
    check_product(&p);
    for (int64_t k = 0; k < spmm_csr_nnz(&block); k++) {
        spmm_value_set(SPMM_R_32F, block.values, k, spmm_random_value(99, k, 0));
    }
    spmm_assert_ok(spmm_engine_cusparse.refill(format, block.values));
    run_product(&spmm_engine_cusparse, &device, format, &p);
    check_product(&p);
    free_product(&p);
    spmm_engine_cusparse.destroy(format);
    spmm_csr_free(&block);
}

/* deterministic: equal bits from run to run and from build to build. */
static void test_deterministic(void **state)
{
    const spmm_problem_t problem = {SPMM_R_32F,      SPMM_R_32F, SPMM_COMPUTE_32F,
                                    SPMM_LAYOUT_ROW, 64,         true};
    spmm_csr_t           block;
    product_t            p     = {.block = &block, .problem = problem, .alpha = 1.0, .beta = 0.0};
    void                *first = NULL;

    (void)state;
    make_block(3000, 9000, DENSE_ROW, SPMM_R_32F, false, &block);
    make_product(&p, 64, 0);
    first = gpu_test_host((size_t)p.c_size * sizeof(float));
    for (int build = 0; build < 3; build++) {
        void *format;

        spmm_assert_ok(spmm_engine_cusparse.build(&block, &problem, &device, &format));
        for (int k = 0; k < 5; k++) {
            run_product(&spmm_engine_cusparse, &device, format, &p);
            if (build == 0 && k == 0) {
                memcpy(first, p.got, (size_t)p.c_size * sizeof(float));
            }
            assert_memory_equal(first, p.got, (size_t)p.c_size * sizeof(float));
        }
        spmm_engine_cusparse.destroy(format);
    }
    check_product(&p);
    free(first);
    free_product(&p);
    spmm_csr_free(&block);
}

/* Holds a stream until the test lets go, or gives up. */
static atomic_int gate; /* 0 closed, 1 open, 2 given up */

static void CUDART_CB hold(void *unused)
{
    const struct timespec nap = {.tv_nsec = 1000000};

    (void)unused;
    for (int k = 0; k < 20000 && atomic_load(&gate) == 0; k++) {
        (void)nanosleep(&nap, NULL);
    }
    if (atomic_load(&gate) == 0) {
        atomic_store(&gate, 2);
    }
}

/* execute returns while its stream is blocked.  A shape other than the last one's is preprocessed
 * first, for which cuSPARSE does wait: it is run once before. */
static void check_asynchronous(bool mapped)
{
    const spmm_problem_t problem = {SPMM_R_32F,      SPMM_R_32F, SPMM_COMPUTE_32F,
                                    SPMM_LAYOUT_ROW, 32,         false};
    spmm_csr_t           block;
    product_t            p = {.block = &block, .problem = problem, .alpha = 1.0, .beta = 0.0};
    spmm_stream_t        stream;
    void                *format, *B, *C;

    make_block(500, 400, MIXED, SPMM_R_32F, mapped, &block);
    make_product(&p, 32, 0);
    spmm_assert_ok(spmm_engine_cusparse.build(&block, &problem, &device, &format));
    run_product(&spmm_engine_cusparse, &device, format, &p);
    (void)gpu_test_put(&device, p.B, (size_t)p.b_size * sizeof(float), 0, &B);
    (void)gpu_test_put(&device, p.C, (size_t)p.c_size * sizeof(float), 0, &C);
    spmm_assert_ok(device.ops->stream_create(&device, false, &stream));
    spmm_assert_ok(spmm_engine_cusparse.execute(format, 8, 1.0, B, p.ldb, 0.0, C, p.ldc, stream));
    spmm_assert_ok(spmm_engine_cusparse.execute(format, 32, 1.0, B, p.ldb, 0.0, C, p.ldc, stream));
    spmm_assert_ok(device.ops->stream_sync(&device, stream));
    atomic_store(&gate, 0);
    assert_int_equal(cudaLaunchHostFunc((cudaStream_t)stream, hold, NULL), cudaSuccess);
    spmm_assert_ok(spmm_engine_cusparse.execute(format, 32, 1.0, B, p.ldb, 0.0, C, p.ldc, stream));
    spmm_assert_ok(spmm_engine_cusparse.execute(format, 32, 1.0, B, p.ldb, 0.0, C, p.ldc, stream));
    assert_int_equal(atomic_load(&gate), 0);
    atomic_store(&gate, 1);
    spmm_assert_ok(device.ops->stream_sync(&device, stream));
    spmm_assert_ok(device.ops->fetch(&device, p.got, C, (size_t)p.c_size * sizeof(float)));
    check_product(&p);
    device.ops->release(&device, B);
    device.ops->release(&device, C);
    device.ops->stream_destroy(&device, stream);
    spmm_engine_cusparse.destroy(format);
    free_product(&p);
    spmm_csr_free(&block);
}

static void test_asynchronous(void **state)
{
    (void)state;
    check_asynchronous(false);
    check_asynchronous(true);
}

/* Every allocation of build fails once: an error or a success, never a leak. */
static void test_allocation_failures(void **state)
{
    const spmm_problem_t problem = {SPMM_R_16F,      SPMM_R_16F, SPMM_COMPUTE_32F,
                                    SPMM_LAYOUT_ROW, 8,          false};
    spmm_csr_t           block;
    int                  failures = 0;

    (void)state;
    make_block(90, 70, MIXED, SPMM_R_16F, true, &block);
    for (int64_t k = 0; k < 40; k++) {
        const int64_t live   = spmm_alloc_get_stats().live;
        void         *format = NULL;
        spmm_status_t status;

        spmm_error_clear(&spmm_test_env.err);
        spmm_alloc_inject(k);
        status = spmm_engine_cusparse.build(&block, &problem, &device, &format);
        spmm_alloc_inject(-1);
        if (status == SPMM_OK) {
            assert_int_equal(spmm_test_env.err.status, SPMM_OK);
            spmm_engine_cusparse.destroy(format);
        } else {
            assert_int_equal(status, SPMM_ERR_MEMORY);
            failures++;
        }
        assert_int_equal(spmm_alloc_get_stats().live, live);
    }
    assert_true(failures >= 5);
    spmm_error_clear(&spmm_test_env.err);
    spmm_csr_free(&block);
}

static void test_refusals(void **state)
{
    const spmm_problem_t types         = {SPMM_R_32F,      SPMM_R_16F, SPMM_COMPUTE_32F,
                                          SPMM_LAYOUT_ROW, 8,          false};
    const spmm_problem_t compute       = {SPMM_R_32F,      SPMM_R_32F, SPMM_COMPUTE_64F,
                                          SPMM_LAYOUT_ROW, 8,          false};
    const spmm_problem_t tf32          = {SPMM_R_32F,      SPMM_R_32F, SPMM_COMPUTE_32F_FAST_TF32,
                                          SPMM_LAYOUT_ROW, 8,          false};
    char                 why[SPMM_WHY] = "";

    (void)state;
    assert_false(spmm_engine_cusparse.supports(&types, &device, why));
    assert_true(strlen(why) > 10);
    assert_false(spmm_engine_cusparse.supports(&compute, &device, why));
    assert_true(spmm_engine_cusparse.supports(&tf32, &device, why));
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_open),         cmocka_unit_test(test_mixed),
    cmocka_unit_test(test_dense_row),    cmocka_unit_test(test_empty),
    cmocka_unit_test(test_refill),       cmocka_unit_test(test_deterministic),
    cmocka_unit_test(test_asynchronous), cmocka_unit_test(test_allocation_failures),
    cmocka_unit_test(test_refusals),     {0},
};
