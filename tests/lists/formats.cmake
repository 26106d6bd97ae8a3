# SPDX-License-Identifier: Apache-2.0
foreach(test test_formats test_formats_mm)
  spmm_add_test(${test} 1)
  target_sources(${test} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/format_case.c)
  target_compile_definitions(${test} PRIVATE SPMM_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data")
endforeach()

