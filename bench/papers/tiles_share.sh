#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tiles of the real matrices and of the stand-ins, how many are 2:4, and what orders of rows make of
# them: bench_tiles over all of them.  Needs no GPU; about ten minutes.
#
#     SPMM_MATRIX_DIR=DIR SPMM_STANDIN_DIR=DIR bench/papers/tiles_share.sh > bench/results/tiles_share.tsv
#
#   SPMM_MATRIX_DIR   folder of Matrix Market files
#   SPMM_STANDIN_DIR  folder that bench/engine/standins.sh made, syn-consph, syn-pdb1HYS, syn-rma10, syn-cop20k_A
#                     and syn-dc2 among them (bench/engine/standins.sh DIR NAME...)
#   SPMM_BUILD_DIR    default build/cpu
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
need SPMM_MATRIX_DIR SPMM_STANDIN_DIR
bench=${SPMM_BUILD_DIR:-$root/build/cpu}/bench/bench_tiles
few=() large=()
for file in "$SPMM_STANDIN_DIR"/*.csr "$SPMM_MATRIX_DIR"/*.mtx.gz; do
    case $file in
        */syn-protein.csr | */syn-reddit.csr) large+=("$file") ;; # orders would take gigabytes more
        *) few+=("$file") ;;
    esac
done
echo "# tiles of 16 x 16 and 16 x 32, $(date -u +%F), no GPU; made by bench/papers/tiles_share.sh; cpu_s is CPU time" \
    "of ordering"
"$bench" --orders none,affinity,tiles,tiles+columns "${few[@]}"
[ ${#large[@]} -eq 0 ] || "$bench" "${large[@]}" | tail -n +2
