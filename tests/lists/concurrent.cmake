# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_concurrent 1 2 3)
target_link_libraries(test_concurrent PRIVATE Threads::Threads)
foreach(ranks 1 2 3)
  set_tests_properties(test_concurrent.n${ranks} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
if(SPMM_ENABLE_CUDA)
  target_link_libraries(test_concurrent PRIVATE CUDA::cudart)
  foreach(ranks 1 2)
    spmm_add_mpi_test(test_concurrent.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_concurrent>)
    set_tests_properties(test_concurrent.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77
      RUN_SERIAL TRUE)
  endforeach()
endif()
