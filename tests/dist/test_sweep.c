/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_sweep.c
 *  Every allocation of the public API fails once, on the last rank alone: all ranks must hear of it
 *  with the same status, none may be left in a collective, and nothing may leak.
 */
#include "test_main.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "spmm_dist/spmm_dist.h"
#include "temp_file.h"

enum { N = 3, LOCAL = 5 }; /* columns of B; rows of the ring on each rank */

/** One walk through the API. */
typedef struct {
    const char         *path; /**< A from this file; NULL: by the spec */
    const char         *spec; /**< A from this generator; NULL: from arrays, columns not in order */
    spmm_plan_options_t options;
} walk_t;

/** What a walk holds; NULL where it did not get that far. */
typedef struct {
    spmm_context_t *ctx;
    spmm_matrix_t  *A;
    spmm_plan_t    *plan;
    void           *given, *B, *C; /**< B in the caller's rows; B and C in the plan's */
} held_t;

/* A ring of LOCAL rows a rank: neighbours on both sides, columns in descending order. */
static spmm_status_t create_ring(spmm_context_t *ctx, spmm_matrix_t **A)
{
    const int64_t total = (int64_t)LOCAL * spmm_test_env.size;
    int64_t       row_ptr[LOCAL + 1], col[2 * LOCAL];
    double        values[2 * LOCAL];

    row_ptr[0] = 0;
    for (int i = 0; i < LOCAL; i++) {
        const int64_t row  = (int64_t)LOCAL * spmm_test_env.rank + i;
        const int64_t a    = (row + 1) % total;
        const int64_t b    = (row + total - 1) % total;
        const int64_t high = a > b ? a : b;

        col[2 * i]        = high;
        col[2 * i + 1]    = a + b - high;
        values[2 * i]     = 1.0 + i;
        values[2 * i + 1] = 2.0;
        row_ptr[i + 1]    = row_ptr[i] + 2;
    }
    return spmm_matrix_create_csr(ctx, LOCAL, LOCAL, row_ptr, col, values, SPMM_R_64F, A);
}

static bool is_ring(const walk_t *walk)
{
    return walk->path == NULL && walk->spec == NULL;
}

/* New values: the old ones, in the order the matrix was made in. */
static spmm_status_t update(const walk_t *walk, spmm_matrix_t *A)
{
    const double   ring[2 * LOCAL] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const int64_t *row_ptr, *col;
    const void    *values;

    SPMM_TRY(spmm_matrix_get_csr(A, &row_ptr, &col, &values));
    return spmm_matrix_update_values(A, is_ring(walk) ? ring : values);
}

/* Zeros for rows of an operand, in either layout. */
static spmm_status_t take(const held_t *h, int64_t rows, void **buffer)
{
    const size_t bytes = (size_t)rows * N * sizeof(double);

    SPMM_TRY(spmm_buffer_alloc(h->ctx, bytes, buffer));
    memset(*buffer, 0, bytes);
    return SPMM_OK;
}

/* Buffers are local: the ranks agree on them as a program would. */
static spmm_status_t take_buffers(held_t *h, const spmm_layout_info_t *B,
                                  const spmm_layout_info_t *C)
{
    spmm_status_t status = take(h, B->original_rows, &h->given);
    int           worst;

    if (status == SPMM_OK) {
        status = take(h, B->local_rows, &h->B);
    }
    if (status == SPMM_OK) {
        status = take(h, C->local_rows, &h->C);
    }
    worst = (int)status;
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MIN, spmm_test_env.comm);
    return (spmm_status_t)worst;
}

/* The least leading dimension of an operand. */
static int64_t ld(const walk_t *walk, int64_t rows)
{
    const int64_t least = walk->options.layout == SPMM_LAYOUT_COL ? rows : N;

    return least > 1 ? least : 1;
}

static spmm_status_t product(const walk_t *walk, held_t *h)
{
    spmm_layout_info_t B = {.struct_size = sizeof B}, C = {.struct_size = sizeof C};

    SPMM_TRY(spmm_plan_get_layout(h->plan, SPMM_OPERAND_B, &B));
    SPMM_TRY(spmm_plan_get_layout(h->plan, SPMM_OPERAND_C, &C));
    SPMM_TRY(take_buffers(h, &B, &C));
    SPMM_TRY(spmm_plan_scatter(h->plan, SPMM_OPERAND_B, N, h->given, ld(walk, B.original_rows),
                               h->B, ld(walk, B.local_rows), NULL));
    SPMM_TRY(spmm_execute(h->plan, N, 1.0, h->B, ld(walk, B.local_rows), 0.0, h->C,
                          ld(walk, C.local_rows), NULL));
    SPMM_TRY(update(walk, h->A));
    return spmm_plan_gather(h->plan, SPMM_OPERAND_B, N, h->B, ld(walk, B.local_rows), h->given,
                            ld(walk, B.original_rows), NULL);
}

static spmm_status_t go(const walk_t *walk, held_t *h)
{
    const spmm_context_options_t options = {.struct_size = sizeof options,
                                            .device      = SPMM_DEVICE_CPU};

    SPMM_TRY(spmm_context_create(spmm_test_env.comm, &options, &h->ctx));
    if (is_ring(walk)) {
        SPMM_TRY(create_ring(h->ctx, &h->A));
    } else if (walk->path != NULL) {
        SPMM_TRY(spmm_matrix_read(h->ctx, walk->path, SPMM_R_64F, 1, &h->A));
    } else {
        SPMM_TRY(spmm_matrix_generate(h->ctx, walk->spec, SPMM_R_64F, 1, &h->A));
    }
    SPMM_TRY(spmm_plan_create(h->A, N, &walk->options, &h->plan));
    return product(walk, h);
}

/* Frees what there is; fails nothing. */
static void drop(held_t *h)
{
    if (h->ctx != NULL) {
        spmm_assert_ok(spmm_buffer_free(h->ctx, &h->given));
        spmm_assert_ok(spmm_buffer_free(h->ctx, &h->B));
        spmm_assert_ok(spmm_buffer_free(h->ctx, &h->C));
    }
    spmm_assert_ok(spmm_plan_destroy(&h->plan));
    spmm_assert_ok(spmm_matrix_destroy(&h->A));
    spmm_assert_ok(spmm_context_destroy(&h->ctx));
}

/* All ranks must hold what rank 0 holds, failed or not. */
static void assert_same_status(spmm_status_t status, int64_t k)
{
    int range[2] = {(int)status, -(int)status};

    MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, spmm_test_env.comm);
    if (range[0] != -range[1]) {
        print_error("allocation %lld: this rank has status %d: %s\n", (long long)k, (int)status,
                    spmm_error_thread_text());
    }
    assert_int_equal(range[0], -range[1]);
}

/* A failed allocation may be survived only where the library has another way, and then the next
 * ones still count: the sweep ends when the countdown was not used up. */
static void sweep(const walk_t *walk)
{
    const bool victim = spmm_test_env.rank == spmm_test_env.size - 1;
    bool       over   = false;
    int64_t    k;

    for (k = 0; !over; k++) {
        const spmm_alloc_stats_t before = spmm_alloc_get_stats();
        held_t                   h      = {0};
        spmm_status_t            status;
        int                      reached;

        spmm_alloc_inject(victim ? k : -1);
        status  = go(walk, &h);
        reached = victim && spmm_alloc_get_stats().calls - before.calls > k;
        spmm_alloc_inject(-1);
        MPI_Allreduce(MPI_IN_PLACE, &reached, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
        over = reached == 0;
        assert_same_status(status, k);
        assert_int_equal(status, over ? SPMM_OK : SPMM_ERR_MEMORY);
        drop(&h);
        if (spmm_alloc_get_stats().live != before.live) {
            print_error("allocation %lld: %lld blocks leaked after status %d: %s\n", (long long)k,
                        (long long)(spmm_alloc_get_stats().live - before.live), (int)status,
                        spmm_error_thread_text());
        }
        assert_true(spmm_alloc_get_stats().live == before.live);
    }
    assert_true(k > 50); /* a walk that was really walked */
}

static void test_keep_from_arrays(void **state)
{
    const walk_t walk = {.options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    sweep(&walk);
}

static void test_auto_transposed_columns(void **state)
{
    walk_t walk = {.spec = "stencil9:nx=6,ny=5,shuffle=1", .options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    walk.options.partition = "auto";
    walk.options.op        = SPMM_OP_T;
    walk.options.layout    = SPMM_LAYOUT_COL;
    sweep(&walk);
}

/* Row-major copies of column-major blocks. */
static void test_edge(void **state)
{
    walk_t walk = {.spec = "stencil9:nx=6,ny=5", .options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    walk.options.layout = SPMM_LAYOUT_COL;
    walk.options.engine = "dmma";
    sweep(&walk);
}

static void test_reorder(void **state)
{
    walk_t walk = {.spec = "stencil9:nx=6,ny=5,shuffle=1", .options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    walk.options.reorder = "affinity";
    walk.options.engine  = "dmma";
    sweep(&walk);
    walk.options.reorder = "rcm";
    walk.options.op      = SPMM_OP_T;
    sweep(&walk);
}

static void test_schedules(void **state)
{
    walk_t walk = {.options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    walk.options.schedule = "merged2";
    sweep(&walk);
    walk.options.schedule = "allgather";
    sweep(&walk);
}

static void test_block_rectangular(void **state)
{
    walk_t walk = {.spec = "uniform:rows=20,cols=9,degree=3", .options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    walk.options.partition = "block";
    sweep(&walk);
}

static const char market[] = "%%MatrixMarket matrix coordinate real symmetric\n"
                             "% a path of 5\n"
                             "5 5 6\n"
                             "1 1 2.0\n2 1 -1.0\n3 2 -1.0\n4 3 -1.0\n5 4 -1.0\n5 5 2.0\n";

static void test_matrix_market(void **state)
{
    walk_t walk = {.options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    walk.path = spmm_temp_write(market, sizeof market - 1);
    sweep(&walk);
    spmm_temp_remove();
    walk.path = spmm_temp_write_gzip(market, sizeof market - 1, 0, 0);
    sweep(&walk);
    spmm_temp_remove();
}

/* 2 x 2, full; see spmm_matrix_read(). */
static void test_binary_csr(void **state)
{
    const int64_t head[] = {0x43535231, 2, 2, 4};
    const int32_t body[] = {0, 2, 4, 0, 1, 0, 1};
    char          bytes[sizeof head + sizeof body];
    walk_t        walk = {.options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, body, sizeof body);
    walk.path = spmm_temp_write(bytes, sizeof bytes);
    sweep(&walk);
    spmm_temp_remove();
}

static void test_partition_file(void **state)
{
    const char part[] = "0\n0\n0\n0\n0\n";
    char       option[4096];
    walk_t     walk = {.spec = "banded:rows=5,band=1", .options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    (void)snprintf(option, sizeof option, "file:%s", spmm_temp_write(part, sizeof part - 1));
    walk.options.partition = option;
    sweep(&walk);
    spmm_temp_remove();
}

#ifdef SPMM_HAVE_METIS
static void test_metis(void **state)
{
    walk_t walk = {.spec = "stencil9:nx=6,ny=5,shuffle=1", .options = SPMM_PLAN_OPTIONS_INIT};

    (void)state;
    walk.options.partition = "metis";
    sweep(&walk);
    walk.spec = "uniform:rows=20,cols=9,degree=3";
    sweep(&walk);
}
#endif

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_keep_from_arrays),
    cmocka_unit_test(test_auto_transposed_columns),
    cmocka_unit_test(test_edge),
    cmocka_unit_test(test_reorder),
    cmocka_unit_test(test_schedules),
    cmocka_unit_test(test_block_rectangular),
    cmocka_unit_test(test_matrix_market),
    cmocka_unit_test(test_binary_csr),
    cmocka_unit_test(test_partition_file),
#ifdef SPMM_HAVE_METIS
    cmocka_unit_test(test_metis),
#endif
    {0},
};
