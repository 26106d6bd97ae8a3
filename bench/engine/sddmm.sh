#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SDDMM against cuSPARSE on one GPU: bench_sddmm over the real matrices with at least 80,000
# entries, the stand-ins and masks of pruned vectors.
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
exit "$status"
