# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

set(spmm_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/spmm_dist)
install(TARGETS spmm_dist EXPORT spmm_distTargets)
install(DIRECTORY include/spmm_dist TYPE INCLUDE FILES_MATCHING PATTERN "*.h"
  PATTERN "*.f90")
# Documents keep their places to each other, so that their links hold.
install(FILES LICENSE NOTICE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md TYPE DOC)
install(DIRECTORY docs examples jobs TYPE DOC USE_SOURCE_PERMISSIONS
  PATTERN "Doxyfile.in" EXCLUDE PATTERN "draw.py" EXCLUDE)
install(DIRECTORY bench/results DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(FILES bench/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
install(EXPORT spmm_distTargets NAMESPACE spmm_dist:: DESTINATION ${spmm_cmake_dir})

# Programs that link a static library find its dependencies with the same modules.
set(spmm_static_dependencies "")
if(ZLIB_FOUND)
  list(APPEND spmm_static_dependencies ZLIB)
endif()
if(METIS_FOUND)
  list(APPEND spmm_static_dependencies METIS)
endif()
if(PTSCOTCH_FOUND)
  list(APPEND spmm_static_dependencies PTSCOTCH)
endif()
if(SPMM_ENABLE_CUDA)
  list(APPEND spmm_static_dependencies CUDAToolkit)
  if(NCCL_FOUND)
    list(APPEND spmm_static_dependencies NCCL)
  endif()
endif()
if(NOT BUILD_SHARED_LIBS)
  install(FILES cmake/FindMETIS.cmake cmake/FindNCCL.cmake cmake/FindPTSCOTCH.cmake
    DESTINATION ${spmm_cmake_dir})
endif()
# So do the examples, wherever they are built.
install(FILES cmake/FindPETSC.cmake cmake/FindHYPRE.cmake cmake/mpi_of_library.cmake
  DESTINATION ${spmm_cmake_dir})
configure_package_config_file(cmake/spmm_distConfig.cmake.in spmm_distConfig.cmake
  INSTALL_DESTINATION ${spmm_cmake_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(spmm_distConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/spmm_distConfig.cmake
  ${PROJECT_BINARY_DIR}/spmm_distConfigVersion.cmake cmake/fortran.cmake
  DESTINATION ${spmm_cmake_dir})

# pkg-config: names MPI by the paths found here, since its own .pc file differs by vendor and is
# often missing.
file(RELATIVE_PATH spmm_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" spmm_pc_to_prefix "${spmm_pc_to_prefix}")
list(TRANSFORM spmm_public_definitions PREPEND -D OUTPUT_VARIABLE spmm_pc_cflags)
list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE spmm_pc_includes)
list(APPEND spmm_pc_cflags ${spmm_pc_includes})
set(spmm_pc_libs ${MPI_C_LIBRARIES})
set(spmm_pc_private ${OpenMP_C_FLAGS} -lpthread -lm)
if(ZLIB_FOUND)
  list(APPEND spmm_pc_private ${ZLIB_LIBRARIES})
endif()
if(METIS_FOUND)
  list(APPEND spmm_pc_private ${METIS_LIBRARY})
endif()
if(PTSCOTCH_FOUND)
  list(APPEND spmm_pc_private ${PTSCOTCH_LIBRARIES})
  # A build in a folder of its own has the name of the default build: the program
  # must not take that.
  get_filename_component(spmm_ptscotch_dir ${PTSCOTCH_PTSCOTCH_LIBRARY} DIRECTORY)
  if(NOT spmm_ptscotch_dir IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    list(APPEND spmm_pc_private -Wl,-rpath,${spmm_ptscotch_dir})
  endif()
endif()
if(SPMM_ENABLE_CUDA)
  list(APPEND spmm_pc_private -L${CUDAToolkit_LIBRARY_DIR} -lcudart -lcusparse -lstdc++)
  if(NCCL_FOUND)
    list(APPEND spmm_pc_private ${NCCL_LIBRARY})
  endif()
endif()
foreach(list spmm_pc_cflags spmm_pc_libs spmm_pc_private)
  list(JOIN ${list} " " ${list})
endforeach()
configure_file(cmake/spmm_dist.pc.in spmm_dist.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/spmm_dist.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
