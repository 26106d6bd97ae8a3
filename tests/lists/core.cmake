# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_base 1)
spmm_add_test(test_cores 1 2)
spmm_add_test(test_comm 1 2 3 4)
spmm_add_test(test_plan 1 2 3 4)
