#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The table of one GPU: the engines against cuSPARSE on the real matrices with at least 80,000
# entries and on the twenty stand-ins.
#
#     SPMM_MATRIX_DIR=DIR SPMM_STANDIN_DIR=DIR bench/engine/single_gpu.sh [OPTION...] [OUTPUT_DIR]
#
#   --modes M,M       of 32f-fast-tf32, 32f, 64f, 16f and 16bf [the first three]
#   --columns N,N     widths; 64f leaves out those above 128 [32,128,512]
#   --names REGEX     matrices whose name (without the ending of the file) matches [all]
#   --engines E,E     of the two modes of FP32 [auto,bittcf,hrpb,csr-gpu]; 64f always takes
#                     auto,dmma
#   --engines16 E,E   of 16f and 16bf [auto,cvse,csr-gpu,bcsr,bcsr-sp24]
#   --tuning TEXT     as the option of spmm_bench
#   --iterations K    [20]
#   --executes K      products that what auto orders is to pay in [1000]
#   --tag TAG         part of the names of the results, for runs over a part of the table
#   OUTPUT_DIR        [bench/results]; gets single_gpu_MODE[.TAG].tsv
#
# Ratios of 16f and 16bf are to cuSPARSE in FP32.
#
#   SPMM_MATRIX_DIR   folder of Matrix Market files with its INDEX.tsv
#   SPMM_STANDIN_DIR  folder that bench/engine/standins.sh made
#   SPMM_BUILD_DIR    default build/cuda
#
# Parts are put together by bench/common/table.py OUT.tsv PART.tsv...  Exit code: the largest of
# spmm_bench's.
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
modes=32f-fast-tf32,32f,64f columns=32,128,512 names=. engines=auto,bittcf,hrpb,csr-gpu
engines16=auto,cvse,csr-gpu,bcsr,bcsr-sp24
tuning='' iterations=20 executes=1000 tag=
made_by="bench/engine/single_gpu.sh ${*@Q}"
options 'modes columns names engines engines16 tuning iterations executes tag' 1 "$@"
for mode in ${modes//,/ }; do
    case $mode in
        32f-fast-tf32 | 32f | 64f | 16f | 16bf) ;;
        *) die "no mode $mode" ;;
    esac
done
need SPMM_MATRIX_DIR SPMM_STANDIN_DIR
output=$(realpath -m "${operands[0]:-$root/bench/results}")
bench=$(program tools/spmm_bench)
collect "$names"
[ ${#files[@]} -gt 0 ] || die "no matrix has a name that matches $names"
[ -x "$bench" ] || die "no program $bench (cmake --build --preset cuda)"

mkdir -p "$output"
note="made by $made_by; $(commit)"
status=0
for mode in ${modes//,/ }; do
    file=$output/single_gpu_$mode${tag:+.$tag}.tsv
    type=32f compute=$mode run_engines=cusparse,$engines widths=$columns
    case $mode in
        16*) type=$mode compute=32f run_engines=cusparse,$engines16 ;;
    esac
    if [ "$mode" = 64f ]; then
        type=64f run_engines=cusparse,auto,dmma
        widths=$(tr , '\n' <<<"$columns" | awk '$1 <= 128' | paste -s -d ,)
        [ -n "$widths" ] || continue
    fi
    code=0
    "$bench" "${files[@]/#/--matrix=}" --type "$type" --compute "$compute" --columns "$widths" \
        --engines "$run_engines" --iterations "$iterations" --executes "$executes" \
        --tuning "$tuning" --baseline "${type/#16*/32f}" --also-rotate --note "$note" \
        --out "$file" || code=$?
    [ ! -s "$file" ] || "$root/bench/common/table.py" "$file" "$file" || code=$?
    echo "$file: exit code $code"
    [ $code -le $status ] || status=$code
done
exit $status
