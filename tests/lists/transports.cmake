# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_halo 1 2 3 4)
spmm_add_test(test_transport 1 2 3 4)
spmm_add_test(test_transport_choice 1 2 3 4)

# The same on GPUs; more ranks than GPUs share them, and nccl must then refuse.  NVLS is off from the
# start: transport nccl comes first, and windows are refused after a communicator with NVLS.
if(SPMM_ENABLE_CUDA)
  foreach(test test_transport test_transport_choice)
    foreach(ranks 1 2 4)
      spmm_add_mpi_test(${test}.cuda.n${ranks} ${ranks} gpu
        ${CMAKE_COMMAND} -E env NCCL_NVLS_ENABLE=0 SPMM_TEST_DEVICE=cuda $<TARGET_FILE:${test}>)
      set_tests_properties(${test}.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77
        RUN_SERIAL TRUE)
    endforeach()
  endforeach()
endif()
