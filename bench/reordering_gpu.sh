#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the order of rows `affinity` is worth on one GPU: bench/single_gpu.sh with and without it, over
# the matrices where bench/results/reordering.tsv says that it saves pairs, and one table of both.
#
#     SPMM_MATRIX_DIR=DIR SPMM_STANDIN_DIR=DIR bench/reordering_gpu.sh [OPTION...] [OUTPUT.tsv]
#
#   --columns N,N     [32,128]
#   --most RATIO      pairs of windows of 8 rows after over before, at most [0.9]
#   --entries K       of a matrix at most: the order takes the host about 0.2 us for each [45000000]
#   --parts DIR       keeps the two tables of spmm_bench there [they are removed]
#   OUTPUT.tsv        [bench/results/reordering_gpu.tsv]
set -euo pipefail
# shellcheck source=bench/common.sh
. "$(dirname "$0")/common.sh"
columns=32,128 most=0.9 entries=45000000 parts=
options 'columns most entries parts' 1 "$@"
output=$(realpath -m "${operands[0]:-$(dirname "$0")/results/reordering_gpu.tsv}")
if [ -z "$parts" ]; then
    parts=$(mktemp -d)
    trap 'rm -rf "$parts"' EXIT
fi
parts=$(realpath -m "$parts")
cd "$(dirname "$0")/.."

# Names as one pattern; the table of one GPU holds the entries of each matrix.
mkdir -p "$(dirname "$output")"
names=$(awk -F '\t' -v most="$most" -v entries="$entries" '
    /^#/ { next }
    NR == FNR { nnz[$1] = $4; next }
    $2 == "affinity" && $6 <= most && nnz[$1] > 0 && nnz[$1] <= entries {
        sub(/(\.mtx)?\.gz$|\.csr$/, "", $1); print $1 }
' bench/results/single_gpu_32f-fast-tf32.tsv bench/results/reordering.tsv | paste -s -d '|')
status=0
for order in none affinity; do
    bench/single_gpu.sh --modes 32f-fast-tf32 --columns "$columns" --names "^($names)\$" \
        --reorder $order --tag $order "$parts" || status=$?
done
bench/reordering_gpu.py "$parts/single_gpu_32f-fast-tf32.none.tsv" \
    "$parts/single_gpu_32f-fast-tf32.affinity.tsv" bench/results/reordering.tsv >"$output.part"
mv "$output.part" "$output"
grep '^# summary' "$output"
exit $status
