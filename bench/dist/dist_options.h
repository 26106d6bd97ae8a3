/* SPDX-License-Identifier: Apache-2.0 */
/** @file dist_options.h  The command line of bench_dist. */
#ifndef BENCH_DIST_OPTIONS_H
#define BENCH_DIST_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "driver_job.h"

enum { DIST_MANY = 64, DIST_TEXT = 512 };

/** A plan to time: what "key=value,..." says; NULL: the library chooses. */
typedef struct {
    char        text[DIST_TEXT]; /**< the strings below point into it */
    const char *name;            /**< as given; the column `variant` */
    const char *engine, *transport;
    const char *tuning;          /**< as the plan option, or NULL; may point to: */
    char        keys[DIST_TEXT]; /**< what else stands in text */
    bool        graph;
} dist_variant_t;

typedef struct {
    const char *name; /**< path or generator spec */
    bool        generated;
} dist_input_t;

typedef struct {
    dist_input_t   input[DIST_MANY];
    int            n_inputs;
    int64_t        width[DIST_MANY];
    int            n_widths;
    dist_variant_t variant[DIST_MANY];
    int            n_variants;
    spmm_type_t    type;
    spmm_compute_t compute;
    const char    *partition, *partition_dir; /**< dir: files NAME.RANKS.part or .part.gz; NULL */
    const char    *out, *set;                 /**< file, NULL: stdout; first column of every row */
    int64_t        iterations, executes;
    bool           baselines, append, help;
} dist_options_t;

/** Not collective: all ranks see the same arguments.  @return an exit code of driver_job.h */
int  dist_options_parse(driver_job_t *job, int argc, char **argv, dist_options_t *options);
void dist_print_help(FILE *out);

/** The partition of @p input: "file:..." of the folder where there is one, else the method.
 *  @param[out] text  [DIST_TEXT] */
void dist_partition_of(const dist_options_t *options, const dist_input_t *input, int ranks,
                       char *text);

#endif /* BENCH_DIST_OPTIONS_H */
