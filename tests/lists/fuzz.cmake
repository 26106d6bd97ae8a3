# SPDX-License-Identifier: Apache-2.0
# Fuzz targets: tests/fuzz/README.md.  Every build runs their corpora once; a build by clang with
# SPMM_FUZZ (preset fuzz) fuzzes for 10 s each.
option(SPMM_FUZZ "Build the fuzz targets with libFuzzer (needs clang and -fsanitize=fuzzer-no-link)" OFF)
if(NOT ZLIB_FOUND)
  return()
endif()

# spmm_add_fuzz(name source): a target with the corpus of its name.
function(spmm_add_fuzz name source)
  set(fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz)
  add_executable(fuzz_${name} ${fuzz}/${source}.c ${fuzz}/fuzz.c)
  set_target_properties(fuzz_${name} PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_compile_options(fuzz_${name} PRIVATE ${SPMM_C_WARNINGS})
  target_link_libraries(fuzz_${name} PRIVATE spmm_internal)
  target_link_options(fuzz_${name} PRIVATE
    LINKER:--wrap=spmmi_alloc,--wrap=spmmi_alloc_zero,--wrap=spmmi_realloc,--wrap=spmmi_free)
  if(SPMM_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND ${fuzz}/run.sh $<TARGET_FILE:fuzz_${name}> 10)
    set(label fuzz)
  else()
    target_sources(fuzz_${name} PRIVATE ${fuzz}/fuzz_replay.c)
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} ${fuzz}/corpus/${name})
    add_dependencies(spmm_unit_tests fuzz_${name})
    set(label "fuzz;unit")
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES LABELS "${label}" TIMEOUT 120
    ENVIRONMENT "${spmm_test_environment}")
endfunction()

spmm_add_fuzz(matrix_market fuzz_matrix_market)
spmm_add_fuzz(csr fuzz_file)
spmm_add_fuzz(smtx fuzz_file)
spmm_add_fuzz(partition fuzz_partition)
spmm_add_fuzz(spec fuzz_spec)
spmm_add_fuzz(create fuzz_create)
