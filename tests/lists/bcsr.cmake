# SPDX-License-Identifier: Apache-2.0
# The format of engines bcsr and bcsr-sp24, and the engines on a GPU.
spmm_add_test(test_format_bcsr 1)
target_sources(test_format_bcsr PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/format_case.c)
target_compile_definitions(test_format_bcsr PRIVATE
  SPMM_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data")
