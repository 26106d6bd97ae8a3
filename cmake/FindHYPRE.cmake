# SPDX-License-Identifier: Apache-2.0
# hypre, built for MPI (Debian: libhypre-dev).  Gives HYPRE_FOUND and HYPRE::HYPRE; looks in
# CMAKE_PREFIX_PATH.  Call after find_package(MPI): the two must be of one MPI.
include(${CMAKE_CURRENT_LIST_DIR}/mpi_of_library.cmake)
find_path(HYPRE_INCLUDE_DIR _hypre_parcsr_mv.h PATH_SUFFIXES hypre)
find_library(HYPRE_LIBRARY HYPRE)
set(HYPRE_problem "its library or its headers are not found")
if(HYPRE_LIBRARY AND HYPRE_INCLUDE_DIR)
  spmm_other_mpi(${HYPRE_LIBRARY} HYPRE_problem)
endif()
if(HYPRE_problem)
  set(HYPRE_LIBRARY HYPRE_LIBRARY-NOTFOUND)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HYPRE REQUIRED_VARS HYPRE_LIBRARY HYPRE_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "${HYPRE_problem}")
if(HYPRE_FOUND AND NOT TARGET HYPRE::HYPRE)
  add_library(HYPRE::HYPRE INTERFACE IMPORTED)
  target_link_libraries(HYPRE::HYPRE INTERFACE ${HYPRE_LIBRARY} MPI::MPI_C)
  target_include_directories(HYPRE::HYPRE SYSTEM INTERFACE ${HYPRE_INCLUDE_DIR})
endif()
mark_as_advanced(HYPRE_INCLUDE_DIR HYPRE_LIBRARY)
