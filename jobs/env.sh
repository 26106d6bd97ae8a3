#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The site: what both jobs source.  Every value can be given from outside instead, for example
#   MATRIX=/data/web.mtx.gz N_COLUMNS=256 sbatch jobs/single_node.sbatch
# shellcheck disable=SC2034

# Modules to load, as your site names them; empty: none.
MODULES=${MODULES:-}
# Folders of METIS, NCCL or an MPI that no module provides, with `:` between them.
PREFIXES=${PREFIXES:-}
# The repository, and its build with CUDA (`cpu` for a build without).
SOURCE=${SOURCE:-${SLURM_SUBMIT_DIR:-$PWD}}
PRESET=${PRESET:-cuda}
# Compute capability of the GPUs: 90 H100 and H200, 80 A100.
ARCH=${ARCH:-90}
# What starts the ranks: `mpirun`, or `srun --mpi=pmix` where MPI was built with Slurm's PMIx.
LAUNCH=${LAUNCH:-mpirun}

# The run: matrix, columns of B, what is passed on to spmm_dist, where results go.
MATRIX=${MATRIX:-$SOURCE/tests/data/bips98_606.mtx.gz}
# Not COLUMNS: bash sets that to the width of a terminal.
N_COLUMNS=${N_COLUMNS:-128}
OPTIONS=${OPTIONS:---type 32f --partition auto --warmup 5 --iterations 50 --verify}
RESULTS=${RESULTS:-$SOURCE/build/results}

if [ -n "$MODULES" ]; then
    module purge
    # shellcheck disable=SC2086
    module load $MODULES
fi
if [ -n "$PREFIXES" ]; then
    export CMAKE_PREFIX_PATH=$PREFIXES${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
fi

# Configure and build once, in the job, so that the compiler sees the node's GPU toolkit; apart from
# the trees of a developer.
BUILD=$SOURCE/build/job-$PRESET
build() {
    local options=()
    cd "$SOURCE" || return
    [ "$PRESET" != cuda ] || options=("-DCMAKE_CUDA_ARCHITECTURES=$ARCH")
    cmake --preset "$PRESET" -B "$BUILD" -DSPMM_BUILD_TESTS=OFF "${options[@]}" &&
        cmake --build "$BUILD" -j "${SLURM_CPUS_ON_NODE:-4}"
}

# run RANKS RANKS_PER_NODE: one line of machine and date, the report, and the same as JSON.
run() {
    local ranks=$1 per_node=$2 launch
    local name
    name=$(basename "$MATRIX" | sed 's/\..*//').n$N_COLUMNS.p$ranks
    mkdir -p "$RESULTS"
    # Threads share the cores of a node between its ranks.
    export OMP_NUM_THREADS=$(((${SLURM_CPUS_ON_NODE:-$per_node} + per_node - 1) / per_node))
    if [ "$LAUNCH" = mpirun ]; then
        launch=(mpirun -n "$ranks" --map-by "ppr:$per_node:node:PE=$OMP_NUM_THREADS" --bind-to core)
    else
        # shellcheck disable=SC2206
        launch=($LAUNCH --ntasks="$ranks" --ntasks-per-node="$per_node"
            --cpus-per-task="$OMP_NUM_THREADS")
    fi
    {
        date -u +%FT%TZ
        echo "nodes: ${SLURM_JOB_NODELIST:-$(hostname)}, job ${SLURM_JOB_ID:-none}"
        nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
        git -C "$SOURCE" describe --always --dirty 2>/dev/null || true
    } | tee "$RESULTS/$name.txt"
    # shellcheck disable=SC2086
    "${launch[@]}" "$BUILD/tools/spmm_dist" --matrix "$MATRIX" \
        --columns "$N_COLUMNS" $OPTIONS --json "$RESULTS/$name.json" | tee -a "$RESULTS/$name.txt"
}
