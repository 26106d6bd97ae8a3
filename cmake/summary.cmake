# SPDX-License-Identifier: Apache-2.0
# What this build can do, at the end of configuring.  spmm_summary(feature found detail loss): what
# is missing is named with what is lost.
function(spmm_summary feature found detail loss)
  if(found)
    message(STATUS "spmm_dist: ${feature}: ${detail}")
  else()
    message(STATUS "spmm_dist: ${feature}: MISSING: ${loss}")
  endif()
endfunction()

message(STATUS "spmm_dist ${PROJECT_VERSION}: MPI ${MPI_C_VERSION}, OpenMP ${OpenMP_C_VERSION}")
spmm_summary("zlib" "${ZLIB_FOUND}" "${ZLIB_VERSION_STRING}" ".mtx.gz files cannot be read")
if(SPMM_ENABLE_METIS)
  spmm_summary("METIS" "${METIS_FOUND}" "${METIS_VERSION}"
    "no partition metis; auto takes ptscotch or block")
else()
  message(STATUS "spmm_dist: METIS: off (SPMM_ENABLE_METIS)")
endif()
if(SPMM_ENABLE_PTSCOTCH)
  spmm_summary("PT-Scotch" "${PTSCOTCH_FOUND}" "${PTSCOTCH_VERSION}"
    "no partition ptscotch, which needs no rank that holds the whole graph")
else()
  message(STATUS "spmm_dist: PT-Scotch: off (SPMM_ENABLE_PTSCOTCH)")
endif()
spmm_summary("NVTX" "${SPMM_NVTX_INCLUDE_DIR}" "${SPMM_NVTX_INCLUDE_DIR}"
  "profilers see no names of phases")
if(SPMM_ENABLE_FORTRAN)
  spmm_summary("Fortran" "${MPI_Fortran_HAVE_F90_MODULE}" "${CMAKE_Fortran_COMPILER_ID}"
    "no compiler, or none with MPI's modules: the Fortran module is installed, but not tested")
endif()
if(DEFINED spmm_python_version)
  spmm_summary("Python" "${SPMM_ENABLE_PYTHON}" "${spmm_python_version}"
    "no package: it takes a shared library, and a Python with NumPy, mpi4py and cffi (SPMM_PYTHON)")
endif()
if(NOT SPMM_ENABLE_CUDA)
  message(STATUS "spmm_dist: CUDA: off (SPMM_ENABLE_CUDA): CPUs only")
else()
  message(STATUS
    "spmm_dist: CUDA: ${CUDAToolkit_VERSION} for architecture ${CMAKE_CUDA_ARCHITECTURES}")
  spmm_summary("cuBLASLt" "${SPMM_CUBLASLT_INCLUDE_DIR}" "${SPMM_CUBLASLT_INCLUDE_DIR}"
    "no engine dense")
  if(SPMM_ENABLE_NCCL)
    spmm_summary("NCCL" "${NCCL_FOUND}" "${NCCL_VERSION}"
      "no transport nccl; halos travel through MPI")
  else()
    message(STATUS "spmm_dist: NCCL: off (SPMM_ENABLE_NCCL)")
  endif()
endif()
