#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A paper beside the library: what it counts of matrices, without a GPU; what its authors' system
# and ours reach on an H200, from bench/results; and, in a CUDA build where nvidia-smi finds a GPU,
# our measurements anew.
#
#     bench/papers/run.sh PAPER OUT_DIR [MATRIX...]
#
#   PAPER            acc-spmm, cutespmm, sspmm, vectorsparse or thesis
#   OUT_DIR          gets the tables; what is printed is made of them
#   MATRIX           files or specs; default: those of SPMM_MATRIX_DIR and SPMM_STANDIN_DIR
#   SPMM_BUILD_DIR   default build/cuda with a GPU, else build/cpu
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
options '' 1000 "$@"
[ ${#operands[@]} -ge 2 ] || die "usage: $0 PAPER OUT_DIR [MATRIX...]"
paper=${operands[0]} out=${operands[1]}
case $paper in
    acc-spmm | cutespmm | sspmm | vectorsparse | thesis) ;;
    *) die "no paper $paper; its first lines list them" ;;
esac
if [ -z "${SPMM_BUILD_DIR:-}" ]; then
    SPMM_BUILD_DIR=build/cpu
    nvidia-smi -L >/dev/null 2>&1 && SPMM_BUILD_DIR=build/cuda
fi
export SPMM_BUILD_DIR
files=("${operands[@]:2}")
[ ${#files[@]} -gt 0 ] || collect ''
[ ${#files[@]} -gt 0 ] || die "no matrix: name some, or set SPMM_MATRIX_DIR or SPMM_STANDIN_DIR"
for name in patterns reorder; do
    [ -x "$(program bench/bench_$name)" ] || die "no program $(program bench/bench_$name): build it"
done
mkdir -p "$out"
out=$(realpath "$out")

# Exit code 3 of a program: a matrix could not be read; the others count.
status=0
"$(program bench/bench_patterns)" "${files[@]}" >"$out/facts.tsv" || status=$?
orders=()
if [ "$paper" = acc-spmm ]; then
    "$(program bench/bench_reorder)" "${files[@]}" >"$out/orders.tsv" || status=$?
    orders=(--orders "$out/orders.tsv")
fi
here=$root/bench
"$here/papers/counts.py" "$paper" "${orders[@]}" "$out/facts.tsv"
"$here/papers/headlines.py" --figures "$out" "$paper"

if [ ! -x "$(program tools/spmm_bench)" ] || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "No GPU, or no CUDA build: the times above are those of bench/results."
    exit "$status"
fi
# engine NAME TYPE: the engine of the paper beside cuSPARSE and plans.
engine() {
    printf '%s\n' "${files[@]}" >"$out/matrices.txt"
    "$(program tools/spmm_bench)" --matrix-list "$out/matrices.txt" --type "$2" \
        --compute "$3" --columns 32,128,512 --engines "cusparse,$1,auto" --iterations 20 \
        --out "$out/$1.tsv" && grep '^# summary' "$out/$1.tsv"
}
# published N,N,... NAMES: the kernels of the paper beside the engine; where no MATRIX is named, of
# matrices that match NAMES.
published() {
    local few=() file failed=0
    for file in "${files[@]}"; do
        [[ ${#operands[@]} -gt 2 || ${file##*/} =~ ^($2)[.] ]] && few+=("$file")
    done
    [ ${#few[@]} -gt 0 ] || return 0
    "$(program bench/bench_published)" "$paper" "$1" "${few[@]}" >"$out/published.tsv" || failed=$?
    "$here/papers/ratios.py" "$out/published.tsv" && return "$failed"
}
names='DD|PROTEINS_full|syn-(cant|conf5_4-8x8|com-amazon|FraudYelp-RSR|soc-BlogCatalog)'
case $paper in
    acc-spmm)
        published 128,256,512 "$names" || status=$?
        "$here/papers/ablation.sh" --iterations 20 "$out/ablation.tsv" &&
            grep '^# summary' "$out/ablation.tsv"
        engine bittcf 32f 32f-fast-tf32 ;;
    cutespmm)
        published 32,128,512 "$names" || status=$?
        engine hrpb 32f 32f-fast-tf32 ;;
    sspmm)
        published 64,512,4096 "dlmc_.*|lp_.*|syn-(cant|conf5_4-8x8)" || status=$?
        engine cvse 16f 32f ;;
    thesis) SPMM_OUTPUT_DIR=$out "$here/papers/tiles.sh" ladder real amdahl ;;
    vectorsparse)
        "$here/engine/sddmm.sh" "$out/sddmm.tsv" && grep '^# summary' "$out/sddmm.tsv"
        for vector in 2 4 8; do
            mpirun -n 1 "$(program examples/sparse_attention)" 4096 0.9 "$vector"
        done ;;
esac || status=$?
exit "$status"
