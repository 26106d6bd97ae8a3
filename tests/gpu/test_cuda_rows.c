/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/* The CUDA kernels that move and add rows, against the CPU ones. */
#include "gpu_test.h"

#include "cpu/cpu_kernels.h"
#include "cuda/cuda_kernels.h"
#include "spmm_dist/context.h"

enum { POISON = 0xA5 };

static spmm_device_t device;

static void test_open(void **state)
{
    gpu_test_open(&device);
}

/* One shape of a movement. */
typedef struct {
    int64_t       n_rows, n, ld_extra;
    size_t        elem, shift;
    spmm_layout_t layout;
    bool          mapped;
} move_t;

/* Distinct rows in scrambled order of a block of 2 * n_rows + 3 rows. */
static int32_t *make_rows(int64_t n_rows)
{
    int32_t *row = spmm_test_malloc((size_t)n_rows * sizeof *row);

    for (int64_t i = 0; i < n_rows; i++) {
        row[i] = (int32_t)(2 * ((i % 3 == 0) ? n_rows - 1 - i / 3 : i - i / 3 - 1) + i % 2);
    }
    return row;
}

static void random_bytes(void *to, size_t bytes, uint64_t seed)
{
    for (size_t k = 0; k < bytes; k++) {
        ((unsigned char *)to)[k] = (unsigned char)spmmi_hash2(seed, (int64_t)k, 0);
    }
}

static void check_move(const move_t *m, bool gather)
{
    const int64_t block_rows = 2 * m->n_rows + 3;
    const bool    cols       = m->layout == SPMM_LAYOUT_COL;
    const int64_t ld         = (cols ? block_rows : m->n) + m->ld_extra;
    const size_t  block      = (size_t)((cols ? m->n : block_rows) * ld) * m->elem;
    const size_t  packed     = (size_t)(m->n_rows * m->n) * m->elem;
    const size_t  src_bytes = gather ? block : packed, dst_bytes = gather ? packed : block;
    void         *src = spmm_test_malloc(src_bytes), *want = spmm_test_malloc(dst_bytes);
    void         *got = spmm_test_malloc(dst_bytes), *src_base, *dst_base, *row_base = NULL;
    int32_t      *row = m->mapped ? make_rows(m->n_rows) : NULL;

    random_bytes(src, src_bytes, (uint64_t)m->n);
    memset(want, POISON, dst_bytes);
    void          *d_src = device_test_put(&device, src, src_bytes, m->shift, &src_base);
    void          *d_dst = device_test_put(&device, want, dst_bytes, m->shift, &dst_base);
    const int32_t *d_row =
        row == NULL ? NULL : device_test_put(&device, row, (size_t)m->n_rows * 4, 0, &row_base);

    if (gather) {
        spmm_gather_args_t args = {src, ld, m->layout, row, m->n_rows, m->n, m->elem, want, 0};

        spmmi_cpu_gather_rows(&args);
        args.src = d_src;
        args.row = d_row;
        args.dst = d_dst;
        spmm_assert_ok(device.ops->gather_rows(&device, &args, NULL));
    } else {
        spmm_scatter_args_t args = {src, row, m->n_rows, m->n, m->elem, want, ld, m->layout, 0};

        spmmi_cpu_scatter_rows(&args);
        args.src = d_src;
        args.row = d_row;
        args.dst = d_dst;
        spmm_assert_ok(device.ops->scatter_rows(&device, &args, NULL));
    }
    spmm_assert_ok(device.ops->stream_sync(&device, NULL));
    spmm_assert_ok(device.ops->fetch(&device, got, d_dst, dst_bytes));
    if (memcmp(got, want, dst_bytes) != 0) {
        fail_msg("%s of %lld x %lld, ld + %lld, %zu bytes, shift %zu, layout %d, map %d",
                 gather ? "gather" : "scatter", (long long)m->n_rows, (long long)m->n,
                 (long long)m->ld_extra, m->elem, m->shift, (int)m->layout, (int)m->mapped);
    }
    device.ops->release(&device, src_base);
    device.ops->release(&device, dst_base);
    device.ops->release(&device, row_base);
    spmm_test_free(src, want, got, row);
}

static const int64_t widths[] = {1, 2, 3, 7, 8, 9, 16, 31, 32, 33, 64, 128, 130};
enum { N_WIDTHS = sizeof widths / sizeof widths[0] };

static void check_moves(int64_t n_rows, int64_t n)
{
    for (size_t elem = 2; elem <= 16; elem *= 2) {
        for (int variant = 0; variant < 24; variant++) {
            const move_t m = {.n_rows   = n_rows,
                              .n        = n,
                              .ld_extra = (variant / 2) % 3 == 0   ? 0
                                          : (variant / 2) % 3 == 1 ? 5
                                                                   : 16,
                              .elem     = elem,
                              .shift    = variant / 6 % 2 == 0 ? 0 : elem,
                              .layout   = variant < 12 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL,
                              .mapped   = variant % 2 != 0};

            check_move(&m, true);
            check_move(&m, false);
        }
    }
}

static void test_moves(void **state)
{
    static const int64_t rows[] = {0, 1, 5, 33, 257, 259, 260};

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (int w = 0; w < N_WIDTHS; w++) {
            check_moves(rows[r], widths[w]);
        }
    }
}

/* Enough rows for the kernel with several rows per thread, and a wide block with column chunks. */
static void test_large_moves(void **state)
{
    const move_t tall = {70001, 64, 0, 4, 0, SPMM_LAYOUT_ROW, true};
    const move_t odd  = {50003, 33, 2, 2, 0, SPMM_LAYOUT_ROW, true};
    const move_t turn = {20011, 67, 5, 8, 0, SPMM_LAYOUT_COL, true};
    const move_t wide = {1, 2200000, 0, 2, 0, SPMM_LAYOUT_COL, false}; /* beyond gridDim.y */

    check_move(&tall, true);
    check_move(&tall, false);
    check_move(&odd, true);
    check_move(&odd, false);
    check_move(&turn, true);
    check_move(&turn, false);
    check_move(&wide, true);
    check_move(&wide, false);
}

static void random_values(spmm_type_t type, void *to, int64_t count, uint64_t seed)
{
    for (int64_t k = 0; k < count; k++) {
        spmmi_value_draw(type, to, k, seed, k, 1);
    }
}

static void check_add(spmm_type_t src_type, spmm_type_t dst_type, spmm_layout_t layout,
                      int64_t n_rows, int64_t n, int64_t ld_extra, size_t shift_elems)
{
    const int64_t block_rows = 2 * n_rows + 3, n_src = 3 * n_rows + 1;
    const bool    cols = layout == SPMM_LAYOUT_COL;
    const int64_t ld   = (cols ? block_rows : n) + ld_extra;
    const int64_t size = (cols ? n : block_rows) * ld;
    const size_t  elem = spmm_type_size(dst_type), bytes = (size_t)size * elem;
    const size_t  src_bytes = (size_t)(n_src * n) * spmm_type_size(src_type);
    void         *src = spmm_test_malloc(src_bytes), *want = spmm_test_malloc(bytes);
    void         *got = spmm_test_malloc(bytes), *base[5];
    int32_t      *row = make_rows(n_rows), *ptr = spmm_test_malloc(((size_t)n_rows + 1) * 4);
    int32_t      *pos = spmm_test_malloc((size_t)(3 * n_rows + 1) * 4);

    ptr[0] = 0;
    for (int64_t u = 0; u < n_rows; u++) { /* 0 to 3 parts for every row */
        ptr[u + 1] = ptr[u] + (int32_t)(u % 4 == 3 ? 0 : 1 + u % 3);
        for (int32_t k = ptr[u]; k < ptr[u + 1]; k++) {
            pos[k] = (int32_t)spmmi_below(spmmi_hash2(3, u, k), n_src);
        }
    }
    random_values(src_type, src, n_src * n, 5);
    random_values(dst_type, want, size, 6);
    spmm_scatter_add_args_t args = {.src_type   = src_type,
                                    .n_rows     = n_rows,
                                    .n          = n,
                                    .alpha      = {.re = 0.7, .im = -0.3},
                                    .dst_type   = dst_type,
                                    .ld_dst     = ld,
                                    .dst_layout = layout};
    const size_t            srcs = (size_t)ptr[n_rows];

    args.src = device_test_put(&device, src, src_bytes, 0, &base[0]);
    args.dst = device_test_put(&device, want, bytes, shift_elems * elem, &base[1]);
    args.row = device_test_put(&device, row, (size_t)n_rows * 4, 0, &base[2]);
    args.ptr = device_test_put(&device, ptr, ((size_t)n_rows + 1) * 4, 0, &base[3]);
    args.pos = device_test_put(&device, pos, srcs * 4, 0, &base[4]);
    spmm_assert_ok(device.ops->scatter_add_rows(&device, &args, NULL));
    spmm_assert_ok(device.ops->stream_sync(&device, NULL));
    spmm_assert_ok(device.ops->fetch(&device, got, args.dst, bytes));
    args.src = src;
    args.dst = want;
    args.row = row;
    args.ptr = ptr;
    args.pos = pos;
    spmmi_cpu_scatter_add_rows(&args);
    if (memcmp(got, want, bytes) != 0) { /* same order of sums and roundings: equal bits */
        fail_msg("scatter_add %s to %s, layout %d, %lld x %lld, ld + %lld, shift %zu",
                 spmmi_type_name(src_type), spmmi_type_name(dst_type), (int)layout,
                 (long long)n_rows, (long long)n, (long long)ld_extra, shift_elems);
    }
    for (int k = 0; k < 5; k++) {
        device.ops->release(&device, base[k]);
    }
    spmm_test_free(src, want, got, row, ptr, pos);
}

static void test_scatter_add(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_64F,  SPMM_R_32F, SPMM_R_16F,
                                        SPMM_R_16BF, SPMM_C_64F, SPMM_C_32F};

    for (int t = 0; t < 6; t++) {
        for (int w = 0; w < N_WIDTHS; w++) {
            for (int layout = SPMM_LAYOUT_ROW; layout <= SPMM_LAYOUT_COL; layout++) {
                const spmm_type_t src = spmmi_accum_type(types[t]);

                check_add(src, types[t], (spmm_layout_t)layout, 0, widths[w], 0, 0);
                check_add(src, types[t], (spmm_layout_t)layout, 77, widths[w], 0, 0);
                check_add(src, types[t], (spmm_layout_t)layout, 300, widths[w], 3, 0);
                check_add(src, types[t], (spmm_layout_t)layout, 40, widths[w], 4, 1);
            }
        }
    }
}

/* C[map] = sum + beta * C[map]. */
static void check_merge(spmm_type_t type, spmm_layout_t layout, int64_t n_rows, int64_t n,
                        double beta, bool mapped, bool with_sum)
{
    const int64_t     c_rows = mapped ? 2 * n_rows + 3 : n_rows;
    const bool        cols   = layout == SPMM_LAYOUT_COL;
    const int64_t     ld = (cols ? c_rows : n) + n % 3, size = (cols ? n : c_rows) * ld;
    const spmm_type_t acc   = spmmi_accum_type(type);
    const size_t      bytes = (size_t)size * spmm_type_size(type);
    const size_t      sums  = (size_t)(n_rows * n) * spmm_type_size(acc);
    void    *C = spmm_test_malloc(bytes), *got = spmm_test_malloc(bytes), *base[3] = {NULL};
    void    *sum           = spmm_test_malloc(sums);
    int32_t *row           = make_rows(n_rows);
    spmm_merge_args_t args = {.sum_type = acc,
                              .ld_sum   = cols ? n_rows : n,
                              .n_rows   = n_rows,
                              .n        = n,
                              .beta     = {.re = beta},
                              .c_type   = type,
                              .ldc      = ld,
                              .layout   = layout};

    random_values(type, C, size, 8);
    random_values(acc, sum, n_rows * n, 9);
    if (beta == 0.0) {
        memset(C, 0xff, bytes); /* NaN in every type */
    }
    args.C       = device_test_put(&device, C, bytes, 0, &base[0]);
    args.sum     = with_sum ? device_test_put(&device, sum, sums, 0, &base[1]) : NULL;
    args.row_map = mapped ? device_test_put(&device, row, (size_t)n_rows * 4, 0, &base[2]) : NULL;
    spmm_assert_ok(device.ops->merge_rows(&device, &args, NULL));
    spmm_assert_ok(device.ops->stream_sync(&device, NULL));
    spmm_assert_ok(device.ops->fetch(&device, got, args.C, bytes));
    args.C       = C;
    args.sum     = with_sum ? sum : NULL;
    args.row_map = mapped ? row : NULL;
    spmmi_cpu_merge_rows(&args);
    /* beta is a power of two, so FP32 and FP64 round alike but for one last bit of the sum. */
    for (int64_t k = 0; k < spmmi_type_parts(type) * size; k++) {
        const spmm_type_t part = spmmi_part_type(type);
        const double      a = spmmi_value_get(part, got, k), b = spmmi_value_get(part, C, k);
        const double      unit = part == SPMM_R_64F   ? 1e-15
                                 : part == SPMM_R_32F ? 1e-6
                                 : part == SPMM_R_16F ? 1e-3
                                                      : 8e-3;

        if (!(a == b || (a != a && b != b) || (a - b < 2 * unit && b - a < 2 * unit))) {
            fail_msg("merge %s, layout %d, %lld x %lld, beta %g, map %d, sum %d: %g, not %g",
                     spmmi_type_name(type), (int)layout, (long long)n_rows, (long long)n, beta,
                     (int)mapped, (int)with_sum, a, b);
        }
    }
    for (int k = 0; k < 3; k++) {
        device.ops->release(&device, base[k]);
    }
    spmm_test_free(C, got, sum, row);
}

static void test_merge(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_64F,  SPMM_R_32F, SPMM_R_16F,
                                        SPMM_R_16BF, SPMM_C_64F, SPMM_C_32F};
    static const double      betas[] = {0.0, 1.0, -0.5};

    for (int t = 0; t < 6; t++) {
        for (int w = 0; w < N_WIDTHS; w++) {
            for (int v = 0; v < 24; v++) {
                check_merge(types[t], v % 2 == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL,
                            v % 5 == 0 ? 1 : 301, widths[w], betas[v / 2 % 3], v / 6 % 2 == 0,
                            v / 12 == 0);
            }
        }
    }
}

/* Any bits: zeros, numbers below the normal ones and beyond the range, Inf and NaN among them. */
static void check_round(spmm_type_t from, spmm_type_t to, int64_t count, size_t shift)
{
    const size_t from_elem = spmm_type_size(from), to_elem = spmm_type_size(to);
    const size_t from_bytes = (size_t)count * from_elem, bytes = (size_t)count * to_elem;
    void        *src = spmm_test_malloc(from_bytes), *want = spmm_test_malloc(bytes);
    void        *got = spmm_test_malloc(bytes), *base[2];

    random_bytes(src, from_bytes, (uint64_t)count);
    for (int64_t k = 0; k < count; k += 2) { /* half of them in the range of all types */
        spmmi_value_set(from, src, k, spmmi_random_value(3, k, 0));
    }
    memset(got, POISON, bytes);
    spmm_round_args_t args = {
        .src = src, .dst = want, .src_type = from, .dst_type = to, .count = count};

    spmmi_cpu_round_rows(&args);
    args.src = device_test_put(&device, src, from_bytes, shift * from_elem, &base[0]);
    args.dst = device_test_put(&device, got, bytes, shift * to_elem, &base[1]);
    spmm_assert_ok(device.ops->round_rows(&device, &args, NULL));
    spmm_assert_ok(device.ops->stream_sync(&device, NULL));
    spmm_assert_ok(device.ops->fetch(&device, got, args.dst, bytes));
    for (int64_t k = 0; k < count; k++) {
        const double a = spmmi_value_get(to, got, k), b = spmmi_value_get(to, want, k);

        if (!(a == b || (isnan(a) && isnan(b)))) {
            fail_msg("round %s to %s, element %lld of %lld, shift %zu: %g, not %g",
                     spmmi_type_name(from), spmmi_type_name(to), (long long)k, (long long)count,
                     shift, a, b);
        }
    }
    device.ops->release(&device, base[0]);
    device.ops->release(&device, base[1]);
    spmm_test_free(src, want, got);
}

static void test_round(void **state)
{
    static const spmm_type_t pairs[][2] = {
        {SPMM_R_64F, SPMM_R_32F}, {SPMM_R_32F, SPMM_R_16F}, {SPMM_R_32F, SPMM_R_16BF}};
    static const int64_t counts[] = {0, 1, 3, 8, 1000, 65537, 1 << 18};

    for (int p = 0; p < 3; p++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            for (size_t shift = 0; shift < 2; shift++) {
                check_round(pairs[p][0], pairs[p][1], counts[c], shift);
                check_round(pairs[p][1], pairs[p][0], counts[c], shift);
            }
        }
    }
}

SPMM_TESTS(test_open, test_moves, test_large_moves, test_scatter_add, test_merge, test_round);
