/* SPDX-License-Identifier: Apache-2.0 */
/** @file format_case.h  CSR blocks for tests of local formats, and their products in FP64. */
#ifndef SPMM_FORMAT_CASE_H
#define SPMM_FORMAT_CASE_H

#include "test_main.h"

#include "cpu/windows/tc_mm.h"
#include "matrix/csr.h"

enum { FORMAT_CASE_COLS = 256 }; /**< most columns of a block whose columns are listed */

/** A block of random entries, each there with @p density; the values of some are 0 or -0.
 *  @param[in] mapped  into every other row of C */
void format_case_random(int32_t n_rows, int32_t n_cols, double density, spmm_type_t type,
                        bool mapped, uint64_t seed, spmm_csr_t *block);
/** Let it go into every other row of C. */
void format_case_map(spmm_csr_t *block);
/** All of a matrix: of a file when @p spec has a '/', of a generator when it has a ':', else of a
 *  file of tests/data. */
void format_case_matrix(const char *spec, spmm_type_t type, spmm_csr_t *block);

/** Small shapes, empty ones among them, ended by a density below 0. */
typedef struct {
    int32_t n_rows, n_cols;
    double  density;
} format_shape_t;
extern const format_shape_t format_shapes[];

/** Every generator, and files, ended by NULL. */
extern const char *const format_matrices[];

/** Call @p check for format_matrices and for every *.mtx.gz of the folder SPMM_MATRIX_DIR; says so
 *  when there is none. */
void format_case_each(spmm_type_t type, void (*check)(const char *spec, const spmm_csr_t *block));

/** Place k of entry (row, col) of @p block, -1: there is none. */
int64_t format_case_find(const spmm_csr_t *block, int32_t row, int32_t col);

/** The columns with an entry in rows @p first .. @p first + @p height, by looking at every place.
 *  @return how many they are */
int32_t format_case_active(const spmm_csr_t *block, int32_t first, int32_t height,
                           int32_t active[FORMAT_CASE_COLS]);

/** Assert that the blocks of each window have the entries of its rows in @p block, those of a row
 *  in their order, with the same bits, and no others. */
void format_case_assert_holds(const spmm_tc_view_t *A, const spmm_csr_t *block);

#endif /* SPMM_FORMAT_CASE_H */
