# SPDX-License-Identifier: Apache-2.0
# Engine csr-gpu: its pieces of work, and on a GPU the cases of the tensor-core engines.
spmm_add_test(test_csr_work 1)
target_compile_options(test_csr_work PRIVATE ${SPMM_C_WARNINGS})

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_csr_gpu)
endif()
