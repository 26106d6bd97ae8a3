# SPDX-License-Identifier: Apache-2.0
# spmm_other_mpi(library variable): a sentence where the shared library links another MPI than this
# build's (MPI_C_LIBRARIES), "" otherwise: a program with both links and then crashes.
function(spmm_mpi_soname library tag variable)
  set(found "")
  if(CMAKE_READELF AND library MATCHES "\\.so")
    execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE entries ERROR_QUIET)
    if(entries MATCHES "\\(${tag}\\)[^\n]*\\[(libmpi(ch)?\\.so[^\n]*)\\]")
      set(found ${CMAKE_MATCH_1})
    endif()
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

function(spmm_other_mpi library variable)
  set(${variable} "" PARENT_SCOPE)
  spmm_mpi_soname(${library} NEEDED needed)
  foreach(mpi IN LISTS MPI_C_LIBRARIES)
    spmm_mpi_soname(${mpi} SONAME soname)
    if(needed AND soname AND NOT needed STREQUAL soname)
      set(${variable} "it was built with the MPI of ${needed}, and this MPI is ${soname}"
        PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
