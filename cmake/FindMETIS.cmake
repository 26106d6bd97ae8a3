# SPDX-License-Identifier: Apache-2.0
# METIS ships no CMake package.  Gives METIS_FOUND and METIS::METIS; looks in CMAKE_PREFIX_PATH.
find_path(METIS_INCLUDE_DIR metis.h)
find_library(METIS_LIBRARY metis)
if(METIS_INCLUDE_DIR)
  file(STRINGS ${METIS_INCLUDE_DIR}/metis.h metis_lines REGEX "#define METIS_VER_[A-Z]+")
  string(REGEX REPLACE "[^0-9]+" "." METIS_VERSION "${metis_lines}")
  string(REGEX REPLACE "^\\.|\\.$" "" METIS_VERSION "${METIS_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(METIS REQUIRED_VARS METIS_LIBRARY METIS_INCLUDE_DIR
  VERSION_VAR METIS_VERSION)
if(METIS_FOUND AND NOT TARGET METIS::METIS)
  add_library(METIS::METIS UNKNOWN IMPORTED)
  set_target_properties(METIS::METIS PROPERTIES IMPORTED_LOCATION ${METIS_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${METIS_INCLUDE_DIR})
  # A static METIS needs GKlib of the same prefix where that was built apart.
  find_library(METIS_GKLIB_LIBRARY GKlib)
  if(METIS_GKLIB_LIBRARY AND METIS_LIBRARY MATCHES "\\.a$")
    set_property(TARGET METIS::METIS PROPERTY INTERFACE_LINK_LIBRARIES ${METIS_GKLIB_LIBRARY} m)
  endif()
endif()
mark_as_advanced(METIS_INCLUDE_DIR METIS_LIBRARY METIS_GKLIB_LIBRARY)
