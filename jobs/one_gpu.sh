#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Start a rank with one GPU visible, the one at the rank's place on its node:
#     mpirun -n 4 jobs/one_gpu.sh build/cuda/tools/spmm_dist ...
# env.sh does so where VISIBLE=one.  Open MPI, Slurm and MPICH each name the place differently.
set -eu
place=${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-${MPI_LOCALRANKID:-}}}
if [ -z "$place" ]; then
    echo "$0: no launcher said which rank of the node this is" >&2
    exit 2
fi
# Names of GPUs (GPU-..., MIG-...) or numbers; nothing where Slurm or the site sets none.
if [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    IFS=, read -r -a gpus <<<"$CUDA_VISIBLE_DEVICES"
    export CUDA_VISIBLE_DEVICES=${gpus[place % ${#gpus[@]}]}
elif [ -z "${CUDA_VISIBLE_DEVICES+set}" ]; then
    count=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
    [ "$count" -eq 0 ] || export CUDA_VISIBLE_DEVICES=$((place % count))
fi
exec "$@"
