# SPDX-License-Identifier: Apache-2.0
# Beside PETSc in one program, linked before it.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PETSC QUIET IMPORTED_TARGET PETSc>=3.17)
endif()
if(PETSC_FOUND AND PTSCOTCH_FOUND)
  add_executable(petsc_ptscotch petsc/petsc_ptscotch.c)
  set_target_properties(petsc_ptscotch PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_compile_options(petsc_ptscotch PRIVATE -Wall -Wextra)
  target_link_libraries(petsc_ptscotch PRIVATE spmm_dist::spmm_dist PkgConfig::PETSC m)
  spmm_add_mpi_test(petsc_ptscotch.n2 2 petsc $<TARGET_FILE:petsc_ptscotch>)
  set_tests_properties(petsc_ptscotch.n2 PROPERTIES SKIP_RETURN_CODE 77)
endif()
