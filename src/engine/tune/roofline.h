/* SPDX-License-Identifier: Apache-2.0 */
/** @file roofline.h
 *  What the cost models of GPU engines share.  Their terms add up: the same warps wait for the
 *  rows of B, store C and start late or end last, and over real matrices and stand-ins on one
 *  H200 the sum was closer to the time than the largest term or their root mean square
 *  (docs/explanation/choices.md).
 */
#ifndef SPMM_ENGINE_ROOFLINE_H
#define SPMM_ENGINE_ROOFLINE_H

#include "engine/engine.h"

/** Seconds to move @p bytes through device memory, at the rate of a copy. */
double spmmi_gpu_copy_s(const spmm_device_t *device, double bytes);

/** Seconds to move what every product moves through device memory: @p a_bytes of format, the
 *  rows of C and the used rows of B: once where they fit into L2, else up to once for every
 *  SPMM_NEAR_ROWS rows of A that use them. */
double spmmi_gpu_once_s(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                        const spmm_device_t *device, double a_bytes);

/** Terms "once" and "hot" of what takes @p once_s as above: the part that one product does not
 *  leave in L2 for the next, none of 40 MB, all of 100, in between as much as their line says; and
 *  the rest, with @p constant[0] and [1]. */
void spmmi_gpu_once_terms(const spmm_device_t *device, double once_s, const double constant[2],
                          spmm_cost_term_t terms[2]);

/** Term "longest": ns for each entry of the longest row, as far as no engine cuts it. */
spmm_cost_term_t spmmi_gpu_longest_term(const spmm_pattern_t *pattern, double constant);

/** Seconds to gather @p rows rows of B through L2, at the rate of random rows out of the columns
 *  that neighbouring rows of A use (pattern->near_cols). */
double spmmi_gpu_gather_s(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                          const spmm_device_t *device, double rows);

/** 1 where rows of B do not begin at multiples of 16 bytes, so that kernels load element by element
 *  where they else load 16 bytes; 0 elsewhere.  Leading dimensions are those of the width. */
double spmmi_gpu_narrow(const spmm_problem_t *problem);

/** What the terms of a model come to. */
double spmmi_cost_sum(const spmm_cost_term_t *terms, int n);

#endif /* SPMM_ENGINE_ROOFLINE_H */
