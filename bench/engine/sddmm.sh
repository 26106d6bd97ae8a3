#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SDDMM against cuSPARSE on one GPU: bench_sddmm over the real matrices with at least 80,000
# entries, the stand-ins and masks of pruned vectors, and geometric means of the ratios: of all
# masks; of pruned ones without vectors ("unstructured"); of those with vectors; of matrices.
#
#     SPMM_MATRIX_DIR=DIR SPMM_STANDIN_DIR=DIR bench/engine/sddmm.sh [OPTION...] [OUTPUT.tsv]
#
#   --types T,T       of X, Y and S [32f,16f]
#   --columns K,K     [64,128,256]
#   --names REGEX     matrices whose name (without the ending of the file), or masks whose spec,
#                     matches [all but the three largest, which take the host minutes]
#   --iterations K    [20]
#   OUTPUT.tsv        [bench/results/sddmm.tsv]
#
#   SPMM_MATRIX_DIR, SPMM_STANDIN_DIR, SPMM_BUILD_DIR as for bench/engine/single_gpu.sh; of the
#   first two one may be unset: its matrices are left out.
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
types=32f,16f columns=64,128,256 iterations=20
names='^(syn-([^rpE]|rmat|roadNet)|[^s]|s[^y])'
made_by="bench/engine/sddmm.sh ${*@Q}"
options 'types columns names iterations' 1 "$@"
output=$(realpath -m "${operands[0]:-$root/bench/results/sddmm.tsv}")
bench=$(program bench/bench_sddmm)
collect "$names"
for rows in 4096 8192; do
    for vector in 1 8 16; do
        for sparsity in 0.9 0.98; do
            spec=pruned:rows=$rows,cols=$rows,sparsity=$sparsity,vector=$vector
            [[ ! $spec =~ $names ]] || files+=("$spec")
        done
    done
done
write_table "$output" "$bench" --iterations "$iterations" "$types" "$columns"
# Column 11: to cuSPARSE in the same type, to its FP32 where it refuses that; 12: to its FP32; `-`
# without a time of it.  Rows that did not pass (column 14) count for nothing but the exit code.
awk -F '\t' '
    function add(set,   key) {
        key = $6 "\t" $5 "\t" set
        if (!(key in n)) order[++keys] = key
        n[key]++; sum[key] += log($11)
        if ($12 != "-") { wide[key]++; all[key] += log($12) }
        if (n[key] == 1 || $11 < low[key]) low[key] = $11
        if ($13 > error[key]) error[key] = $13 }
    /^#/ || $1 == "matrix" { next }
    $14 != "yes" { failed++; next }
    $4 == 0 || $11 == "-" { next }
    { add("all")
      add($1 ~ /^dlmc|vector=1$/ ? "unstructured" : $1 ~ /^pruned/ ? "vectors" : "matrices") }
    END { for (k = 1; k <= keys; k++) { key = order[k]; split(key, part, "\t")
        printf "# summary type=%s K=%s of %d %s: geomean=%.3f least=%.3f to_32f=%s error=%.1e\n",
               part[1], part[2], n[key], part[3], exp(sum[key] / n[key]), low[key],
               wide[key] ? sprintf("%.3f", exp(all[key] / wide[key])) : "-", error[key] }
        if (failed) printf "# failed: %d rows, left out of the summary\n", failed }
' "$output" | tee -a "$output"
exit "$status"
