#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh ROOT LIBRARY: the shared library exports what the public headers declare with
# SPMM_API, all of it and nothing else.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
skip_without nm
library=$2
case "$library" in
    *.so*) ;;
    *)
        echo "skipped: $library is not a shared library"
        exit 77 ;;
esac
declared=$(cat include/spmm_dist/*.h | tr '\n' ' ' |
    grep -oE 'SPMM_API [^;(]*\(' | grep -oE 'spmm_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u)
# The linker's own _init and _fini are no interface.
# Versions that names carry are absolute symbols.
exported=$(nm -D --defined-only "$library" | awk '$(NF - 1) != "A" {print $NF}' | sed 's/@.*//' |
    grep -vE '^(_init|_fini|__bss_start|_edata|_end)$' | sort -u)
[ -n "$declared" ] || { echo "no declaration found in include/"; exit 1; }
diff <(echo "$declared") <(echo "$exported") && exit 0
echo "< declared and not exported; > exported and not declared"
exit 1
