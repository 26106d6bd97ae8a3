/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_main.h
 *  Every test program runs on any number of ranks: a rank whose test fails ends the whole job
 *  instead of leaving the others in a collective.
 */
#ifndef SPMM_TEST_MAIN_H
#define SPMM_TEST_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>

#include "base/env.h"

/** The tests of this program, ended by an entry without a function. */
extern const struct CMUnitTest spmm_tests[];

/** An environment on MPI_COMM_WORLD, made before the tests run. */
extern spmm_env_t spmm_test_env;

/** What main() asks MPI for; a program that needs more defines it. */
int spmm_test_thread_level(void);

/** SPMM_TEST_DEVICE=cuda: the test is to run on GPUs. */
bool spmm_test_on_gpu(void);

/** End the program as skipped (77). */
_Noreturn void spmm_test_skip(const char *why);

/** Assert SPMM_OK and print the sentence otherwise. */
void spmm_assert_ok(spmm_status_t status);

#endif /* SPMM_TEST_MAIN_H */
