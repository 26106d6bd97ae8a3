# SPDX-License-Identifier: Apache-2.0
# The choice of engines.
spmm_add_test(test_autotune 1)
spmm_add_test(test_autotune_variants 1)
spmm_add_test(test_roofline 1)
spmm_add_test(test_calibrate 1)
foreach(test test_autotune test_autotune_variants test_roofline test_calibrate)
  target_compile_options(${test} PRIVATE ${SPMM_C_WARNINGS})
endforeach()
target_sources(test_autotune PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/fake_engines.c
  ${PROJECT_SOURCE_DIR}/tests/support/clock_device.c)
target_sources(test_autotune_variants PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/clock_device.c)
