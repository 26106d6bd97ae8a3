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

/** Of DRIVER_CALL: option tuning of a plan, checked and kept as it is.
 *  @param[out] to  const char * */
int driver_parse_tuning(driver_job_t *job, const char *text, void *to);

/** What an option's value is. */
typedef enum {
    DRIVER_FLAG, /**< none: to bool, which becomes true */
    DRIVER_SET,  /**< none: to int, an enum too, which becomes @ref driver_option_t.least */
    DRIVER_NAME, /**< to const char *: text as it is */
    DRIVER_PAIR, /**< to const char *[2]: text and the argument after it */
    DRIVER_WORD, /**< to int, an enum too: one of words */
    DRIVER_INT,  /**< to int64_t in [least, most] */
    DRIVER_SEED, /**< to uint64_t */
    DRIVER_REAL, /**< to double, at least `from` */
    DRIVER_CALL  /**< what call() makes of it and of `to` */
} driver_option_kind_t;

/** An option of a program; tables end with a NULL name. */
typedef struct {
    const char          *name;
    int                  letter; /**< of the short form; 0: there is none */
    driver_option_kind_t kind;
    void                *to;
    const tool_word_t   *words;
    int64_t              least, most;
    double               from;
    /** @return an exit code, DRIVER_GOOD or after driver_fail() */
    int (*call)(driver_job_t *job, const char *text, void *to);
} driver_option_t;

enum { DRIVER_OPTIONS = 64 }; /**< most of a table */

/** Parse a command line of options alone.  Not collective: all ranks see the same arguments.
 *  @param[out] given  [DRIVER_OPTIONS] which of @p options stand there; NULL: not asked for */
int driver_parse_options(driver_job_t *job, const driver_option_t *options, int argc, char **argv,
                         bool *given);

#endif /* DRIVER_PARSE_H */
