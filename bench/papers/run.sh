#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A paper beside the library: its kernels as published and our engine on one GPU, in a table, within
# a minute; then what its authors' system and ours reach on an H200, from bench/results.
#
#     bench/papers/run.sh PAPER OUT_DIR [MATRIX...]
#
#   PAPER             acc-spmm, cutespmm, sspmm, vectorsparse or thesis
#   OUT_DIR           gets PAPER.tsv, and PAPER.rows.tsv, a row for each variant
#   MATRIX            files or specs; default: some of the paper's, below
#   SPMM_MATRIX_DIR   folder of Matrix Market files NAME.mtx.gz; what is not there is left out
#   SPMM_STANDIN_DIR  stand-ins, default OUT_DIR/standins; missing ones are generated there
#   SPMM_BUILD_DIR    default build/cuda
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
options '' 1000 "$@"
[ ${#operands[@]} -ge 2 ] || die "usage: $0 PAPER OUT_DIR [MATRIX...]"
paper=${operands[0]} out=$(realpath -m "${operands[1]}") given=("${operands[@]:2}")
names=() files=() only=()
steps=T,BT,CBT,OBT,OBT_tiled,ST,ST_large,OBTS,OBTS_large,OBTS_large_separate
case $paper in
    acc-spmm) # the last three have an IBD above 8
        widths=128
        names=(DD PROTEINS_full syn-com-amazon syn-conf5_4-8x8 bundle1 wiki_squirrel musae_git) ;;
    cutespmm)
        widths=32,128
        names=(PROTEINS_full pubmed musae_git bcsstk29 bundle1 DD syn-cant) ;;
    sspmm)
        widths=64,512
        names=(DD dlmc_tr_ffn1_mp80 dlmc_tr_ffn2_vd80 lp_maros_r7 syn-cant syn-conf5_4-8x8) ;;
    thesis) # XdYs, shares of dense and of 2:4 tiles; without Blocked-ELL
        widths=8,128
        names=("xdys:size=4096,dense=0.10,sp24=0.00" "xdys:size=4096,dense=0.00,sp24=0.10"
            "xdys:size=4096,dense=0.10,sp24=0.10" syn-conf5_4-8x8 syn-cant syn-rma10)
        only=(--only "cusparse,bcsr,bcsr-sp24,$steps") ;;
    vectorsparse) # masks of pruned layers
        widths=64,256
        names=("pruned:rows=2048,cols=512,sparsity="{0.7,0.9,0.95,0.98}",vector="{2,4,8}) ;;
    *) die "no paper $paper; its first lines list them" ;;
esac
[ ${#given[@]} -eq 0 ] || names=("${given[@]}")
standins=${SPMM_STANDIN_DIR:-$out/standins} missing=()
for name in "${names[@]}"; do
    if [ ${#given[@]} -gt 0 ] || [[ $name == *:* ]]; then
        files+=("$name")
    elif [[ $name == syn-* ]]; then
        files+=("$standins/$name.csr")
        [ -f "$standins/$name.csr" ] || missing+=("$name")
    elif [ -f "${SPMM_MATRIX_DIR:-.}/$name.mtx.gz" ]; then
        files+=("${SPMM_MATRIX_DIR:-.}/$name.mtx.gz")
    else
        echo "no file ${SPMM_MATRIX_DIR:-.}/$name.mtx.gz" >&2
    fi
done
[ ${#missing[@]} -eq 0 ] || "$root/bench/engine/standins.sh" "$standins" "${missing[@]}" >&2
made_by="bench/papers/run.sh $paper"
rows=$out/$paper.rows.tsv
write_table "$rows" "$(program bench/bench_published)" "$paper" "${only[@]}" "$widths"
"$root/bench/papers/variants.py" "$paper" "$rows" "$out/$paper.tsv" || status=1
"$root/bench/papers/headlines.py" "$paper"
exit "$status"
