# SPDX-License-Identifier: Apache-2.0
# The format of engines bcsr and bcsr-sp24, and the engines on a GPU.
spmm_add_test(test_format_bcsr 1)
spmm_add_test(test_bcsr_lists 1)
spmm_add_test(test_bcsr_variant 1)

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_bcsr)
endif()
