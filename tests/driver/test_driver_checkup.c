/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 NEEDS SPMM_BUILD_TOOLS INCLUDE tools/driver LINK spmm_tools spmm_internal
 *      SOURCES tools/driver/driver_checkup.c */
/** @file test_driver_checkup.c
 *  What --doctor says of the kernels of a build on GPUs that are not here.
 */
#include "driver_doctor.h"
#include "test_main.h"

static const struct {
    const char    *architectures;
    int            cc;
    driver_state_t state;
    const char    *says, *not ;
} those[] = {
    {"90", 90, DRIVER_CHECK_GOOD, "run machine code of 9.0", "no "},
    {"80", 86, DRIVER_CHECK_GOOD, "run machine code of 8.0", "no "},
    {"80,86", 89, DRIVER_CHECK_GOOD, "run machine code of 8.6", "no "},
    {"90,100", 100, DRIVER_CHECK_GOOD, "run machine code of 10.0", "PTX"},
    {"90,100", 103, DRIVER_CHECK_GOOD, "run machine code of 10.0", "PTX"},
    {"100f", 103, DRIVER_CHECK_GOOD, "run machine code of 10.0", "PTX"},
    {"90a", 90, DRIVER_CHECK_GOOD, "run machine code of 9.0", "PTX"},
    {"90", 120, DRIVER_CHECK_MISSING, "compiles PTX of 9.0", "start ahead"},
    {"90-virtual", 90, DRIVER_CHECK_MISSING, "compiles PTX of 9.0", "wgmma"},
    {"80", 90, DRIVER_CHECK_MISSING, "no slabs of cvse, no SDDMM from tensor maps or by wgmma",
     "x"},
    {"80", 100, DRIVER_CHECK_MISSING, "no slabs of cvse, no SDDMM from tensor maps", "wgmma"},
    {"80", 120, DRIVER_CHECK_MISSING, "no kernels that start ahead", "slabs"},
    {"80-real,90-real", 100, DRIVER_CHECK_PROBLEM, "no code for GPUs of 10.0", "PTX"},
    {"90a", 100, DRIVER_CHECK_PROBLEM, "no code for GPUs of 10.0", "PTX"},
    {"100a", 103, DRIVER_CHECK_PROBLEM, "no code for GPUs of 10.3", "PTX"},
    {"89", 86, DRIVER_CHECK_PROBLEM, "no code for GPUs of 8.6", "PTX"},
    {"native", 90, DRIVER_CHECK_GOOD, "built for native", "PTX"},
};

static void test_code(void **state)
{
    for (size_t k = 0; k < sizeof those / sizeof those[0]; k++) {
        static driver_checkup_t checkup;
        const driver_finding_t *f = &checkup.finding[0];

        memset(&checkup, 0, sizeof checkup);
        driver_check_code(&checkup, those[k].architectures, those[k].cc);
        assert_int_equal(checkup.count, 1);
        assert_int_equal(f->state, those[k].state);
        assert_non_null(strstr(f->text, those[k].architectures));
        assert_non_null(strstr(f->text, those[k].says));
        assert_null(strstr(f->text, those[k].not ));
        assert_true((f->state == DRIVER_CHECK_GOOD) == (f->advice[0] == '\0'));
    }
}

SPMM_TESTS(test_code);
