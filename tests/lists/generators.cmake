# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_assemble 1 2 3 4)
spmm_add_test(test_from_csr 1 2 3 4)
spmm_add_test(test_generate 1 2 3 4)
spmm_add_test(test_generate_tiles 1)
spmm_add_test(test_generate_spec 1 2 3 4)
spmm_add_test(test_generate_shuffle 1)
