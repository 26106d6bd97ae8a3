# SPDX-License-Identifier: Apache-2.0
# The format of engines bcsr and bcsr-sp24, and the engines on a GPU.
foreach(name test_format_bcsr test_bcsr_lists)
  spmm_add_test(${name} 1)
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/format_case.c)
  target_compile_definitions(${name} PRIVATE
    SPMM_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data")
endforeach()
spmm_add_test(test_bcsr_shape 1)

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_bcsr gpu_engine.c gpu_case.c engine_case.c engine_check.c
    tc_case.c tc_case_special.c)
  target_sources(test_engine_bcsr PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/format_case.c)
  target_compile_definitions(test_engine_bcsr PRIVATE
    SPMM_TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data")
  # Open MPI would bind the one rank to one core; the reference takes them all.
  set_property(TEST test_engine_bcsr.n1 APPEND PROPERTY ENVIRONMENT
    OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none)
endif()
