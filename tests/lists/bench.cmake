# SPDX-License-Identifier: Apache-2.0
# spmm_bench runs on GPUs only: what of it does not need one, and the scripts around it.
if(NOT SPMM_BUILD_TOOLS)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(tools ${PROJECT_SOURCE_DIR}/tools/bench)
add_executable(test_bench_parts driver/test_bench_parts.c ${tools}/bench_limit.c
  ${tools}/bench_list.c ${tools}/bench_options.c ${tools}/bench_report.c)
set_target_properties(test_bench_parts PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_compile_options(test_bench_parts PRIVATE ${SPMM_C_WARNINGS})
target_include_directories(test_bench_parts PRIVATE ${tools})
target_compile_definitions(test_bench_parts PRIVATE
  SPMM_BENCH_ROWS="${CMAKE_CURRENT_SOURCE_DIR}/driver/bench_rows.tsv")
target_link_libraries(test_bench_parts PRIVATE spmm_tools spmm_test_main)
spmm_add_mpi_test(test_bench_parts.n1 1 driver $<TARGET_FILE:test_bench_parts>)

add_test(NAME driver.test_bench_scripts
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/driver/test_bench_scripts.py)
set_tests_properties(driver.test_bench_scripts PROPERTIES LABELS driver TIMEOUT 300
  ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
spmm_add_test(test_bench_block 1)
target_compile_options(test_bench_block PRIVATE ${SPMM_C_WARNINGS})
target_link_libraries(test_bench_block PRIVATE spmm_bench_block)
