/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_parse.h  Strict parsing of option values; every failure is DRIVER_USAGE with a
 *  sentence that names the option. */
#ifndef DRIVER_PARSE_H
#define DRIVER_PARSE_H

#include "driver_job.h"
#include "tool_common.h"

int driver_parse_word(driver_job_t *job, const char *option, const char *text,
                      const tool_word_t *words, int *value);

/** A whole number in [least, most]. */
int driver_parse_int(driver_job_t *job, const char *option, const char *text, int64_t least,
                     int64_t most, int64_t *value);
int driver_parse_seed(driver_job_t *job, const char *option, const char *text, uint64_t *value);
/** A finite number, at least @p least. */
int driver_parse_real(driver_job_t *job, const char *option, const char *text, double least,
                      double *value);

#endif /* DRIVER_PARSE_H */
