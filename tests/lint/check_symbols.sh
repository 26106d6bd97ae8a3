#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh ROOT LIBRARY: the shared library exports what the public headers declare with
# SPMM_API, all of it and nothing else.  A static library, which can hide nothing, defines these
# names and others that begin with spmmi_, or with the C++ namespace spmmi, alone.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
skip_without nm
library=$2
declared=$(cat include/spmm_dist/*.h | tr '\n' ' ' |
    grep -oE 'SPMM_API [^;(]*\(' | grep -oE 'spmm_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u)
[ -n "$declared" ] || { echo "no declaration found in include/"; exit 1; }
[ -f "$library" ] || { echo "$library is not built"; exit 1; }
case "$library" in
    *.a)
        # nvcc, the C++ library and the headers of NVTX add names of their own.
        internal='^(spmmi_.*|_Z.*5spmmi.*|_ZN?K?S.*|_ZN3std.*|_Z.*_GLOBAL__N_.*|DW\.ref\..*'
        internal+='|__(cuda|nv|fatbin).*|_?_?[0-9]*fatbin.*|nvtx[A-Z].*'
        internal+='|InitializeInjectionNvtx2_fnptr)$'
        defined=$(nm --defined-only --extern-only "$library" 2>/dev/null |
            awk 'NF == 3 {print $3}' | grep -vE "$internal" | sort -u) ;;
    *.so*)
        # The linker's own _init and _fini are no interface.
        # Versions that names carry are absolute symbols.
        defined=$(nm -D --defined-only "$library" | awk '$(NF - 1) != "A" {print $NF}' |
            sed 's/@.*//' | grep -vE '^(_init|_fini|__bss_start|_edata|_end)$' | sort -u) ;;
    *)
        echo "skipped: $library is neither a shared nor a static library"
        exit 77 ;;
esac
diff <(echo "$declared") <(echo "$defined") && exit 0
echo "< declared and not defined; > defined and not declared"
exit 1
