# SPDX-License-Identifier: Apache-2.0
# A rank that is stopped or killed.  ci/gpu_check.sh runs the same script on GPUs.
if(NOT SPMM_BUILD_TOOLS)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_executable(fault_worker driver/fault_worker.c)
set_target_properties(fault_worker PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_compile_definitions(fault_worker PRIVATE _POSIX_C_SOURCE=200809L)
target_compile_options(fault_worker PRIVATE ${SPMM_C_WARNINGS})
target_link_libraries(fault_worker PRIVATE spmm_dist::spmm_dist)
add_test(NAME driver.test_faults
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/driver/test_faults.py)
set_tests_properties(driver.test_faults PROPERTIES LABELS driver PROCESSORS 2 TIMEOUT 600
  ENVIRONMENT "${spmm_test_environment};SPMM_DRIVER=$<TARGET_FILE:spmm_dist_driver>;SPMM_FAULT_WORKER=$<TARGET_FILE:fault_worker>;MPIEXEC=${MPIEXEC_EXECUTABLE};MPIEXEC_NUMPROC_FLAG=${MPIEXEC_NUMPROC_FLAG};PYTHONDONTWRITEBYTECODE=1")
