# SPDX-License-Identifier: Apache-2.0
# The documents: what they say exists, the reference has no warnings (77 without Doxygen), and the
# commands of the README work.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(docs ${PROJECT_SOURCE_DIR}/tests/docs)
add_test(NAME docs.check COMMAND ${Python3_EXECUTABLE} ${docs}/check_docs.py)
add_test(NAME docs.reference COMMAND ${PROJECT_SOURCE_DIR}/scripts/docs.sh
  ${PROJECT_BINARY_DIR}/docs)
set_tests_properties(docs.check docs.reference PROPERTIES LABELS docs SKIP_RETURN_CODE 77
  TIMEOUT 120 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
if(SPMM_BUILD_TOOLS AND BUILD_SHARED_LIBS AND NOT SPMM_ENABLE_CUDA)
  add_test(NAME docs.walk COMMAND ${Python3_EXECUTABLE} ${docs}/walk.py)
  set_tests_properties(docs.walk PROPERTIES LABELS walk TIMEOUT 300 PROCESSORS 2
    ENVIRONMENT "${spmm_test_environment};SPMM_BUILD=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endif()
