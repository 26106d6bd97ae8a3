/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 2 NEEDS METIS_SHARED */
/* Another library of the program has loaded a METIS with indices of the other length: the sentence
 * says so, and auto does without.  The function by which METIS tells is the test's own here. */
#include <metis.h>

#include "partition/partition.h"
#include "test_main.h"
#include "test_matrix.h"

enum { OTHER_BYTES = IDXTYPEWIDTH == 32 ? 8 : 4 };

int METIS_SetDefaultOptions(idx_t *options)
{
    memset(options, 0xff, (size_t)METIS_NOPTIONS * OTHER_BYTES);
    return METIS_OK;
}

static void test_partition(void **state)
{
    const spmm_partition_options_t options = {.seed = 1};
    spmm_matrix_t   *A = spmm_test_generate(&spmm_test_env, "stencil9:nx=60,ny=60,shuffle=1", 1);
    spmm_partition_t partition;

    spmm_assert_error(spmmi_partition_create(A, "metis", &options, &partition),
                      SPMM_ERR_UNSUPPORTED, "the libmetis found at run time has");
    spmm_assert_ok(spmmi_partition_create(A, "auto", &options, &partition));
    assert_string_not_equal(partition.method, "metis");
    spmmi_partition_free(&partition);
    spmmi_matrix_free(A);
}

SPMM_TESTS(test_partition);
