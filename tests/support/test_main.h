/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_main.h  Every test program runs on any number of ranks: a rank whose test fails ends
 *  the whole job instead of leaving the others in a collective. */
#ifndef SPMM_TEST_MAIN_H
#define SPMM_TEST_MAIN_H

/* What nearly all tests use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpi.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/scalar.h"

/** The tests of a program, ended by NULL, and their names with commas between:
 *  SPMM_TESTS(test_a, test_b); defines both. */
extern void (*const spmm_tests[])(void **state);
extern const char spmm_test_names[];
#define SPMM_TESTS(...)                                                                            \
    void (*const spmm_tests[])(void **state) = {__VA_ARGS__, NULL};                                \
    const char spmm_test_names[]             = #__VA_ARGS__

/** An environment on MPI_COMM_WORLD, made before the tests run. */
extern spmm_env_t spmm_test_env;

/** What comes before and after each test; a program that needs something defines them. */
void spmm_test_set_up(void);
void spmm_test_tear_down(void);

/** What main() asks MPI for; a program that needs more defines it. */
int spmm_test_thread_level(void);

/** Is this the last rank, often the one that errs? */
bool spmm_test_is_last(void);

/** SPMM_TEST_DEVICE=cuda: the test is to run on GPUs. */
bool spmm_test_on_gpu(void);

/** The number in variable @p name of the environment, @p otherwise where there is none. */
int64_t spmm_test_number(const char *name, int64_t otherwise);

/** End the program as skipped (77). */
_Noreturn void spmm_test_skip(const char *why);

/** Assert SPMM_OK and print the sentence otherwise. */
void spmm_assert_ok(spmm_status_t status);
/** Assert @p want and, if not NULL, @p words in the sentence, which is cleared. */
void spmm_assert_error(spmm_status_t status, spmm_status_t want, const char *words);

/** The same of a @p call that should have made @p made: it is NULL, and nothing is left. */
#define spmm_assert_refused(call, made, want, words)                                               \
    do {                                                                                           \
        const int64_t live_ = spmmi_alloc_get_stats().live;                                        \
                                                                                                   \
        spmm_assert_error(call, want, words);                                                      \
        assert_null(made);                                                                         \
        assert_int_equal(spmmi_alloc_get_stats().live, live_);                                     \
    } while (false)

/** Let each allocation of rank @p victim (-1: of every rank) fail in turn, of every so many that
 *  SPMM_TEST_STRIDE says, while @p go is called with @p what, until it makes no more of them: all
 *  ranks must get SPMM_ERR_MEMORY, and @p last in the end, and nothing may be left of what @p go
 *  made, which it frees.  On GPUs what is only measured may be done without.  Collective.
 *  @return allocations */
int64_t spmm_test_sweep(spmm_status_t (*go)(void *what), void *what, int victim,
                        spmm_status_t last);

/** As malloc() and calloc(), but never NULL: assert that there is memory. */
void *spmm_test_malloc(size_t bytes);
void *spmm_test_calloc(size_t count, size_t size);

/** free() of each of several: spmm_test_free(a, b, c). */
#define spmm_test_free(...)                                                                        \
    spmm_test_free_list((void *[]){__VA_ARGS__}, sizeof(void *[]){__VA_ARGS__} / sizeof(void *))
void spmm_test_free_list(void **ptr, size_t count);

#endif /* SPMM_TEST_MAIN_H */
