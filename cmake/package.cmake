# SPDX-License-Identifier: Apache-2.0
# `cmake --build build/cpu --target dist` makes the source tarball spmm_dist-VERSION.tar.gz in the
# build tree: the whole source tree but what git ignores and what belongs to a checkout.
set(CPACK_PACKAGE_NAME spmm_dist)
set(CPACK_PACKAGE_VENDOR "the spmm_dist authors")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_RESOURCE_FILE_README ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME spmm_dist-${PROJECT_VERSION})
string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" spmm_source_pattern "${PROJECT_SOURCE_DIR}")
set(CPACK_SOURCE_IGNORE_FILES "/\\.git(/|$)" "^${spmm_source_pattern}/(build|\\.gpu/)"
  "/__pycache__/")
include(CPack)
add_custom_target(dist COMMAND ${CMAKE_CPACK_COMMAND} --config CPackSourceConfig.cmake
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM USES_TERMINAL)
