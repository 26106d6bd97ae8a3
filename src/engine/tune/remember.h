/* SPDX-License-Identifier: Apache-2.0 */
/** @file remember.h
 *  Engines that were the fastest, one small file for each block, device and kind of product: the
 *  next plan takes the winner.  Files stand where device/calibrate.h has its own; nothing of it
 *  can fail for a caller.  Everything here is local.
 */
#ifndef SPMM_ENGINE_REMEMBER_H
#define SPMM_ENGINE_REMEMBER_H

#include "engine/engine.h"

enum { SPMM_REMEMBER_KEY = 320, SPMM_REMEMBER_NAME = 32 };

/** What won. */
typedef struct {
    char   engine[SPMM_REMEMBER_NAME];
    int    variant;
    double seconds;
} spmm_winner_t;

/** All that the choice depends on, in one line: version, engines of this build, device, types,
 *  arithmetic, layout and columns of the product, shape and digest of the pattern.  It reads all
 *  of the pattern.
 *  @param[in]  adds  beta of the products is not 0
 *  @param[out] key   "" with SPMM_REMEMBER=0 */
void spmmi_remember_key(const spmm_csr_t *block, const spmm_problem_t *problem,
                        const spmm_device_t *device, bool adds, char key[SPMM_REMEMBER_KEY]);

/** @return false: nothing is known of @p key */
bool spmmi_remember_load(const char *key, spmm_winner_t *winner);

/** A file appears whole or not at all, whoever else writes it.  @return false: it could not be
 *  written */
bool spmmi_remember_store(const char *key, const spmm_winner_t *winner);

#endif /* SPMM_ENGINE_REMEMBER_H */
