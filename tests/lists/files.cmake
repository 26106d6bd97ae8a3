# SPDX-License-Identifier: Apache-2.0
# The tests pack and unpack .gz files themselves.
if(ZLIB_FOUND)
  spmm_add_test(test_matrix_market 1)
  spmm_add_test(test_read 1 2 3 4)
  spmm_add_test(test_read_errors 1 2 3 4)
  spmm_add_test(test_csr_file 1 2 3 4)
  spmm_add_test(test_smtx 1 2 3 4)
  foreach(test test_read test_read_errors test_csr_file test_smtx)
    target_sources(${test} PRIVATE support/temp_file.c)
    target_compile_definitions(${test} PRIVATE SPMM_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data")
  endforeach()
endif()
