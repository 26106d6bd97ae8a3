#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How much of the exchange hides behind the diagonal block where both are short: stencils whose halo
# is 8 to 64 KiB from rank to rank, on all GPUs of one node (2 or 4), by transports nccl-push and
# nccl.  About half a minute; the build must exist.  bench/README.md says what the columns are.
#
#     ci/overlap.sh [OUTPUT.tsv]     rows of bench_dist; default overlap.tsv in the folder of builds
#
#   SPMM_BUILD_DIR  default build/cuda
#   SPMM_MAX_RANKS  use fewer GPUs than are visible
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=${SPMM_BUILD_DIR:-build/cuda}
output=${1:-$build/overlap.tsv}
bench=$build/bench/bench_dist
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
[ "$gpus" -le "${SPMM_MAX_RANKS:-$gpus}" ] || gpus=$SPMM_MAX_RANKS
if [ "$gpus" -lt 2 ] || [ ! -x "$bench" ]; then
    echo "$0: needs 2 GPUs and $bench (cmake --build --preset cuda)" >&2
    exit 2
fi
ranks=$((gpus < 4 ? 2 : 4))
export NCCL_NVLS_ENABLE=0 # lets auto take nccl-push
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
inputs=()
for shape in "16 2048" "16 8192" "64 2048" "128 2048"; do # columns of a grid, its rows on each GPU
    read -r nx ny <<<"$shape"
    inputs+=(--generate "stencil9:nx=$nx,ny=$((ny * ranks))")
done
variants=()
for transport in nccl-push nccl; do
    for how in chunks=1 chunks=1,graph=1; do
        variants+=(--variant "transport=$transport,$how")
    done
done
timeout --kill-after=10 100 mpirun --bind-to none -n "$ranks" "$bench" --set overlap \
    --iterations 50 "${inputs[@]}" "${variants[@]}" --variant auto --out "$output" || exit 1
awk -F '\t' '/^#/ { next }
    !titles { for (k = 1; k <= NF; k++) at[$k] = k; titles = 1 }
    { print $at["matrix"], $at["variant"], $at["alone_exchange_ms"], $at["alone_local_ms"],
          $at["alone_halo_ms"], $at["total_ms"], $at["overlap"] }' OFS='\t' "$output"
