/* SPDX-License-Identifier: Apache-2.0 */
/** @file args.h
 *  What the kernels of SDDMM and of the softmax of its rows take, on CPUs and GPUs.
 */
#ifndef SPMM_ENGINE_SDDMM_ARGS_H
#define SPMM_ENGINE_SDDMM_ARGS_H

#include <stdbool.h>

#include "engine/windows/tc_args.h"

/* SDDMM: S = alpha * (X Y^T at the entries of a mask) + beta * S. */
enum {
    SPMM_SDDMM_TASK       = 8,   /**< most entries of a task */
    SPMM_SDDMM_TILE       = 32,  /**< vectors of a tile: TileN of vectorSparse, section 6.4 */
    SPMM_SDDMM_BATCH      = 32,  /**< most entries of a batch for tensor cores */
    SPMM_SDDMM_BATCH_ROWS = 8,   /**< most rows of X that they are in */
    SPMM_SDDMM_SQUARE     = 128, /**< rows, and columns, of a square */
    SPMM_SDDMM_STRIP      = 16,  /**< rows of a square whose entries follow each other */
    SPMM_SDDMM_STRIPS     = SPMM_SDDMM_SQUARE / SPMM_SDDMM_STRIP,
    SPMM_SDDMM_SWEPT      = 256, /**< most columns of X and Y in one sweep over squares */
    SPMM_SDDMM_LINE       = 128, /**< bytes of a row at a time in rectangles */
    SPMM_SDDMM_BOX        = 256, /**< most rows that a tensor map copies at a time */
    SPMM_SDDMM_REACH      = 704, /**< most tasks of a rectangle: one for each thread */
    SPMM_SDDMM_HELD       = 64   /**< most batches of one in 16 bits: four for each warp */
};

/** Entries of a mask in the order of rows, in tasks of a few entries of one row. */
typedef struct {
    int32_t        n_tasks;
    const int32_t *row;   /**< [n_tasks] row of X */
    const int32_t *first; /**< [n_tasks + 1] first entry of each */
    const int32_t *col;   /**< [entries] row of Y */
    const int32_t *place; /**< [entries] where in S; NULL: entry e at place e */
} spmm_sddmm_tasks_t;

/** A mask in squares of rows and columns, all of whose places are multiplied.  Squares come in
 *  couples, number 2 c above number 2 c + 1, where one of the two has an entry; couples by rows,
 *  then columns. */
typedef struct {
    int32_t         n_rows, n_cols, n_squares;
    const int32_t  *corner;  /**< [n_squares * 2] first row and column of each */
    const int32_t  *first;   /**< [n_squares * SPMM_SDDMM_STRIPS + 1] first entry of each strip */
    const uint16_t *entry;   /**< [entries] row * SPMM_SDDMM_SQUARE + column, of the square */
    const int32_t  *shift;   /**< [n_squares * SPMM_SDDMM_SQUARE] of each row of a square: entry e
                                  goes to place e + shift of S; NULL: `place` says where */
    const int32_t  *place;   /**< [entries] where in S; NULL: `shift` says so */
    const int32_t  *row_map; /**< [n_rows] row of X of each row; NULL: the identity */
} spmm_sddmm_squares_t;

/** A mask in rectangles of rows and columns whose rows of X and Y fit shared memory, line by line;
 *  rectangles without an entry are left out. */
typedef struct {
    int32_t         n_rectangles;
    int32_t         n_rows, n_cols; /**< of the mask */
    int32_t         rows, cols;     /**< of a rectangle; at the edges of the mask fewer */
    const int32_t  *range; /**< [n_rectangles * 4] first row, first column, first task and the one
                                behind the last, up to SPMM_SDDMM_REACH on; in 16 bits batches, up
                                to SPMM_SDDMM_HELD */
    const int32_t  *task;  /**< [tasks * 2] up to SPMM_SDDMM_TASK entries of a row whose places in S
                                follow each other: that row of the rectangle in the lower 16 bits,
                                their number in the upper ones; place of the first.  Those of most
                                entries come first */
    const uint16_t *col;   /**< [tasks * SPMM_SDDMM_TASK] columns of the rectangle; past the last
                                entry the first one again */
    /* In 16 bits instead of both: batches, whose even slots are entries of even ones of 8 rows. */
    const int32_t  *entry; /**< [batches * SPMM_SDDMM_BATCH] column of the rectangle in the lower 16
                                bits, which of the rows in the upper ones; 0: none */
    const int32_t  *place; /**< [batches * SPMM_SDDMM_BATCH] where in S; -1: no entry */
    const uint16_t *row;   /**< [batches * SPMM_SDDMM_BATCH_ROWS] of the rectangle */
    const int32_t  *row_map; /**< [n_rows] row of X of each row; NULL: the identity */
} spmm_sddmm_rectangles_t;

/** Do thread blocks of a device of this capability, as 90 for 9.0, have tensor maps and shared
 *  memory for rectangles?  Those of 12.x have 99 KiB. */
static inline bool spmmi_sddmm_holds_rectangles(int cc)
{
    return cc >= 90 && cc < 120;
}

/** What says where the results of a tile go. */
typedef enum {
    SPMM_SDDMM_ROWS,    /**< [tiles * height * 2] for each row the place of its first entry in the
                             tile, which the others follow, and a word whose bit p is set where
                             vector p has one */
    SPMM_SDDMM_VECTORS, /**< [tiles * 32] place of row 0 of each vector, an even number; the others
                             follow */
    SPMM_SDDMM_EACH     /**< [tiles * 32 * height] place of row r of vector p at p * height + r; -1:
                             not in the mask */
} spmm_sddmm_order_t;

/** A mask in windows of 8 or 16 rows, their vectors in tiles of 32 (vectorSparse, section 6). */
typedef struct {
    int32_t            n_rows, n_tiles;
    int32_t            height; /**< V: rows of a window: 8 or 16 */
    const int32_t     *window; /**< [n_tiles] */
    const int32_t     *col; /**< [n_tiles * 32] row of Y of each vector; SPMM_TC_NO_COLUMN past the
                                     last one of a window */
    const int32_t     *row_map; /**< [n_rows] row of X of each row; NULL: the identity */
    spmm_sddmm_order_t order;
    const int32_t     *place; /**< by order; at a multiple of 8 bytes */
} spmm_sddmm_tiles_t;

/** The dense side. */
typedef struct {
    spmm_type_t type, s_type; /**< of X and Y; of S: that or, for 16-bit ones, FP32 */
    int64_t     k;            /**< columns of X and Y */
    double      alpha, beta;
    const void *X, *Y; /**< row-major */
    int64_t     ldx, ldy;
    void       *S;
    int         n_sm;    /**< multiprocessors of the device */
    int         cc;      /**< its compute capability, as 90 for 9.0 */
    int         threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
    bool       *no_map;  /**< host; a launcher says here that it takes a slower kernel since the
                              driver makes no tensor map of X or Y */
} spmm_sddmm_args_t;

/** P = softmax of scale * S over the entries of each row: exp(x - max) / sum.  Rows come in
 *  groups of `vector` with entries in the same columns, whose values follow each other; 1: rows
 *  of their own. */
typedef struct {
    int32_t        n_groups;
    int32_t        vector;    /**< 1, 2, 4, 8 or 16 */
    const int32_t *group_ptr; /**< [n_groups + 1] vectors */
    const int32_t *place; /**< [vectors] where in S and P the first value of each stands; NULL: that
                                   of vector p at p * vector */
    spmm_type_t    s_type, p_type;
    double         scale;
    const void    *S;
    void          *P;       /**< may be S where the types are equal */
    int            threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_softmax_args_t;

#endif /* SPMM_ENGINE_SDDMM_ARGS_H */
