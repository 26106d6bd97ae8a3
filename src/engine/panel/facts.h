/* SPDX-License-Identifier: Apache-2.0 */
/** @file facts.h  What panels make of a pattern. */
#ifndef SPMM_ENGINE_PANEL_FACTS_H
#define SPMM_ENGINE_PANEL_FACTS_H

#include "engine/pattern.h"

/** Estimated from a sample of panels. */
typedef struct {
    int64_t cols;  /**< (panel, column) pairs */
    int64_t chain; /**< columns of the longest window of each panel, all together */
    int64_t pairs; /**< (window, column) pairs of these panels */
} spmm_panel_facts_t;

extern const spmm_pattern_facts_t spmmi_panel_pattern_facts;

/** Those of a pattern; zeros where it has none. */
spmm_panel_facts_t spmmi_panel_facts(const spmm_pattern_t *pattern);

/** The same of windows of SPMM_WINDOWS_TALL rows. */
spmm_panel_facts_t spmmi_panel_measure(const spmm_windows_t *tall, int threads);

#endif /* SPMM_ENGINE_PANEL_FACTS_H */
