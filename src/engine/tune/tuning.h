/* SPDX-License-Identifier: Apache-2.0 */
/** @file tuning.h  From candidates to formats, while they are compared. */
#ifndef SPMM_ENGINE_TUNING_H
#define SPMM_ENGINE_TUNING_H

#include "engine/tune/trial.h"

/** What stands while candidates are tried. */
typedef struct {
    const spmm_csr_t    *block;
    const spmm_device_t *device;
    spmm_problem_t       problem;
    double               beta;
    spmm_trial_t         trial;
    bool                 measuring;                /**< trial is open */
    spmm_candidate_t    *order[SPMM_MOST_ENGINES]; /**< usable ones by predicted time */
    int                  n, at;                    /**< at: rank of best */
    spmm_candidate_t    *best;                     /**< NULL: none built yet */
    void                *format;                   /**< of best */
    int                  variant;                  /**< of format */
    double               best_build_s;
    bool                 measures; /**< times decide: the baseline's algorithms are variants */
    bool                 ended;    /**< the budget did not last for all that was to be measured */
    void   *lender;   /**< owned: a format of the baseline whose arrays its others share; NULL */
    int64_t executes; /**< products to come */
    double  budget_s, start; /**< to find the fastest in; start: of that */
    bool needs_room; /**< want of memory is an error: how much is free must not decide on bits, and
                          a CPU has as much for one format as for another */
    spmm_error_t  first; /**< failure of a candidate */
    spmm_status_t failed;
} spmm_tuning_t;

/** Fill order and n. */
void spmmi_tuning_sort(spmm_tuning_t *t, spmm_candidate_t *candidates, int n);
/** A candidate failed: remember the first reason, and go on where that may be. */
spmm_status_t spmmi_tuning_pass_over(spmm_tuning_t *t, spmm_candidate_t *c, spmm_status_t status);
/** What the library of @p c still takes to load. */
double spmmi_tuning_load_seconds(const spmm_candidate_t *c);
/** The format of @p c in one of its variants.
 *  @param[out] seconds  it took, without the loading of a library */
spmm_status_t spmmi_tuning_build(spmm_tuning_t *t, const spmm_candidate_t *c, int variant,
                                 void **format, double *seconds);
/** The best predicted from rank @p from on that can be built; t->best stays NULL where none can. */
spmm_status_t spmmi_tuning_build_first(spmm_tuning_t *t, int from);
/** The same, with the first reason where none can. */
spmm_status_t spmmi_tuning_build_best(spmm_tuning_t *t);
void          spmmi_tuning_drop_best(spmm_tuning_t *t);
/** Bytes of the block as CSR with 32-bit indices. */
double spmmi_tuning_csr_bytes(const spmm_tuning_t *t);
/** Seconds that the format of @p c may take to build, beside the baseline's own trials. */
double spmmi_tuning_build_seconds(const spmm_tuning_t *t, const spmm_candidate_t *c);
/** Is @p c predicted near enough to the best, with @p tried others tried besides the baseline? */
bool spmmi_tuning_is_worth_trying(const spmm_tuning_t *t, const spmm_candidate_t *c, int tried);
/** Must @p c be measured, whatever it takes?  So many products are to come that the plan must not
 *  be slower than the baseline, nor than the dense product. */
bool spmmi_tuning_is_due(const spmm_tuning_t *t, const spmm_candidate_t *c);
/** Could there be room for a format of @p c?  It may take four times what the block takes as CSR,
 *  and 8 MiB more; what is larger takes too long to build. */
bool spmmi_tuning_fits(const spmm_tuning_t *t, const spmm_candidate_t *c);
/** Is @p c predicted so near to the best that it proves the faster one as often as not? */
bool spmmi_tuning_is_near(const spmm_tuning_t *t, const spmm_candidate_t *c);
/** In how many ways @p c can lay its work out; the baseline has its algorithms where times decide
 *  alone, counted from 1. */
int spmmi_tuning_variants(const spmm_tuning_t *t, const spmm_candidate_t *c);

#endif /* SPMM_ENGINE_TUNING_H */
