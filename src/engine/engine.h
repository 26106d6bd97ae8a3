/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.h
 *  An engine is one local format with its kernels: C = alpha * A_block * B + beta * C.  It never
 *  communicates.  Add one by writing its spmm_engine_ops_t in a folder of its own and one line in
 *  engine_list.h; nothing else changes.
 */
#ifndef SPMM_ENGINE_ENGINE_H
#define SPMM_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/candidate.h"
#include "device/device.h"
#include "engine/pattern.h"
#include "matrix/csr.h"
#include "operands.h"

/** The product asked for; op T has become a transposed block before it gets here. */
typedef struct {
    spmm_type_t    ab_type, c_type;
    spmm_compute_t compute; /**< 64F, 32F or 32F_FAST_TF32 */
    spmm_layout_t  layout;  /**< ROW or COL, of B and C, or MIXED */
    int64_t        n;       /**< most columns */
    bool           deterministic;
    /** Of the block given to build(), borrowed during the call; NULL: build() finds what it
     *  needs */
    const spmm_pattern_t *pattern;
    bool exact;    /**< entries that A does not store take no part, also where B holds Inf or NaN */
    bool in_order; /**< what a row of C becomes depends on the entries of this row alone, as the
                        block has them: their columns may ascend or not */
    int  variant;  /**< which of the ways that variants() counts; 0: the best predicted one */
    /** A format of the same engine and block in another variant, whose arrays build() may share,
     *  the last of them to be destroyed freeing them; borrowed during the call; NULL: none. */
    const void *sibling;
    /** Rows of B will be on their way as products begin: build() prepares for `until`, where it
     *  can (spmm_engine_facts_t.waits). */
    bool waits;
    bool shares; /**< exchanges take multiprocessors while products run */
    bool lends;  /**< columns and values of the block given to build() stay until the format is
                      destroyed: an engine that borrows them copies neither */
} spmm_problem_t;

enum { SPMM_COST_TERMS = 11 }; /**< most of one model */

/** One term of a cost model that is a sum of plain accounts, each times a constant that measured
 *  times gave (bench/fit/fit.py). */
typedef struct {
    const char *name;
    double      constant, seconds;
} spmm_cost_term_t;

enum { SPMM_MOST_ENGINES = 16 };

/** What an engine is. */
typedef struct {
    const char        *name;        /**< stable, user-visible, of small letters, digits and '-' */
    const char        *description; /**< one line */
    const char        *lacks;       /**< what this build has not, as "CUDA"; NULL: it is built */
    spmm_device_kind_t device;      /**< the only kind that it runs on; AUTO: any */
    /** What others are measured against, the library of the vendor: on rows in their own order, and
     *  for a larger share of the time there is for trials. */
    bool baseline;
    /** Plans try it wherever its predicted time is near the best, whatever its format takes to
     *  make.  Pruned weights should not be slower than the dense product. */
    bool always_tried;
    bool few_entries; /**< not for blocks of 2^31 entries or more, whose cost is infinite */
    bool in_order;    /**< serves problems that ask for it */
    /** Its CUDA kernels multiply row-major B into column-major C too (layout MIXED). */
    bool stores_columns;
    bool borrows; /**< its format has columns and values of a block that problem->lends */
    bool follows; /**< execute() heeds x->follows */
    /** execute() takes operands with `until`, of an exchange that has been enqueued before, if its
     *  format was built for a problem that waits and no row of the block has more entries than
     *  this; B and C are row-major, beta is not 0.  Its kernel then starts as soon as the one in
     *  front of it in its stream lets it, waits for the rows itself, and leaves half of the
     *  multiprocessors to the exchange.  0: never. */
    int64_t waits;
    /** Seconds that its next format takes to load a library; 0 once that is done.  NULL: it loads
     *  none. */
    const _Atomic(double) *load_s;
    /** What it reads of a pattern beyond what all do; NULL: nothing.  Engines may share it. */
    const spmm_pattern_facts_t *pattern;
} spmm_engine_facts_t;

typedef struct spmm_engine_ops {
    spmm_engine_facts_t facts;
    const void         *kind; /**< what engines that share build() differ by */

    /** Load its kernels on @p device, a GPU, so that no product has to; NULL: it has none there, or
     *  another engine of its folder loads them. */
    spmm_status_t (*preload)(const spmm_device_t *device);

    /** May this engine run the problem on this device, which is of its kind?  No side effects.
     *  When not, @p why gets the reason: the end of a sentence that starts with the engine's name
     *  ("multiplies row-major blocks").  Callers ask spmmi_engine_supports(). */
    bool (*supports)(const spmm_problem_t *problem, const spmm_device_t *device,
                     char why[SPMM_WHY]);

    /** Predicted seconds per execute as the sum of @p terms; a model that is no sum is one term.
     *  Model and its source stand above the function.  Callers ask spmmi_engine_cost().
     *  @return how many */
    int (*cost)(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

    /** In how many ways the engine can lay the work out that are worth measuring, for
     *  spmm_problem_t.variant; NULL: in one. */
    int (*variants)(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device);

    /** Bytes that its format will hold on a GPU, at least, by the facts of a pattern; NULL: about
     *  those of the block. */
    double (*least_bytes)(const spmm_pattern_t *pattern, const spmm_problem_t *problem);

    /** Convert @p block into the engine's format, owned by *format; the block is borrowed during
     *  the call.  Local, waits for its own work. */
    spmm_status_t (*build)(const struct spmm_engine_ops *engine, const spmm_csr_t *block,
                           const spmm_problem_t *problem, const spmm_device_t *device,
                           void **format);

    /** New values, same pattern: refills what build() laid out; done when it returns.  NULL: values
     *  stand where places() says, in the order of the block; spmmi_engine_refill() writes them.
     *  @param[in] values  [nnz] host memory, in the order of the block given to build() */
    spmm_status_t (*refill)(void *format, const void *values);

    /** Where the values lie, for refills on the device; NULL: there is no way but refill().
     *  @param[out] values  [*count] of the type of A, device memory
     *  @param[out] from    [*count] entry of the block given to build() that each place holds,
     *                      -1: none; the caller frees it with spmmi_free(); NULL: place k holds
     *                      entry k */
    spmm_status_t (*places)(const void *format, void **values, int64_t *count, int32_t **from);

    /** Enqueue the product on x->stream, x->n <= planned columns; no allocation, no
     *  synchronisation.  Must apply beta also where the block has no entries.  Rows of C that a
     *  row_map leaves out are not touched. */
    spmm_status_t (*execute)(void *format, const spmm_operands_t *x);

    /** A line or two on how the work is dealt out and why, for spmm_plan_explain(); NULL: there is
     *  nothing to say. */
    void (*describe)(const void *format, const spmm_pattern_t *pattern, FILE *out);

    /** Bytes held. */
    void (*bytes)(const void *format, size_t *host, size_t *device);
    void (*destroy)(void *format); /**< NULL-safe */
} spmm_engine_ops_t;

/** spmm_engine_facts_t.lacks of engines with CUDA kernels. */
#ifdef SPMM_HAVE_CUDA
#define SPMM_LACKS_CUDA NULL
#else
#define SPMM_LACKS_CUDA "CUDA"
#endif

/** All engines, in the order ties are broken. */
extern const spmm_engine_ops_t *const spmmi_engines[];
extern const int                      spmmi_n_engines;

/** NULL when there is none of that name. */
const spmm_engine_ops_t *spmmi_engine_find(const char *name);

/** preload() of all engines.  Local. */
spmm_status_t spmmi_engines_preload(const spmm_device_t *device);

/** Can this build, on this device, and the engine itself, also in layout MIXED and in order?  As
 *  supports(). */
bool spmmi_engine_supports(const spmm_engine_ops_t *engine, const spmm_problem_t *problem,
                           const spmm_device_t *device, char why[SPMM_WHY]);
/** Predicted seconds per execute: what the terms of cost() come to; INFINITY: by name alone. */
double spmmi_engine_cost(const spmm_engine_ops_t *engine, const spmm_pattern_t *pattern,
                         const spmm_problem_t *problem, const spmm_device_t *device);
/** As refill() and its default.  @p type: of values */
spmm_status_t spmmi_engine_refill(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                                  spmm_type_t type, void *format, const void *values);

/** Facts of a block, those that engines register among them. */
spmm_status_t spmmi_pattern_scan(spmm_env_t *env, const spmm_csr_t *block, spmm_pattern_t *pattern);
/** The same, for products with B and C in this layout alone. */
spmm_status_t spmmi_pattern_scan_for(spmm_env_t *env, const spmm_csr_t *block, spmm_layout_t layout,
                                     spmm_pattern_t *pattern);

/** Ask all engines about a problem.
 *  @param[out] candidates  [spmmi_n_engines] */
void spmmi_engine_consider(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                           const spmm_device_t *device, spmm_candidate_t *candidates);

/** The candidate to take by prediction.  @p name: NULL or "auto" for the least predicted time, else
 *  that engine or an error that says why it cannot.
 *  @param[in] candidates  [n]
 *  @return SPMM_ERR_ARGUMENT for an unknown name, SPMM_ERR_UNSUPPORTED when it cannot run */
spmm_status_t spmmi_engine_pick(const char *name, const spmm_device_t *device,
                                const spmm_candidate_t *candidates, int n,
                                const spmm_candidate_t **picked);

#endif /* SPMM_ENGINE_ENGINE_H */
