/* SPDX-License-Identifier: Apache-2.0 */
/** @file operands.h
 *  The dense side of one product: what spmm_execute() is called with, checked once, and passed
 *  on by address from the API through plan and engine to the kernels.  Who multiplies another
 *  part of it (a slice, a copy of B) copies the struct and changes what differs.
 */
#ifndef SPMM_OPERANDS_H
#define SPMM_OPERANDS_H

#include "spmm_dist/types.h"

/** A factor.  Real products read re; im is 0. */
typedef struct {
    double re, im;
} spmm_scalar_t;

/** Does a product with this beta not read C? */
static inline int spmmi_scalar_is_zero(spmm_scalar_t x)
{
    return x.re == 0.0 && x.im == 0.0;
}

/** Layout of operands and problems inside the library: row-major B, column-major C.  Kernels that
 *  read rows of B can write their sums into columns of C as well as into rows. */
#define SPMM_LAYOUT_MIXED ((spmm_layout_t)16)

/** Bytes of A, B and C that all stay in an L2 of 40 MB or more. */
#define SPMM_STAYS 32e6

/** Rows of B that may be on their way: they are there once the word is @p number, or one of those
 *  that come after it, modulo 2^32. */
typedef struct {
    const uint32_t *word; /**< device memory; NULL: the rows are there */
    uint32_t        number;
} spmm_until_t;

/** How the first kernel of a product follows what is in front of it in its stream.  Engines that do
 *  not say that they follow know the first way alone. */
typedef enum {
    SPMM_FOLLOWS_LAST, /**< when the last kernel has ended; launched early where it waits itself */
    /** Beside the last kernel, which began when all in front of it had ended, says when the next
     *  may begin, and writes nothing that this product reads or writes. */
    SPMM_FOLLOWS_CONCURRENT,
    /** When all has ended, also what the last kernel ran beside: launched in the order of the
     *  stream, which the launch of the last one left for itself alone. */
    SPMM_FOLLOWS_ALL
} spmm_follows_t;

/** C = alpha * A * B + beta * C; beta 0: C is not read.  Types and layout are those that the
 *  format of A was built for. */
typedef struct {
    spmm_type_t   ab_type, c_type; /**< of B, which is that of A, and of C */
    spmm_layout_t layout;          /**< ROW or COL, of B and C, or MIXED */
    int64_t       n;               /**< columns of B and C */
    spmm_scalar_t alpha, beta;
    const void   *B;
    int64_t       ldb; /**< elements, as all leading dimensions */
    void         *C;
    int64_t       ldc;
    spmm_stream_t stream;
    /** When B is there, for an engine whose product waits itself. */
    spmm_until_t   until;
    spmm_follows_t follows; /**< LAST where the engine does not follow */
} spmm_operands_t;

#endif /* SPMM_OPERANDS_H */
