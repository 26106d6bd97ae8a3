# SPDX-License-Identifier: Apache-2.0
# On CPUs it tests that graphs are refused; ci/gpu_check.sh runs it on 1, 2 and 4 GPUs.
spmm_add_test(test_capture 1 2)
target_compile_options(test_capture PRIVATE ${SPMM_C_WARNINGS})
if(SPMM_ENABLE_CUDA)
  set_property(TEST test_capture.n1 APPEND PROPERTY LABELS gpu)
endif()
