/* SPDX-License-Identifier: Apache-2.0 */
/** @file constants.h
 *  What choices between candidates go by, in one place; docs/explanation/choices.md says how they
 *  came about.  Those of cost models stand with their models.
 */
#ifndef SPMM_ENGINE_CONSTANTS_H
#define SPMM_ENGINE_CONSTANTS_H

/** Of the time of the products to come, for measuring: the error of a choice by prediction. */
#define SPMM_TUNE_SHARE 0.05
/** Measuring near candidates may take so many times as much: later plans remember the faster. */
#define SPMM_NEAR_SHARES 5.0
/** Times the best predicted: such candidates are near, faster as often as not. */
#define SPMM_NEAR 1.1
/** What variants bring at most; near in 16 bits where padding of rows, not predicted, decides. */
#define SPMM_VARIANTS_GAIN 1.3
/** Times the least predicted: slower engines are not measured. */
#define SPMM_WORTH_TRYING 1.6
/** The same where the baseline's model errs most: the plan should never be slower. */
#define SPMM_BASELINE_WORTH_TRYING 2.0
/** Times the least predicted: slower numbers of chunks are not measured. */
#define SPMM_CHUNKS_WORTH_TRYING 1.5
/** Of the time, or pairs, of rows as they are: less gain is within what measuring scatters by. */
#define SPMM_MEASURABLE 0.98
/** Of a predicted time: less gain is within the error of models, and the usual way stays. */
#define SPMM_CLEAR 0.95
/** The same where models leave out a cost: waits of a node-aware exchange, cache hits that an order
 *  of rows loses. */
#define SPMM_CLEAR_AT_A_COST 0.9
/** Of the pairs of rows as they are: an order that leaves more is not looked into further. */
#define SPMM_ORDER_PROMISING 0.7
/** Times the least at stake for which an order pays: from here on affinity pays as well. */
#define SPMM_ORDER_MUCH 10.0

#endif /* SPMM_ENGINE_CONSTANTS_H */
