# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_limits 1 2 3)
target_link_libraries(test_limits PRIVATE OpenMP::OpenMP_C)
if(SPMM_ENABLE_CUDA)
  spmm_add_mpi_test(test_limits.cuda.n1 1 gpu
    ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_limits>)
  set_tests_properties(test_limits.cuda.n1 PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
endif()
if(CMAKE_C_FLAGS MATCHES "-fsanitize=")
  foreach(ranks 1 2 3)
    set_property(TEST test_limits.n${ranks} APPEND PROPERTY ENVIRONMENT SPMM_TEST_SMALL=1)
  endforeach()
endif()
