/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 9 */
/* Every partitioner on every rule and split, against definitions evaluated on the whole matrix. */
#include "partition/partition.h"

#include "base/comm.h"
#include "base/nodes.h"
#include "test_main.h"
#include "test_matrix.h"

enum { MAX_RANKS = 16, MAX_COLS = 256 };

static const spmm_partition_options_t defaults = {.imbalance = 1.03, .seed = 1};

/** The whole partition, and what it costs by definition. */
typedef struct {
    int32_t *row, *col;
    int64_t  nnz[MAX_RANKS], halo[MAX_RANKS];
    int64_t  uses[MAX_COLS][MAX_RANKS]; /**< entries of a part in a column */
} reference_t;

static reference_t ref;

static void make_reference(const spmm_test_rule_t *rule, const spmm_matrix_t *A,
                           const spmm_partition_t *partition)
{
    assert_true(rule->cols <= MAX_COLS && spmm_test_env.size <= MAX_RANKS);
    memset(&ref, 0, sizeof ref);
    ref.row = spmm_test_gather(A->row_offset, partition->row_part);
    ref.col = spmm_test_gather(A->col_offset, partition->col_part);
    for (int64_t i = 0; i < rule->rows; i++) {
        assert_in_range(ref.row[i], 0, spmm_test_env.size - 1);
        for (int64_t j = 0; j < rule->cols; j++) {
            if (rule->has(i, j)) {
                ref.nnz[ref.row[i]]++;
                ref.uses[j][ref.row[i]]++;
            }
        }
    }
    for (int64_t j = 0; j < rule->cols; j++) {
        assert_in_range(ref.col[j], 0, spmm_test_env.size - 1);
        for (int p = 0; p < spmm_test_env.size; p++) {
            ref.halo[p] += p != ref.col[j] && ref.uses[j][p] > 0;
        }
    }
}

static void free_reference(void)
{
    spmmi_free_all(ref.row, ref.col);
}

/* Each row once for each other node with an entry in its column; the adapters of a node share. */
static void check_network(const spmm_matrix_t *A, const spmm_partition_t *partition,
                          const spmm_nodes_t *nodes)
{
    int64_t                through[MAX_RANKS][2] = {{0}}, total = 0, max = 0;
    spmm_partition_score_t score;

    for (int64_t j = 0; j < A->cols; j++) {
        for (int k = 0; k < nodes->count; k++) {
            int64_t uses = 0;

            for (int at = nodes->first[k]; at < nodes->first[k + 1]; at++) {
                uses += ref.uses[j][nodes->rank[at]];
            }
            if (uses > 0 && k != nodes->node[ref.col[j]]) {
                total++;
                through[nodes->node[ref.col[j]]][0]++;
                through[k][1]++;
            }
        }
    }
    for (int k = 0; k < nodes->count; k++) {
        const int64_t ranks = nodes->first[k + 1] - nodes->first[k];
        const int64_t most  = through[k][0] > through[k][1] ? through[k][0] : through[k][1];

        max = most > max * ranks ? (most + ranks - 1) / ranks : max;
    }
    spmm_assert_ok(spmmi_partition_score(A, partition, nodes, &score));
    assert_int_equal(score.network_total, nodes->most > 1 ? total : 0);
    assert_int_equal(score.network_max, nodes->most > 1 ? max : 0);
}

static void check_score(const spmm_matrix_t *A, const spmm_partition_t *partition)
{
    spmm_partition_score_t score;
    int64_t                nnz_max = 0, total = 0, max = 0;
    static int             calls;
    spmm_nodes_t           nodes;

    if (calls++ % 5 == 0) { /* communication is what takes the time */
        spmm_assert_ok(
            spmmi_nodes_split(&spmm_test_env.err, spmm_test_env.size, 1 + calls % 4, &nodes));
        check_network(A, partition, &nodes);
        spmmi_nodes_free(&nodes);
    }
    spmm_assert_ok(spmmi_partition_score(A, partition, NULL, &score));
    assert_int_equal(score.network_total + score.network_max, 0);
    for (int p = 0; p < spmm_test_env.size; p++) {
        nnz_max = ref.nnz[p] > nnz_max ? ref.nnz[p] : nnz_max;
        max     = ref.halo[p] > max ? ref.halo[p] : max;
        total += ref.halo[p];
    }
    assert_int_equal(score.halo_total, total);
    assert_int_equal(score.halo_max, max);
    if (A->nnz == 0) {
        assert_true(score.imbalance == 1.0);
    } else {
        const double mean = (double)A->nnz / spmm_test_env.size;

        assert_true(fabs(score.imbalance - (double)nnz_max / mean) < 1e-12 * score.imbalance);
    }
}

/* Square: columns go with their rows.  Other: to the part that uses them most. */
static void check_columns(const spmm_matrix_t *A, const spmm_partition_t *partition)
{
    for (int64_t j = 0; j < A->cols; j++) {
        int32_t expected = (int32_t)spmmi_owner(A->col_offset, spmm_test_env.size, j);
        int64_t most     = 0;

        for (int32_t p = 0; p < spmm_test_env.size; p++) {
            if (ref.uses[j][p] > most) {
                most     = ref.uses[j][p];
                expected = p;
            }
        }
        if (spmmi_matrix_is_square(A)) {
            expected = ref.row[j];
        } else if (strcmp(partition->method, "keep") == 0) {
            expected = (int32_t)spmmi_owner(A->col_offset, spmm_test_env.size, j);
        }
        assert_int_equal(ref.col[j], expected);
    }
}

static void check_method(const spmm_test_rule_t *rule, const spmm_matrix_t *A, const char *spec,
                         const char *objective)
{
    spmm_partition_options_t options = defaults;
    spmm_partition_t         partition;
    bool                     keep = true;

    options.objective = objective;
    spmm_assert_ok(spmmi_partition_create(A, spec, &options, &partition));
    if (strcmp(spec, "auto") != 0) {
        assert_string_equal(partition.method, spec);
    }
    make_reference(rule, A, &partition);
    check_score(A, &partition);
    check_columns(A, &partition);
    for (int64_t i = 0; i < A->rows; i++) {
        keep = keep && ref.row[i] == spmmi_owner(A->row_offset, spmm_test_env.size, i);
    }
    for (int64_t j = 0; j < A->cols; j++) {
        keep = keep && ref.col[j] == spmmi_owner(A->col_offset, spmm_test_env.size, j);
    }
    assert_int_equal(partition.keep, keep);
    free_reference();
    spmmi_partition_free(&partition);
}

static bool needs_no_file(const spmm_partitioner_t *method)
{
    return method->built && strcmp(method->name, "file") != 0;
}

static void check_all_methods(const spmm_test_rule_t *rule, const spmm_matrix_t *A)
{
    for (int k = 0; k < spmmi_n_partitioners; k++) {
        if (needs_no_file(spmmi_partitioners[k])) {
            check_method(rule, A, spmmi_partitioners[k]->name, NULL);
        }
    }
#ifdef SPMM_HAVE_METIS
    check_method(rule, A, "metis", "vol");
    check_method(rule, A, "metis", "cut");
#endif
#ifdef SPMM_HAVE_PTSCOTCH
    check_method(rule, A, "ptscotch", "cut");
#endif
    check_method(rule, A, "auto", "vol");
}

static void test_methods(void **state)
{
    spmm_test_all_matrices(check_all_methods);
}

/* Parts ascend with the rows, and none is off the mean by more than a row; without entries rows
 * are split evenly. */
static void check_block(const spmm_test_rule_t *rule, const spmm_matrix_t *A)
{
    const int        size = spmm_test_env.size;
    spmm_partition_t partition;
    int64_t          heaviest = 0, rows[MAX_RANKS] = {0};

    spmm_assert_ok(spmmi_partition_create(A, "block", &defaults, &partition));
    make_reference(rule, A, &partition);
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t length = 0;

        assert_true(i == 0 || ref.row[i - 1] <= ref.row[i]);
        rows[ref.row[i]]++;
        for (int64_t j = 0; j < A->cols; j++) {
            length += rule->has(i, j);
        }
        heaviest = length > heaviest ? length : heaviest;
    }
    for (int p = 0; p < size; p++) {
        assert_true(ref.nnz[p] <= A->nnz / size + heaviest + 1);
        assert_true(ref.nnz[p] >= A->nnz / size - heaviest - 1);
        if (A->nnz == 0) {
            assert_in_range(rows[p], A->rows / size, A->rows / size + 1);
        }
    }
    free_reference();
    spmmi_partition_free(&partition);
}

static void test_block(void **state)
{
    spmm_test_all_matrices(check_block);
}

static void test_default_is_keep(void **state)
{
    spmm_matrix_t   *A = spmm_test_matrix(&spmm_test_rules[7], SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    spmm_partition_t partition;

    spmm_assert_ok(spmmi_partition_create(A, NULL, NULL, &partition));
    assert_string_equal(partition.method, "keep");
    assert_true(partition.keep);
    spmmi_partition_free(&partition);
    spmmi_matrix_free(A);
}

/* Columns of parts no partitioner makes: drawn at random, so that ties and minorities occur. */
static void check_random_parts(const spmm_test_rule_t *rule, const spmm_matrix_t *A)
{
    spmm_partition_t partition = {.method = "random"};

    assert_non_null(SPMM_NEW(partition.row_part, A->n_rows));
    assert_non_null(SPMM_NEW(partition.col_part, A->n_cols));
    for (int32_t i = 0; i < A->n_rows; i++) {
        partition.row_part[i] = (int32_t)spmmi_below(
            spmmi_hash2(11, A->row_offset[spmm_test_env.rank] + i, 0), spmm_test_env.size);
    }
    spmm_assert_ok(spmmi_partition_columns(A, &partition));
    make_reference(rule, A, &partition);
    check_score(A, &partition);
    if (!spmmi_matrix_is_square(A)) {
        check_columns(A, &partition);
    }
    free_reference();
    spmmi_partition_free(&partition);
}

static void test_random_parts(void **state)
{
    spmm_test_all_matrices(check_random_parts);
}

static void expect_error(const spmm_matrix_t *A, const char *spec,
                         const spmm_partition_options_t *options, const char *sentence)
{
    spmm_partition_t partition;

    spmm_assert_error(spmmi_partition_create(A, spec, options, &partition), SPMM_ERR_ARGUMENT,
                      sentence);
    assert_null(partition.row_part);
    assert_null(partition.col_part);
}

static void test_bad_arguments(void **state)
{
    spmm_matrix_t *A = spmm_test_matrix(&spmm_test_rules[7], SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    const spmm_partition_options_t small = {.imbalance = 0.5};

    expect_error(A, "blocks", NULL, "unknown partition 'blocks': known are keep, block, metis");
    expect_error(A, "", NULL, "unknown partition ''");
    expect_error(A, "file", NULL, "file:PATH");
    expect_error(A, "file:", NULL, "file:PATH");
    expect_error(A, "block:4", NULL, "takes nothing");
    expect_error(A, "block", &small, "imbalance 0.5");
    spmmi_matrix_free(A);
}

SPMM_TESTS(test_methods, test_block, test_default_is_keep, test_random_parts, test_bad_arguments);
