#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and multiplies a real matrix on 4 ranks (with GPUs: one rank
# per GPU, 4 at most), checked against the FP64 product.
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"

matrix=tests/data/bips98_606.mtx.gz
ranks=4
[ "$gpus" = 0 ] || [ "$preset" = cpu ] || ranks=$((gpus < 4 ? gpus : 4))
# The ranks share the cores.
threads=$((jobs > ranks ? jobs / ranks : 1))
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$threads}

quietly cmake --preset "$preset" "${configure[@]}"
quietly cmake --build --preset "$preset" --target tools/all
command=(mpirun -n "$ranks" "build/$preset/tools/spmm_dist" --matrix "$matrix" --columns 64
    --verify)
echo "\$ ${command[*]}"
"${command[@]}" </dev/null

if [ "$preset" = cuda ]; then
    where="$ranks GPU(s), one per rank"
elif [ "$gpus" -gt 0 ]; then
    where="CPUs: there is a GPU, but no CUDA toolkit (nvcc)"
else
    where="CPUs: no GPU was found"
fi
cat <<END

Built build/$preset and multiplied $matrix, a power grid of the SuiteSparse
collection, by a dense block of 64 columns on $ranks ranks ($where).
Every entry of the result was compared with the FP64 product: it is right.
Next: build/$preset/tools/spmm_dist --help
END
