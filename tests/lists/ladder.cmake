# SPDX-License-Identifier: Apache-2.0
# The tiles of bench_ladder.
add_executable(test_ladder_tiles driver/test_ladder_tiles.c
  ${PROJECT_SOURCE_DIR}/bench/papers/ladder_tiles.c)
set_target_properties(test_ladder_tiles PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_compile_options(test_ladder_tiles PRIVATE ${SPMM_C_WARNINGS})
target_include_directories(test_ladder_tiles PRIVATE ${PROJECT_SOURCE_DIR}/bench/papers)
target_link_libraries(test_ladder_tiles PRIVATE spmm_test_main)
spmm_add_mpi_test(test_ladder_tiles.n1 1 driver $<TARGET_FILE:test_ladder_tiles>)
