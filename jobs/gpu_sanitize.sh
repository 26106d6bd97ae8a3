#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compute-sanitizer over the GPU tests: memcheck on all of them, racecheck on our own kernels (those
# of cuSPARSE are left out there: its csrmv_v3_kernel writes one shared word from several threads).
# A build with CUDA must exist.  One summary line for each run; non-zero when one found
# something.
#
#     jobs/gpu_sanitize.sh [LOG]      default bench/results/gpu_sanitize.log
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
log=${1:-bench/results/gpu_sanitize.log}
tests=build/${PRESET:-cuda}/tests
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SPMM_TEST_DEVICE=cuda
export SPMM_TEST_SMALL=1 # the tools slow kernels down manyfold
failed=0
if ! nvidia-smi -L >/dev/null 2>&1 || ! command -v compute-sanitizer >/dev/null; then
    echo "$0: needs a GPU and compute-sanitizer" >&2 # before the old log is overwritten
    exit 2
fi

# Errors that an API call returns are looked at by the library, and by tests on purpose.
check() {
    local tool=$1 ranks=$2 test=$3 out code=0 options=()
    out=$(mktemp)
    [ "$tool" != racecheck ] || options=(--kernel-name-exclude kernel_substring=cusparse)
    timeout 300 mpirun --bind-to none -n "$ranks" compute-sanitizer --tool "$tool" \
        "${options[@]}" --report-api-errors no --error-exitcode 9 "$tests/$test" >"$out" 2>&1 || code=$?
    echo "$tool, $ranks rank(s), $test: exit $code, $(grep -E 'SUMMARY' "$out" | sort | uniq -c |
        tr -s ' ' | tr '\n' ';')" | tee -a "$log"
    if [ "$code" -ne 0 ]; then
        failed=1
        tail -n 40 "$out" >>"$log"
    fi
    rm -f "$out"
}

echo "# jobs/gpu_sanitize.sh on $(date -u +%F), $(nvidia-smi --query-gpu=name --format=csv,noheader |
    head -n 1), $(compute-sanitizer --version | tail -n 1)" | tee "$log"
for test in test_cuda_device test_cuda_rows test_cuda_transpose test_engine_cusparse test_engine_tc \
    test_engine_bcsr test_plan test_async; do
    check memcheck 1 "$test"
done
check memcheck 2 test_plan
check memcheck 2 test_transport
for test in test_cuda_rows test_cuda_transpose test_engine_tc test_engine_bcsr test_plan; do
    check racecheck 1 "$test"
done
exit "$failed"
