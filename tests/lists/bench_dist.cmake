# SPDX-License-Identifier: Apache-2.0
# What of bench_dist needs no GPU to run.
if(SPMM_ENABLE_CUDA AND NCCL_FOUND)
  spmm_add_test(test_bench_dist 1 2 3 4)
  set(dist ${PROJECT_SOURCE_DIR}/bench/dist)
  target_sources(test_bench_dist PRIVATE ${dist}/dist_blocks.c ${dist}/dist_check.c
    ${dist}/dist_time.c)
  target_include_directories(test_bench_dist PRIVATE ${dist})
  target_compile_options(test_bench_dist PRIVATE ${SPMM_C_WARNINGS})
  target_link_libraries(test_bench_dist PRIVATE spmm_tools CUDA::cudart NCCL::NCCL)
endif()
spmm_add_test(test_dist_options 1)
target_sources(test_dist_options PRIVATE ${PROJECT_SOURCE_DIR}/bench/dist/dist_options.c)
target_include_directories(test_dist_options PRIVATE ${PROJECT_SOURCE_DIR}/bench/dist)
target_link_libraries(test_dist_options PRIVATE spmm_tools)
target_compile_options(test_dist_options PRIVATE ${SPMM_C_WARNINGS})
