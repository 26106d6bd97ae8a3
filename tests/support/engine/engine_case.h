/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine_case.h
 *  One engine on one device against an FP64 product of the same stored values; any engine can be
 *  put through it.
 */
#ifndef SPMM_ENGINE_CASE_H
#define SPMM_ENGINE_CASE_H

#include "device_test.h"

#include "engine/engine.h"

/** Row lengths of a test block. */
typedef enum {
    MIXED,        /**< 1 to 20, every fifth row empty */
    NO_ENTRIES,   /**< none */
    DENSE_ROW,    /**< MIXED with row 3 full */
    DENSE_ROWS,   /**< MIXED with row 3 and the last row full */
    EMPTY_STRIPES /**< MIXED with rows 32 to 63 of every 96 empty: whole windows of any format */
} pattern_kind_t;

/** A block with random values; @p mapped: into every other row of C. */
void make_block(int32_t n_rows, int32_t n_cols, pattern_kind_t kind, spmm_type_t type, bool mapped,
                spmm_csr_t *block);

/** One execute: shape, scalars, dense blocks on the host. */
typedef struct {
    const spmm_csr_t *block;
    spmm_problem_t    problem;
    double            alpha, beta;
    int64_t           shift;  /**< elements that B and C start behind an aligned address */
    int64_t           more_c; /**< what ldc is padded by more than ldb */

    /* By make_product(): */
    int64_t n, ldb, ldc, b_size, c_size;
    void   *B, *C, *got; /**< C before and after */
} product_t;

/** Allocate and draw B and C for @p n columns, leading dimensions @p extra above the least, nothing
 *  behind the last element; C is NaN where beta == 0.  Free with free_product(). */
void make_product(product_t *p, int64_t n, int64_t extra);
void free_product(product_t *p);

/** As an engine gets them, with @p B and @p C on the device. */
spmm_operands_t operands_of(const product_t *p, const void *B, void *C, spmm_stream_t stream);

/** Execute on a stream of its own and fetch C into p->got; asserts that nothing is allocated. */
void run_product(const spmm_engine_ops_t *engine, const spmm_device_t *device, void *format,
                 product_t *p);

/** Where a product is farthest from its reference. */
typedef struct {
    double  error; /**< |got - want| / (|alpha| |A| |B| + |beta C|), beyond what underflow explains;
                        INFINITY for a number in place of Inf or NaN, or the other way round */
    int32_t row;   /**< of A */
    int64_t col;
    double  got, want;
} worst_t;

/** Compare with the sums over the stored entries as IEEE arithmetic defines them: NaN where those
 *  are NaN, the same infinity where they are infinite or overflow the type of C, else near. */
worst_t product_worst(const product_t *p);
/** The most that worst_t.error may be, by compute mode and type of C. */
double product_bound(const spmm_problem_t *problem);
/** Assert product_worst() within product_bound() where a row of A maps, the old bits everywhere
 *  else. */
void check_product(const product_t *p);

/** Build once and execute with changing n, ld and scalars, as plans do. */
void check_engine_block(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                        const spmm_csr_t *block, spmm_type_t c_type, spmm_layout_t layout,
                        int64_t planned, bool deterministic);

/** New values for the same pattern, twice, with zeros where there were none and the other way
 *  round. */
void check_refill(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                  const spmm_problem_t *problem);

/** Every allocation of build() fails once: an error or a success, and nothing is left.
 *  @param[in] block  NULL: one of a row that is full
 *  @param[in] least  failures there must be */
void check_build_failures(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                          const spmm_problem_t *problem, const spmm_csr_t *block, int least);

/** Equal bits over @p runs executes of one format and over rebuilt ones. */
void check_same_bits(const spmm_engine_ops_t *engine, const spmm_device_t *device, product_t *p,
                     int runs);

#endif /* SPMM_ENGINE_CASE_H */
