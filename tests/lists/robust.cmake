# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_misuse 1 2 3)
spmm_add_test(test_lifetimes 1 2 4)
spmm_add_test(test_late_rank 2 3)
spmm_add_test(test_split 1 3)
if(ZLIB_FOUND) # temp_file.c packs .gz files
  spmm_add_test(test_sweep 1 3)
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=") # scripts/nightly.sh lets all fail
    set_property(TEST test_sweep.n1 test_sweep.n3 APPEND PROPERTY ENVIRONMENT SPMM_TEST_STRIDE=5)
  endif()
  if(SPMM_ENABLE_CUDA)
    foreach(ranks 1 2)
      spmm_add_mpi_test(test_sweep.cuda.n${ranks} ${ranks} gpu ${CMAKE_COMMAND} -E env
        SPMM_TEST_DEVICE=cuda SPMM_TEST_STRIDE=7 $<TARGET_FILE:test_sweep>)
      set_tests_properties(test_sweep.cuda.n${ranks} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE)
    endforeach()
  endif()
endif()
