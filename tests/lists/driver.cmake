# SPDX-License-Identifier: Apache-2.0
# The driver through its command line (Python 3, standard library only), and its comparison with the
# reference through a unit test: a wrong result cannot be had from the program itself.
if(NOT SPMM_BUILD_TOOLS)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(tools ${PROJECT_SOURCE_DIR}/tools/driver)
add_executable(test_driver_verify driver/test_driver_verify.c)
set_target_properties(test_driver_verify PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_link_libraries(test_driver_verify PRIVATE spmm_tools spmm_test_main)
foreach(ranks 1 2 4)
  spmm_add_mpi_test(test_driver_verify.n${ranks} ${ranks} driver
    $<TARGET_FILE:test_driver_verify>)
endforeach()

add_executable(test_driver_find driver/test_driver_find.c ${tools}/driver_find.c)
set_target_properties(test_driver_find PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_include_directories(test_driver_find PRIVATE ${tools})
target_link_libraries(test_driver_find PRIVATE spmm_tools spmm_test_main)
spmm_add_mpi_test(test_driver_find.n1 1 driver $<TARGET_FILE:test_driver_find>)

add_library(fake_nvml SHARED driver/fake_nvml.c)
foreach(script test_cli test_doctor test_input test_plot test_report cover)
  add_test(NAME driver.${script}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/driver/${script}.py)
  set_tests_properties(driver.${script} PROPERTIES LABELS driver PROCESSORS 2 TIMEOUT 600
    ENVIRONMENT "${spmm_test_environment};SPMM_DRIVER=$<TARGET_FILE:spmm_dist_driver>;MPIEXEC=${MPIEXEC_EXECUTABLE};MPIEXEC_NUMPROC_FLAG=${MPIEXEC_NUMPROC_FLAG};SPMM_FAKE_NVML=$<TARGET_FILE:fake_nvml>;PYTHONDONTWRITEBYTECODE=1")
endforeach()
# Most of its runs are of one rank, which starts and says no.
set_tests_properties(driver.test_cli PROPERTIES PROCESSORS 1)
