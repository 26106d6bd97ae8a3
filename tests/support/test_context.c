/* SPDX-License-Identifier: Apache-2.0 */
#include "test_context.h"

#include <stdlib.h>

static int ranks_per_node(void)
{
    const char *value = getenv("SPMM_TEST_RANKS_PER_NODE");

    return value == NULL ? 0 : atoi(value);
}

const char *test_context_tuning(const char *tuning)
{
    static char text[200];
    const bool  more = tuning != NULL && tuning[0] != '\0';
    const bool  node = ranks_per_node() > 0 && (!more || strstr(tuning, "exchange=") == NULL);

    (void)snprintf(text, sizeof text, "%s%s%s", more ? tuning : "", node && more ? "," : "",
                   node ? "exchange=node" : "");
    return text;
}

void test_context_open(spmm_context_t **ctx)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_status_t          status;

    o.device = spmm_test_on_gpu() ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;

    o.ranks_per_node = ranks_per_node();
    status           = spmm_context_create(MPI_COMM_WORLD, &o, ctx);
    if (o.device == SPMM_DEVICE_CUDA && status == SPMM_ERR_UNSUPPORTED) {
        spmm_test_skip(spmm_last_error(NULL));
    }
    spmm_assert_ok(status);
}

spmm_status_t test_context_matrix(spmm_context_t *ctx, int64_t cols, int64_t col, spmm_matrix_t **A)
{
    const int64_t row_ptr[] = {0, 1};
    const double  one       = 1.0;

    return spmm_matrix_create_csr(ctx, 1, cols, row_ptr, &col, &one, SPMM_R_64F, A);
}

spmm_plan_t *test_context_plan_of(spmm_matrix_t *A, int64_t n, const spmm_plan_options_t *o)
{
    spmm_plan_t *plan = NULL;

    spmm_assert_ok(spmm_plan_create(A, n, o, &plan));
    return plan;
}

void test_context_destroy(spmm_plan_t **plan, spmm_matrix_t **A, spmm_context_t **ctx)
{
    spmm_assert_ok(spmm_plan_destroy(plan));
    spmm_assert_ok(spmm_matrix_destroy(A));
    spmm_assert_ok(spmm_context_destroy(ctx));
}

void test_context_free_list(spmm_context_t *ctx, void ***buffer)
{
    for (; *buffer != NULL; buffer++) {
        spmm_assert_ok(spmm_buffer_free(ctx, *buffer));
    }
}

char *test_context_explain(const spmm_plan_t *plan)
{
    char  *text = NULL;
    size_t length;
    FILE  *out = open_memstream(&text, &length);

    assert_non_null(out);
    spmm_assert_ok(spmm_plan_explain(plan, out));
    assert_int_equal(fclose(out), 0);
    return text;
}

void test_context_explains(const spmm_plan_t *plan, const char *words)
{
    char *text = test_context_explain(plan);

    if (strstr(text, words) == NULL) {
        fail_msg("no '%s' in: %s", words, text);
    }
    free(text);
}

spmm_context_t *test_context_on(MPI_Comm comm, int per_node)
{
    const spmm_context_options_t o = {
        .struct_size = sizeof o, .device = SPMM_DEVICE_CPU, .ranks_per_node = per_node};
    spmm_context_t *ctx = NULL;

    spmm_assert_ok(spmm_context_create(comm, &o, &ctx));
    return ctx;
}

void test_context_refused(spmm_context_t *ctx, spmm_status_t status, spmm_status_t want,
                          const char *words)
{
    assert_int_equal(status, want);
    if (strstr(spmm_last_error(ctx), words) == NULL) {
        fail_msg("no '%s' in: %s", words, spmm_last_error(ctx));
    }
}

spmm_plan_stats_t test_context_stats(const spmm_plan_t *plan)
{
    spmm_plan_stats_t stats = {.struct_size = sizeof stats};

    spmm_assert_ok(spmm_plan_get_stats(plan, &stats));
    return stats;
}

spmm_matrix_t *test_context_rule(spmm_context_t *ctx, spmm_type_t type, int64_t first,
                                 int64_t n_rows, int64_t n_cols, int64_t cols,
                                 double (*value)(const void *what, int64_t i, int64_t j),
                                 const void *what)
{
    int64_t       *row_ptr = spmm_test_calloc((size_t)n_rows + 1, sizeof *row_ptr), nnz = 0;
    int64_t       *col    = spmm_test_calloc((size_t)(n_rows * cols) + 1, sizeof *col);
    void          *values = spmm_test_calloc((size_t)(n_rows * cols) + 1, sizeof(double));
    spmm_matrix_t *A      = NULL;

    for (int64_t i = 0; i < n_rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            const double x = value(what, first + i, j);

            if (x != 0.0) {
                spmmi_value_set(type, values, nnz, x);
                col[nnz++] = j;
            }
        }
        row_ptr[i + 1] = nnz;
    }
    spmm_assert_ok(spmm_matrix_create_csr(ctx, n_rows, n_cols, row_ptr, col, values, type, &A));
    spmm_test_free(row_ptr, col, values);
    return A;
}

spmm_layout_info_t test_context_layout(const spmm_plan_t *plan, spmm_operand_t operand)
{
    spmm_layout_info_t info = {.struct_size = sizeof info};

    spmm_assert_ok(spmm_plan_get_layout(plan, operand, &info));
    return info;
}

int test_context_sweep(spmm_matrix_t *A, int64_t n, const spmm_plan_options_t *o, int victim,
                       int64_t step)
{
    const bool fails = spmm_test_env.rank == victim;
    int        made = 0, seen[3] = {0, 0, 1}; /* worst and best status, reached */

    for (int64_t k = 0; seen[2] != 0; k += step) {
        const spmm_alloc_stats_t before = spmmi_alloc_get_stats();
        spmm_plan_t             *plan   = NULL;
        spmm_status_t            status;

        spmmi_alloc_inject(fails ? k : -1);
        status  = spmm_plan_create(A, n, o, &plan);
        seen[2] = fails && spmmi_alloc_get_stats().calls - before.calls > k;
        spmmi_alloc_inject(-1);
        seen[0] = (int)status;
        seen[1] = -(int)status;
        MPI_Allreduce(MPI_IN_PLACE, seen, 3, MPI_INT, MPI_MAX, spmm_test_env.comm);
        assert_int_equal(seen[0], -seen[1]);
        assert_true(status == SPMM_OK || (seen[2] != 0 && status == SPMM_ERR_MEMORY));
        made += status == SPMM_OK && seen[2] != 0;
        spmm_assert_ok(spmm_plan_destroy(&plan));
        assert_int_equal(spmmi_alloc_get_stats().live, before.live);
    }
    return made;
}
