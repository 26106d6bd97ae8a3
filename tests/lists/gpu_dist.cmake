# SPDX-License-Identifier: Apache-2.0
# Whole plans on GPUs; more ranks than GPUs share them.  jobs/gpu_check.sh runs test_async and
# test_pull on 1, 2 and 4 GPUs.
if(SPMM_ENABLE_CUDA)
  foreach(ranks 1 2 4)
    spmm_add_mpi_test(test_plan.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_plan>)
    set_tests_properties(test_plan.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endforeach()
endif()
if(SPMM_ENABLE_CUDA AND NCCL_FOUND)
  add_executable(test_async ${PROJECT_SOURCE_DIR}/tests/kernels/test_async.c)
  set_target_properties(test_async PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_compile_options(test_async PRIVATE ${SPMM_C_WARNINGS})
  target_link_libraries(test_async PRIVATE spmm_test_main CUDA::cudart)
  spmm_add_mpi_test(test_async.n1 1 gpu $<TARGET_FILE:test_async>)
  set_tests_properties(test_async.n1 PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  add_executable(test_pull ${PROJECT_SOURCE_DIR}/tests/kernels/test_pull.c)
  set_target_properties(test_pull PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_compile_options(test_pull PRIVATE ${SPMM_C_WARNINGS})
  target_link_libraries(test_pull PRIVATE spmm_test_main CUDA::cudart)
  spmm_add_mpi_test(test_pull.n1 1 gpu $<TARGET_FILE:test_pull>)
  set_tests_properties(test_pull.n1 PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
endif()
