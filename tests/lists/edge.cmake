# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_edge 1 2 3 4)
if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_cuda_transpose)
  foreach(ranks 1 2 4)
    spmm_add_mpi_test(test_edge.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_edge>)
    set_tests_properties(test_edge.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
  endforeach()
endif()
