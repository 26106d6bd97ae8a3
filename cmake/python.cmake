# SPDX-License-Identifier: Apache-2.0
# The Python package, where there is a Python with what it imports: SPMM_PYTHON, else the one of
# scripts/setup.sh, else the first on the path.
if(NOT SPMM_PYTHON)
  find_program(SPMM_PYTHON python3 PATHS ${PROJECT_SOURCE_DIR}/build/venv/bin NO_DEFAULT_PATH
    DOC "Python with NumPy, mpi4py and cffi")
  find_program(SPMM_PYTHON python3)
endif()
set(spmm_python_version "")
if(SPMM_PYTHON AND BUILD_SHARED_LIBS AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize=")
  execute_process(COMMAND ${SPMM_PYTHON} -c
    "import sys, cffi, numpy, mpi4py; assert sys.version_info > (3, 9); print(sys.version[:6])"
    OUTPUT_VARIABLE spmm_python_version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT spmm_python_version)
  unset(SPMM_PYTHON CACHE) # the next run looks again
  set(SPMM_ENABLE_PYTHON OFF)
endif()
