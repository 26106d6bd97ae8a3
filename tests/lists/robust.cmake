# SPDX-License-Identifier: Apache-2.0
spmm_add_test(test_misuse 1 2 3)
spmm_add_test(test_split 1 3)
if(ZLIB_FOUND) # temp_file.c packs .gz files
  spmm_add_test(test_sweep 1 3)
  target_sources(test_sweep PRIVATE support/temp_file.c)
endif()
