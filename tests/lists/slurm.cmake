# SPDX-License-Identifier: Apache-2.0
# Which GPU a rank takes among those that the launcher lets it see.
spmm_add_test(test_place 1 2 4)

# jobs/ under a real Slurm; skipped (77) without the packages slurm-wlm and munge, or root.
if(NOT SPMM_BUILD_TOOLS OR SPMM_ENABLE_CUDA)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Alone: the jobs take all cores, and ctest would count on two.
add_test(NAME slurm.jobs
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/slurm/test_slurm.py)
set_tests_properties(slurm.jobs PROPERTIES LABELS slurm SKIP_RETURN_CODE 77 TIMEOUT 400
  PROCESSORS 2
  ENVIRONMENT "${spmm_test_environment};SPMM_BUILD=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
