/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 LABEL unit NEEDS SPMM_BUILD_TOOLS INCLUDE bench/dist
 *      LINK spmm_tools spmm_internal SOURCES bench/dist/dist_options.c */
/** @file test_dist_options.c  The command line of bench_dist, which needs GPUs for all else. */
#include "test_main.h"

#include <string.h>
#include <unistd.h>

#include "dist_options.h"

enum { MOST = 8 };

static int parse(const char *const *words, dist_options_t *o)
{
    driver_job_t job = {.comm = MPI_COMM_SELF, .size = 1};
    char         text[MOST][32], *argv[MOST + 1] = {NULL};
    int          argc = 0;

    for (; words[argc] != NULL; argc++) {
        assert_in_range(argc, 0, MOST - 1);
        (void)snprintf(text[argc], sizeof text[argc], "%s", words[argc]);
        argv[argc] = text[argc];
    }
    optind = 1;
    return dist_options_parse(&job, argc, argv, o);
}

/* Whatever the help names is taken, with a value of its kind. */
static void test_every_option(void **state)
{
    static const char *const options[][2] = {
        {"--columns", "32,128"},  {"--type", "64f"},        {"--compute", "64f"},
        {"--partition", "metis"}, {"--partition-dir", "d"}, {"--variant", "engine=cusparse"},
        {"--engine", "bittcf"},   {"--transport", "nccl"},  {"--schedule", "merged"},
        {"--reorder", "none"},    {"--iterations", "3"},    {"--warmup", "0"},
        {"--seed", "7"},          {"--executes", "100000"}, {"--nccl-ctas", "4"},
        {"--set", "strong"},      {"--out", "x.tsv"},       {"--generate", "rmat:scale=4"},
        {"--graph", NULL},        {"--no-baselines", NULL}, {"--append", NULL},
    };
    static dist_options_t o;

    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
        const char *const words[] = {"bench_dist",  "--matrix",    "a.mtx",
                                     options[k][0], options[k][1], NULL};

        if (parse(words, &o) != DRIVER_GOOD) {
            fail_msg("%s is not taken", options[k][0]);
        }
    }
}

static void test_values(void **state)
{
    static const char *const good[] = {"bench_dist", "--matrix",    "a.mtx", "--executes",
                                       "5000",       "--nccl-ctas", "3",     NULL};
    static const char *const none[] = {"bench_dist", "--executes", "5", NULL};
    static const char *const less[] = {"bench_dist",   "--matrix", "a.mtx",
                                       "--iterations", "0",        NULL};
    static dist_options_t    o;

    assert_int_equal(parse(good, &o), DRIVER_GOOD);
    assert_int_equal(o.executes, 5000);
    assert_int_equal(o.nccl_ctas, 3);
    assert_int_equal(parse(none, &o), DRIVER_USAGE);
    assert_int_equal(parse(less, &o), DRIVER_USAGE);
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_every_option), cmocka_unit_test(test_values), {0}};
