# SPDX-License-Identifier: Apache-2.0
# Blocked-ELL, and engine cusparse-bell on a GPU.
spmm_add_test(test_format_bell 1)

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_bell)
endif()
