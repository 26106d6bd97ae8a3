# SPDX-License-Identifier: Apache-2.0
# Whole plans on GPUs; more ranks than GPUs share them.  jobs/gpu_check.sh runs test_async,
# test_plan_streams and test_push on 1, 2 and 4 GPUs.
if(SPMM_ENABLE_CUDA)
  foreach(ranks 1 2 4)
    spmm_add_mpi_test(test_plan.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_plan>)
    set_tests_properties(test_plan.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endforeach()
endif()
if(SPMM_ENABLE_CUDA AND NCCL_FOUND)
  foreach(name test_async test_plan_streams test_push)
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/kernels/${name}.c)
    set_target_properties(${name} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
    target_compile_options(${name} PRIVATE ${SPMM_C_WARNINGS})
    target_link_libraries(${name} PRIVATE spmm_test_main CUDA::cudart)
    spmm_add_mpi_test(${name}.n1 1 gpu $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.n1 PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endforeach()
endif()
