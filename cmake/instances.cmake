# SPDX-License-Identifier: Apache-2.0
# Kernels that are templates: one .cu for each instance, made here, so that they compile side by
# side.  Adds them to spmm_cuda_sources.
#
# kernels/cuda/FOLDER/instances.cmake says spmm_kernel_instances(NAME INSTANCE "ARGUMENTS" ...), and
# kernels/cuda/FOLDER/NAME_launch.cuh defines SPMM_INSTANCE(arguments).
function(spmm_kernel_instances name)
  get_filename_component(folder ${CMAKE_CURRENT_LIST_DIR} NAME)
  set(instances ${ARGN})
  while(instances)
    list(POP_FRONT instances instance arguments)
    set(file ${PROJECT_BINARY_DIR}/instances/${name}_${instance}.cu)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/instance.cu.in ${file} @ONLY)
    list(APPEND spmm_cuda_sources ${file})
  endwhile()
  set(spmm_cuda_sources ${spmm_cuda_sources} PARENT_SCOPE)
endfunction()

file(GLOB spmm_instances CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*/instances.cmake)
foreach(spmm_list IN LISTS spmm_instances)
  include(${spmm_list})
endforeach()
