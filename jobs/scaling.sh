#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Time of one product on 1, 2 and 4 GPUs of one node, for every transport: one row for each run.
#
#     jobs/scaling.sh [OUTPUT.tsv]      default bench/results/scaling.tsv
#
#   SPECS        generator specs, with blanks between them
#   N_COLUMNS    columns of B, default 128
#   TYPE         default 32f
#   PRESET       build that holds spmm_dist, default cuda
#   SPMM_MPI_CUDA  prefix of a CUDA-aware Open MPI: adds transport mpi-device
#
# total_ms is host time from stream synchronisation to stream synchronisation, median of 50
# iterations after 10, maximum over ranks; the phases are device events.
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:-bench/results/scaling.tsv}
specs=${SPECS:-rmat:scale=20,degree=16 stencil27:nx=100,ny=100,nz=100 stencil9:nx=1000,ny=1000,shuffle=1}
columns=${N_COLUMNS:-128}
type=${TYPE:-32f}
driver=build/${PRESET:-cuda}/tools/spmm_dist
mpi_cuda=${SPMM_MPI_CUDA:-}
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
if [ "$gpus" -eq 0 ] || [ ! -x "$driver" ]; then # before the old results are overwritten
    echo "$0: needs a GPU and $driver (cmake --build --preset cuda)" >&2
    exit 2
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
report=$(mktemp)
trap 'rm -f "$report"' EXIT

row() {
    python3 - "$report" <<'END'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    r = json.load(file)
time, halo = r["time"], r["halo"]
numbers = [time[k] for k in ("total_ms", "pack_ms", "exchange_ms", "local_ms", "halo_ms")]
numbers += [r["overlap"], r["gflops"], r["verify"]["max_error"]]
print("\t".join([r["matrix"]["source"], str(r["ranks"]), str(r["columns"]), r["type"],
                 r["partition"]["method"], str(halo["rows_total"]), str(halo["rows_max"]),
                 r["engine"], r["transport"]] +
                ["-" if x is None else f"{x:.4g}" for x in numbers]))
END
}

{
    echo "# jobs/scaling.sh on $(date -u +%F), $gpus x $(nvidia-smi --query-gpu=name,driver_version \
--format=csv,noheader | head -n 1)"
    printf '%s\n' "matrix ranks columns type partition halo_rows halo_rows_max engine transport \
total_ms pack_ms exchange_ms local_ms halo_ms overlap gflops max_error" | tr ' ' '\t'
} >"$output"
for spec in $specs; do
    for ranks in 1 2 4; do
        [ "$ranks" -le "$gpus" ] || continue
        for transport in nccl mpi-host ${mpi_cuda:+mpi-device}; do
            [ "$ranks" -gt 1 ] || [ "$transport" = nccl ] || continue
            launch=(mpirun)
            [ "$transport" != mpi-device ] ||
                launch=(env "OPAL_PREFIX=$mpi_cuda" "LD_LIBRARY_PATH=$mpi_cuda/lib:${LD_LIBRARY_PATH:-}"
                    "$mpi_cuda/bin/mpirun")
            "${launch[@]}" --bind-to none -n "$ranks" "$driver" --generate "$spec" \
                --columns "$columns" --type "$type" --transport "$transport" --partition auto \
                --warmup 10 --iterations 50 --verify --json "$report" >/dev/null
            row >>"$output"
        done
    done
done
column -t -s "$(printf '\t')" "$output"
