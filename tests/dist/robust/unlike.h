/* SPDX-License-Identifier: Apache-2.0 */
/** @file unlike.h  What walks of test_unlike.c draw, and how one rank's arguments differ. */
#ifndef SPMM_UNLIKE_H
#define SPMM_UNLIKE_H

#include "draw.h"

#include "spmm_dist/spmm_dist.h"

enum { MOST_N = 9 };

/** Where the one rank differs. */
typedef enum { NOWHERE, CONTEXT, MATRIX, PLAN, EXECUTE, MOVE, VALUES, STAGES } stage_t;

/** Some of the arguments of an execute. */
enum { ALPHA = 5, BETA };

/** What all ranks draw alike, and the draws that are left. */
typedef struct {
    draw_t        d;
    stage_t       stage;
    int           which; /**< of the arguments of that stage */
    bool          mine;  /**< this rank is the one */
    bool          slow;
    int64_t       rows, cols, n; /**< of A; planned columns */
    spmm_op_t     op;
    spmm_layout_t layout;

    spmm_context_t *ctx;
    spmm_matrix_t  *A;
    spmm_plan_t    *plan;
    double         *values; /**< of this rank's rows */
    uint64_t        seed;   /**< of the values that A has */
} walk_t;

/** A caller's arrays. */
typedef struct {
    int64_t n_rows, n_cols, *ptr, *col;
} arrays_t;

/** One execute, as this rank asks for it. */
typedef struct {
    int64_t        n, ldb, ldc;
    double         alpha, beta;
    uint64_t       seed;
    double        *B, *C;
    const int64_t *b_row, *c_row;
    int64_t        b_rows, c_rows;
} product_t;

walk_t make_walk(int64_t number, bool slow);

/** Is this where the rank differs, and does it by argument @p which? */
bool differs(const walk_t *w, stage_t stage, int which);

/* The arguments of the one rank. */
void differ_context(const walk_t *w, spmm_context_options_t *o);
void differ_matrix(const walk_t *w, arrays_t *a, spmm_type_t *type);
void differ_plan(const walk_t *w, int64_t *n, spmm_plan_options_t *o);
void differ_execute(const walk_t *w, product_t *p);

#endif /* SPMM_UNLIKE_H */
