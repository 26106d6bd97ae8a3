# SPDX-License-Identifier: Apache-2.0
# spmm_dist::fortran, the module spmm_dist compiled by the Fortran compiler of this project, since
# .mod files differ between compilers.  spmm_dist_FORTRAN_MODULE is its source.
# Installed with the package.
get_property(spmm_dist_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("Fortran" IN_LIST spmm_dist_languages AND NOT TARGET spmm_dist::fortran)
  set(spmm_dist_mod_dir ${CMAKE_CURRENT_BINARY_DIR}/spmm_dist_fortran)
  add_library(spmm_dist_fortran STATIC EXCLUDE_FROM_ALL ${spmm_dist_FORTRAN_MODULE})
  add_library(spmm_dist::fortran ALIAS spmm_dist_fortran)
  set_target_properties(spmm_dist_fortran PROPERTIES POSITION_INDEPENDENT_CODE ON
    Fortran_MODULE_DIRECTORY ${spmm_dist_mod_dir})
  target_include_directories(spmm_dist_fortran INTERFACE ${spmm_dist_mod_dir})
  target_link_libraries(spmm_dist_fortran PUBLIC spmm_dist::spmm_dist)
endif()
