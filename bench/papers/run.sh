#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A paper beside the library.  In a CUDA build where nvidia-smi finds a GPU its kernels as published
# and our engine are measured, in a table, within a minute; elsewhere what the
# paper counts of matrices is counted.  Both print what its authors' system and ours reach on an
# H200, from bench/results.
#
#     bench/papers/run.sh [--set whole] PAPER OUT_DIR [MATRIX...]
#
#   --set whole       the matrices of the paper and its widths of B, minutes; default: a few of them
#   PAPER             acc-spmm, cutespmm, sspmm, vectorsparse or thesis
#   OUT_DIR           gets PAPER.tsv with a GPU, facts.tsv (acc-spmm: orders.tsv)
#                     without
#   MATRIX            files or specs; default: those of the set, below
#   SPMM_MATRIX_DIR   folder of Matrix Market files NAME.mtx.gz, or binary ones NAME.csr; names that
#                     are not there are left out
#   SPMM_STANDIN_DIR  stand-ins, default OUT_DIR/standins; missing ones are generated there
#   SPMM_BUILD_DIR    default build/cuda with a GPU, else build/cpu
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
set=short
options set 1000 "$@"
[ ${#operands[@]} -ge 2 ] || die "usage: $0 [--set whole] PAPER OUT_DIR [MATRIX...]"
paper=${operands[0]} out=${operands[1]} given=("${operands[@]:2}")
case $paper in
    acc-spmm | cutespmm | sspmm | vectorsparse | thesis) ;;
    *) die "no paper $paper; its first lines list them" ;;
esac
[[ $set == short || $set == whole ]] || die "no set $set: short or whole"
here=$root/bench
gpu=no
if nvidia-smi -L >/dev/null 2>&1; then gpu=yes; fi
if [ -z "${SPMM_BUILD_DIR:-}" ]; then
    SPMM_BUILD_DIR=build/cpu
    [ $gpu = no ] || SPMM_BUILD_DIR=build/cuda
fi
export SPMM_BUILD_DIR
[ -x "$(program tools/spmm_bench)" ] || gpu=no

# prune ROWSxCOLS,... SPARSITY,... VECTOR,...: masks of pruned layers.
prune() {
    local shape sparsity vector
    for shape in ${1//,/ }; do
        for sparsity in ${2//,/ }; do
            for vector in ${3//,/ }; do
                printf ' pruned:rows=%s,cols=%s,sparsity=%s,vector=%s' \
                    "${shape%x*}" "${shape#*x}" "$sparsity" "$vector"
            done
        done
    done
}

# xdys SIZE,... XdYs,...: X % of the tiles dense, Y % in 2:4.
xdys() {
    local size share
    for size in ${1//,/ }; do
        for share in ${2//,/ }; do
            share=${share%s}
            printf ' xdys:size=%s,dense=0.%02d,sp24=0.%02d' "$size" "${share%d*}" "${share#*d}"
        done
    done
}

# A line for each set of widths: N,N,... NAME..., a NAME being that of a file or a spec; the first
# widths are those of MATRIX.
short_cases() {
    case $paper in
        acc-spmm) # the last three have an IBD above 8
            echo 128 DD PROTEINS_full syn-com-amazon syn-conf5_4-8x8 bundle1 wiki_squirrel \
                musae_git ;;
        cutespmm) echo 32,128 PROTEINS_full pubmed musae_git bcsstk29 bundle1 DD syn-cant ;;
        sspmm)
            echo 64,512 DD dlmc_tr_ffn1_mp80 dlmc_tr_ffn2_vd80 lp_maros_r7 syn-cant \
                syn-conf5_4-8x8 ;;
        thesis) echo 8,128 "$(xdys 4096 10d0s,0d10s,10d10s)" syn-{conf5_4-8x8,cant,rma10} ;;
        vectorsparse) echo 64,256 "$(prune 2048x512 0.7,0.9,0.95,0.98 2,4,8)" ;;
    esac
}

whole_cases() {
    local file
    case $paper in
        acc-spmm) # table 2 but for its two largest; some whose IBD is above 8
            echo 128,256,512 DD PROTEINS_full syn-FraudYelp-RSR bundle1 wiki_squirrel syn-ppi \
                syn-artist syn-soc-BlogCatalog
            echo 128 syn-YeastH syn-OVCAR-8H syn-Yeast syn-roadNet-CA syn-roadNet-PA \
                syn-web-BerkStan ;;
        cutespmm) # all there are, and those of table 3
            printf 32,128,512
            for file in "${SPMM_MATRIX_DIR:-.}"/*.mtx.gz; do
                [ ! -f "$file" ] || printf ' %s' "$(basename "$file" .mtx.gz)"
            done
            echo ' syn-artist syn-ppi syn-soc-BlogCatalog syn-cant syn-conf5_4-8x8 syn-shipsec1'
            echo 32,128 syn-com-amazon syn-amazon0601 syn-Yeast ;;
        sspmm) # DLMC, its shapes and sparsities; table III
            echo 64,512,4096 dlmc_tr_ffn1_mp{70,80,90} dlmc_tr_ffn2_{mp95,vd80} \
                dlmc_rn50_fc_vd80 \
                "$(prune 512x512,512x2048,2048x512 0.5,0.6,0.7,0.8,0.9,0.95,0.98 1)"
            echo 64,512 DD dlmc_tr_sym33288_mp95 \
                syn-{circuit204,psmigr_1,poisson3Da,mosfet2,2cubes_sphere,filter3D} \
                syn-{cop20k_A,scircuit,m133-b3,mario002,mip1}
            echo 64 syn-{ASIC_680k,eu-2005,web-Google,in-2004} ;;
        thesis) # XdYs, and widths of B from one tile to 16; table 3.2
            echo 8,32,128 "$(xdys 2048,4096,8192 10d0s,0d10s,10d10s)$(xdys 4096 20d0s,14d6s,12d8s)"
            echo 8,16,32,64,128 xdys:size=4096,dense=0,sp24=1
            echo 8,128 syn-{mip1,conf5_4-8x8,cant,pdb1HYS,rma10,cop20k_A,consph,shipsec1,dc2} ;;
        vectorsparse) # layers of ResNet-50 and of a Transformer
            echo 64,128,256 \
                "$(prune 512x4608,2048x512,512x2048,2048x1024 0.5,0.7,0.8,0.9,0.95,0.98 2,4,8)" ;;
    esac
}

# find_files LINE: those of its names, into `files`; what is not there of the paper is left out.
find_files() {
    local words name file
    read -r -a words <<<"$1"
    files=()
    for name in "${words[@]:1}"; do
        file=$name
        if [ ${#given[@]} -eq 0 ] && [[ $name != *:* ]]; then
            file=${SPMM_MATRIX_DIR:-.}/$name.mtx.gz
            [ -f "$file" ] || file=${file%.mtx.gz}.csr
            [[ $name != syn-* ]] || file=$SPMM_STANDIN_DIR/$name.csr
            [ -f "$file" ] || { echo "no file $file" >&2 && continue; }
        fi
        files+=("$file")
    done
}

# Into `lines`, one for each set of widths, the first word of each the widths.
lines=() standins=()
while read -r -a words; do
    [ ${#given[@]} -eq 0 ] || words=("${words[0]}" "${given[@]}")
    lines+=("${words[*]}")
    [ ${#given[@]} -eq 0 ] || break
    for name in "${words[@]}"; do [[ $name != syn-* ]] || standins+=("$name"); done
done < <(if [ "$set" = whole ]; then whole_cases; else short_cases; fi)
mkdir -p "$out"
out=$(realpath "$out")
SPMM_STANDIN_DIR=${SPMM_STANDIN_DIR:-$out/standins}
[ ${#standins[@]} -eq 0 ] || "$here/engine/standins.sh" "$SPMM_STANDIN_DIR" "${standins[@]}" >&2

# Exit code 3 of a program: a matrix could not be read; the others count.
status=0
count() {
    local orders=() every=widths line
    for name in patterns reorder; do
        [ -x "$(program bench/bench_$name)" ] ||
            die "no program $(program bench/bench_$name): build it"
    done
    for line in "${lines[@]}"; do every+=" ${line#* }"; done
    find_files "$every"
    [ ${#files[@]} -gt 0 ] || die "no matrix: name some, or set SPMM_MATRIX_DIR"
    "$(program bench/bench_patterns)" "${files[@]}" >"$out/facts.tsv" || status=$?
    if [ "$paper" = acc-spmm ]; then
        "$(program bench/bench_reorder)" "${files[@]}" >"$out/orders.tsv" || status=$?
        orders=(--orders "$out/orders.tsv")
    fi
    "$here/papers/counts.py" "$paper" "${orders[@]}" "$out/facts.tsv"
}

# A table over all lines, with one line of titles.
measure() {
    local bench line options=("$paper") table=$out/$paper.tsv code
    bench=$(program bench/bench_published)
    if [ "$paper" = thesis ]; then
        bench=$(program bench/bench_ladder)
        options=(--only "cusparse,bcsr,bcsr-sp24,$ladder")
    fi
    [ -x "$bench" ] || die "no program $bench: build it"
    echo "# made by bench/papers/run.sh --set $set $paper, $(date -u '+%F %H:%M') UTC; $(commit)" \
        >"$table.part"
    for line in "${lines[@]}"; do
        find_files "$line"
        [ ${#files[@]} -gt 0 ] || continue
        code=0
        "$bench" "${options[@]}" "${line%% *}" "${files[@]}" >>"$table.part" || code=$?
        [ $code -le $status ] || status=$code
    done
    awk -F '\t' '/^#/ || $1 == "matrix" { if (seen[$0]++) next } { print }' "$table.part" >"$table"
    rm "$table.part"
}

ladder=T,BT,CBT,OBT,OBT_tiled,ST,ST_large,OBTS,OBTS_large,OBTS_large_separate
hits=(DD syn-com-amazon) # under ncu
[ ${#given[@]} -eq 0 ] || hits=("${given[@]}")
if [ $gpu = no ]; then
    count
else
    measure
    if [ "$paper" = thesis ]; then "$here/papers/tiles.py" "$out/thesis.tsv"
    else "$here/papers/ratios.py" "$out/$paper.tsv"; fi || status=1
    case $paper in
        acc-spmm)
            find_files "widths ${hits[*]}"
            [ ${#files[@]} -eq 0 ] || ! command -v ncu >/dev/null ||
                "$here/papers/hits.py" "$(program bench/bench_published)" "$out/hits.tsv" \
                    "${files[@]}" ;;
        vectorsparse)
            SPMM_MATRIX_DIR='' SPMM_STANDIN_DIR='' "$here/engine/sddmm.sh" --types 16f \
                --columns 64,256 "$out/sddmm.tsv" ;;
    esac || status=$?
fi
"$here/papers/headlines.py" "$paper"
exit "$status"
