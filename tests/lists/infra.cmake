# SPDX-License-Identifier: Apache-2.0
# Lints answer 77 where their tool is missing: reported as skipped, never as passed.
set(lint ${PROJECT_SOURCE_DIR}/tests/lint)
foreach(check layers headers format files scripts)
  add_test(NAME lint.${check} COMMAND ${lint}/check_${check}.sh ${PROJECT_SOURCE_DIR})
  list(APPEND lint_tests lint.${check})
endforeach()
add_test(NAME lint.cppcheck COMMAND ${lint}/check_cppcheck.sh ${PROJECT_SOURCE_DIR}
  ${PROJECT_BINARY_DIR}/cppcheck)
add_test(NAME lint.symbols COMMAND ${lint}/check_symbols.sh ${PROJECT_SOURCE_DIR}
  $<TARGET_FILE:spmm_dist>)
add_test(NAME lint.circles COMMAND ${lint}/check_circles.sh ${PROJECT_SOURCE_DIR}
  ${PROJECT_BINARY_DIR}/CMakeFiles/spmm_objects.dir)
add_test(NAME lint.selftest COMMAND ${lint}/selftest.sh)
set_tests_properties(${lint_tests} lint.cppcheck lint.symbols lint.circles lint.selftest
  PROPERTIES LABELS lint SKIP_RETURN_CODE 77 TIMEOUT 300)

# The tarball of `dist`: what git tracks, and it configures.
add_test(NAME package.dist COMMAND ${PROJECT_SOURCE_DIR}/scripts/dist.sh configure
  ${PROJECT_BINARY_DIR})
set_tests_properties(package.dist PROPERTIES LABELS package SKIP_RETURN_CODE 77 TIMEOUT 120)

# Installed, then used by programs outside this tree.  The static library is a build of its own, kept
# in the build tree so that later runs compile only what changed.
set(consumer ${PROJECT_SOURCE_DIR}/tests/consumer)
foreach(kind shared static)
  add_test(NAME consumer.${kind} COMMAND ${consumer}/consume.sh ${kind} ${PROJECT_SOURCE_DIR}
    ${PROJECT_BINARY_DIR})
endforeach()
set_tests_properties(consumer.shared consumer.static PROPERTIES LABELS consumer
  ENVIRONMENT "${spmm_test_environment}" SKIP_RETURN_CODE 77 TIMEOUT 300 PROCESSORS 2)
