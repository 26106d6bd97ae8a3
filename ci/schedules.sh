#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every schedule on 4 GPUs (or as many as are asked for), N = 32 and 128, FP32 in TF32: what
# docs/explanation/schedules.md and bench/results/schedules.tsv show.  Builds nothing; about 5
# minutes on 4 x H200.  Prints a table last.
#
#     ci/schedules.sh [OUTPUT] [RANKS] [INPUT...]
#
#   OUTPUT, RANKS, INPUT  default build/cuda/schedules.tsv, 4, three generators
#   SPMM_BUILD_DIR        default build/cuda
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
build=${SPMM_BUILD_DIR:-build/cuda}
output=${1:-$build/schedules.tsv}
ranks=${2:-4}
shift $(($# < 2 ? $# : 2))
inputs=("$@")
[ "${#inputs[@]}" -gt 0 ] ||
    inputs=('rmat:scale=20,degree=16' 'stencil27:nx=128,ny=128,nz=128' 'stencil5:nx=2000,ny=1500')

if ! nvidia-smi -L >/dev/null 2>&1 || [ ! -x "$build/bench/bench_schedules" ]; then
    echo "$0: needs a GPU and $build/bench/bench_schedules (cmake --build --preset cuda)" >&2
    exit 2
fi
export NCCL_NVLS_ENABLE=0 # lets auto take nccl-push
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
bench() {
    timeout --kill-after=10 240 mpirun --bind-to none -n "$ranks" \
        "$build/bench/bench_schedules" -c 32f-fast-tf32 "$@"
}

{
    echo "# $(date +%F), $(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)," \
        "$ranks ranks"
    bench -n 32,128 "${inputs[@]}" || exit 1
    # Multiprocessors for NCCL beside the local block.
    for ctas in 4 8 16 24 32; do
        echo "# nccl_ctas $ctas"
        bench -n 128 -k "$ctas" -s overlap,chunks4 -x nccl "${inputs[@]:0:2}" | tail -n +2 || exit 1
    done
} | tee "$output.part" || exit 1
mv "$output.part" "$output"
echo "== fastest for each input and N (total_ms), and auto"
awk -F'\t' '/^#/ { sweep = /ctas/; next } sweep || NF < 9 || $1 == "input" { next }
    { k = $1 " N=" $2
      if ($3 == "auto") { a[k] = $4 " " $9 }
      else if (!(k in b) || $9 < t[k]) { b[k] = $3; t[k] = $9 }
      if ($3 == "overlap") { o[k] = $9 } }
    END { line = "%-44s %-10s %9.4f   overlap %9.4f   auto %s\n"
          for (k in b) { printf line, k, b[k], t[k], o[k], a[k] } }' "$output" | sort
