#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cppcheck over the host sources, with every optional part present and with none.  The second
# argument is a folder that keeps the analysis of unchanged files.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
skip_without cppcheck
cache=${2:-}
check() { # NAME DEFINITIONS...
    local name=$1
    shift
    local -a keep=()
    if [ -n "$cache" ]; then
        mkdir -p "$cache/$name"
        keep=("--cppcheck-build-dir=$cache/$name")
    fi
    files '^(src|partition|kernels/cpu|tools)/.*\.c$' | cppcheck --file-list=- "${keep[@]}" "$@" \
        --std=c11 --quiet -j2 --enable=warning,performance,portability --inline-suppr \
        --suppress=missingInclude --error-exitcode=1 -D_POSIX_C_SOURCE=200809L \
        -Iinclude -Isrc -Ikernels -I.
}
status=0
check full -DSPMM_HAVE_ZLIB -DSPMM_HAVE_METIS -DSPMM_HAVE_PTSCOTCH -DSPMM_HAVE_CUDA \
    -DSPMM_HAVE_NCCL || status=1
check bare -USPMM_HAVE_ZLIB -USPMM_HAVE_METIS -USPMM_HAVE_PTSCOTCH -USPMM_HAVE_CUDA \
    -USPMM_HAVE_NCCL || status=1
exit $status
