# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_reorder 1)
target_sources(test_reorder PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/format_case.c)
target_compile_definitions(test_reorder PRIVATE SPMM_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data")
spmm_add_test(test_reorder_plan 1 2 3 4)
target_sources(test_reorder_plan PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/plan_case.c)
if(SPMM_ENABLE_CUDA)
  foreach(ranks 1 2)
    spmm_add_mpi_test(test_reorder_plan.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_reorder_plan>)
    set_tests_properties(test_reorder_plan.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77
      RUN_SERIAL TRUE)
  endforeach()
endif()
