/* SPDX-License-Identifier: Apache-2.0 */
/** @file candidate.h
 *  One of several ways to do a thing, as a choice sees it: an engine, a transport or a number of
 *  chunks, whether it may be used, and how long it takes.  spmm_plan_explain() prints lists.
 */
#ifndef SPMM_BASE_CANDIDATE_H
#define SPMM_BASE_CANDIDATE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "spmm_dist/types.h"

enum { SPMM_WHY = 200 }; /**< bytes of a reason */

typedef struct {
    const char *name; /**< of its table */
    union {           /**< the table itself */
        const struct spmm_engine_ops    *engine;
        const struct spmm_transport_ops *transport;
    };
    bool   usable;
    bool   by_name;       /**< usable, but never chosen unless it is asked for */
    char   why[SPMM_WHY]; /**< it is not usable: the end of a sentence that starts with the name */
    double predicted_s;   /**< NaN: not predicted; INFINITY: not usable */
    double measured_s;    /**< NaN: not measured */

    /* Of an engine alone: */
    spmm_layout_t layout; /**< of B and C as the engine would get them */
    spmm_type_t   c_type; /**< of that C */
    double copies_s; /**< of either time: predicted time of the copies that this layout takes */
} spmm_candidate_t;

/** Neither usable nor predicted. */
spmm_candidate_t spmmi_candidate_new(const char *name);
/** It is not usable after all; @p format makes the reason. */
void spmmi_candidate_leave_out(spmm_candidate_t *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The usable one with the least predicted time, the first of equals, that is neither by_name nor
 *  number @p but (-1: any); -1: none. */
int spmmi_candidate_least(const spmm_candidate_t *list, int n, int but);
/** Has nobody named one? */
bool spmmi_candidate_is_auto(const char *name);
/** Has somebody named @p one? */
bool spmmi_candidate_is_named(const char *name, const char *one);
/** The one of that name; -1: none. */
int spmmi_candidate_find(const spmm_candidate_t *list, int n, const char *name);
/** SPMM_ERR_UNSUPPORTED with its reason where it is not usable.
 *  @param[in] kind  "engine", "transport" */
spmm_status_t spmmi_candidate_check(spmm_error_t *err, const char *kind, const spmm_candidate_t *c);

/** A line for spmm_plan_explain(), with @p note behind the times. */
void spmmi_candidate_print(const spmm_candidate_t *c, const char *kind, const char *note,
                           bool chosen, FILE *out);

#endif /* SPMM_BASE_CANDIDATE_H */
