# SPDX-License-Identifier: Apache-2.0
# The library.  One file per format, transport, partitioner: sources are globbed so that adding one
# changes no list here.  They are compiled once, as spmm_objects, and linked twice: into spmm_dist,
# which exports what SPMM_API marks, and into the static spmm_internal, which lets unit tests call
# every function and pulls only the objects a test needs.
file(GLOB_RECURSE spmm_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*.c ${PROJECT_SOURCE_DIR}/partition/*.c
  ${PROJECT_SOURCE_DIR}/kernels/cpu/*.c)
file(GLOB_RECURSE spmm_cuda_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/*_cuda.c ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu)
list(FILTER spmm_sources EXCLUDE REGEX "_cuda\\.c$")
if(SPMM_ENABLE_CUDA)
  include(${CMAKE_CURRENT_LIST_DIR}/instances.cmake)
  if(NOT SPMM_CUBLASLT_INCLUDE_DIR)
    list(FILTER spmm_cuda_sources EXCLUDE REGEX "/engine/dense/")
  endif()
  list(APPEND spmm_sources ${spmm_cuda_sources})
  # wgmma is for 9.0 alone: code for it beside the one that later architectures take, too.
  set(spmm_sweeps ${PROJECT_SOURCE_DIR}/kernels/cuda/sddmm/sddmm_sweeps.cu)
  if(CMAKE_CUDA_ARCHITECTURES MATCHES "(^|;)90a?(-real|-virtual)?(;|$)")
    set_property(SOURCE ${spmm_sweeps} APPEND PROPERTY COMPILE_DEFINITIONS SPMM_SM90A)
  endif()
  if(CMAKE_CUDA_ARCHITECTURES MATCHES "(^|;)90(-real|-virtual)?(;|$)")
    set_property(SOURCE ${spmm_sweeps} APPEND PROPERTY
      COMPILE_OPTIONS -gencode=arch=compute_90a,code=sm_90a)
  endif()
endif()

# What the sources link, beside MPI, and the definitions that say what they may use.
set(spmm_private_libraries OpenMP::OpenMP_C Threads::Threads m)
set(spmm_private_definitions _POSIX_C_SOURCE=200809L)
if(ZLIB_FOUND)
  list(APPEND spmm_private_libraries ZLIB::ZLIB)
  list(APPEND spmm_private_definitions SPMM_HAVE_ZLIB)
endif()
if(METIS_FOUND)
  list(APPEND spmm_private_libraries METIS::METIS)
  list(APPEND spmm_private_definitions SPMM_HAVE_METIS)
endif()
if(PTSCOTCH_FOUND)
  list(APPEND spmm_private_libraries PTSCOTCH::PTSCOTCH)
  list(APPEND spmm_private_definitions SPMM_HAVE_PTSCOTCH)
endif()
if(SPMM_NVTX_INCLUDE_DIR)
  list(APPEND spmm_private_definitions SPMM_HAVE_NVTX)
  list(APPEND spmm_private_libraries ${CMAKE_DL_LIBS})
endif()
if(SPMM_ENABLE_CUDA)
  list(APPEND spmm_private_libraries CUDA::cudart CUDA::cusparse)
  list(APPEND spmm_private_definitions SPMM_HAVE_CUDA)
  if(SPMM_CUBLASLT_INCLUDE_DIR) # the library itself is loaded by who uses it
    list(APPEND spmm_private_libraries ${CMAKE_DL_LIBS})
    list(APPEND spmm_private_definitions SPMM_HAVE_CUBLASLT)
  endif()
  if(NCCL_FOUND)
    list(APPEND spmm_private_libraries NCCL::NCCL)
    list(APPEND spmm_private_definitions SPMM_HAVE_NCCL)
  endif()
endif()
set(spmm_public_definitions OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
set(spmm_internal_includes ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/kernels)

set(SPMM_C_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wstrict-prototypes
  -Wmissing-prototypes -Wswitch)

add_library(spmm_objects OBJECT ${spmm_sources})
# Vectors of C are multiplied and added by one instruction, which -std=c11 by itself forbids: in
# every copy of a loop, also where the compiler would take two for speed, so that all round alike.
set(spmm_fused -ffp-contract=fast)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND spmm_fused --param=avoid-fma-max-bits=0)
endif()
set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/cpu/csr/csr_rows.c PROPERTIES
  COMPILE_OPTIONS "${spmm_fused};-fno-tree-vectorize;-fno-tree-slp-vectorize;-falign-loops=32")
set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/cpu/csr/csr_mm.c
  ${PROJECT_SOURCE_DIR}/kernels/cpu/rows.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
set_target_properties(spmm_objects PROPERTIES C_VISIBILITY_PRESET hidden
  CUDA_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
target_link_libraries(spmm_objects PRIVATE MPI::MPI_C ${spmm_private_libraries})
target_compile_options(spmm_objects PRIVATE $<$<COMPILE_LANGUAGE:C>:${SPMM_C_WARNINGS}>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra --expt-relaxed-constexpr>)
target_compile_definitions(spmm_objects PRIVATE ${spmm_public_definitions}
  ${spmm_private_definitions})
target_include_directories(spmm_objects PRIVATE ${spmm_internal_includes})
if(SPMM_NVTX_INCLUDE_DIR)
  target_include_directories(spmm_objects SYSTEM PRIVATE ${SPMM_NVTX_INCLUDE_DIR})
endif()

add_library(spmm_dist $<TARGET_OBJECTS:spmm_objects>)
add_library(spmm_dist::spmm_dist ALIAS spmm_dist)
set_target_properties(spmm_dist PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(spmm_dist PUBLIC c_std_11)
target_compile_definitions(spmm_dist PUBLIC ${spmm_public_definitions})
target_include_directories(spmm_dist
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(spmm_dist PUBLIC MPI::MPI_C PRIVATE ${spmm_private_libraries})
# A missing symbol is an error here, not in the user's program.  Sanitizers resolve theirs later.
if(UNIX AND NOT APPLE AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize=")
  target_link_options(spmm_dist PRIVATE LINKER:-z,defs)
endif()

# What the headers declare is exported, and nothing of what a linked library brings; names carry the
# version of the API, so that a program finds out at its start when a library is of another one.
if(BUILD_SHARED_LIBS AND UNIX AND NOT APPLE)
  file(GLOB spmm_public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/spmm_dist/*.h)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${spmm_public_headers})
  set(spmm_exports "")
  foreach(header ${spmm_public_headers})
    file(READ ${header} text)
    string(REGEX MATCHALL "SPMM_API [^;(]*spmm_[a-z0-9_]+\\(" declarations "${text}")
    foreach(declaration ${declarations})
      string(REGEX REPLACE ".*(spmm_[a-z0-9_]+)\\($" "    \\1;\n" name "${declaration}")
      string(APPEND spmm_exports "${name}")
    endforeach()
  endforeach()
  string(STRIP "${spmm_exports}" spmm_exports)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/spmm_dist.map.in ${PROJECT_BINARY_DIR}/spmm_dist.map
    @ONLY)
  target_link_options(spmm_dist PRIVATE
    LINKER:--version-script=${PROJECT_BINARY_DIR}/spmm_dist.map)
  set_property(TARGET spmm_dist APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/spmm_dist.map)
endif()

add_library(spmm_internal STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:spmm_objects>)
target_compile_definitions(spmm_internal INTERFACE ${spmm_public_definitions}
  ${spmm_private_definitions})
target_include_directories(spmm_internal INTERFACE ${spmm_internal_includes})
target_link_libraries(spmm_internal PUBLIC MPI::MPI_C ${spmm_private_libraries})

set_target_properties(spmm_objects spmm_dist spmm_internal PROPERTIES
  C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF CUDA_STANDARD 17)
