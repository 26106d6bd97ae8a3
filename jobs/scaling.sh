#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Products on 1, 2, 4 and 8 GPUs of one node, in the same run against NCCL allgather + cuSPARSE and
# needed rows + cuSPARSE: strong and weak scaling, the comparison over many matrices, and
# transports. On 2, 4 or 8 GPUs, in SECONDS_ALL; what tells most comes first, and what no time is
# left for is left out. The build must exist; bench/README.md describes the columns.
#
#     jobs/scaling.sh [OUTPUT_DIR]      default build/results; gets dist_MODE.tsv, scaling_MODE.tsv
#                                       and scaling_MODE.svg
#
#   SECTIONS            some of "strong weak baselines transports", default the first three
#   RANKS               of the strong and weak sections, default "1 2 4 8", as far as there are
#                       GPUs; 1 and the most first
#   MODE                32f (default), 32f-fast-tf32 or 64f
#   N_COLUMNS           default 128
#   VARIANTS            plans to time, with blanks between them, default "auto"; as --variant of
#                       bench_dist takes them
#   EXECUTES            products in which plan time is to pay, default 1000
#   SPMM_STANDIN_DIR    folder that bench/engine/standins.sh made; without it only generated
#                       matrices
#   SPMM_PARTITION_DIR  folder of part files, made by jobs/partition.sh; partition block without
#   SPMM_BUILD_DIR      default build/cuda
#   SPMM_MPI_CUDA       prefix of a CUDA-aware Open MPI: adds mpi-device to section transports
#   STRONG, BASELINES   matrices of these sections: names of stand-ins and generator specs
#   SECONDS_EACH        time limit of one run of bench_dist, default 90
#   SECONDS_ALL         of all runs together, default 235
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
output=${1:-build/results}
mode=${MODE:-32f}
type=${mode%%-*}
build=${SPMM_BUILD_DIR:-build/cuda}
bench=$build/bench/bench_dist
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
if [ "$gpus" -eq 0 ] || [ ! -x "$bench" ]; then # before old results are overwritten
    echo "$0: needs a GPU and $bench (cmake --build --preset cuda)" >&2
    exit 2
fi
most=1
for p in 2 4 8; do
    [ "$p" -gt "$gpus" ] || most=$p
done
strong=${STRONG:-stencil27:nx=200,ny=200,nz=200 syn-roadNet-CA syn-Emilia_923 syn-shipsec1
    rmat:scale=22,degree=16}
# The largest last: what is cut off has printed the others.
baselines=${BASELINES:-syn-FraudYelp-RSR syn-ASIC_680k syn-YeastH syn-amazon0601 syn-cant syn-lap3d
    syn-web-BerkStan syn-web-Google syn-soc-BlogCatalog stencil9:nx=2000,ny=2000
    stencil7:nx=100,ny=100,nz=100,dof=3 syn-mip1 syn-in-2004 syn-rmat20 syn-protein syn-reddit}
sections=" ${SECTIONS:-strong weak baselines} "
export NCCL_NVLS_ENABLE=0 # lets auto take nccl-push
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$output"
rows=$output/dist_$mode.tsv
variants=
status=0
new=1

# add SET RANKS INPUT...: rows of one run of bench_dist.
add() {
    local set=$1 ranks=$2 options=() start=$SECONDS code=0 left
    shift 2
    for input in "$@"; do
        if [[ $input != syn-* ]]; then
            options+=(--generate "$input")
        elif [ -f "${SPMM_STANDIN_DIR:-}/$input.csr" ]; then
            options+=(--matrix "$SPMM_STANDIN_DIR/$input.csr")
        else
            echo "$set: no $input.csr in SPMM_STANDIN_DIR" >&2
        fi
    done
    [ ${#options[@]} -gt 0 ] || return 0
    [ -z "${SPMM_PARTITION_DIR:-}" ] || options+=(--partition-dir "$SPMM_PARTITION_DIR")
    for variant in ${variants:-${VARIANTS:-auto}}; do
        options+=(--variant "$variant")
    done
    left=$((${SECONDS_ALL:-235} - SECONDS))
    if [ "$left" -lt 8 ]; then
        echo "$set on $ranks GPUs: left out, no time is left" >&2
        return 0
    fi
    [ $new -eq 1 ] || options+=(--append)
    new=0
    [ "$left" -lt "${SECONDS_EACH:-90}" ] || left=${SECONDS_EACH:-90}
    timeout --kill-after=5 "$left" "${launch[@]}" --bind-to none -n "$ranks" \
        "$bench" --set "$set" --type "$type" --compute "$mode" --columns "${N_COLUMNS:-128}" \
        --executes "${EXECUTES:-1000}" \
        --out "$rows" "${options[@]}" || code=$?
    echo "$set on $ranks GPUs: exit code $code after $((SECONDS - start)) s"
    [ $code -le $status ] || status=$code
}

# ranks_of FIRST...: of RANKS those that there are GPUs for, among FIRST.
ranks_of() {
    for p in "$@"; do
        [ "$p" -gt "$gpus" ] || [[ " ${RANKS:-1 2 4 8} " != *" $p "* ]] || echo "$p"
    done
}

run_strong() { # RANKS...
    for p in "$@"; do
        # shellcheck disable=SC2086
        add strong "$p" $strong
    done
}

run_weak() { # RANKS...
    for p in "$@"; do
        add weak:stencil27 "$p" "stencil27:nx=200,ny=200,nz=$((50 * p))"
        add weak:stencil9 "$p" "stencil9:nx=2000,ny=$((1000 * p))"
    done
}

run_transports() {
    local input=rmat:scale=20,degree=16 listed transport
    listed=$("$build/tools/spmm_dist" --list-transports)
    variants=
    for transport in nccl nccl-push mpi-host; do
        [[ $listed != *"$transport "* ]] || variants+=" transport=$transport"
    done
    add transports "$most" "$input"
    if [ -n "${SPMM_MPI_CUDA:-}" ]; then
        launch=(env "OPAL_PREFIX=$SPMM_MPI_CUDA"
            "LD_LIBRARY_PATH=$SPMM_MPI_CUDA/lib:${LD_LIBRARY_PATH:-}"
            "$SPMM_MPI_CUDA/bin/mpirun")
        variants=transport=mpi-device
        add transports "$most" "$input"
    fi
}

wants() { [[ $sections == *" $1 "* ]]; }

launch=(mpirun)
mapfile -t ends < <(ranks_of 1 "$most" | sort -nu)
between=()
[ "$most" -le 2 ] || mapfile -t between < <(ranks_of 2 4 | grep -vx "$most")
! wants strong || run_strong "${ends[@]}"
# shellcheck disable=SC2086
! wants baselines || add baselines "$most" $baselines
! wants weak || run_weak "${ends[@]}"
! wants strong || run_strong "${between[@]}"
! wants weak || run_weak "${between[@]}"
! wants transports || run_transports
python3 bench/dist/scaling.py --figure "$output/scaling_$mode.svg" "$output/scaling_$mode.tsv" \
    "$rows" || status=4
exit $status
