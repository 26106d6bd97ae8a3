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
    VALUES_EQUAL,   /**< 64 in A and B, 36864 in C; likewise */
    VALUES_WIDE,    /**< real, over the range of the type, with empty rows; as VALUES_DRAWN */
    VALUES_SPOILED, /**< the same, Inf and NaN in B */
    VALUES_DENORMAL /**< the same, a third of A and B below the normal range */
} values_t;

/** One product to check. */
typedef struct {
    spmm_type_t    type;              /**< of A */
    int64_t        n, planned_n, pad; /**< planned_n 0: n; pad: extra leading dimension */
    int64_t        shift;             /**< elements that B and C begin late */
    double complex alpha, beta;       /**< imaginary parts: by spmm_execute_scaled() */
    values_t       values;
    int64_t        dense_col; /**< of A, counted from 1, is full; 0: none */
    /** Uneven: rows of the second half have half of all entries, others few; blocks: half of those
     *  of nine blocks along the diagonal; of both every seventh row has none. */
    enum { SHAPE_EVEN, SHAPE_UNEVEN, SHAPE_BLOCKS } kind;
    bool                narrow;     /**< A from 32-bit indices, its arrays on the device */
    bool                apart;      /**< rows on rank 0, columns on the last rank */
    bool                may_refuse; /**< a plan that is refused on all ranks alike passes, too */
    bool                unchecked;  /**< C is not compared: its bits are what is asked for */
    int                 repeats;    /**< more products into the same C, where beta is 0 */
    double              bound;      /**< of C, by check_plan() */
    spmm_plan_options_t o; /**< layout AUTO: row-major; tuning: with that of test_context.h */
} product_t;

/** The context of the cases. */
extern spmm_context_t *ctx;

/** What failures of the next products name themselves by; printf. */
#define plan_case_label(...) (void)snprintf(plan_case_name, sizeof plan_case_name, __VA_ARGS__)
extern char plan_case_name[64];

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

/** Plan and run @p p on a matrix of @p s, with the caller's rows in uneven blocks: as created, with
 *  new values, with fewer columns; C compared in the plan's layout and moved back, and nothing
 *  written beside it.  A deterministic plan is made twice and gives the same bits.
 *  @return was the plan made? */
bool check_plan(const shape_t *s, const product_t *p);

/** This rank's part of the matrix, with the first values. */
spmm_matrix_t *plan_case_matrix(const shape_t *s, const product_t *p);
/** The second values for it. */
void plan_case_update(const shape_t *s, const product_t *p, spmm_matrix_t *A);
/** One product of a plan of that matrix, which has o.op, o.layout and types of @p p, checked with
 *  the first values.
 *  @return the plan's C as it lies in memory, to be freed */
void *plan_case_run(const shape_t *s, const product_t *p, spmm_plan_t *plan, size_t *bytes);

#endif /* SPMM_PLAN_CASE_H */
