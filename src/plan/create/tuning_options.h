/* SPDX-License-Identifier: Apache-2.0 */
/** @file tuning_options.h
 *  Option tuning: "key=value,..." names what a plan would choose by itself.  Programs of tools/ and
 *  bench/ have this file, too: they read the string before the work, and print the keys.
 */
#ifndef SPMM_PLAN_TUNING_OPTIONS_H
#define SPMM_PLAN_TUNING_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** The string, read.  Words are of the table, static; NULL: the plan chooses. */
typedef struct {
    const char *order, *schedule, *chunks, *exchange, *objective;
    const char *measure; /**< "no", or NULL */
    uint64_t    seed;    /**< of the partitioner */
} spmm_tuning_options_t;

enum { SPMM_TUNING_WHY = 320 }; /**< bytes of a sentence */

/** Calls that heed keys. */
enum { SPMM_TUNING_PLAN = 1, SPMM_TUNING_SAMPLES = 2, SPMM_TUNING_PARTS = 4 };

/** Read @p text.  NULL and "" leave all to the plan, as value "auto" leaves one key.
 *  @param[in]  by   the call: SPMM_TUNING_PLAN and so on; keys that it does not heed are refused
 *  @param[out] why  the sentence, where false is returned: it begins with the word "tuning" */
bool spmmi_tuning_options_read(const char *text, unsigned by, spmm_tuning_options_t *tuning,
                               char why[SPMM_TUNING_WHY]);

/** The table for --help: a line for each key, indented by @p indent. */
void spmmi_tuning_options_help(FILE *out, int indent);

/** 0: the plan chooses. */
static inline int spmmi_tuning_options_chunks(const spmm_tuning_options_t *tuning)
{
    return tuning->chunks == NULL ? 0 : tuning->chunks[0] - '0';
}

#endif /* SPMM_PLAN_TUNING_OPTIONS_H */
