#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times of the engines by name at widths that nobody chose, which models are fitted to and judged
# by: every matrix at three widths drawn from 1 to 600, and at 1, 16 and a large one a quarter each.
#
#     SPMM_MATRIX_DIR=DIR[:DIR] SPMM_STANDIN_DIR=DIR bench/fit/measure.sh [OPTION...] OUTPUT_DIR
#
#   --modes M,M       of 32f-fast-tf32, 32f, 64f, 16f and, column-major, 32f-col and 64f-col [all]
#   --names REGEX     matrices whose name (without the ending of the file) matches [all]
#   --least K         bytes of a compressed file of a matrix that is large enough [100000]
#   --iterations K    [20]
#   --terms 1         no times, but terms of the models, without a GPU, for fit.py
#   OUTPUT_DIR        gets MODE.GROUP.tsv, one file for each mode and quarter of the matrices, or
#                     terms.tsv
#
#   SPMM_MATRIX_DIR   folders of Matrix Market files
#   SPMM_STANDIN_DIR  folder that bench/engine/standins.sh made; the stand-ins there are taken
#   SPMM_BUILD_DIR    default build/cuda
#
# Exit code: the largest of spmm_bench's, or of bench_predict's.
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
# Drawn once, uniform in the logarithm, from 1 to 12, 13 to 90 and 91 to 600; a one for an eight.
# shellcheck disable=SC2054 # three widths each
widths=(1,34,239 1,16,139 4,38,399 4,53,387)
modes=32f-fast-tf32,32f,64f,32f-col,64f-col,16f names=. least=100000 iterations=20 terms=0
options 'modes names least iterations terms' 1 "$@"
need SPMM_MATRIX_DIR
output=${operands[0]:?an OUTPUT_DIR}
mkdir -p "$output"
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT

# Quarters in the order of the names: neighbours, often of one kind, get different widths.
IFS=: read -r -a folders <<<"$SPMM_MATRIX_DIR"
find -L "${folders[@]}" -name '*.mtx.gz' -size +"$((least / 512))" >"$lists/all"
[ -z "${SPMM_STANDIN_DIR:-}" ] || find -L "$SPMM_STANDIN_DIR" -name 'syn-*.csr' >>"$lists/all"
awk -F / -v names="$names" -v lists="$lists" '{
    name = $NF
    sub(/\.(mtx\.gz|csr)$/, "", name)
    if (name ~ names) { print name "\t" $0 }
}' "$lists/all" | sort | awk -F '\t' -v lists="$lists" '{ print $2 > (lists "/" (NR - 1) % 4) }'

# engines_of MODE
engines_of() {
    case $1 in
        16f) echo cusparse,csr-gpu,cvse,bcsr ;;
        64f) echo cusparse,csr-gpu,dmma,dense ;;
        64f-col) echo cusparse,csr-gpu,dmma ;;
        32f-col) echo cusparse,csr-gpu,bittcf,hrpb ;;
        32f*) echo cusparse,csr-gpu,bittcf,hrpb,dense ;;
        *) die "no mode $1" ;;
    esac
}

# measure MODE GROUP
measure() {
    local type=${1%%-*} compute=${1%-col} layout=row
    [ "$compute" != 16f ] || compute=32f
    [[ $1 != *-col ]] || layout=col
    "$(program tools/spmm_bench)" --matrix-list "$lists/$2" --columns "${widths[$2]}" \
        --type "$type" --compute "$compute" --layout "$layout" --engines "$(engines_of "$1")" \
        --reorder none --iterations "$iterations" --out "$output/$1.$2.tsv" \
        --note "made by bench/fit/measure.sh, group $2" >"$output/log" 2>&1
}

status=0
[ "$terms" = 0 ] || : >"$output/terms.tsv"
for mode in ${modes//,/ }; do
    for group in 0 1 2 3; do
        [ -s "$lists/$group" ] || continue
        code=0
        if [ "$terms" = 0 ]; then
            measure "$mode" $group || code=$?
            echo "$mode.$group: exit code $code"
        else
            mapfile -t files <"$lists/$group"
            "$(program bench/bench_predict)" --terms "$mode" "${widths[group]}" "${files[@]}" |
                awk -v first="$output/terms.tsv" 'NR > 1 || !(getline line < first)' \
                    >>"$output/terms.tsv" || code=$?
        fi
        [ $code -le $status ] || status=$code
    done
done
rm -f "$output/log"
exit $status
