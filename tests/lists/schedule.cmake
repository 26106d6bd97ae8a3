# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_schedule 1 2 3 4)
target_sources(test_schedule PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/plan_case.c)
if(SPMM_ENABLE_CUDA)
  foreach(ranks 1 2 4)
    spmm_add_mpi_test(test_schedule.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_schedule>)
    set_tests_properties(test_schedule.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endforeach()
endif()
