# SPDX-License-Identifier: Apache-2.0
# NCCL ships no CMake package.  Gives NCCL_FOUND and NCCL::NCCL; looks beside the CUDA toolkit and
# in CMAKE_PREFIX_PATH.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NCCL_INCLUDE_DIR)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h line REGEX "#define NCCL_${part} +[0-9]+")
    string(REGEX REPLACE "[^0-9]+" "" number "${line}")
    list(APPEND nccl_version ${number})
  endforeach()
  list(JOIN nccl_version "." NCCL_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR
  VERSION_VAR NCCL_VERSION)
if(NCCL_FOUND AND NOT TARGET NCCL::NCCL)
  add_library(NCCL::NCCL UNKNOWN IMPORTED)
  set_target_properties(NCCL::NCCL PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
