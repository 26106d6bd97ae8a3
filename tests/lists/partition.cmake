# SPDX-License-Identifier: Apache-2.0
foreach(test test_partition test_partition_metis test_partition_ptscotch
    test_dist_graph test_partition_file test_layout)
  spmm_add_test(${test} 1 2 3 4)
endforeach()
# More ranks than some matrices have rows, and parts than METIS likes.
foreach(test test_partition test_layout)
  spmm_add_mpi_test(${test}.n9 9 dist $<TARGET_FILE:${test}>)
endforeach()
if(METIS_FOUND AND METIS_LIBRARY MATCHES "\\.so") # a function of it is the test's own
  spmm_add_test(test_metis_indices 2)
endif()
