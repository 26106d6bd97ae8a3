#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What users see on GPUs, on one node and built already: --doctor, a picture, and LOBPCG with the
# engines that plans choose against cuSPARSE alone, on 1, 2, 4 and 8 GPUs as far as there are so
# many.  Half a minute on 2 GPUs; the table comes last.
#
#     jobs/doctor.sh [OUTPUT]      OUTPUT: folder for doctor.txt, plot.json, plot.svg and
#                                  lobpcg.tsv, default build/results
#
#   SPMM_BUILD_DIR  default build/cuda
#   SPMM_MAX_RANKS  use fewer GPUs than are visible
#   GRID            of LOBPCG, default "27 128 128 128"
#   TESTS           1: also the time line against the stats (test_schedule), a minute more
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
output=${1:-build/results}
build=${SPMM_BUILD_DIR:-build/cuda}
read -ra grid <<<"${GRID:-27 128 128 128}"
mkdir -p "$output"
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
[ "$gpus" -le "${SPMM_MAX_RANKS:-$gpus}" ] || gpus=$SPMM_MAX_RANKS
if [ "$gpus" -lt 1 ]; then
    echo "$0: needs a GPU" >&2
    exit 2
fi
export NCCL_NVLS_ENABLE=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4}
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

check() { # LIMIT COMMAND...: output in $log
    local start=$SECONDS code=0
    timeout --kill-after=10 "$1" "${@:2}" >"$log" 2>&1 || code=$?
    if [ "$code" -eq 0 ]; then
        echo "passed in $((SECONDS - start)) s: ${*:2}"
    else
        echo "FAILED ($code): ${*:2}"
        tail -n 30 "$log"
        failed=1
    fi
}

: >"$output/doctor.txt"
printf 'ranks\tengine\tsteps_and_times\n' >"$output/lobpcg.tsv"
for ranks in 1 2 4 8; do
    [ "$ranks" -le "$gpus" ] || continue
    launch=(mpirun --bind-to none -n "$ranks")
    if [ "$ranks" -eq 1 ] || [ $((2 * ranks)) -gt "$gpus" ]; then # links: once, with all GPUs
        check 120 "${launch[@]}" "$build/tools/spmm_dist" --doctor
        cat "$log" >>"$output/doctor.txt"
    fi
    if [ "${TESTS:-0}" = 1 ] && [ -x "$build/tests/test_schedule" ]; then
        check 60 env SPMM_TEST_DEVICE=cuda "${launch[@]}" "$build/tests/test_schedule"
    fi
    for engine in auto cusparse; do
        check 60 "${launch[@]}" "$build/examples/lobpcg" "${grid[@]}" "$engine"
        printf '%s\t%s\t%s\n' "$ranks" "$engine" "$(grep -m 1 steps "$log")" >>"$output/lobpcg.tsv"
    done
done
ranks=$((gpus < 4 ? gpus : 4))
check 60 mpirun --bind-to none -n "$ranks" "$build/tools/spmm_dist" --type 32f --columns 128 \
    --partition block --generate rmat:scale=20,degree=16 --json "$output/plot.json"
check 10 "$build/tools/spmm_dist_plot" "$output/plot.json"
cat "$output/doctor.txt" "$output/lobpcg.tsv"
[ "$failed" -eq 0 ] && echo "all passed" || echo "SOME FAILED"
exit "$failed"
