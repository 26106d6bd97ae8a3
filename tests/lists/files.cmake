# SPDX-License-Identifier: Apache-2.0
# The tests pack and unpack .gz files themselves.
if(ZLIB_FOUND)
  spmm_add_test(test_matrix_market 1)
  spmm_add_test(test_read 1 2 3 4)
  spmm_add_test(test_read_errors 1 2 3 4)
  spmm_add_test(test_csr_file 1 2 3 4)
  spmm_add_test(test_smtx 1 2 3 4)
endif()
