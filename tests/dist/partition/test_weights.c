/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 9 */
/** @file test_weights.c  Partitions of rows that weigh something else than their entries. */
#include "partition/partition.h"

#include "base/alloc.h"
#include "base/comm.h"
#include "test_main.h"
#include "test_matrix.h"

enum { EACH = 400, HEAVY = 9, MOST_PARTS = 16 };

/* A path of all ranks' rows: entries are as even as can be. */
static spmm_matrix_t *make_path(void)
{
    spmm_matrix_t *A;
    const int64_t  rows = (int64_t)EACH * spmm_test_env.size;
    int64_t        ptr[EACH + 1], col[3 * EACH], k = 0;
    double         values[3 * EACH];

    ptr[0] = 0;
    for (int64_t i = 0; i < EACH; i++) {
        const int64_t row = spmm_test_env.rank * (int64_t)EACH + i;

        for (int64_t j = row - 1; j <= row + 1; j++) {
            if (j >= 0 && j < rows) {
                values[k] = 1.0;
                col[k++]  = j;
            }
        }
        ptr[i + 1] = k;
    }
    spmm_assert_ok(
        spmmi_matrix_from_csr(&spmm_test_env, EACH, EACH, ptr, col, values, SPMM_R_64F, &A));
    return A;
}

/* Largest over mean of what the parts weigh. */
static double uneven(const spmm_matrix_t *A, const int64_t *weight,
                     const spmm_partition_options_t *options, const char *method)
{
    spmm_partition_t partition;
    int64_t          sum[MOST_PARTS] = {0}, most = 0, all = 0;

    spmm_assert_ok(spmmi_partition_create(A, method, options, &partition));
    for (int32_t i = 0; i < A->n_rows; i++) {
        sum[partition.row_part[i]] += weight[i];
    }
    spmm_assert_ok(spmmi_allreduce(&spmm_test_env, sum, spmm_test_env.size, MPI_INT64_T, MPI_SUM));
    for (int p = 0; p < spmm_test_env.size; p++) {
        most = sum[p] > most ? sum[p] : most;
        all += sum[p];
    }
    spmmi_partition_free(&partition);
    return (double)most * spmm_test_env.size / (double)all;
}

/* Rows of the first quarter weigh nine times as much as others, in a unit as fine as a model's. */
static void check(const char *method, int64_t unit)
{
    const int64_t            quarter = (int64_t)EACH * spmm_test_env.size / 4;
    spmm_matrix_t           *A       = make_path();
    int64_t                  weight[EACH];
    spmm_partition_options_t plain = {.imbalance = 1.03, .seed = 1}, weighed = plain;
    double                   before, after;

    for (int64_t i = 0; i < EACH; i++) {
        weight[i] = unit * (spmm_test_env.rank * (int64_t)EACH + i < quarter ? HEAVY : 1);
    }
    weighed.weight = weight;
    before         = uneven(A, weight, &plain, method);
    after          = uneven(A, weight, &weighed, method);
    if (after > 1.06 || (spmm_test_env.size > 1 && before < 1.4)) {
        fail_msg("%s: largest over mean %.3f, without weights %.3f", method, after, before);
    }
    spmmi_matrix_free(A);
}

static void test_block(void **state)
{
    check("block", 1);
    check("block", INT64_C(1) << 40);
}

static void test_graphs(void **state)
{
#ifdef SPMM_HAVE_METIS
    check("metis", 1);
    check("metis", INT64_C(1) << 40);
#endif
#ifdef SPMM_HAVE_PTSCOTCH
    check("ptscotch", 1000);
#endif
}

SPMM_TESTS(test_block, test_graphs);
