# SPDX-License-Identifier: Apache-2.0
foreach(test test_formats test_windows test_formats_matrices test_formats_mm)
  spmm_add_test(${test} 1)
endforeach()
foreach(test test_formats_matrices test_formats_mm)
  target_link_libraries(${test} PRIVATE spmm_engine_case)
endforeach()

# The formats inside whole plans: the driver compares with FP64 and exits with 1 where it differs.
if(SPMM_BUILD_TOOLS)
  # spmm_add_format_run(engine type name ranks arguments...)
  function(spmm_add_format_run engine type name ranks)
    spmm_add_mpi_test(driver.${engine}.${name}.n${ranks} ${ranks} driver
      $<TARGET_FILE:spmm_dist_driver> --device cpu --engine ${engine} --type ${type} --verify
      --warmup 0 --iterations 1 ${ARGN})
  endfunction()

  foreach(engine bittcf hrpb dmma cvse bcsr bcsr-sp24)
    set(type 32f)
    if(engine STREQUAL dmma)
      set(type 64f)
    elseif(engine MATCHES "cvse|bcsr")
      set(type 16bf)
    endif()
    foreach(ranks 1 2 3 4)
      spmm_add_format_run(${engine} ${type} file ${ranks}
        --matrix ${CMAKE_CURRENT_SOURCE_DIR}/data/bips98_606.mtx.gz --columns 33)
      spmm_add_format_run(${engine} ${type} transposed ${ranks} --generate rmat:scale=10,degree=8
        --op t --layout col --pad 3 --columns 7 --alpha 1.5 --beta -0.5)
      spmm_add_format_run(${engine} ${type} tiny ${ranks} --generate banded:rows=3,band=1
        --columns 1)
      if(type STREQUAL 32f)
        spmm_add_format_run(${engine} ${type} tf32 ${ranks} --generate stencil27:nx=8,ny=9,nz=10
          --compute 32f-fast-tf32 --columns 100)
      else()
        spmm_add_format_run(${engine} ${type} stencil ${ranks}
          --generate stencil27:nx=8,ny=9,nz=10 --columns 100)
      endif()
    endforeach()
  endforeach()

  spmm_add_mpi_test(driver.explain.bytes 1 driver $<TARGET_FILE:spmm_dist_driver> --device cpu
    --generate stencil27:nx=16,ny=16,nz=16,dof=3 --type 32f --engine hrpb --iterations 1 --explain)
  set_tests_properties(driver.explain.bytes PROPERTIES
    PASS_REGULAR_EXPRESSION "format of hrpb: [1-9][0-9]* bytes on the host, 0 on the device; CSR takes 7057348")
  spmm_add_mpi_test(driver.explain.facts 1 driver $<TARGET_FILE:spmm_dist_driver> --device cpu
    --generate stencil27:nx=16,ny=16,nz=16,dof=3 --type 32f --iterations 1 --explain)
  set_tests_properties(driver.explain.facts PROPERTIES
    PASS_REGULAR_EXPRESSION "MeanNNZTC 35\\.77, IBD 3\\.12; 16x4 bricks: 35264, density 38\\.8 %")
endif()
