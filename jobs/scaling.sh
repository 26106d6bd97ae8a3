#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Products on 1, 2 and 4 GPUs of one node, in the same run against NCCL allgather + cuSPARSE and
# needed rows + cuSPARSE: strong and weak scaling, the comparison over many matrices, and transports.
# Under 6 minutes on 4 x H200.  The build must exist; bench/README.md describes the columns.
#
#     jobs/scaling.sh [OUTPUT_DIR]      default bench/results; gets dist_MODE.tsv, scaling_MODE.tsv
#                                       and scaling_MODE.svg
#
#   SECTIONS            some of "strong weak baselines transports", default the first three
#   RANKS               of the strong and weak sections, default "1 2 4", as far as there are GPUs
#   MODE                32f (default), 32f-fast-tf32 or 64f
#   N_COLUMNS           default 128
#   VARIANTS            plans to time, with blanks between them, default "auto"; as --variant of
#                       bench_dist takes them
#   EXECUTES            products in which plan time is to pay, default 1000
#   SPMM_STANDIN_DIR    folder that bench/standins.sh made; without it only generated matrices
#   SPMM_PARTITION_DIR  folder of part files, made by jobs/partition.sh; partition block without
#   SPMM_BUILD_DIR      default build/cuda
#   SPMM_MPI_CUDA       prefix of a CUDA-aware Open MPI: adds mpi-device to section transports
#   STRONG, BASELINES   matrices of these sections: names of stand-ins and generator specs
#   SECONDS_EACH        time limit of one run of bench_dist, default 150
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
output=${1:-bench/results}
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
for p in 2 4; do
    [ "$p" -gt "$gpus" ] || most=$p
done
strong=${STRONG:-stencil27:nx=200,ny=200,nz=200 syn-roadNet-CA syn-Emilia_923 syn-shipsec1
    rmat:scale=22,degree=16}
baselines=${BASELINES:-syn-ASIC_680k syn-YeastH syn-amazon0601 syn-cant syn-lap3d syn-web-BerkStan
    syn-web-Google syn-in-2004 syn-FraudYelp-RSR syn-mip1 syn-soc-BlogCatalog syn-rmat20 syn-protein
    syn-reddit stencil9:nx=2000,ny=2000 stencil7:nx=100,ny=100,nz=100,dof=3}
sections=" ${SECTIONS:-strong weak baselines} "
export NCCL_NVLS_ENABLE=0 # lets auto take nccl-push
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$output"
rows=$output/dist_$mode.tsv
status=0
new=1

# add SET RANKS INPUT...: rows of one run of bench_dist.
add() {
    local set=$1 ranks=$2 options=() start=$SECONDS code=0
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
    [ $new -eq 1 ] || options+=(--append)
    new=0
    timeout --kill-after=5 "${SECONDS_EACH:-150}" "${launch[@]}" --bind-to none -n "$ranks" \
        "$bench" --set "$set" --type "$type" --compute "$mode" --columns "${N_COLUMNS:-128}" \
        --executes "${EXECUTES:-1000}" \
        --out "$rows" "${options[@]}" || code=$?
    echo "$set on $ranks GPUs: exit code $code after $((SECONDS - start)) s"
    [ $code -le $status ] || status=$code
}

launch=(mpirun)
for section in strong weak baselines transports; do
    [[ $sections == *" $section "* ]] || continue
    case $section in
        strong | weak)
            for p in ${RANKS:-1 2 4}; do
                [ "$p" -le "$gpus" ] || continue
                # shellcheck disable=SC2086
                if [ $section = strong ]; then
                    add strong "$p" $strong
                else
                    add weak:stencil27 "$p" "stencil27:nx=200,ny=200,nz=$((50 * p))"
                    add weak:stencil9 "$p" "stencil9:nx=2000,ny=$((1000 * p))"
                fi
            done ;;
        baselines)
            # shellcheck disable=SC2086
            add baselines "$most" $baselines ;;
        transports)
            input=rmat:scale=20,degree=16
            listed=$("$build/tools/spmm_dist" --list-transports)
            variants=
            for transport in nccl nccl-pull mpi-host; do
                [[ $listed != *"$transport "* ]] || variants+=" transport=$transport"
            done
            add transports "$most" "$input"
            if [ -n "${SPMM_MPI_CUDA:-}" ]; then
                launch=(env "OPAL_PREFIX=$SPMM_MPI_CUDA"
                    "LD_LIBRARY_PATH=$SPMM_MPI_CUDA/lib:${LD_LIBRARY_PATH:-}"
                    "$SPMM_MPI_CUDA/bin/mpirun")
                variants=transport=mpi-device
                add transports "$most" "$input"
            fi ;;
    esac
done
python3 bench/scaling.py --figure "$output/scaling_$mode.svg" "$output/scaling_$mode.tsv" "$rows" ||
    status=4
exit $status
