#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Build with CUDA and run every GPU test on 1, 2, 4 and 8 GPUs, as many as are visible, and on fewer
# than 4 also with 4 ranks that share them.  Each check says what came of it when it ends;
# gpu_check.log gets a line for each step of a number of ranks, and what failed at once.  Several
# checks share a GPU where there are cores for them.  Needs no network and no root.
#
#     ci/gpu_check.sh [OUTPUT]      OUTPUT: folder for gpu_check.log and .tsv, default
#                                  build/cuda/gpu_check; bench/results keeps the log.  Whole outputs
#                                  of checks that failed go to gpu_check_failed.txt there
#
#   SPMM_PREFIX      a prefix of scripts/gpu_prefix.sh with METIS, zlib, cJSON and cmocka, where the
#                    machine has none
#   SPMM_MPI_CUDA    prefix of a CUDA-aware Open MPI, default SPMM_PREFIX/openmpi-cuda: adds
#                    transport mpi-device.  Programs built with the machine's Open MPI 4 run with it
#                    unchanged
#   SPMM_MATRIX_DIR  folder of Matrix Market files, besides two generated matrices
#   SPMM_BUILD_DIR   default build/cuda
#   SPMM_STEPS       some of "ctest ranks visible engines widths stress faults trust limits nodes
#                    crowded products", default all but limits (100 to 200 GiB of host memory,
#                    minutes), and crowded only on fewer than 4 GPUs
#   SPMM_RANKS       some of "1 2 4 8", default all
#   SPMM_BUILT       1: takes the build as it is, where a machine with GPUs has no compiler
#   SPMM_TEST_EXECUTES   of each transport and op in step stress, default 5000
#   SPMM_CHECKS_PER_GPU  most checks on a GPU at a time, default 4
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
build=${SPMM_BUILD_DIR:-build/cuda}
output=${1:-$build/gpu_check}
prefix=${SPMM_PREFIX:-}
mpi_cuda=${SPMM_MPI_CUDA:-}
if [ -z "$mpi_cuda" ] && [ -n "$prefix" ] && [ -x "$prefix/openmpi-cuda/bin/mpirun" ]; then
    mpi_cuda=$prefix/openmpi-cuda
fi
[ -z "$mpi_cuda" ] || mpi_cuda=$(cd "$mpi_cuda" && pwd) || exit 2
if [ -n "$prefix" ]; then # whose libraries need each other
    prefix=$(cd "$prefix" && pwd) || exit 2
    export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
mkdir -p "$output" "$build"
output=$(cd "$output" && pwd)
rm -f "$output/gpu_check_failed.txt"

if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
    IFS=, read -r -a ids <<<"$CUDA_VISIBLE_DEVICES"
else
    mapfile -t ids < <(nvidia-smi -L 2>/dev/null | sed -n 's/^GPU \([0-9]*\):.*/\1/p')
fi
gpus=${#ids[@]}
if [ "$gpus" -eq 0 ]; then
    echo "$0: no GPU is visible" >&2
    exit 2
fi

# Transport nccl-push uses no multicast, which registering its memory would set up all the same
# where NCCL started with it.
export NCCL_NVLS_ENABLE=0
# Open MPI 4 and 5 as root; more ranks than cores on small machines.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

configure=(--preset cuda -B "$build")
[ -z "$prefix" ] || configure+=("-DCMAKE_PREFIX_PATH=$prefix")
command -v ninja >/dev/null || configure+=(-G "Unix Makefiles")
echo "== build"
if [ -n "${SPMM_BUILT:-}" ]; then
    echo "spmm_dist: as it is in $build" >"$build/gpu_check_build.log"
elif ! { cmake "${configure[@]}" && cmake --build "$build" -j "$(nproc)"; } \
    >"$build/gpu_check_build.log" 2>&1; then
    tail -n 40 "$build/gpu_check_build.log"
    exit 1
fi
grep 'spmm_dist:' "$build/gpu_check_build.log"

work=$(mktemp -d) # the logs of checks, times of each step, and a file `failed` where one did
trap 'rm -rf "$work"' EXIT
log=$output/gpu_check.log
note() { # SENTENCE...
    echo "$*" | tee -a "$log"
}
fail() { # SENTENCE...
    note "FAILED$*"
    touch "$work/failed"
}
echo "# ci/gpu_check.sh at $(git describe --always --dirty 2>/dev/null || echo 'no git')," \
    "$(date -u +%F), $gpus x" \
    "$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)" >"$log"
note "build: $SECONDS s"

# Checks run side by side, each on GPUs of its own or some at a time on the same: a line of this
# pipe for each that may begin.  Steps of as many ranks that want as many at a time flow into each
# other.
most_beside=${SPMM_CHECKS_PER_GPU:-4}
pool=''   # RANKS AT_A_TIME of the lines in the pipe
titles=() # of the steps since it was filled
mkfifo "$work/sets"
exec {sets}<>"$work/sets"
open_pool() { # RANKS MOST: so many checks on the same GPUs, if they leave each rank four cores
    local size=$(($1 < gpus ? $1 : gpus)) set number at_a_time
    at_a_time=$(($(nproc) * size / (4 * gpus * $1)))
    at_a_time=$((at_a_time < $2 ? at_a_time : $2))
    at_a_time=$((at_a_time < most_beside ? at_a_time : most_beside))
    at_a_time=$((at_a_time > 0 ? at_a_time : 1))
    [ "$pool" != "$1 $at_a_time" ] || return 0
    drain
    pool="$1 $at_a_time"
    number=$((at_a_time * (gpus / size)))
    threads=$(($(nproc) / (number * $1)))
    for ((set = 0; set < number; set++)); do
        (IFS=, && echo "${ids[*]:set / at_a_time * size:size}") >&"$sets"
    done
}
drain() { # wait for all checks, and note what came of the steps
    local title
    wait
    while read -r -t 0 -u "$sets"; do
        read -r -u "$sets"
    done
    for title in "${titles[@]}"; do
        [ ! -f "$work/$title" ] || note "$title: $(awk '
            { n++; s += $1 } END { print n " passed, " s + 0 " s of checks" }' "$work/$title")"
    done
    titles=() pool=''
}
beside() { # COMMAND...: as soon as GPUs are free
    local set
    read -r -u "$sets" set
    {
        export CUDA_VISIBLE_DEVICES=$set OMP_WAIT_POLICY=passive
        export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((threads > 0 ? threads : 1))}
        "$@"
        echo "$set" >&"$sets"
    } &
}

steps="ctest ranks visible engines widths stress faults trust nodes products"
[ "$gpus" -ge 4 ] || steps+=" crowded"
steps=" ${SPMM_STEPS:-$steps} "
wants() { [[ $steps == *" $1 "* ]]; } # STEP
step() { # NAME RANKS MOST_AT_A_TIME TITLE COMMAND...
    wants "$1" || return 0
    open_pool "$2" "$3"
    title=$4
    titles+=("$title")
    echo "== $title"
    "${@:5}"
}
# passed START WHAT...: a check of the step
passed() {
    echo "$((SECONDS - $1))" >>"$work/$title"
    echo "passed in $((SECONDS - $1)) s: ${*:2}"
}

limit=120   # seconds for one check
unwanted='' # what its output must not have
check() {
    beside run_check "$@"
}
run_check() {
    local start=$SECONDS code=0 out
    out=$(mktemp -p "$work")
    timeout --kill-after=10 "$limit" "$@" >"$out" 2>&1 </dev/null || code=$?
    [ -z "$unwanted" ] || ! grep -q "$unwanted" "$out" || code=$unwanted
    if [ "$code" = 0 ]; then
        passed "$start" "$@"
    else
        fail " ($code): $*"$'\n'"$(tail -n 30 "$out")"
        { echo "== $*" && cat "$out"; } >>"$output/gpu_check_failed.txt"
    fi
}

# Names of tests, those of half a minute before the others, so that none of them ends alone.
long_first() {
    awk '/engine_(bcsr|cvse|tc|csr_gpu)|test_ranks|sddmm|transport\.|sweep/ { print; next }
         { rest = rest $0 "\n" } END { printf "%s", rest }'
}

ctest_step() { # RANKS
    local limit=330 unwanted=Skipped tests test # none may be, since a GPU is visible
    mapfile -t tests < <(ctest --test-dir "$build" -N -L gpu |
        sed -n "s/^ *Test *#[0-9]*: \(.*\.n$1\)\$/\1/p" | long_first)
    [ ${#tests[@]} -gt 0 ] || fail ": no test with label gpu on $1 ranks"
    for test in "${tests[@]}"; do
        check ctest --test-dir "$build" -L gpu -R "^$test\$" --no-tests=error --output-on-failure
    done
}

# Tests that step ctest has run on as many ranks, with a GPU for each.
fresh() { ! wants ctest || [ "$ranks" -gt "$1" ]; } # LARGEST NUMBER OF RANKS THERE

# Tests of whole plans with one GPU for each rank, and transports under the CUDA-aware MPI.
ranks_step() {
    local limit=330 test
    if fresh 1; then
        for test in test_async test_plan_streams test_push test_push_refused; do
            check mpirun --bind-to none -n "$ranks" "$build/tests/$test"
        done
    fi
    if fresh 4; then
        for test in test_plan test_transport test_transport_choice test_sddmm test_attention \
            test_new_values; do
            check env SPMM_TEST_DEVICE=cuda mpirun --bind-to none -n "$ranks" "$build/tests/$test"
        done
    fi
    if [ -n "$mpi_cuda" ]; then
        check env SPMM_TEST_DEVICE=cuda "${cuda_launch[@]}" --bind-to none -n "$ranks" \
            "$build/tests/test_transport"
    fi
}

# Whole products by nccl-push; where NCCL gives no windows, automatic choice goes on and says why.
push_step() {
    local push=(mpirun --bind-to none -n "$ranks" "$build/tools/spmm_dist" --device cuda
        --type 32f --verify --generate "rmat:scale=16,degree=16") options
    ! grep '^nccl-push ' <<<"$listed" | grep -q 'not in this build' || return 0
    for options in "--op n" "--op t" "--layout col" "--pad 3 --columns 33" "--timeout 30" \
        "--type 64c --op h"; do
        # shellcheck disable=SC2086 # several words
        check "${push[@]}" --transport nccl-push $options
    done
    # shellcheck disable=SC2016
    check bash -c 'set -o pipefail
        NCCL_WIN_ENABLE=0 "$@" --explain | tee /dev/stderr |
            grep "nccl-push *needs windows of NCCL" >/dev/null' - "${push[@]}"
}

# The engines by name, in each of their compute modes: op T and column-major blocks too.
driver=$build/tools/spmm_dist
verify() {
    check mpirun --bind-to none -n "$ranks" "$driver" --device cuda --engine "$engine" \
        --type "$type" --compute "$compute" --verify --warmup 0 --iterations 1 "$@"
}
engines_step() {
    # auto, with products enough that another order of rows is measured, too.
    for type in 32f 64f; do
        check mpirun --bind-to none -n "$ranks" "$driver" --device cuda --type "$type" --verify \
            --generate stencil9:nx=400,ny=400,shuffle=1 --columns 128 --executes 1000000000 \
            --warmup 0 --iterations 1 --beta 1
    done
    for mode in bittcf/32f/32f bittcf/32f/32f-fast-tf32 hrpb/32f/32f hrpb/32f/32f-fast-tf32 \
        dmma/64f/64f {csr-gpu,cusparse}/{64c/64f,32c/32f}; do
        IFS=/ read -r engine type compute <<<"$mode"
        verify --generate rmat:scale=16,degree=16 --columns 128
        verify --generate rmat:scale=16,degree=16 --columns 33 --op t --layout col --pad 3 \
            --alpha 1.5 --beta -0.5
        # Rows of thousands of entries, and fewer rows than columns.
        for matrix in mult_dcop_01:100:col lp_fit2d:32:row; do
            IFS=: read -r name columns layout <<<"$matrix"
            if [ -f "${SPMM_MATRIX_DIR:-}/$name.mtx.gz" ]; then
                verify --matrix "$SPMM_MATRIX_DIR/$name.mtx.gz" --columns "$columns" \
                    --layout "$layout" --beta 1
            fi
        done
    done
    engine=dense
    for mode in 64f/64f 32f/32f 32f/32f-fast-tf32 16f/32f; do
        IFS=/ read -r type compute <<<"$mode"
        verify --generate pruned:rows=4000,cols=1000,sparsity=0.9 --columns 128
        verify --generate pruned:rows=1001,cols=2003,sparsity=0.9 --columns 33 --op t \
            --layout col --pad 3 --alpha 1.5 --beta -0.5
    done
}

# Engines of 16-bit values at many widths of B, on every file and generators; a table for each type.
# A file with values that FP16 has no numbers for is refused with a sentence, and nothing else may
# fail.
widths_step() {
    local type file
    matrices=("--generate=pruned:rows=2048,cols=1024,sparsity=0.9,vector=2"
        "--generate=rmat:scale=14,degree=16" "--generate=stencil27:nx=20,ny=20,nz=20,dof=3")
    [ -z "${SPMM_MATRIX_DIR:-}" ] ||
        for file in "$SPMM_MATRIX_DIR"/*.mtx.gz; do matrices+=("--matrix=$file"); done
    for type in 16f 16bf; do
        OMP_NUM_THREADS=$((3 * threads + 1)) beside widths_of "$type" # the reference takes long
    done
}
widths_of() { # TYPE
    local start=$SECONDS code=0 out=$work/widths.$1 table=$work/gpu_check_$1.tsv engines=4 widths=8
    local refused rows bad
    timeout --kill-after=10 300 "$build/tools/spmm_bench" "${matrices[@]}" --type "$1" \
        --compute 32f --engines cvse,csr-gpu,bcsr,bcsr-sp24 --tuning order=none --warmup 0 \
        --iterations 1 --columns 1,8,32,64,100,128,256,512 --out "$table" >"$out" 2>&1 || code=$?
    refused=$(grep -c "^spmm_bench: .*out of the range of type $1" "$out")
    rows=$(grep -v '^#' "$table" | tail -n +2 | wc -l)
    bad=$(grep -v '^#' "$table" | awk -F'\t' '
        NR == 1 { for (k = 1; k <= NF; k++) if ($k == "passed") at = k }
        NR > 1 && $at != "yes"' | wc -l)
    grep "out of the range of type $1" "$out"
    if { [ "$code" -eq 0 ] || { [ "$code" -eq 3 ] && [ "$refused" -gt 0 ]; }; } &&
        [ "$bad" -eq 0 ] &&
        [ "$rows" -eq $(((${#matrices[@]} - refused) * engines * widths)) ]; then
        passed "$start" "$rows products of type $1, $refused files refused"
        note "  $rows products of type $1, $refused files refused"
    else
        fail " ($code): $rows products of type $1, $bad above their bound, $refused files refused
$(tail -n 30 "$out")"
    fi
}

# What runs under a CUDA-aware MPI: a launcher of its own.
cuda_launch=(env "OPAL_PREFIX=$mpi_cuda"
    "LD_LIBRARY_PATH=$mpi_cuda/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$mpi_cuda/bin/mpirun")

# Thousands of executes in a row with a changing B.
stress_step() {
    local stress=(env SPMM_TEST_DEVICE=cuda "SPMM_TEST_EXECUTES=${SPMM_TEST_EXECUTES:-5000}")
    for transport in nccl nccl-push mpi-host; do
        [[ $listed == *"$transport "* ]] || continue
        check "${stress[@]}" "SPMM_TEST_TRANSPORT=$transport" mpirun --bind-to none -n "$ranks" \
            "$build/tests/test_stress"
    done
    check "${stress[@]}" SPMM_TEST_TRANSPORT=nccl SPMM_TEST_GRAPH=1 mpirun --bind-to none \
        -n "$ranks" "$build/tests/test_stress"
    check mpirun --bind-to none -n "$ranks" "$build/tests/test_capture"
    if [ -n "$mpi_cuda" ]; then
        check "${stress[@]}" SPMM_TEST_TRANSPORT=mpi-device "${cuda_launch[@]}" --bind-to none \
            -n "$ranks" "$build/tests/test_stress"
    fi
}

# One rank is stopped, or killed without the end of the job: the others get an error in time.
faults_step() {
    for transport in nccl nccl-push mpi-host; do
        [[ $listed == *"$transport "* ]] || continue
        check env SPMM_FAULT_DEVICE=cuda "SPMM_FAULT_TRANSPORTS=$transport" \
            "SPMM_FAULT_RANKS=$ranks" "SPMM_FAULT_WORKER=$build/tests/fault_worker" \
            "SPMM_DRIVER=$driver" python3 tests/driver/test_faults.py
    done
}

# Every seventh allocation fails once, host and device; threads, streams, bounds of all engines.
trust_step() {
    local on_gpu=(env SPMM_TEST_DEVICE=cuda mpirun --bind-to none -n "$ranks")
    fresh 2 || return
    check "${on_gpu[@]}" "$build/tests/test_plan" test_engines
    check "${on_gpu[@]}" "$build/tests/test_concurrent"
    check env SPMM_TEST_STRIDE=7 "${on_gpu[@]}" "$build/tests/test_sweep"
}

# A call of CUDA, NCCL or MPI fails on one rank: each line says what that led to.
calls_step() {
    local start=$SECONDS
    env SPMM_FAULT_LIST=1 SPMM_FAULT_JOBS=6 SPMM_FAULT_DEVICE=cuda \
        "SPMM_FAULT_RANKS=$ranks" "SPMM_DRIVER=$driver" \
        "SPMM_FAULTS=$build/tests/libspmm_faults.so" timeout 400 \
        python3 tests/driver/test_fault_calls.py ||
        { fail ": calls that fail on one rank" && return; }
    passed "$start" "calls that fail on one rank"
}

# More than 2^31 entries in one block, and in all, from arrays and by a generator.
huge_step() {
    limit=300
    check env SPMM_TEST_HUGE=1 "$build/tests/test_engine_csr_gpu" test_huge
    check env SPMM_TEST_DEVICE=cuda SPMM_TEST_HUGE=1 "$build/tests/test_limits" \
        test_entries_beyond_32_bits
    limit=120
}
limits_step() {
    limit=300
    check env SPMM_TEST_DEVICE=cuda SPMM_TEST_LARGE=1 mpirun --bind-to none -n "$ranks" \
        "$build/tests/test_limits"
    check mpirun --bind-to none -n "$ranks" "$driver" --device cuda --partition keep \
        --generate banded:rows=34200000,band=31 --type 32f --engine csr-gpu --columns 4 \
        --tuning order=none --warmup 0 --iterations 1 --verify
    limit=120
}

# Ranks that see one GPU each, or two of which their neighbours see one each: NCCL fails where two
# ranks take the same.
visible_step() {
    local product=("$driver" --device cuda --generate "rmat:scale=16,degree=16" --type 32f
        --columns 128 --warmup 1 --iterations 5 --verify --transport "$transport")
    check mpirun --bind-to none -n "$ranks" jobs/one_gpu.sh "${product[@]}"
    # shellcheck disable=SC2016
    check mpirun --bind-to none -n "$ranks" bash -c 'IFS=, read -r -a all <<<"$CUDA_VISIBLE_DEVICES"
        r=$OMPI_COMM_WORLD_RANK n=$OMPI_COMM_WORLD_SIZE
        export CUDA_VISIBLE_DEVICES=${all[r]},${all[(r + 1) % n]}
        exec "$@"' - "${product[@]}"
}

# refused TRANSPORT SENTENCE COMMAND...: the product does not run, and says why not.
refused() {
    local out
    wait
    if out=$(timeout --kill-after=10 "$limit" "${@:3}" --transport "$1" 2>&1); then
        fail ": $1 ran: ${*:3}"
    elif ! grep "^spmm_dist: transport $1 .*$2" <<<"$out"; then # prints the reason
        fail ": $1 does not say '$2': ${*:3}"$'\n'"$(tail -n 30 <<<"$out")"
    fi
}

# nodes_step NODES EXECUTES [NAME=VALUE...]: NCCL takes equal parts of the ranks for nodes of their
# own, so that sockets join them; so does the library, for what it does between nodes.
nodes_step() {
    local way each=$((ranks / $1)) ways=("--op t" "--halo-type 16bf")
    # shellcheck disable=SC2016
    local nodes=(mpirun --bind-to none -n "$ranks" -x NCCL_IB_DISABLE=1 -x NCCL_SOCKET_IFNAME=lo
        bash -c 'export NCCL_HOSTID=node$((OMPI_COMM_WORLD_RANK * $1 / OMPI_COMM_WORLD_SIZE))
            exec env "${@:2}"' - "$1" "${@:3}")
    local product=("$driver" --device cuda --generate "rmat:scale=16,degree=16" --type 32f
        --columns 128 --warmup 1 --iterations 5 --verify)
    check "${nodes[@]}" "${product[@]}" --transport nccl
    [ "$each" = 1 ] || ways+=("--tuning exchange=node")
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086
        check "${nodes[@]}" "${product[@]}" --transport nccl --ranks-per-node "$each" $way
    done
    check "${nodes[@]}" SPMM_TEST_DEVICE=cuda SPMM_TEST_TRANSPORT=nccl "SPMM_TEST_EXECUTES=$2" \
        "$build/tests/test_stress"
    if [[ $listed == *"nccl-push "* ]]; then
        refused nccl-push "on one node" "${nodes[@]}" "${product[@]}"
    fi
}

# 4 ranks on fewer GPUs, which take turns: over MPI, and over NCCL where each rank says that its GPU
# is another one and the ranks of a GPU are of different NCCL nodes.
crowded_step() {
    local crowd=(mpirun --bind-to none -n "$ranks") on_gpu=(env SPMM_TEST_DEVICE=cuda)
    if ! wants ctest; then # which has run these
        for test in test_plan test_transport test_sddmm test_attention; do
            check "${on_gpu[@]}" "${crowd[@]}" "$build/tests/$test"
        done
    fi
    check "${on_gpu[@]}" SPMM_TEST_TRANSPORT=mpi-host SPMM_TEST_EXECUTES=50 "${crowd[@]}" \
        "$build/tests/test_stress"
    if [ -n "$mpi_cuda" ]; then
        check "${on_gpu[@]}" "${cuda_launch[@]}" --bind-to none -n "$ranks" \
            "$build/tests/test_transport"
        check "${on_gpu[@]}" SPMM_TEST_TRANSPORT=mpi-device SPMM_TEST_EXECUTES=50 \
            "${cuda_launch[@]}" --bind-to none -n "$ranks" "$build/tests/test_stress"
    fi
    for type in 16f 16bf; do
        for engine in cvse bcsr bcsr-sp24 auto; do
            check "${crowd[@]}" "$driver" --device cuda --engine "$engine" --type "$type" \
                --generate stencil27:nx=12,ny=12,nz=24,dof=3 --columns 64 --verify --warmup 0 \
                --iterations 1 --transport mpi-host
        done
    done
    grep '^nccl ' <<<"$listed" | grep -q 'not in this build' && return
    refused nccl "one GPU per rank" "${crowd[@]}" "$driver" --device cuda \
        --generate "rmat:scale=12,degree=8" --columns 32 --type 32f
    nodes_step "$((gpus > 1 ? 2 : ranks))" 25 \
        "LD_PRELOAD=$(cd "$build" && pwd)/tests/libspmm_gpu_names.so"
}
listed=$("$driver" --list-transports)

for ranks in ${SPMM_RANKS:-1 2 4 8}; do
    on="$ranks ranks on $gpus GPUs"
    if [ "$ranks" -eq 1 ]; then
        step widths 1 4 "16-bit engines at many widths" widths_step
        step limits 1 1 "more than 2^31 entries in a block, on $gpus GPUs" huge_step
    fi
    # They may share GPUs.
    [ "$ranks" -gt 4 ] || step ctest "$ranks" 4 "ctest -L gpu, $on" ctest_step "$ranks"
    [ "$ranks" -le "$gpus" ] || continue
    step engines "$ranks" 4 "engines, $on" engines_step
    step ranks "$ranks" 4 "tests of plans and transports, $on" ranks_step
    limit=240 step trust "$ranks" 4 "numerics, threads and failures, $on" trust_step
    if [ "$ranks" -gt 1 ]; then
        transport=nccl
        grep '^nccl ' <<<"$listed" | grep -q 'not in this build' && transport=mpi-host
        step ranks "$ranks" 4 "products by nccl-push, $on" push_step
        step visible "$ranks" 4 "which GPUs $on see" visible_step
    fi
    # Kernels that wait for those of other ranks share a GPU with one more run at most.
    step stress "$ranks" $((ranks > 1 ? 2 : 4)) "stress, $on" stress_step
    if [ "$ranks" -gt 1 ] && [ $((2 * ranks)) -gt "$gpus" ]; then # the most ranks there are
        step faults "$ranks" 4 "a lost rank, $on" faults_step
        step nodes "$ranks" 2 "two NCCL nodes, $on" nodes_step 2 500
        drain
        step limits "$ranks" 1 "more than 2^31 entries, $on" limits_step
    fi
    drain
    [ "$ranks" -ne 2 ] || step trust 2 1 "calls that fail on one rank of 2" calls_step
done
ranks=4
[ "$gpus" -ge "$ranks" ] ||
    limit=60 step crowded "$ranks" 2 "$ranks ranks crowded on $gpus GPUs" crowded_step
drain

products_step() {
    local cover=(--device cuda --timeout 120 --beside "$((most_beside < 3 ? most_beside : 3))")
    [ -z "$mpi_cuda" ] || cover+=(--mpi-cuda "$mpi_cuda")
    SPMM_DRIVER=$driver python3 tests/driver/cover.py "${cover[@]}" >"$work/cover" ||
        fail ": products"
    cat "$work/cover"
    note "products: $(tail -n 1 "$work/cover")"
}
step products "$gpus" 1 "products" products_step
drain
if [ -e "$work/failed" ]; then
    note "gpu_check: FAILED"
    exit 1
fi
note "gpu_check: all passed in $((SECONDS / 60)) min $((SECONDS % 60)) s"
