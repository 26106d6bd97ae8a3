#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An engine is known in the folder that defines it and by its line in engine_list.h: no other file
# of the library names it, in code or comments.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
bad=0
list=src/engine/engine_list.h
names=$(sed -nE 's/^SPMM_ENGINE\(([a-z0-9_]+)\).*/\1/p' $list)
[ -n "$names" ] || { echo "$list names no engine"; exit 1; }

# May a file use this name, and why?
allowed() { # FILE NAME
    case "$1 $2" in
        "$list "*) ;;
        "$home/"*) ;;
        # The public column-vector-sparse input is called as the format is in its paper.
        src/matrix/*" cvse" | src/api/*" cvse") ;;
        # A kernel of SDDMM by its public name, and the format that it shares with the engine.
        src/engine/sddmm/*" cvse" | src/plan/sddmm*" cvse") ;;
        # B and C are dense blocks: the word names the engine nowhere else.
        *" dense") ;;
        *) return 1 ;;
    esac
}

for name in $names; do
    home=$(files '^src/engine/.*\.c$' | xargs -r -d '\n' \
        grep -lE "^const spmm_engine_ops_t spmmi_engine_$name( |\$)")
    [ -n "$home" ] || { echo "$list: no file defines engine $name"; bad=1; }
    home=$(dirname "$home")
    # In identifiers and texts, with '_' and '-': csr_gpu, csr-gpu, spmmi_csr_gpu_work.
    pattern="(^|[^a-z0-9])${name//_/[-_]}($|[^a-z0-9])"
    while read -r file; do
        if ! allowed "$file" "$name"; then
            grep -nE "$pattern" "$file" | sed "s|^|$file: engine ${name//_/-} named: |"
            bad=1
        fi
    done < <(files '^(src|partition)/.*\.[ch]$' | xargs -r -d '\n' grep -lE "$pattern")
done
exit $bad
