# SPDX-License-Identifier: Apache-2.0
# spmm_bench: the engines against cuSPARSE on one GPU.  It speaks the public API and times with CUDA
# events of its own; scalar.c converts 16-bit numbers.
if(SPMM_ENABLE_CUDA)
  add_executable(spmm_bench spmm_bench.c bench_options.c bench_list.c bench_dense.c bench_limit.c
    bench_measure.c bench_report.c bench_time.c tool_common.c ${PROJECT_SOURCE_DIR}/src/base/scalar.c)
  set_target_properties(spmm_bench PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  target_compile_definitions(spmm_bench PRIVATE _POSIX_C_SOURCE=200809L)
  target_compile_options(spmm_bench PRIVATE ${SPMM_C_WARNINGS})
  target_include_directories(spmm_bench PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(spmm_bench PRIVATE spmm_dist::spmm_dist CUDA::cudart OpenMP::OpenMP_C m)
  install(TARGETS spmm_bench)
endif()
