# SPDX-License-Identifier: Apache-2.0
# Calls of MPI, CUDA and NCCL that fail: tests/faults/faults.h.
if(ZLIB_FOUND) # temp_file.c packs .gz files
  spmm_add_test(test_mpi_faults 1 3)
  target_sources(test_mpi_faults PRIVATE faults/faults.c faults/faults_mpi.c)
  target_include_directories(test_mpi_faults PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  if(CMAKE_C_FLAGS MATCHES "-fsanitize=") # scripts/nightly.sh lets all fail
    set_property(TEST test_mpi_faults.n1 test_mpi_faults.n3 APPEND PROPERTY ENVIRONMENT
      SPMM_TEST_STRIDE=11)
  endif()
endif()

# Around the driver, on one rank alone.  In CUDA builds calls of CUDA and NCCL, too:
# ci/gpu_check.sh runs the script there.
if(SPMM_BUILD_TOOLS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_library(spmm_faults SHARED faults/faults.c faults/faults_mpi.c)
  target_link_libraries(spmm_faults PRIVATE MPI::MPI_C)
  if(SPMM_ENABLE_CUDA)
    target_sources(spmm_faults PRIVATE faults/faults_cuda.c)
    target_link_libraries(spmm_faults PRIVATE CUDA::cudart ${CMAKE_DL_LIBS})
    if(NCCL_FOUND)
      target_sources(spmm_faults PRIVATE faults/faults_nccl.c)
      target_link_libraries(spmm_faults PRIVATE NCCL::NCCL)
    endif()
  endif()
  set_target_properties(spmm_faults PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  # nccl.h declares ncclGroupStart() without a prototype.
  target_compile_options(spmm_faults PRIVATE ${SPMM_C_WARNINGS} -Wno-missing-prototypes
    -Wno-strict-prototypes)
  target_include_directories(spmm_faults PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
    ${CMAKE_CURRENT_SOURCE_DIR}/faults)
  # A sanitizer must be the first library of a process.
  if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize=")
    add_test(NAME driver.test_fault_calls
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/driver/test_fault_calls.py)
    set_tests_properties(driver.test_fault_calls PROPERTIES LABELS driver TIMEOUT 300
      ENVIRONMENT "${spmm_test_environment};SPMM_DRIVER=$<TARGET_FILE:spmm_dist_driver>;SPMM_FAULTS=$<TARGET_FILE:spmm_faults>;MPIEXEC=${MPIEXEC_EXECUTABLE};MPIEXEC_NUMPROC_FLAG=${MPIEXEC_NUMPROC_FLAG};PYTHONDONTWRITEBYTECODE=1")
  endif()
endif()

# For ci/gpu_check.sh: ranks that share a GPU say that it is another one.
if(SPMM_ENABLE_CUDA)
  add_library(spmm_gpu_names SHARED faults/gpu_names.c)
  set_target_properties(spmm_gpu_names PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_compile_options(spmm_gpu_names PRIVATE ${SPMM_C_WARNINGS} -Wno-missing-prototypes)
  target_link_libraries(spmm_gpu_names PRIVATE CUDA::cudart ${CMAKE_DL_LIBS})
endif()
