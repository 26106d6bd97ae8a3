/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 NEEDS SPMM_BUILD_TOOLS INCLUDE tools/driver LINK spmm_tools spmm_internal
 *      SOURCES tools/driver/driver_find.c */
/* However much --doctor finds, it must not hide a problem: the exit code follows from it. */

#include "test_main.h"

#include "driver_doctor.h"

static driver_checkup_t x;

static void find_many(driver_state_t state)
{
    memset(&x, 0, sizeof x);
    for (int k = 0; k < 2 * DRIVER_CHECKS; k++) {
        driver_find(&x, state, "transport", "", "number %d", k);
    }
    assert_int_equal(x.count, DRIVER_CHECKS);
}

static void test_problem_behind_many(void **state)
{
    find_many(DRIVER_CHECK_MISSING);
    driver_find(&x, DRIVER_CHECK_PROBLEM, "transport", "", "wrong");
    assert_int_equal(x.count, DRIVER_CHECKS);
    assert_int_equal(x.finding[DRIVER_CHECKS - 1].state, DRIVER_CHECK_PROBLEM);
    assert_string_equal(x.finding[DRIVER_CHECKS - 1].text, "wrong");
    driver_find(&x, DRIVER_CHECK_GOOD, "environment", "", "late");
    assert_string_equal(x.finding[DRIVER_CHECKS - 1].text, "wrong");
}

static void test_first_problems_stand(void **state)
{
    find_many(DRIVER_CHECK_PROBLEM);
    assert_string_equal(x.finding[DRIVER_CHECKS - 1].text, "number 63");
}

SPMM_TESTS(test_problem_behind_many, test_first_problems_stand);
