/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_options.h  The command line of spmm_bench. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "spmm_dist/spmm_dist.h"

/** What the program exits with; printed by --help. */
enum {
    BENCH_GOOD       = 0,
    BENCH_USAGE      = 2,
    BENCH_INPUT      = 3, /**< a matrix file or generator */
    BENCH_OTHER      = 4,
    BENCH_INACCURATE = 5 /**< an error above its bound */
};

enum { BENCH_MANY = 256 }; /**< most matrices, widths and engines of one run */

typedef struct {
    const char *name; /**< path or generator spec, borrowed from argv */
    bool        generated;
} bench_input_t;

typedef struct {
    bench_input_t  input[BENCH_MANY];
    int            n_inputs;
    int64_t        width[BENCH_MANY];
    int            n_widths;
    const char    *engine[BENCH_MANY]; /**< n_engines == 0: all */
    int            n_engines;
    char          *engine_text; /**< owned: what engine[] points into */
    spmm_type_t    type;
    spmm_type_t    baseline; /**< of the cusparse that ratios are to: type, unless asked for */
    spmm_compute_t compute;  /**< never AUTO after parsing */
    spmm_layout_t  layout;
    int64_t        iterations, warmup;
    int64_t        check;    /**< multiplications of the reference, at most */
    bool        also_rotate; /**< a second timing of each product, with other B and C each time */
    bool        no_baseline; /**< cusparse runs only where engine[] has it */
    bool        deterministic, help;
    uint64_t    seed;
    const char *out, *note; /**< NULL: none */
    const char *tuning;     /**< as the plan option */
    int64_t     executes;   /**< likewise */
} bench_options_t;

/** @return BENCH_GOOD or, after a sentence on stderr, BENCH_USAGE or BENCH_OTHER */
int  bench_options_parse(int argc, char **argv, bench_options_t *options);
void bench_options_free(bench_options_t *options);
void bench_print_help(FILE *out);

#endif /* BENCH_OPTIONS_H */
