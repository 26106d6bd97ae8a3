/* SPDX-License-Identifier: Apache-2.0 */
/** @file variant.h  Which thread blocks multiply BCSR, and how long they take: engines bcsr and
 *  bcsr-sp24. */
#ifndef SPMM_ENGINE_BCSR_SHAPE_H
#define SPMM_ENGINE_BCSR_SHAPE_H

#include <stdio.h>

#include "engine/bcsr/format.h"
#include "engine/pattern.h"
#include "engine/windows/tc.h"

/* What BCSR makes of a pattern. */

extern const spmm_pattern_facts_t spmmi_bcsr_pattern_facts;

/** [SPMM_BCSR_PANELS] those of a pattern; zeros where it has none. */
const spmm_bcsr_facts_t *spmmi_bcsr_facts(const spmm_pattern_t *pattern);

/** How a thread block goes through its panel: by steps, all warps together (bcsr_launch.cuh), or by
 *  chunks of many steps, in which each warp has the list of tiles of its tile row
 *  (bcsr_rows.cuh); so does what goes by steps or rows where access to B and C is not wide; or by
 *  tile rows, a warp for each, whose rows of B go straight to registers (bcsr_rows.cuh). */
typedef enum {
    SPMM_BCSR_BY_STEPS,
    SPMM_BCSR_BY_LISTS,
    SPMM_BCSR_BY_ROWS,
    SPMM_BCSR_KERNELS
} spmm_bcsr_kernel_t;

/** Of a thread block. */
typedef struct {
    spmm_bcsr_kernel_t kernel;
    int32_t            rows;  /**< tile rows: 4, by lists also 8 and 16 */
    int32_t            slice; /**< columns of C: 128; by lists 32 or 64 */
    int32_t split; /**< by lists: warps of a tile row, 4 or 1 of 4, 2 of 8, 1 of 16; by rows 1 or 4;
                      by steps 0 */
    bool    sp24;  /**< 2:4 tiles are stored and multiplied as such: by lists, 16 rows, 64 columns;
                      by rows */
} spmm_bcsr_variant_t;

/** All variants that there are kernels for, by kernel; and how many of them are worth measuring. */
enum { SPMM_BCSR_VARIANTS = 13, SPMM_BCSR_RANKED = 4 };
extern const spmm_bcsr_variant_t spmmi_bcsr_variants[SPMM_BCSR_VARIANTS];

/** What a kernel is called. */
const char *spmmi_bcsr_kernel_name(spmm_bcsr_kernel_t kernel);

/** The variants of the least predicted times, the best one first.
 *  @param[in]  facts  [3] in panels of 4, 8 and 16 tile rows
 *  @param[in]  kernel   SPMM_BCSR_KERNELS: any; else that kernel alone, by lists or rows of 2:4
 *                       tiles where @p sp24
 *  @param[in]  sp24   whether the engine may take 2:4 tiles as such
 *  @param[out] list   [SPMM_BCSR_RANKED]
 *  @return how many, at least one */
int spmmi_bcsr_best(const spmm_bcsr_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                    spmm_bcsr_kernel_t kernel, bool sp24,
                    spmm_bcsr_variant_t list[SPMM_BCSR_RANKED]);

/** Kinds of the two engines; of the engine itself with SPMM_BCSR_KERNELS, else for tests and
 *  benchmarks, by one kernel alone. */
const spmm_tc_kind_t *spmmi_bcsr_kind(bool sp24, spmm_bcsr_kernel_t kernel);

/** Their create() with the variant given. */
spmm_status_t spmmi_bcsr_lay_out(spmm_tc_engine_t *f, const spmm_csr_t *block,
                                 spmm_bcsr_variant_t variant);

/** Steps from which on a panel is cut, of @p steps in all. */
int32_t spmmi_bcsr_cut(spmm_bcsr_variant_t variant, int32_t n_sm, int64_t n, int64_t steps);

/** cost() of bcsr and of bcsr-sp24. */
int spmmi_bcsr_cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);
int spmmi_bcsr_cost_sp24(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                         const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

#endif /* SPMM_ENGINE_BCSR_SHAPE_H */
