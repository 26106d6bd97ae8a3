# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_halo 1 2 3 4)
spmm_add_test(test_transport 1 2 3 4)
target_sources(test_transport PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/transport_case.c)

# The same on GPUs; more ranks than GPUs share them, and nccl must then refuse.
if(SPMM_ENABLE_CUDA)
  foreach(ranks 1 2 4)
    spmm_add_mpi_test(test_transport.cuda.n${ranks} ${ranks} gpu
      ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:test_transport>)
    set_tests_properties(test_transport.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77
      RUN_SERIAL TRUE)
  endforeach()
endif()
