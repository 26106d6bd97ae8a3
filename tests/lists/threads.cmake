# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_plan_threads 1 2 3)
