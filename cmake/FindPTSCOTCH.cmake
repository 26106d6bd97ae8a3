# SPDX-License-Identifier: Apache-2.0
# PT-Scotch 7 or later.  Gives PTSCOTCH_FOUND and PTSCOTCH::PTSCOTCH; looks in CMAKE_PREFIX_PATH.
# Where a distribution has several builds side by side (Debian: scotch, -int32, -int64) it takes the
# one that others link, since all have one SONAME and a process loads one: PETSc crashed with
# another.  Call after find_package(MPI): the two must be of one MPI.
find_path(PTSCOTCH_INCLUDE_DIR ptscotch.h PATH_SUFFIXES scotch scotch-int64)
set(PTSCOTCH_problem "")
if(PTSCOTCH_INCLUDE_DIR)
  get_filename_component(PTSCOTCH_variant ${PTSCOTCH_INCLUDE_DIR} NAME)
  foreach(name ptscotch scotch ptscotcherr scotcherr)
    string(TOUPPER ${name} PTSCOTCH_part)
    find_library(PTSCOTCH_${PTSCOTCH_part}_LIBRARY ${name} PATH_SUFFIXES ${PTSCOTCH_variant})
    mark_as_advanced(PTSCOTCH_${PTSCOTCH_part}_LIBRARY)
  endforeach()
  file(STRINGS ${PTSCOTCH_INCLUDE_DIR}/scotch.h PTSCOTCH_lines
    REGEX "^#define SCOTCH_(VERSION|RELEASE|PATCHLEVEL) +[0-9]+")
  string(REGEX REPLACE "[^0-9]+" "." PTSCOTCH_VERSION "${PTSCOTCH_lines}")
  string(REGEX REPLACE "^\\.|\\.$" "" PTSCOTCH_VERSION "${PTSCOTCH_VERSION}")
endif()

# A PT-Scotch of another MPI links and then crashes.
if(PTSCOTCH_PTSCOTCH_LIBRARY)
  include(${CMAKE_CURRENT_LIST_DIR}/mpi_of_library.cmake)
  spmm_other_mpi(${PTSCOTCH_PTSCOTCH_LIBRARY} PTSCOTCH_problem)
endif()

# Some builds of libptscotch bring all of Scotch and its messages, some leave them to the program.
if(PTSCOTCH_PTSCOTCH_LIBRARY AND NOT PTSCOTCH_problem AND NOT DEFINED PTSCOTCH_LIBRARIES)
  include(CheckCSourceCompiles)
  include(CMakePushCheckState)
  set(PTSCOTCH_rest "")
  foreach(library ${PTSCOTCH_SCOTCH_LIBRARY} ${PTSCOTCH_PTSCOTCHERR_LIBRARY}
      ${PTSCOTCH_SCOTCHERR_LIBRARY})
    list(APPEND PTSCOTCH_rest ${library})
  endforeach()
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_QUIET TRUE)
  set(CMAKE_REQUIRED_INCLUDES ${PTSCOTCH_INCLUDE_DIR})
  set(PTSCOTCH_source "#include <stdint.h>\n#include <stdio.h>\n#include <mpi.h>\n\
#include <ptscotch.h>\nint main(void) { SCOTCH_Context c; SCOTCH_Dgraph a, b;\n\
return SCOTCH_contextBindDgraph(&c, &a, &b) + SCOTCH_dgraphPart(&b, 1, NULL, NULL); }\n")
  set(CMAKE_REQUIRED_LIBRARIES ${PTSCOTCH_PTSCOTCH_LIBRARY} MPI::MPI_C)
  check_c_source_compiles("${PTSCOTCH_source}" PTSCOTCH_ALONE)
  if(PTSCOTCH_ALONE)
    set(PTSCOTCH_LIBRARIES ${PTSCOTCH_PTSCOTCH_LIBRARY} CACHE STRING "PT-Scotch to link")
  else()
    set(CMAKE_REQUIRED_LIBRARIES ${PTSCOTCH_PTSCOTCH_LIBRARY} ${PTSCOTCH_rest} MPI::MPI_C m)
    check_c_source_compiles("${PTSCOTCH_source}" PTSCOTCH_WITH_REST)
    if(PTSCOTCH_WITH_REST)
      set(PTSCOTCH_LIBRARIES ${PTSCOTCH_PTSCOTCH_LIBRARY} ${PTSCOTCH_rest} m
        CACHE STRING "PT-Scotch to link")
    else()
      set(PTSCOTCH_problem "a program that calls it does not link")
    endif()
  endif()
  cmake_pop_check_state()
endif()

include(FindPackageHandleStandardArgs)
if(PTSCOTCH_problem)
  set(PTSCOTCH_LIBRARIES PTSCOTCH_LIBRARIES-NOTFOUND)
endif()
find_package_handle_standard_args(PTSCOTCH
  REQUIRED_VARS PTSCOTCH_LIBRARIES PTSCOTCH_PTSCOTCH_LIBRARY PTSCOTCH_INCLUDE_DIR
  VERSION_VAR PTSCOTCH_VERSION REASON_FAILURE_MESSAGE "${PTSCOTCH_problem}")
if(PTSCOTCH_FOUND AND NOT TARGET PTSCOTCH::PTSCOTCH)
  add_library(PTSCOTCH::PTSCOTCH INTERFACE IMPORTED)
  target_link_libraries(PTSCOTCH::PTSCOTCH INTERFACE ${PTSCOTCH_LIBRARIES} MPI::MPI_C)
  target_include_directories(PTSCOTCH::PTSCOTCH SYSTEM INTERFACE ${PTSCOTCH_INCLUDE_DIR})
endif()
mark_as_advanced(PTSCOTCH_INCLUDE_DIR PTSCOTCH_LIBRARIES)
