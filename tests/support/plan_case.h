/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_case.h  Small matrices whose entries are functions of (i, j), and their products
 *  through a whole plan checked against the dense FP64 product. */
#ifndef SPMM_PLAN_CASE_H
#define SPMM_PLAN_CASE_H

#include "reference.h"
#include "test_context.h"

/** A test matrix: shape, and how its entries are drawn. */
typedef struct {
    int64_t rows, cols;
    int     one_in;    /**< an entry at about every one_in-th place; 0: no entries */
    int64_t dense_row; /**< this row is full; -1: none */
} shape_t;

/** Elements of A, B and C, and what C must be near to. */
typedef enum {
    VALUES_DRAWN, /**< of magnitude 1/4 to 1, either sign; near to the magnitudes of all terms */
    /** Sums of a half of the terms are beyond the range of FP16, those of all are not: A is
     *  symmetric in its rows and in its columns, B antisymmetric in its rows but for the first.
     *  C must be what sums in FP32 are, rounded once. */
    VALUES_CANCEL,
    VALUES_EQUAL /**< 64 in A and B, 36864 in C; likewise */
} values_t;

/** One product to check. */
typedef struct {
    spmm_type_t    type, c_type; /**< c_type SPMM_TYPE_AUTO: type */
    spmm_type_t    b_type;       /**< SPMM_TYPE_AUTO: type; else complex, and so is C */
    spmm_op_t      op;
    spmm_layout_t  layout;
    const char    *partition;
    int64_t        n, planned_n, pad; /**< planned_n 0: n; pad: extra leading dimension */
    double complex alpha, beta;       /**< with imaginary parts by spmm_execute_scaled() */
    const char    *engine;            /**< NULL: the plan chooses */
    const char    *tuning;            /**< likewise; the plan option */
    const char    *transport;         /**< likewise; one that refuses to be used passes */
    values_t       values;
    int64_t        inner; /**< rows of B, by check_plan() */
    bool           reproducible;
    bool           narrow; /**< A from 32-bit indices, its arrays on the device */
} product_t;

/** The context of the cases. */
extern spmm_context_t *ctx;
/** Plans that were made. */
extern int plans_made;

/** Make ctx: test_context_open(). */
void open_context(void);
void close_context(void);

/** The tests of a program, each of them between open_context() and close_context(). */
#define PLAN_TESTS(...)                                                                            \
    void spmm_test_set_up(void)                                                                    \
    {                                                                                              \
        open_context();                                                                            \
    }                                                                                              \
    void spmm_test_tear_down(void)                                                                 \
    {                                                                                              \
        close_context();                                                                           \
    }                                                                                              \
    SPMM_TESTS(__VA_ARGS__)

/** Memory of the context's device with what @p host holds; release with spmm_buffer_free(). */
void *to_device(const void *host, size_t bytes);
/** The same for indices, which become 32-bit ones there. */
void *to_device_narrow(const int64_t *host, int64_t count);

/** Plan and run p on a matrix of @p s, with the caller's rows in uneven blocks: as created, with
 *  new values, with fewer columns; C compared in the plan's layout and moved back. */
void check_plan(const shape_t *s, const product_t *p);

#endif /* SPMM_PLAN_CASE_H */
