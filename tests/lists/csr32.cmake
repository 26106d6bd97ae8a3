# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_csr32 1 3)
if(SPMM_ENABLE_CUDA)
  foreach(ranks 1 2)
    spmm_add_mpi_test(test_csr32.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_csr32>)
    set_tests_properties(test_csr32.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endforeach()
endif()
