# SPDX-License-Identifier: Apache-2.0
# SDDMM and what feeds its results to products, on CPUs and on whatever GPUs there are.
foreach(test test_sddmm test_attention test_new_values)
  spmm_add_test(${test} 1 2 3 4)
  target_compile_options(${test} PRIVATE ${SPMM_C_WARNINGS})
  if(SPMM_ENABLE_CUDA)
    foreach(ranks 1 2 4)
      spmm_add_mpi_test(${test}.cuda.n${ranks} ${ranks} gpu
        ${CMAKE_COMMAND} -E env SPMM_TEST_DEVICE=cuda $<TARGET_FILE:${test}>)
      set_tests_properties(${test}.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
    endforeach()
  endif()
endforeach()
