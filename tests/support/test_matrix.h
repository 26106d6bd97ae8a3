/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_matrix.h  Small matrices given by a rule, which every rank can evaluate everywhere:
 *  references need no communication. */
#ifndef SPMM_TEST_MATRIX_H
#define SPMM_TEST_MATRIX_H

#include "matrix/matrix.h"

/** How the rows and columns of a test matrix are split over the ranks. */
typedef enum {
    SPMM_TEST_EVEN,
    SPMM_TEST_FIRST_EMPTY, /**< rank 0 owns nothing, unless it is alone */
    SPMM_TEST_ALL_ON_LAST
} spmm_test_split_t;

typedef struct {
    const char *name;
    int64_t     rows, cols;
    bool (*has)(int64_t i, int64_t j);
} spmm_test_rule_t;

/** The matrix of @p rule, FP64, every value 1.  Collective; asserts that it can be made. */
spmm_matrix_t *spmm_test_matrix(const spmm_test_rule_t *rule, spmm_test_split_t row_split,
                                spmm_test_split_t col_split);

/** The FP32 matrix of a generator on the ranks of @p env. */
spmm_matrix_t *spmm_test_generate(spmm_env_t *env, const char *spec, uint64_t seed);
/** An environment of this rank alone. */
spmm_env_t spmm_test_alone(void);
/** Has row @p r of this rank an entry in column @p col? */
bool spmm_test_has(const spmm_matrix_t *A, int32_t r, int64_t col);

/** A whole matrix, as every rank has it. */
typedef struct {
    int64_t        rows, cols;
    const int64_t *row_ptr, *col_idx;
    const void    *values; /**< in the type of what is compared with it */
} spmm_test_csr_t;

/** Assert that the ranks have its rows, each a part of them in turn. */
void spmm_test_assert_rows(const spmm_matrix_t *A, const spmm_test_csr_t *want);

/** Keep what is logged from now on, or no more.  @return the lines kept, or those of before */
const char *spmm_test_keep_log(bool keep);

/** Call @p check with the matrix of every rule in every split. */
void spmm_test_all_matrices(void (*check)(const spmm_test_rule_t *rule, const spmm_matrix_t *A));

/** Parts of this rank's indices to parts of all, [offset[size]], freed with spmmi_free(). */
int32_t *spmm_test_gather(const int64_t *offset, const int32_t *part);

/** A bipartite graph: rows with equal columns lie far apart. */
extern const spmm_test_rule_t spmm_test_hidden;

/** Square and rectangular rules, regular and not, ended by one without a name. */
extern const spmm_test_rule_t spmm_test_rules[];

#endif /* SPMM_TEST_MATRIX_H */
