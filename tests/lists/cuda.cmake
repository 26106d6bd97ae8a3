# SPDX-License-Identifier: Apache-2.0
# Tests that need a GPU: label gpu, skipped (77) where none is visible.
if(SPMM_ENABLE_CUDA)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  # spmm_add_gpu_test(name): tests/kernels/name.c, on one rank.
  function(spmm_add_gpu_test name)
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/kernels/${name}.c)
    set_target_properties(${name} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
    target_compile_options(${name} PRIVATE ${SPMM_C_WARNINGS})
    target_link_libraries(${name} PRIVATE spmm_engine_case)
    spmm_add_mpi_test(${name}.n1 1 gpu $<TARGET_FILE:${name}>)
    set_tests_properties(${name}.n1 PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL TRUE TIMEOUT 300)
    # It runs alone, and references on CPUs are most of its time.
    set_property(TEST ${name}.n1 APPEND PROPERTY ENVIRONMENT OMP_NUM_THREADS=${cores})
  endfunction()

  spmm_add_gpu_test(test_cuda_device)
  spmm_add_gpu_test(test_cuda_rows)
  spmm_add_gpu_test(test_engine_cusparse)
endif()
