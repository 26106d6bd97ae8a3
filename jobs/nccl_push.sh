#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Transport nccl-push on one node, built already: its tests, its refusal across two NCCL "nodes" and
# where NCCL gives no windows, the exchange beside bare NCCL and nccl, and whole products.  About 2
# minutes on 4 GPUs; the tables come last.
#
#     jobs/nccl_push.sh [OUTPUT]      OUTPUT: folder for the tables, default bench/results
#
#   SPMM_BUILD_DIR  default build/cuda
#   SPMM_MAX_RANKS  use fewer GPUs than are visible
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
output=${1:-bench/results}
build=${SPMM_BUILD_DIR:-build/cuda}
mkdir -p "$output"
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
[ "$gpus" -le "${SPMM_MAX_RANKS:-$gpus}" ] || gpus=$SPMM_MAX_RANKS
if [ "$gpus" -lt 2 ]; then
    echo "$0: needs 2 GPUs at least" >&2
    exit 2
fi
export NCCL_NVLS_ENABLE=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

check() { # LIMIT COMMAND...
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

for ranks in 2 4; do
    [ "$ranks" -le "$gpus" ] || continue
    launch=(mpirun --bind-to none -n "$ranks")
    check 180 env SPMM_TEST_DEVICE=cuda "${launch[@]}" "$build/tests/test_transport"
    check 60 env SPMM_TEST_DEVICE=cuda "${launch[@]}" "$build/tests/test_transport_choice"
    check 120 "${launch[@]}" "$build/tests/test_push"
    check 60 "${launch[@]}" "$build/tests/test_async"
    for options in "--op n" "--op t" "--op n --layout col" "--op n --pad 3 --columns 33" \
        "--op n --timeout 30"; do
        # shellcheck disable=SC2086 # several words
        check 60 "${launch[@]}" "$build/tools/spmm_dist" --device cuda --transport nccl-push \
            --generate rmat:scale=16,degree=16 --columns 128 --type 32f --verify $options
    done
    # Without windows automatic choice goes on, and says why.
    check 60 env NCCL_WIN_ENABLE=0 "${launch[@]}" "$build/tools/spmm_dist" --device cuda \
        --generate rmat:scale=14,degree=8 --columns 32 --type 32f --verify --explain
    grep "nccl-push *could not be opened" "$log" || { echo "FAILED: no word of windows" && failed=1; }
done

if [ "$gpus" -ge 4 ]; then # two NCCL nodes of two ranks: refused, while nccl works
    two_nodes() {
        timeout --kill-after=10 120 mpirun --bind-to none -n 4 \
            bash -c "export NCCL_HOSTID=half\$((OMPI_COMM_WORLD_RANK / 2)); exec \"\$@\"" _ \
            "$build/tools/spmm_dist" --device cuda --generate rmat:scale=16,degree=16 \
            --columns 128 --type 32f --verify --transport "$1" >"$log" 2>&1
    }
    if ! two_nodes nccl-push && grep "needs all ranks on one node" "$log"; then
        echo "passed: nccl-push is refused across two NCCL nodes"
    else
        echo "FAILED: nccl-push across two NCCL nodes"
        tail -n 20 "$log"
        failed=1
    fi
    if two_nodes nccl; then
        echo "passed: nccl over two NCCL nodes"
    else
        echo "FAILED: nccl over two NCCL nodes"
        tail -n 20 "$log"
        failed=1
    fi
fi

for ranks in 4 2; do
    [ "$ranks" -le "$gpus" ] || continue
    for blocks in 16 32 64; do
        timeout --kill-after=10 120 mpirun --bind-to none -n "$ranks" \
            "$build/bench/bench_exchange" "$output/exchange_n${ranks}_b${blocks}.tsv" "$blocks" ||
            failed=1
        # Sizes, pack + nccl, single and in a row, push in us, the ratio, GB/s.
        cut -f 1,2,5,10- "$output/exchange_n${ranks}_b${blocks}.tsv" 2>/dev/null
    done
done
[ "$failed" -eq 0 ] || echo "nccl_push: FAILED"
exit "$failed"
