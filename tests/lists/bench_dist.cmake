# SPDX-License-Identifier: Apache-2.0
# What of bench_dist needs no GPU to run.
if(SPMM_ENABLE_CUDA AND NCCL_FOUND)
  spmm_add_test(test_bench_dist 1 2 3 4)
  target_sources(test_bench_dist PRIVATE ${PROJECT_SOURCE_DIR}/bench/dist_blocks.c
    ${PROJECT_SOURCE_DIR}/bench/dist_check.c ${PROJECT_SOURCE_DIR}/bench/dist_time.c
    ${PROJECT_SOURCE_DIR}/tools/driver_dense.c ${PROJECT_SOURCE_DIR}/tools/driver_job.c
    ${PROJECT_SOURCE_DIR}/tools/driver_verify.c ${PROJECT_SOURCE_DIR}/tools/tool_common.c)
  target_include_directories(test_bench_dist PRIVATE ${PROJECT_SOURCE_DIR}/bench
    ${PROJECT_SOURCE_DIR}/tools)
  target_compile_options(test_bench_dist PRIVATE ${SPMM_C_WARNINGS})
  target_link_libraries(test_bench_dist PRIVATE CUDA::cudart NCCL::NCCL)
endif()
spmm_add_test(test_dist_options 1)
target_sources(test_dist_options PRIVATE ${PROJECT_SOURCE_DIR}/bench/dist_options.c
  ${PROJECT_SOURCE_DIR}/tools/driver_job.c ${PROJECT_SOURCE_DIR}/tools/tool_common.c)
target_include_directories(test_dist_options PRIVATE ${PROJECT_SOURCE_DIR}/bench
  ${PROJECT_SOURCE_DIR}/tools)
target_compile_options(test_dist_options PRIVATE ${SPMM_C_WARNINGS})
