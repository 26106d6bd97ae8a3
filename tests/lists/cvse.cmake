# SPDX-License-Identifier: Apache-2.0
# Column-vector-sparse input, and engine cvse on a GPU.
spmm_add_test(test_from_cvse 1 2 3 4)

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_cvse)
endif()
