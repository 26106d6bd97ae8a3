#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compute-sanitizer over the GPU tests: memcheck, racecheck, initcheck and synccheck.  Racecheck
# leaves out the kernels of cuSPARSE (its csrmv_v3_kernel writes one shared word from several
# threads); initcheck has to see what they write, but only reads by our kernels (namespace spmm)
# count (Blocked-ELL of cuSPARSE reads what it has not written).  A build with CUDA must exist.  LOG
# gets a line for each run when it ends and, last, one for each tool, with `#`, which bench/results
# keeps; exit code 1: a run found something.
#
#     ci/gpu_sanitize.sh [LOG]      default build/cuda/gpu_sanitize.log
#
#   SPMM_TOOLS       of "memcheck racecheck initcheck synccheck", default all
#   SPMM_TESTS       names of tests, default all with kernels, among them test_ranks, for which 2 to
#                    4 ranks share one grid; test_plan, test_push and test_transport run under two
#                    ranks as well, where two GPUs are visible
#   SPMM_BUILD_DIR   default build/cuda
#   JOBS             runs at a time, default one for every two cores, 10 at most for each visible
#                    GPU
#   SECONDS_EACH     limit of a run, default 400
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=${SPMM_BUILD_DIR:-build/cuda}
log=${1:-$build/gpu_sanitize.log}
tests=$build/tests
read -r -a tools <<<"${SPMM_TOOLS:-memcheck racecheck initcheck synccheck}"
# The longest first, so that none of them ends alone.
read -r -a names <<<"${SPMM_TESTS:-test_engine_bcsr test_engine_cvse test_ranks test_engine_tc \
    test_engine_csr_gpu test_engine_dense test_sddmm test_cuda_rows test_plan test_engine_cusparse \
    test_engine_strips test_async test_attention test_attention_plan \
    test_attention_gradients test_cuda_transpose test_cuda_device}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SPMM_TEST_DEVICE=cuda
export SPMM_TEST_SMALL=1   # the tools slow kernels down manyfold
export NCCL_NVLS_ENABLE=0  # or nccl-push is refused
mapfile -t gpus < <(nvidia-smi -L 2>/dev/null | sed -n 's/^GPU \([0-9]*\):.*/\1/p')
[ -z "${CUDA_VISIBLE_DEVICES+set}" ] || IFS=, read -r -a gpus <<<"$CUDA_VISIBLE_DEVICES"
if [ ${#gpus[@]} -eq 0 ] || ! command -v compute-sanitizer >/dev/null; then
    echo "$0: needs a GPU and compute-sanitizer" >&2 # before the old log is overwritten
    exit 2
fi
most=$((10 * ${#gpus[@]}))
JOBS=${JOBS:-$(($(nproc) / 2 < most ? $(nproc) / 2 : most))}
JOBS=$((JOBS > 0 ? JOBS : 1))
threads=$(($(nproc) / JOBS))
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((threads > 1 ? threads : 1))}
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT

# Errors that an API call returns are looked at by the library, and by tests on purpose.
check() { # TOOL RANKS TEST; one line, and what was found
    local out=$parts/$1.$2.$3.out code=0 start=$SECONDS found options=(--error-exitcode 9)
    case $1 in
        racecheck) options+=(--kernel-name-exclude kernel_substring=cusparse) ;;
        initcheck) options=(--print-limit 100000 --show-backtrace device) ;;
    esac
    timeout "${SECONDS_EACH:-400}" mpirun --bind-to none -n "$2" compute-sanitizer --tool "$1" \
        "${options[@]}" --report-api-errors no "$tests/$3" >"$out" 2>&1 || code=$?
    found=$(grep -A 1 'Uninitialized' "$out" | grep -E ' at .*spmmi::' |
        sed 's/+0x.* in / in /' | sort | uniq -c)
    [ -z "$found" ] || code=9
    {
        echo "$1, $2 rank(s), $3: exit $code in $((SECONDS - start)) s, $(grep -E 'SUMMARY' "$out" |
            sort | uniq -c | tr -s ' ' | tr '\n' ';')"
        [ -z "$found" ] || echo "$found"
        [ "$code" -eq 0 ] || tail -n 40 "$out"
    } >"$parts/$1.$2.$3.log"
    tee -a "$log" <"$parts/$1.$2.$3.log"
    echo "$code $3" >>"$parts/$1.$2"
}

runs=()
wanted=" ${SPMM_TESTS:-test_plan test_push test_transport} "
for test in test_plan test_push test_transport; do
    if [ ${#gpus[@]} -ge 2 ] && [[ $wanted == *" $test "* ]]; then
        for tool in "${tools[@]}"; do
            runs+=("$tool 2 $test")
        done
    fi
done
for test in "${names[@]}"; do
    for tool in "${tools[@]}"; do
        runs+=("$tool 1 $test")
    done
done
mkdir -p "$(dirname "$log")"
echo "# ci/gpu_sanitize.sh at $(git describe --always --dirty 2>/dev/null || echo 'no git')," \
    "$(date -u +%F), ${#gpus[@]} x" \
    "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)," \
    "$(compute-sanitizer --version | tail -n 1)" | tee "$log"
turn=0
for run in "${runs[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do
        wait -n
    done
    next=$(((turn + 1) % ${#gpus[@]}))
    seen=${gpus[turn]}
    [ "$next" -eq "$turn" ] || seen+=,${gpus[next]}
    # shellcheck disable=SC2086 # a tool, a number of ranks, a test
    CUDA_VISIBLE_DEVICES=$seen check $run &
    turn=$next
done
wait
for tool in "${tools[@]}"; do
    for ranks in 1 2; do
        [ ! -f "$parts/$tool.$ranks" ] || sort -k 2 "$parts/$tool.$ranks" |
            awk -v what="$tool, $ranks rank(s)" '
            { n++; bad += $1 != 0; names = names " " $2 }
            END { print "# " what ": " n " tests, " bad + 0 " failed:" names }' | tee -a "$log"
    done
done
[ "$(cat "$parts"/*.[12] | grep -vc '^0 ')" -eq 0 ]
