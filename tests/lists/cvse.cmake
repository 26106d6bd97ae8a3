# SPDX-License-Identifier: Apache-2.0
# Column-vector-sparse input, and engine cvse on a GPU.
spmm_add_test(test_from_cvse 1 2 3 4)

if(SPMM_ENABLE_CUDA)
  spmm_add_gpu_test(test_engine_cvse)
  # Open MPI would bind the one rank to one core; the reference takes them all.
  set_property(TEST test_engine_cvse.n1 APPEND PROPERTY ENVIRONMENT
    OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none)
endif()
