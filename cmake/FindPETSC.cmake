# SPDX-License-Identifier: Apache-2.0
# PETSc, real and double (Debian: libpetsc-real-dev), as pkg-config finds it.  Gives PETSC_FOUND and
# PETSC::PETSC.  Call after find_package(MPI): the headers of PETSc refuse another MPI than its own.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PETSC QUIET IMPORTED_TARGET PETSc)
endif()
if(TARGET PkgConfig::PETSC)
  include(CheckCSourceCompiles)
  include(CMakePushCheckState)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_QUIET TRUE)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C PkgConfig::PETSC)
  check_c_source_compiles("#include <petscsys.h>\nint main(void) { return 0; }\n"
    PETSC_OF_THIS_MPI)
  cmake_pop_check_state()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PETSC REQUIRED_VARS PETSC_OF_THIS_MPI VERSION_VAR PETSC_VERSION
  REASON_FAILURE_MESSAGE "none that pkg-config finds compiles with this MPI")
if(PETSC_FOUND AND NOT TARGET PETSC::PETSC)
  add_library(PETSC::PETSC INTERFACE IMPORTED)
  target_link_libraries(PETSC::PETSC INTERFACE PkgConfig::PETSC)
endif()
