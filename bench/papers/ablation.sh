#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What each measure of engine bittcf is worth on one GPU: bench_ablation over the matrices of the
# table of one GPU, and geometric means.
#
#     SPMM_MATRIX_DIR=DIR SPMM_STANDIN_DIR=DIR bench/papers/ablation.sh [OPTION...] [OUTPUT.tsv]
#
#   --columns N,N     multiples of 32 [32,128]
#   --names REGEX     matrices whose name (without the ending of the file) matches [all but the
#                     three largest, whose formats take the host minutes]
#   --iterations K    [20]
#   OUTPUT.tsv        [bench/results/ablation.tsv]
#
#   SPMM_MATRIX_DIR, SPMM_STANDIN_DIR, SPMM_BUILD_DIR as for bench/engine/single_gpu.sh
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
columns=32,128 iterations=20
names='^(syn-([^rpE]|rmat|roadNet)|[^s]|s[^y])'
made_by="bench/papers/ablation.sh ${*@Q}"
options 'columns names iterations' 1 "$@"
need SPMM_MATRIX_DIR SPMM_STANDIN_DIR
output=$(realpath -m "${operands[0]:-$root/bench/results/ablation.tsv}")
bench=$(program bench/bench_ablation)
collect "$names"
write_table "$output" "$bench" --iterations "$iterations" "$columns"
# Geometric means of time over that of `all`; of `no reordering` where an order was applied.
awk -F '\t' '
    /^#/ || $1 == "matrix" { next }
    $10 != "yes" { failed++; next }
    $7 == "-" { next }
    $5 == "no reordering" && $4 == "none" { next }
    { key = $5 "\t" $3; if (!(key in n)) order[++keys] = key
      n[key]++; sum[key] += log($7); if ($7 > worst[key]) worst[key] = $7 }
    END { for (k = 1; k <= keys; k++) { key = order[k]; split(key, part, "\t")
        printf "# summary variant=\"%s\" N=%s matrices=%d geomean=%.4f worst=%.2f\n",
               part[1], part[2], n[key], exp(sum[key] / n[key]), worst[key] }
        if (failed) printf "# failed: %d rows, left out of the summary\n", failed }
' "$output" | tee -a "$output"
exit "$status"
