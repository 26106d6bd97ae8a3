/* SPDX-License-Identifier: Apache-2.0 */
/** @file facts.h  What BCSR makes of a pattern. */
#ifndef SPMM_ENGINE_BCSR_FACTS_H
#define SPMM_ENGINE_BCSR_FACTS_H

#include <stdio.h>

#include "engine/bcsr/format.h"
#include "engine/pattern.h"

extern const spmm_pattern_facts_t spmmi_bcsr_pattern_facts;

/** [SPMM_BCSR_PANELS] those of a pattern; zeros where it has none. */
const spmm_bcsr_facts_t *spmmi_bcsr_facts(const spmm_pattern_t *pattern);

/** describe_pattern() of bcsr. */
void spmmi_bcsr_describe_pattern(const spmm_pattern_t *p, spmm_type_t type, FILE *out);

#endif /* SPMM_ENGINE_BCSR_FACTS_H */
