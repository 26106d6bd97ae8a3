#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Includes point one way.  A layer sees itself, the layers before it in the list, the public headers
# and, from device on, the kernels' headers.  Kernels see types.h, kernel_args.h, each other and the
# arguments of engines, engine/*/*args.h, those for CPUs also base/scalar.h (16-bit numbers).
# Arguments and base/scalar.h see what kernels see.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
layers="base device matrix partition engine exchange plan api"
bad=0
offend() {
    echo "$1: $2"
    bad=1
}

folder_of() {
    if [ "$1" = partition ]; then echo partition; else echo "src/$1"; fi
}

# Prints "file:line header" for every quoted or angled include of the C files below a folder.
includes() {
    files "^$1/.*\.(c|h|cu|cuh)\$" | while read -r file; do
        sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*([<"][^>"]+[>"]).*/\1/;T;=;p' \
            "$file" | paste -d' ' - - | sed "s|^|$file:|"
    done
}

# May a file in a layer include this quoted header?
check_layer() {
    local layer=$1 below=" " name
    for name in $layers; do
        below="$below$name "
        [ "$name" != "$layer" ] || break
    done
    while read -r where header; do
        name=${header#[<\"]}
        name=${name%[>\"]}
        case "$header" in
            *..*) offend "$where" "$header: no relative paths" ;;
            '"spmm_dist/'* | '<'*) ;;
            '"kernel_args.h"' | '"cpu/'* | '"cuda/'* | '"kernels/'*)
                [ "$layer" != base ] || offend "$where" "base must not include $header" ;;
            *)
                # A bare name is a header beside the file or one of the kernels' folder.
                case "$name" in */*) name=${name%%/*} ;; *) name=$layer ;; esac
                case "$below" in
                    *" $name "*) ;;
                    *) offend "$where" "$layer must not include $header" ;;
                esac ;;
        esac
    done < <(includes "$(folder_of "$layer")")
}

for layer in $layers; do
    check_layer "$layer"
done
for folder in $(files '^src/.*' | cut -d/ -f2 | sort -u); do
    case " $layers " in
        *" $folder "*) ;;
        *) offend "src/$folder" "not a layer; add it to $0" ;;
    esac
done

while read -r where header; do
    name=${header#[<\"]}
    name=${name%[>\"]}
    case "$header" in
        *..*) offend "$where" "$header: no relative paths" ;;
        '"spmm_dist/types.h"' | '"kernel_args.h"' | '"engine/'*'args.h"') ;;
        '"base/scalar.h"')
            case "$where" in kernels/cpu/*) ;; *) offend "$where" "only kernels/cpu may" ;; esac ;;
        '<mpi.h>' | '<nccl.h>') offend "$where" "kernels must not include $header" ;;
        '<'*) ;;
        *) [ -f "kernels/$name" ] || [ -f "$(dirname "$where")/$name" ] ||
            offend "$where" "kernels must not include $header" ;;
    esac
done < <(includes kernels; includes src/base | grep '^src/base/scalar\.h:'
    includes src/engine | grep '^src/engine/[^/]*/[a-z_]*args\.h:')

# Public headers and examples see what a user sees; examples also the headers beside them.
while read -r where header; do
    name=${header#[<\"]}
    name=${name%[>\"]}
    case "$header" in
        '"spmm_dist/'* | '<'*) ;;
        */*) offend "$where" "only public headers here, not $header" ;;
        *)
            case "$where" in
                examples/*) [ -f "examples/$name" ] ||
                    offend "$where" "only public headers and those of examples here, not $header" ;;
                *) offend "$where" "only public headers here, not $header" ;;
            esac ;;
    esac
done < <(includes include; includes examples)
exit $bad
