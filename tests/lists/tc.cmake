# SPDX-License-Identifier: Apache-2.0
# Tensor-core engines: the cases of tests/kernels on CPUs, and on a GPU where there is one.
spmm_add_test(test_pattern 1)
spmm_add_test(test_tc_work 1)
spmm_add_test(test_tc_load 1)
spmm_add_test(test_bittcf_cost 1)
spmm_add_test(test_cvse_variant 1)
spmm_add_test(test_engine_case_cpu 1)
foreach(test test_tc_work test_tc_load test_bittcf_cost test_cvse_variant test_engine_case_cpu)
  target_compile_options(${test} PRIVATE ${SPMM_C_WARNINGS})
endforeach()
target_link_libraries(test_engine_case_cpu PRIVATE spmm_engine_case)

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_tc)
endif()
