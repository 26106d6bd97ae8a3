/* SPDX-License-Identifier: Apache-2.0 */
/** @file facts.h  What strips make of a pattern. */
#ifndef SPMM_ENGINE_STRIPS_FACTS_H
#define SPMM_ENGINE_STRIPS_FACTS_H

#include "engine/pattern.h"

/** All 0 where A is neither of real FP32 nor of FP64. */
typedef struct {
    int64_t strips;      /**< of 128 rows, of 64 or of 32, as many as the limits of args.h allow */
    int64_t cols;        /**< (strip, column) pairs */
    int64_t quads, octs; /**< (strip, four or eight aligned columns) pairs */
} spmm_strips_facts_t;

extern const spmm_pattern_facts_t spmmi_strips_pattern_facts;

/** Those of a pattern; zeros where it has none. */
spmm_strips_facts_t spmmi_strips_facts(const spmm_pattern_t *pattern);

#endif /* SPMM_ENGINE_STRIPS_FACTS_H */
