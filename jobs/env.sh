#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Settings of the site, sourced by all .sbatch files.  Each can be given in the environment instead:
#   MATRIX=/data/web.mtx.gz N_COLUMNS=256 sbatch jobs/single_node.sbatch
# shellcheck disable=SC2034

# Modules to load, as your site names them; empty: none.
MODULES=${MODULES:-}
# Prefixes of METIS, NCCL, cJSON or an MPI that no module provides, separated by `:`.
PREFIXES=${PREFIXES:-}
# The repository, and its build with CUDA (`cpu` for a build without), which is to run on GPUs.
SOURCE=${SOURCE:-${SLURM_SUBMIT_DIR:-$PWD}}
PRESET=${PRESET:-cuda}
device=cpu
[ "$PRESET" = cpu ] || device=cuda
# Folder of a build made once, or the prefix where it is installed; empty: build in the job, in
# build/job-PRESET.
BUILD=${BUILD:-}
# Compute capability of the GPUs: 90 H100 and H200, 80 A100.
ARCH=${ARCH:-90}
# What starts the ranks, with options: `mpirun` of Open MPI, or `srun --mpi=pmix` where MPI was
# built with the PMIx of Slurm.
LAUNCH=${LAUNCH:-mpirun}
# GPUs that a rank sees: `all` of its node (the library gives each rank its own, and NCCL reaches
# the others over NVLink), or `one`, where the site demands it.
VISIBLE=${VISIBLE:-all}

# The run: matrix, columns of B, further options of spmm_dist, folder of the results.
MATRIX=${MATRIX:-$SOURCE/tests/data/bips98_606.mtx.gz}
# Not COLUMNS: bash sets that to the width of a terminal.
N_COLUMNS=${N_COLUMNS:-128}
OPTIONS=${OPTIONS:---type 32f --partition auto --warmup 5 --iterations 50}
# A wrong result fails the job; empty: results are not compared.
VERIFY=${VERIFY---verify}
RESULTS=${RESULTS:-$SOURCE/build/results}

# The `module` of a site may return 1, exit, or read variables that nobody has set: the job ends
# with a sentence, where bash alone would say nothing.
load_modules() {
    local strict=
    if ! command -v module >/dev/null; then
        echo "jobs/env.sh: MODULES is '$MODULES', but $(hostname) has no command module: source" \
            "the file of your site that defines it at the top of jobs/env.sh, or leave MODULES" \
            "empty" >&2
        exit 1
    fi
    trap 'modules_failed $?' EXIT
    [[ $- != *u* ]] || strict=1
    set +u
    module purge || exit
    # shellcheck disable=SC2086
    module load $MODULES || exit
    [ -z "$strict" ] || set -u
    trap - EXIT
}
modules_failed() { # CODE
    echo "jobs/env.sh: 'module purge' or 'module load $MODULES' failed on $(hostname) (exit code" \
        "$1): set MODULES to names that 'module avail' prints there, or load modules before" \
        "sbatch and leave MODULES empty" >&2
    exit $(($1 > 0 ? $1 : 1))
}
[ -z "$MODULES" ] || load_modules
if [ -n "$PREFIXES" ]; then
    export CMAKE_PREFIX_PATH=$PREFIXES${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
fi

# Sets `program`, of BUILD; without BUILD it is built here, so that the compiler sees the node's GPU
# toolkit, apart from the trees of a developer.  One job at a time builds in the folder.
build() {
    local options=()
    cd "$SOURCE" || return
    if [ -n "$BUILD" ]; then
        for program in "$BUILD/spmm_dist" "$BUILD/bin/spmm_dist"; do
            [ ! -f "$program" ] || [ ! -x "$program" ] || return 0
        done
        echo "BUILD takes a folder, and there is no program $BUILD/spmm_dist or" \
            "$BUILD/bin/spmm_dist: build it, or leave BUILD empty" >&2
        return 1
    fi
    BUILD=$SOURCE/build/job-$PRESET
    program=$BUILD/spmm_dist
    [ "$PRESET" != cuda ] || options=("-DCMAKE_CUDA_ARCHITECTURES=$ARCH")
    command -v ninja >/dev/null || options+=(-G "Unix Makefiles")
    mkdir -p build
    (
        if ! flock --nonblock 9; then
            echo "jobs/env.sh: waiting for another job that builds in $BUILD"
            flock 9 || {
                echo "jobs/env.sh: $BUILD.lock cannot be locked: build once, and set BUILD" >&2
                exit 1
            }
        fi
        {
            cmake --preset "$PRESET" -B "$BUILD" -DSPMM_BUILD_TESTS=OFF "${options[@]}" &&
                cmake --build "$BUILD" -j "${SLURM_CPUS_ON_NODE:-4}"
        } 9>&- # what a compiler leaves behind holds no lock
    ) 9>"$BUILD.lock"
}

# Cores of this node that the job may use, and CPUs of Slurm in each: Slurm may count hardware
# threads, unless the job asked for one of each core alone.
count_cores() {
    local cpus=${SLURM_CPUS_ON_NODE:-$(nproc)}
    cores=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l) || cores=0
    cpus_of_core=$((cores > 0 ? (cpus + cores - 1) / cores : 1))
    cores=$((cpus / cpus_of_core))
}

# launch RANKS RANKS_PER_NODE COMMAND...: threads share the cores of a node between its ranks, each
# rank keeps to cores of its own, and sees the GPUs that VISIBLE says.
launch() {
    local ranks=$1 per_node=$2 cores cpus_of_core command
    read -ra command <<<"$LAUNCH"
    shift 2
    count_cores
    export OMP_NUM_THREADS=$((cores > per_node ? cores / per_node : 1))
    if [ "$VISIBLE" != all ] && [ "$VISIBLE" != one ]; then
        echo "VISIBLE is '$VISIBLE'; it takes all or one" >&2
        return 2
    fi
    if [ "${command[0]##*/}" = mpirun ]; then
        # Slurm starts one daemon of mpirun on each other node, and would give it a single GPU.
        if [ -n "${SLURM_GPUS_PER_TASK:-}" ] && [ "${SLURM_JOB_NUM_NODES:-1}" -gt 1 ]; then
            echo "mpirun and --gpus-per-task do not go together: ask for --gpus-per-node, or take" \
                "LAUNCH='srun --mpi=pmix'" >&2
            return 2
        fi
        if [ "$cores" -ge "$per_node" ]; then
            command+=(-n "$ranks" --map-by "ppr:$per_node:node:PE=$OMP_NUM_THREADS" --bind-to core)
        else
            command+=(-n "$ranks" --map-by "ppr:$per_node:node" --oversubscribe --bind-to none)
        fi
        [ "$VISIBLE" = all ] || command+=("$SOURCE/jobs/one_gpu.sh")
    else
        # Without --nodes, srun spreads the ranks over all nodes of the job.
        command+=(--nodes=$(((ranks + per_node - 1) / per_node)) --ntasks="$ranks"
            --ntasks-per-node="$per_node")
        if [ "$cores" -ge "$per_node" ]; then
            command+=(--cpus-per-task="$((OMP_NUM_THREADS * cpus_of_core))")
        else
            command+=(--cpus-per-task=1 --overcommit)
        fi
        if [ "${SLURM_GPUS_ON_NODE:-0}" != 0 ]; then
            # What the job asked for would come on top of what the step asks for.
            command=(env -u SLURM_GPUS -u SLURM_GPUS_PER_NODE -u SLURM_GPUS_PER_TASK
                -u SLURM_NTASKS_PER_GPU -u SLURM_TRES_PER_TASK -u SLURM_GPU_BIND "${command[@]}")
            if [ "$VISIBLE" = all ]; then
                command+=("--gpus-per-node=$SLURM_GPUS_ON_NODE")
            else
                command+=(--gpus-per-task=1)
            fi
        fi
    fi
    echo "jobs/env.sh: ${command[*]} $*" >&2
    "${command[@]}" "$@"
}

# run RANKS RANKS_PER_NODE [NAME OPTION...]: date, machine and the report of spmm_dist on MATRIX, or
# on what the options name, as .txt and as .json after a path that joins `results`.
run() {
    local ranks=$1 per_node=$2 name result input=(--matrix "$MATRIX")
    name=$(basename "$MATRIX" | sed 's/\.gz$//; s/\.[^.]*$//')
    shift 2
    if [ $# -gt 0 ]; then
        name=$1
        input=("${@:2}")
    fi
    result=$RESULTS/$name.n$N_COLUMNS.p$ranks
    mkdir -p "$RESULTS"
    results+=("$result")
    # No result of an earlier job stands for this one's.
    rm -f "$result.json"
    {
        date -u +%FT%TZ
        echo "nodes: ${SLURM_JOB_NODELIST:-$(hostname)}, job ${SLURM_JOB_ID:-none}"
        nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
        git -C "$SOURCE" describe --always --dirty 2>/dev/null || true
    } | tee "$result.txt"
    # shellcheck disable=SC2086
    launch "$ranks" "$per_node" "$program" "${input[@]}" --device "$device" \
        --columns "$N_COLUMNS" $OPTIONS $VERIFY --json "$result.json" | tee -a "$result.txt"
}
