# SPDX-License-Identifier: Apache-2.0
# Blocked-ELL, and engine cusparse-bell on a GPU.
spmm_add_test(test_format_bell 1)

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_bell)
  # Open MPI would bind the one rank to one core; the reference takes them all.
  set_property(TEST test_engine_bell.n1 APPEND PROPERTY ENVIRONMENT
    OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none)
endif()
