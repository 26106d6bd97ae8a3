/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/* The CUDA kernel that stores a row-major product into column-major C, against the CPU one. */
#include "gpu_test.h"

#include "cpu/cpu_kernels.h"
#include "spmm_dist/context.h"

static spmm_device_t device;

static void test_open(void **state)
{
    gpu_test_open(&device);
}

/* Differences of at most one rounding: the GPU may fuse the multiplication and the sum. */
static void compare(const spmm_store_args_t *args, const void *got, const void *want, int64_t size)
{
    const spmm_type_t type = spmmi_part_type(args->type);
    const double      unit = type == SPMM_R_64F   ? 2e-16
                             : type == SPMM_R_32F ? 2e-7
                             : type == SPMM_R_16F ? 1e-3
                                                  : 8e-3;

    for (int64_t k = 0; k < spmmi_type_parts(args->type) * size; k++) {
        const double a = spmmi_value_get(type, got, k);
        const double b = spmmi_value_get(type, want, k);

        if (!(fabs(a - b) <= 2.0 * unit || (isnan(a) && isnan(b)))) {
            fail_msg("%s, %lld x %lld, ld %lld, beta %g: %g at %lld, not %g",
                     spmmi_type_name(args->type), (long long)args->n_rows, (long long)args->n,
                     (long long)args->ld_dst, args->beta.re, a, (long long)k, b);
        }
    }
}

/* @p shift: elements by which both sides miss the alignment of an allocation. */
static void check_store(spmm_type_t type, int64_t n_rows, int64_t n, int64_t ld_extra, double beta,
                        size_t shift)
{
    const int64_t     ld = n_rows + ld_extra, size = ld * n;
    const size_t      elem      = spmm_type_size(type);
    const spmm_type_t acc       = spmmi_accum_type(type);
    const size_t      src_elem  = spmm_type_size(acc);
    const size_t      src_bytes = (size_t)(n_rows * n) * src_elem, bytes = (size_t)size * elem;
    void             *src = spmm_test_malloc(src_bytes), *want = spmm_test_malloc(bytes);
    void             *got  = spmm_test_malloc(bytes), *base[2];
    spmm_store_args_t args = {
        .n_rows = n_rows, .n = n, .beta = {.re = beta}, .ld_dst = ld, .type = type, .threads = 0};

    for (int64_t k = 0; k < n_rows * n; k++) {
        spmmi_value_draw(acc, src, k, 5, k, 0);
    }
    for (int64_t k = 0; k < size; k++) { /* beta == 0 must not read C; gaps stay as they are */
        const bool gap = k % ld >= n_rows;

        spmmi_value_draw(type, want, k, 6, k, 0);
        if (beta == 0.0 || gap) {
            spmmi_value_set(type, want, k, NAN);
        }
    }
    args.src = device_test_put(&device, src, src_bytes, shift * src_elem, &base[0]);
    args.dst = device_test_put(&device, want, bytes, shift * elem, &base[1]);
    spmm_assert_ok(device.ops->store_columns(&device, &args, NULL));
    spmm_assert_ok(device.ops->stream_sync(&device, NULL));
    spmm_assert_ok(device.ops->fetch(&device, got, args.dst, bytes));
    args.src = src;
    args.dst = want;
    spmmi_cpu_store_columns(&args);
    compare(&args, got, want, size);
    device.ops->release(&device, base[0]);
    device.ops->release(&device, base[1]);
    spmm_test_free(src, want, got);
}

static const spmm_type_t types[] = {SPMM_R_64F,  SPMM_R_32F, SPMM_R_16F,
                                    SPMM_R_16BF, SPMM_C_64F, SPMM_C_32F};
static const double      betas[] = {0.0, 1.0, -0.5, 0.3};

static void test_store(void **state)
{
    static const int64_t rows[]   = {0, 1, 31, 32, 33, 257, 259, 1000};
    static const int64_t widths[] = {1, 2, 7, 8, 9, 31, 32, 33, 100, 128};

    for (int t = 0; t < 6; t++) {
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
                for (int b = 0; b < 4; b++) {
                    check_store(types[t], rows[r], widths[w], b % 2 == 0 ? 1 : 5, betas[b],
                                (size_t)b % 2);
                }
            }
        }
    }
}

/* Many tiles, and more column tiles than a grid has blocks along y. */
static void test_large(void **state)
{
    check_store(SPMM_R_32F, 70001, 65, 0, -0.5, 0);
    check_store(SPMM_R_64F, 70001, 8, 3, 1.0, 0);
    check_store(SPMM_R_16F, 1, 2200000, 0, 1.0, 0);
}

SPMM_TESTS(test_open, test_store, test_large);
