# SPDX-License-Identifier: Apache-2.0
# The examples check their own results: each runs on 1 to 4 ranks.  On CPUs or, in CUDA builds,
# whatever GPU is there.
if(SPMM_BUILD_EXAMPLES)
  # spmm_add_example(name [argument...])
  function(spmm_add_example name)
    foreach(ranks 1 2 3 4)
      spmm_add_mpi_test(example.${name}.n${ranks} ${ranks} example $<TARGET_FILE:${name}> ${ARGN})
    endforeach()
  endfunction()

  spmm_add_example(01_own_csr_rows)
  spmm_add_example(02_matrix_market ${PROJECT_SOURCE_DIR}/tests/data/bips98_606.mtx.gz)
  spmm_add_example(03_device_pointers)
  spmm_add_example(04_time_loop)
  spmm_add_example(05_explain_and_stats rmat:scale=12,degree=8)
  if(TARGET 06_fortran) # where a Fortran compiler was found
    spmm_add_example(06_fortran)
  endif()
  spmm_add_example(lobpcg 5 40 33 1)
  spmm_add_example(chebyshev)
  spmm_add_example(sparse_attention 256 0.9 8)
  if(TARGET petsc_shell) # where PETSc was found
    spmm_add_example(petsc_shell -nx 17)
  endif()
  # A solid grid and a box stencil.
  spmm_add_mpi_test(example.lobpcg_box.n3 3 example $<TARGET_FILE:lobpcg> 27 10 9 8)
endif()
