# SPDX-License-Identifier: Apache-2.0
# A few executes here; SPMM_TEST_EXECUTES=5000 and the transports of GPUs in ci/gpu_check.sh.
spmm_add_test(test_stress 1 2 3 4 8)
target_compile_options(test_stress PRIVATE ${SPMM_C_WARNINGS})
if(SPMM_ENABLE_CUDA)
  foreach(ranks 1 2 4)
    spmm_add_mpi_test(test_stress.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_stress>)
    set_tests_properties(test_stress.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endforeach()
  spmm_add_mpi_test(test_stress.graph.n1 1 gpu ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda
    SPMM_TEST_GRAPH=1 $<TARGET_FILE:test_stress>)
  set_tests_properties(test_stress.graph.n1 PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
endif()
