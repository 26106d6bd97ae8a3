#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times of the engines by name at widths that nobody chose, which models are fitted to and judged
# by: three widths for each part of the matrices, drawn from 1 to 600.
#
#     SPMM_MATRIX_DIR=DIR[:DIR] bench/fit/measure.sh [OPTION...] OUTPUT_DIR
#
#   --modes M,M       of 32f, 64f, 32f-fast-tf32, 16f and, column-major, 32f-col and 64f-col [all]
#   --widths W:W:...  lists of widths, as many as there are parts [three of a first draw]
#   --names REGEX     matrices whose name (without the ending of the file) matches [all]
#   --least K         bytes of a compressed file of a matrix that is large enough [100000]
#   --iterations K    [20]
#   --check K         multiplications that a product is compared with, as of spmm_bench [20000000]
#   --terms 1         no times, but terms of the models, without a GPU, for fit.py
#   OUTPUT_DIR        gets MODE.PART.tsv, one file for each mode and part of the matrices, or
#                     terms.tsv
#
#   SPMM_MATRIX_DIR   folders of Matrix Market files
#   SPMM_STANDIN_DIR  folder that bench/engine/standins.sh made; the stand-ins there are taken
#   SPMM_BUILD_DIR    default build/cuda
#
# A part is measured in all modes before the next one, so that a run that is ended early has whole
# matrices.  Exit code: the largest of spmm_bench's, or of bench_predict's.
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
# Drawn uniform in the logarithm, from 1 to 12, 13 to 90 and 91 to 600; here a one for an eight.
widths=1,34,239:4,53,387:1,16,139
modes=32f,64f,32f-fast-tf32,32f-col,64f-col,16f names=. least=100000 iterations=20 check=20000000
terms=0
options 'modes widths names least iterations check terms' 1 "$@"
need SPMM_MATRIX_DIR
IFS=: read -r -a widths_of <<<"$widths"
output=${operands[0]:?an OUTPUT_DIR}
mkdir -p "$output"
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT

# Parts in the order of the names: neighbours, often of one kind, get different widths.
IFS=: read -r -a folders <<<"$SPMM_MATRIX_DIR"
find -L "${folders[@]}" -name '*.mtx.gz' -size +"$((least / 512))" >"$lists/all"
[ -z "${SPMM_STANDIN_DIR:-}" ] || find -L "$SPMM_STANDIN_DIR" -name 'syn-*.csr' >>"$lists/all"
awk -F / -v names="$names" '{
    name = $NF
    sub(/\.(mtx\.gz|csr)$/, "", name)
    if (name ~ names) { print name "\t" $0 }
}' "$lists/all" | sort |
    awk -F '\t' -v lists="$lists" -v n=${#widths_of[@]} '{ print $2 > (lists "/" (NR - 1) % n) }'

# engines_of MODE: csr-gpu multiplies in FP32 where TF32 is allowed.
engines_of() {
    case $1 in
        16f) echo cusparse,csr-gpu,cvse,bcsr ;;
        64f) echo cusparse,csr-gpu,dmma ;;
        64f-col) echo cusparse,csr-gpu,dmma,strips ;;
        32f) echo cusparse,csr-gpu,bittcf,hrpb ;;
        32f-col) echo cusparse,csr-gpu,bittcf,hrpb,strips ;;
        32f-fast-tf32) echo cusparse,bittcf,hrpb ;;
        *) die "no mode $1" ;;
    esac
}

# measure MODE PART
measure() {
    local type=${1%%-*} compute=${1%-col} layout=row
    [ "$compute" != 16f ] || compute=32f
    [[ $1 != *-col ]] || layout=col
    "$(program tools/spmm_bench)" --matrix-list "$lists/$2" --columns "${widths_of[$2]}" \
        --type "$type" --compute "$compute" --layout "$layout" --engines "$(engines_of "$1")" \
        --reorder none --iterations "$iterations" --check "$check" --out "$output/$1.$2.tsv" \
        --note "made by bench/fit/measure.sh, part $2; $(commit)" >"$output/log" 2>&1
}

# predict MODE PART
predict() {
    local files old
    old=$(wc -l <"$output/terms.tsv")
    mapfile -t files <"$lists/$2"
    "$(program bench/bench_predict)" --terms "$1" "${widths_of[$2]}" "${files[@]}" |
        awk -v old="$old" 'NR > 1 || old == 0' >>"$output/terms.tsv"
}

status=0
[ "$terms" = 0 ] || : >"$output/terms.tsv"
for part in "${!widths_of[@]}"; do
    for mode in ${modes//,/ }; do
        [ -s "$lists/$part" ] || continue
        code=0
        if [ "$terms" = 0 ]; then
            measure "$mode" "$part" || code=$?
            echo "$mode.$part: exit code $code"
        else
            predict "$mode" "$part" || code=$?
        fi
        [ $code -le $status ] || status=$code
    done
done
rm -f "$output/log"
exit $status
