/* SPDX-License-Identifier: Apache-2.0 */
/** @file fake_engines.h
 *  Engines that only move the clock of clock_device.h, and the choice among them for a small block.
 */
#ifndef SPMM_FAKE_ENGINES_H
#define SPMM_FAKE_ENGINES_H

#include "test_main.h"

#include "engine/tune/autotune.h"

/** BASELINE bears the name of the engine that others are compared with, ALWAYS is always
 *  measured; the last two are the block's columns and those of B. */
enum {
    N_FAKES       = 5,
    ALWAYS        = 2,
    BASELINE      = N_FAKES - 1,
    N_COLS        = 7,
    PLANNED       = 6,
    FAKE_VARIANTS = 3
};

/** What an engine is to do, and what it has been asked for. */
typedef struct {
    double        seconds; /**< of a product */
    spmm_status_t build_status, execute_status;
    spmm_layout_t layout; /**< built for */
    int           builds, executes, held;
    int           no_room;                  /**< first builds that find no memory */
    size_t        bytes;                    /**< of a format, on the device */
    int           more_variants;            /**< than one */
    double        variant_s[FAKE_VARIANTS]; /**< of a product of another than the first; 0: there
                                                 is no room for it */
    double        beta;
    int64_t       n, ldb, ldc;
} fake_engine_t;

extern fake_engine_t         fakes[N_FAKES];
extern spmm_candidate_t      fake_candidates[N_FAKES];
extern spmm_csr_t            fake_block;
extern int                   fake_held;     /**< formats there are */
extern int64_t               fake_executes; /**< products to come */
extern _Atomic(double)       fake_load_s;   /**< that the library of the first engine takes */
extern spmm_engine_settled_t fake_settled;

/** Start anew.  All take 0.1 ms but the baseline, which takes 0.15.
 *  @param[in] predicted  microseconds, 0: not usable */
void fake_prepare(const double predicted[N_FAKES]);

/** Let the choice be made; the outcome is in fake_settled. */
spmm_status_t fake_settle(const char *name, bool measures);

/** Engine @p k was taken, without an error and with its format alone; the format is destroyed. */
void fake_check_taken(int k);
/** The same, in that variant. */
void fake_check_variant(int k, int variant);

/** Destroy a format. */
void fake_destroy(void *format);

#endif /* SPMM_FAKE_ENGINES_H */
