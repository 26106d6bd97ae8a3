# SPDX-License-Identifier: Apache-2.0
# The module against the headers by their texts, and by the compilers where there is one for Fortran.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(fortran ${PROJECT_SOURCE_DIR}/tests/fortran)
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
set(compilers "")
if(Fortran IN_LIST languages)
  set(compilers ${CMAKE_Fortran_COMPILER} ${MPI_C_COMPILER})
endif()
add_test(NAME lint.fortran COMMAND ${Python3_EXECUTABLE} ${fortran}/check_module.py ${compilers})
set_tests_properties(lint.fortran PROPERTIES LABELS lint TIMEOUT 120
  ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)

spmm_add_test(test_fortran_entries 1 2 3)
if(TARGET spmm_dist::fortran AND MPI_Fortran_HAVE_F08_MODULE)
  add_executable(test_fortran fortran/test_fortran.f90)
  if(CMAKE_Fortran_COMPILER_ID STREQUAL GNU)
    target_compile_options(test_fortran PRIVATE -std=f2018 -Wall -Wextra -fcheck=all)
    target_compile_options(spmm_dist_fortran PRIVATE -std=f2018 -Wall -Wextra)
  endif()
  set_target_properties(test_fortran PROPERTIES
    Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/test_fortran.mod)
  target_link_libraries(test_fortran PRIVATE spmm_dist::fortran MPI::MPI_Fortran)
  foreach(ranks 1 2 3 4)
    spmm_add_mpi_test(test_fortran.n${ranks} ${ranks} dist $<TARGET_FILE:test_fortran>)
  endforeach()
endif()
