/* SPDX-License-Identifier: Apache-2.0 */
/** @file autotune.h
 *  From candidates to the engine that runs a block: built, and where several promise to be fast,
 *  measured on the plan's own device at the plan's own width.
 */
#ifndef SPMM_ENGINE_AUTOTUNE_H
#define SPMM_ENGINE_AUTOTUNE_H

#include "engine/engine.h"

/** Products to come, by option executes of plans: where the caller does not say (0), as many as
 *  an iterative solver may make. */
static inline int64_t spmmi_executes_to_come(int64_t executes)
{
    return executes == 0 ? 1000 : executes;
}

typedef struct {
    const char *name;     /**< NULL or "auto": choose; else take that engine, or say why not */
    bool        measures; /**< by times of products with scratch operands; else by the prediction */
    bool    compared; /**< the time of what is chosen is wanted: measure it also without others */
    double  beta;     /**< of the products measured */
    int64_t executes; /**< as the plan option */
} spmm_engine_choice_t;

/** The engine chosen. */
typedef struct {
    const spmm_candidate_t *picked;     /**< one of the candidates */
    void                   *format;     /**< owned by the caller */
    bool                    remembered; /**< picked was the fastest in an earlier plan */
    double                  tune_s;     /**< spent measuring, and building what was not taken */
} spmm_engine_settled_t;

/** Choose and build.  The best predicted is built.  Where times decide, the fastest of an earlier
 *  plan for the same block is taken (remember.h).  Else the next two within a factor of 1.6 are
 *  measured against the best predicted.  Each, with its format, may take 5 % of what the products
 *  to come will, or 25 % if spmmi_tuning_is_near().  It may also take what it is predicted to save
 *  over the measured time of the best.  Few products get the prediction's choice.  Where 200
 *  products and more are to come, two are measured whatever they take: the baseline, in all of its
 *  algorithms, within a factor of 2, and the dense product within 1.6.  Then come other variants of
 *  the fastest, and of engines that a better variant could put ahead of it, as far as the budget
 *  goes.  Two times within 5 % are taken anew.  The fastest is kept, and remembered unless the
 *  budget ended the search.  At most one other format is held beside it, and another algorithm of
 *  the baseline, which shares its arrays.  A candidate that has no room, or refuses the block when
 *  built, is passed over without an error as long as another can be built.  Without room for B and
 *  C nothing is measured.  Blocks without entries have nothing to choose by.  Where the prediction
 *  alone chooses, want of room on the CPU or for a deterministic problem is an error.  Local; waits
 *  for its work.
 *  @param[in]     problem     its layout and type of C are replaced by those of each candidate
 *  @param[in,out] candidates  [n] from spmmi_engine_consider(); gets the times measured
 *  @return as spmmi_engine_pick(), or why the engine could not be built */
spmm_status_t spmmi_engine_settle(const spmm_engine_choice_t *choice, const spmm_csr_t *block,
                                  const spmm_problem_t *problem, const spmm_device_t *device,
                                  spmm_candidate_t *candidates, int n,
                                  spmm_engine_settled_t *settled);

#endif /* SPMM_ENGINE_AUTOTUNE_H */
