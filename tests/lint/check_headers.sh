#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone, as C11 and as C++11, without a warning; types.h and
# the kernels' arguments without MPI as well.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
skip_without mpicc
skip_without mpicxx
flags="-Wall -Wextra -Wpedantic -Werror -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -fsyntax-only"
bad=0
try() { # COMPILER HEADER FLAGS...
    local compiler=$1 header=$2
    shift 2
    # shellcheck disable=SC2086
    if ! printf '#include "%s"\nextern int spmm_header_check;\n' "$header" |
        $compiler "$@" $flags -Iinclude -Ikernels -Isrc -; then
        echo "$header does not compile alone with $compiler $*"
        bad=1
    fi
}
while read -r header; do
    try mpicc "$header" -std=c11 -x c
    try mpicxx "$header" -std=c++11 -x c++
done < <(files '^include/.*\.h$' | sed 's|^include/||')
while read -r header; do
    try "${CC:-cc}" "$header" -std=c11 -x c
    try "${CXX:-c++}" "$header" -std=c++17 -x c++
done < <(printf '%s\n' spmm_dist/types.h kernel_args.h
    files '^src/engine/[^/]*/[a-z_]*args\.h$' | sed 's|^src/||')
exit $bad
