# SPDX-License-Identifier: Apache-2.0
# The examples of docs/extending.md as they would be in the library: what includes the three lists is
# compiled again with lists that have one line more.
file(GLOB octet CONFIGURE_DEPENDS extend/engine/octet/*.c)
if(SPMM_ENABLE_CUDA)
  list(APPEND octet extend/cuda/octet/octet.cu)
endif()
add_executable(test_extend extend/test_extend.c ${octet} extend/transport_mpi_late.c
  extend/stripes.c ${PROJECT_SOURCE_DIR}/src/engine/engine.c
  ${PROJECT_SOURCE_DIR}/src/exchange/transport.c
  ${PROJECT_SOURCE_DIR}/partition/partition.c)
set_target_properties(test_extend PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF CUDA_STANDARD 17)
target_include_directories(test_extend BEFORE PRIVATE extend)
target_compile_options(test_extend PRIVATE $<$<COMPILE_LANGUAGE:C>:${SPMM_C_WARNINGS}>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra --expt-relaxed-constexpr>)
target_link_libraries(test_extend PRIVATE spmm_test_main)
add_dependencies(spmm_unit_tests test_extend)
foreach(ranks 1 3)
  spmm_add_mpi_test(test_extend.n${ranks} ${ranks} dist $<TARGET_FILE:test_extend>)
endforeach()
