#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# BCSR and 2:4 tensor cores on one GPU: the kernels of the thesis, the gain over the share of 2:4
# tiles, and dense blocks against cuSPARSE's Blocked-ELL.  Each section takes less than 150 s on a
# node with an H200 and 16 cores.
#
#     SPMM_STANDIN_DIR=DIR SPMM_MATRIX_DIR=DIR bench/papers/tiles.sh [--iterations K] [SECTION...]
#
#   SECTION           ladder, real, amdahl, blocks [all]; each writes OUTPUT/tiles_SECTION.tsv and
#                     prints what bench/papers/tiles.py makes of it
#   --iterations K    [20]
#   SPMM_STANDIN_DIR  stand-ins (bench/engine/standins.sh), for real and blocks; where those of
#                     the thesis that are not among the twenty are missing, they are generated there
#                     if possible
#   SPMM_MATRIX_DIR   folder of Matrix Market files, for blocks
#   SPMM_BUILD_DIR    default build/cuda: its bench/bench_ladder
#   SPMM_OUTPUT_DIR   default bench/results
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
iterations=20
options iterations 4 "$@"
sections=("${operands[@]}")
[ ${#sections[@]} -gt 0 ] || sections=(ladder real amdahl blocks)
bench=$(program bench/bench_ladder)
output=$(realpath -m "${SPMM_OUTPUT_DIR:-$root/bench/results}")
thesis=(mip1 conf5_4-8x8 cant pdb1HYS rma10 cop20k_A consph shipsec1 dc2)
steps=T,BT,CBT,OBT,OBT_tiled,ST,ST_large,OBTS,OBTS_large,OBTS_large_separate
[ -x "$bench" ] || die "no program $bench (cmake --build build/cuda --target bench_ladder)"

# Those of the thesis, generated where they are not there.
standins() {
    local name missing=()
    need SPMM_STANDIN_DIR
    for name in "${thesis[@]}"; do
        [ -f "$SPMM_STANDIN_DIR/syn-$name.csr" ] || missing+=("syn-$name")
    done
    [ ${#missing[@]} -eq 0 ] ||
        "$root/bench/engine/standins.sh" "$SPMM_STANDIN_DIR" "${missing[@]}" >&2
    for name in "${thesis[@]}"; do
        files+=("$SPMM_STANDIN_DIR/syn-$name.csr")
    done
}

# CONTENDERS WIDTHS MATRIX...
run() {
    local only=$1 widths=$2
    shift 2
    "$bench" --iterations "$iterations" --only "$only" "$widths" "$@" || failed=$?
}

rows() { # FILE...: without titles and comments but the first
    awk -F '\t' '/^#/ || $1 == "matrix" { if (seen[$0]++) next } { print }'
}

section() {
    local files=() size shares failed=0
    case $1 in
        ladder) # XdYs: only dense tiles, only 2:4 ones, both; and widths from one to 16 tiles of C
            for size in 2048 4096 8192; do
                for shares in dense=0.1,sp24=0 dense=0,sp24=0.1 dense=0.1,sp24=0.1; do
                    files+=("xdys:size=$size,$shares")
                done
            done
            run "cusparse,bcsr,bcsr-sp24,$steps" 8,32,128 "${files[@]}" \
                xdys:size=16384,dense=0.05,sp24=0.05
            run "cusparse,bcsr,bcsr-sp24,$steps" 8,16,32,64,128 xdys:size=4096,dense=0,sp24=1 ;;
        real)
            standins
            run "cusparse,bcsr,bcsr-sp24,$steps" 8,128 "${files[@]}" ;;
        amdahl) # a fifth of all tiles, of these 0 to 100 % in 2:4
            for size in 4096 8192; do
                for shares in 0.2,sp24=0 0.15,sp24=0.05 0.1,sp24=0.1 0.05,sp24=0.15 \
                    0.02,sp24=0.18 0,sp24=0.2; do
                    files+=("xdys:size=$size,dense=$shares")
                done
            done
            run "cusparse,bcsr,bcsr-sp24,$steps" 32,128,512 "${files[@]}" ;;
        blocks) # 20 % of the places of non-empty 16 x 16 tiles and more
            need SPMM_STANDIN_DIR SPMM_MATRIX_DIR
            for shares in 0.2 0.3 0.5 1; do
                files+=("xdys:size=8192,dense=0.1,sp24=0,fill=$shares")
            done
            files+=("xdys:size=4096,dense=0.5,sp24=0,fill=0.3" "stencil27:nx=24,ny=24,nz=24,dof=16"
                "$SPMM_MATRIX_DIR"/{bcsstk29,bundle1,dlmc_tr_ffn1_mp80,lp_fit2d}.mtx.gz)
            thesis=(cant pdb1HYS rma10)
            standins
            run cusparse,bell-8,bell-16,bell-32,bcsr,bcsr-sp24 32,128,512 "${files[@]}" ;;
        *)
            echo "$0: no section $1" >&2
            return 2 ;;
    esac
    return $failed
}

mkdir -p "$output"
status=0
for name in "${sections[@]}"; do
    file=$output/tiles_$name.tsv
    started=$SECONDS code=0
    {
        echo "# made by bench/papers/tiles.sh --iterations $iterations $name," \
            "$(date -u '+%F %H:%M') UTC; $(commit)"
        section "$name" | rows
    } >"$file.part" || code=$?
    mv "$file.part" "$file"
    echo "$file: exit code $code, $((SECONDS - started)) s"
    "$root/bench/papers/tiles.py" "$file" || true
    [ $code -le $status ] || status=$code
done
exit $status
