# SPDX-License-Identifier: Apache-2.0
# Column-vector-sparse input, and engine cvse on a GPU.
spmm_add_test(test_from_cvse 1 2 3 4)

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_cvse gpu_engine.c gpu_case.c engine_case.c engine_check.c
    tc_case.c tc_case_special.c)
  target_sources(test_engine_cvse PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/format_case.c)
  target_compile_definitions(test_engine_cvse PRIVATE
    SPMM_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data")
  # Open MPI would bind the one rank to one core; the reference takes them all.
  set_property(TEST test_engine_cvse.n1 APPEND PROPERTY ENVIRONMENT
    OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none)
endif()
