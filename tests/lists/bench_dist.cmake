# SPDX-License-Identifier: Apache-2.0
# What of bench_dist needs no GPU to run.
if(SPMM_ENABLE_CUDA AND NCCL_FOUND)
  spmm_add_test(test_dist_blocks 1 2 3 4)
  target_sources(test_dist_blocks PRIVATE ${PROJECT_SOURCE_DIR}/bench/dist_blocks.c
    ${PROJECT_SOURCE_DIR}/bench/dist_time.c ${PROJECT_SOURCE_DIR}/tools/tool_common.c)
  target_include_directories(test_dist_blocks PRIVATE ${PROJECT_SOURCE_DIR}/bench
    ${PROJECT_SOURCE_DIR}/tools)
  target_compile_options(test_dist_blocks PRIVATE ${SPMM_C_WARNINGS})
  target_link_libraries(test_dist_blocks PRIVATE CUDA::cudart NCCL::NCCL)
endif()
