# SPDX-License-Identifier: Apache-2.0
foreach(test test_schedule test_schedule_choice)
  spmm_add_test(${test} 1 2 3 4)
  if(SPMM_ENABLE_CUDA)
    foreach(ranks 1 2 4)
      spmm_add_mpi_test(${test}.cuda.n${ranks} ${ranks} gpu
        ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:${test}>)
      set_tests_properties(${test}.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
    endforeach()
  endif()
endforeach()
