/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* What can be asked of plans and matrices: the rows needed of other ranks, against the pattern and
 * the layouts; whether B and C have one layout, against both; memory on CPUs. */
#include "test_context.h"

enum { ROWS = 37, COLS = 41, MOST = 41 };

static bool is_entry(int64_t i, int64_t j)
{
    return i == j || (i * 31 + j * 17) % 13 == 3;
}

static double value_of(const void *what, int64_t i, int64_t j)
{
    return is_entry(i, j) ? spmmi_random_value(1, i, j) : 0.0;
}

/* The last rank owns no rows, the first no columns unless @p alike. */
static spmm_matrix_t *create(spmm_context_t *ctx, int64_t rows, int64_t cols, bool alike)
{
    const int     rank = spmm_test_env.rank, size = spmm_test_env.size;
    const int     parts = size > 1 ? size - 1 : 1, c_part = size > 1 && !alike ? rank - 1 : rank;
    const int64_t first  = rank < parts ? rows * rank / parts : rows;
    const int64_t n_rows = rank < parts ? rows * (rank + 1) / parts - first : 0;
    const bool    has    = c_part >= 0 && c_part < parts;
    const int64_t n_cols = has ? cols * (c_part + 1) / parts - cols * c_part / parts : 0;

    return test_context_rule(ctx, SPMM_R_64F, first, n_rows, n_cols, cols, value_of, NULL);
}

/* The rank that owns each index. */
static void find_owners(const spmm_layout_info_t *layout, int *owner)
{
    for (int64_t i = 0; i < MOST; i++) {
        owner[i] = -1;
    }
    for (int64_t i = 0; i < layout->local_rows; i++) {
        owner[layout->global_row[i]] = spmm_test_env.rank;
    }
    MPI_Allreduce(MPI_IN_PLACE, owner, MOST, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

/* @param[in] most  rows of the operand that travels: of B, and of C with op T of a plan that adds
 *                  sums; a reproducible one multiplies by blocks of the transposed A */
static void check_halo(const spmm_plan_t *plan, const spmm_plan_options_t *o, int64_t most)
{
    const bool               adds  = o->op == SPMM_OP_T && !o->reproducible;
    const bool               as_is = o->op == SPMM_OP_N || adds;
    const spmm_layout_info_t mine =
        test_context_layout(plan, adds ? SPMM_OPERAND_B : SPMM_OPERAND_C);
    const spmm_layout_info_t theirs =
        test_context_layout(plan, adds ? SPMM_OPERAND_C : SPMM_OPERAND_B);
    const spmm_plan_stats_t stats = test_context_stats(plan);
    int64_t                 rows[MOST], count = 0;
    int                     owner[MOST];

    find_owners(&theirs, owner);
    spmm_assert_ok(spmm_plan_get_halo(plan, rows));
    for (int p = 0; p < spmm_test_env.size; p++) {
        for (int64_t j = 0; j < most && p != spmm_test_env.rank; j++) {
            bool used = false;

            for (int64_t i = 0; i < mine.local_rows; i++) {
                const int64_t k = mine.global_row[i];

                used = used || is_entry(as_is ? k : j, as_is ? j : k);
            }
            if (used && owner[j] == p) {
                assert_int_equal(rows[count], j);
                count++;
            }
        }
    }
    assert_int_equal(adds ? stats.send_rows : stats.halo_rows, count);
}

/* Both layouts on this rank, and so on all. */
static bool are_equal(const spmm_plan_t *plan)
{
    const spmm_layout_info_t B = test_context_layout(plan, SPMM_OPERAND_B);
    const spmm_layout_info_t C = test_context_layout(plan, SPMM_OPERAND_C);
    int                      differs;

    assert_int_equal(B.is_shared, C.is_shared);
    differs = B.local_rows != C.local_rows ||
              memcmp(B.global_row, C.global_row, (size_t)B.local_rows * sizeof(int64_t)) != 0;
    MPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return differs == 0;
}

/* Where rows stay, a list of them takes memory once, and only if it is asked for. */
static void check_lists(const spmm_plan_t *plan, bool keep, bool one)
{
    size_t want = test_context_stats(plan).host_bytes;

    for (int k = 0; k < 4; k++) {
        const spmm_layout_info_t layout =
            test_context_layout(plan, k % 2 == 0 ? SPMM_OPERAND_B : SPMM_OPERAND_C);

        if (keep && (k == 0 || (k == 1 && !one))) {
            want += (size_t)layout.local_rows * sizeof *layout.global_row;
        }
        assert_int_equal(test_context_stats(plan).host_bytes, want);
        for (int64_t i = 0; i < layout.local_rows && keep; i++) {
            assert_int_equal(layout.global_row[i], layout.original_first + i);
        }
    }
}

static void check(int64_t rows, int64_t cols, bool alike)
{
    static const char *const partitions[] = {"keep", "block", "block"};
    spmm_context_t          *ctx          = NULL;
    spmm_matrix_t           *A;
    spmm_matrix_info_t       info    = {.struct_size = sizeof info};
    spmm_context_info_t      context = {.struct_size = sizeof context, .host_bytes = 1};

    test_context_open(&ctx);
    spmm_assert_ok(spmm_context_get_info(ctx, &context));
    assert_true(context.host_bytes == 0 && context.device_bytes == 0);
    A = create(ctx, rows, cols, alike);
    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    assert_true(info.host_bytes >= (size_t)info.local_nnz * 16 + (size_t)info.local_rows * 8);
    assert_true(info.host_bytes < (size_t)info.local_nnz * 24 + (size_t)info.local_rows * 8 + 2000);
    for (int k = 0; k < 6; k++) {
        spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
        spmm_plan_t        *plan;

        options.op           = k % 2 == 0 ? SPMM_OP_N : SPMM_OP_T;
        options.partition    = partitions[k / 2];
        options.reproducible = k >= 4;
        plan                 = test_context_plan_of(A, 3, &options);
        check_lists(plan, k < 2 || spmm_test_env.size == 1,
                    rows == cols && (alike || spmm_test_env.size == 1));
        check_halo(plan, &options, options.reproducible && options.op == SPMM_OP_T ? rows : cols);
        assert_true(test_context_layout(plan, SPMM_OPERAND_B).is_shared ==
                    (rows == cols && (alike || spmm_test_env.size == 1)));
        assert_true(!test_context_layout(plan, SPMM_OPERAND_B).is_shared || are_equal(plan));
        assert_int_equal(test_context_stats(plan).device_bytes, 0);
        assert_true(test_context_stats(plan).host_bytes > 0);
        assert_int_equal(spmm_plan_get_halo(NULL, NULL), SPMM_ERR_ARGUMENT);
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
    test_context_destroy(NULL, &A, &ctx);
}

/* Also square ones of which rows and columns are split apart. */
static void test_shapes(void **state)
{
    check(ROWS, COLS, false);
    check(COLS, COLS, true);
    check(COLS, COLS, false);
}

/* A matrix without its entries holds them no more, and says so; plan_case.c has plans of one. */
static void test_drop(void **state)
{
    spmm_matrix_info_t     info = {.struct_size = sizeof info}, left = {.struct_size = sizeof left};
    spmm_context_t        *ctx;
    spmm_matrix_t         *A;
    spmm_plan_t           *plan      = NULL;
    spmm_sddmm_plan_t     *sddmm     = NULL;
    spmm_attention_plan_t *attention = NULL;
    const int64_t         *row_ptr, *col_idx;
    const void            *values;
    const double           twos[MOST * MOST] = {2.0};

    test_context_open(&ctx);
    A = create(ctx, ROWS, COLS, false);
    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    spmm_assert_ok(spmm_matrix_drop_entries(A));
    spmm_assert_ok(spmm_matrix_drop_entries(A));
    spmm_assert_ok(spmm_matrix_get_info(A, &left));
    assert_int_equal(left.host_bytes + (size_t)info.local_nnz * 16, info.host_bytes);
    assert_true(left.nnz == info.nnz && left.local_nnz == info.local_nnz);
    test_context_refused(ctx, spmm_plan_create(A, 4, NULL, &plan), SPMM_ERR_ARGUMENT,
                         "have been dropped");
    assert_int_equal(spmm_sddmm_plan_create(A, 4, NULL, &sddmm), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_attention_plan_create(A, 1, 4, NULL, &attention), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_matrix_update_values(A, twos), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_matrix_get_csr(A, &row_ptr, &col_idx, &values), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_matrix_write(A, "/tmp/none.csr", NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_matrix_drop_entries(NULL), SPMM_ERR_ARGUMENT);
    test_context_destroy(NULL, &A, &ctx);
}

SPMM_TESTS(test_shapes, test_drop);
