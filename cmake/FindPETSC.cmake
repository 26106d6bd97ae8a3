# SPDX-License-Identifier: Apache-2.0
# PETSc as pkg-config finds it: the default, and where Debian's builds for real and for complex
# numbers stand side by side, each of them.  Gives PETSC_FOUND, PETSC_VERSION, PETSC::PETSC, which
# is the default, and PETSC_TARGETS, such as PETSC::petsc_real: one for each, by the name of its
# library.  Call after find_package(MPI): PETSc must be of that MPI.
include(${CMAKE_CURRENT_LIST_DIR}/mpi_of_library.cmake)
include(CheckCSourceCompiles)
find_package(PkgConfig QUIET)
set(PETSC_TARGETS "")
set(PETSC_problem "pkg-config does not find it")

# A file .pc, or PETSc for the one on the path.
function(PETSC_add module)
  string(MAKE_C_IDENTIFIER "PETSC_${module}" prefix)
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
  if(NOT TARGET PkgConfig::${prefix})
    return()
  endif()
  list(GET ${prefix}_LIBRARIES 0 name)
  list(GET ${prefix}_LINK_LIBRARIES 0 library)
  if("PETSC::${name}" IN_LIST PETSC_TARGETS)
    return()
  endif()
  spmm_other_mpi(${library} problem)
  # Open MPI 4 and 5 have one SONAME; PETSc's headers tell them apart.
  set(CMAKE_REQUIRED_LIBRARIES PkgConfig::${prefix} MPI::MPI_C)
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_c_source_compiles("#include <petscsys.h>\nint main(void) { return 0; }" ${prefix}_compiles)
  if(NOT problem AND NOT ${prefix}_compiles)
    set(problem "its headers do not compile with this MPI: it was built with another")
  endif()
  if(problem)
    set(PETSC_problem "${problem}" PARENT_SCOPE)
    return()
  endif()
  if(NOT TARGET PETSC::${name})
    add_library(PETSC::${name} INTERFACE IMPORTED)
    target_link_libraries(PETSC::${name} INTERFACE PkgConfig::${prefix} MPI::MPI_C)
  endif()
  set(PETSC_TARGETS ${PETSC_TARGETS} PETSC::${name} PARENT_SCOPE)
  set(PETSC_VERSION ${${prefix}_VERSION} PARENT_SCOPE)
endfunction()

if(PkgConfig_FOUND)
  file(GLOB PETSC_modules /usr/lib/petscdir/petsc*/*/lib/pkgconfig/PETSc.pc)
  foreach(module PETSc ${PETSC_modules})
    PETSC_add(${module})
  endforeach()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PETSC REQUIRED_VARS PETSC_TARGETS VERSION_VAR PETSC_VERSION
  REASON_FAILURE_MESSAGE "${PETSC_problem}")
if(PETSC_FOUND AND NOT TARGET PETSC::PETSC)
  list(GET PETSC_TARGETS 0 PETSC_first)
  add_library(PETSC::PETSC INTERFACE IMPORTED)
  target_link_libraries(PETSC::PETSC INTERFACE ${PETSC_first})
endif()
