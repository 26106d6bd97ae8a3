# SPDX-License-Identifier: Apache-2.0
# nccl-push between many ranks of one process: what its kernel is told, by arithmetic; the kernel on an
# emulated GPU, where there is a C++ compiler; the kernel on a GPU.
spmm_add_test(test_push_share 1)
target_compile_options(test_push_share PRIVATE ${SPMM_C_WARNINGS})

set(ranks_sources ${PROJECT_SOURCE_DIR}/tests/kernels/test_ranks.c
  ${PROJECT_SOURCE_DIR}/tests/kernels/ranks_case.c ${PROJECT_SOURCE_DIR}/tests/kernels/ranks_run.c)

include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(emulated ${PROJECT_SOURCE_DIR}/tests/emulated)
  # Without exceptions and the C++ library: C links it, with whatever sanitizer there is.  Kernels run
  # on stacks of their own, which sanitizers do not know.
  add_library(spmm_emulated OBJECT ${emulated}/push_emulated.cpp)
  set_target_properties(spmm_emulated PROPERTIES CXX_STANDARD 17)
  target_compile_options(spmm_emulated PRIVATE -O2 -Wall -Wextra -Wno-unknown-pragmas
    -Wno-unused-function -fno-exceptions -fno-rtti)
  target_include_directories(spmm_emulated BEFORE PRIVATE ${emulated} ${PROJECT_SOURCE_DIR}/tests
    ${spmm_internal_includes})
  add_executable(test_ranks_emulated ${ranks_sources} ${emulated}/ranks_emulated.c ${emulated}/gpu.c
    $<TARGET_OBJECTS:spmm_emulated>)
  set_target_properties(test_ranks_emulated PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF
    LINKER_LANGUAGE C)
  target_compile_options(test_ranks_emulated PRIVATE ${SPMM_C_WARNINGS})
  target_include_directories(test_ranks_emulated PRIVATE ${PROJECT_SOURCE_DIR}/tests
    ${PROJECT_SOURCE_DIR}/tests/kernels)
  target_link_libraries(test_ranks_emulated PRIVATE spmm_test_main)
  add_dependencies(spmm_unit_tests test_ranks_emulated)
  spmm_add_mpi_test(test_ranks_emulated.n1 1 unit $<TARGET_FILE:test_ranks_emulated>)
endif()

if(SPMM_ENABLE_CUDA)
  add_executable(test_ranks ${ranks_sources} ${PROJECT_SOURCE_DIR}/tests/kernels/ranks_cuda.c
    ${PROJECT_SOURCE_DIR}/tests/kernels/ranks_grid.cu)
  set_target_properties(test_ranks PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF CUDA_STANDARD 17)
  target_compile_options(test_ranks PRIVATE $<$<COMPILE_LANGUAGE:C>:${SPMM_C_WARNINGS}>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra --expt-relaxed-constexpr>)
  target_include_directories(test_ranks PRIVATE ${PROJECT_SOURCE_DIR}/tests/kernels)
  target_link_libraries(test_ranks PRIVATE spmm_test_main CUDA::cudart)
  spmm_add_mpi_test(test_ranks.n1 1 gpu $<TARGET_FILE:test_ranks>)
  set_tests_properties(test_ranks.n1 PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE TIMEOUT 300)
endif()
