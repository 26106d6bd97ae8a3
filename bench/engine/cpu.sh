#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Engine csr-cpu against MKL, and against PETSc where that is there: bench_cpu on a 7-point stencil
# of 1.4 M entries and six real matrices of different classes.
#
#     SPMM_MATRIX_DIR=DIR bench/engine/cpu.sh [OPTION...] [OUTPUT.tsv]
#
#   --mkl FILE        libmkl_rt.so.3, of `pip install mkl`
#   --petsc FILE      libpetsc of real scalars and 32-bit indices
#   --types T,T       [64f,32f]
#   --columns N,N     [1,4,8,16,32,128]
#   --threads K,K     [1 and those of the machine]
#   --pairs K         [21]
#   OUTPUT.tsv        [bench/results/cpu.tsv]
#
#   SPMM_BUILD_DIR    [build/cpu]
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
mkl='' petsc='' types=64f,32f columns=1,4,8,16,32,128 threads=1,$(nproc) pairs=21
names='^(bcsstk29|delaunay_n16|soc-Epinions1|ckt11752_dc_1|dlmc_tr_ffn1_mp80|lp_fit2d)$'
processor=$(LC_ALL=C lscpu | sed -n 's/^Model name: *//p')
made_by="bench/engine/cpu.sh ${*@Q}, $processor, $(nproc) cores"
options 'mkl petsc types columns threads pairs' 1 "$@"
output=$(realpath -m "${operands[0]:-$root/bench/results/cpu.tsv}")
SPMM_BUILD_DIR=${SPMM_BUILD_DIR:-build/cpu}
collect "$names"
files=("stencil7:nx=60,ny=60,nz=58" "${files[@]}")
# One OpenMP for all, so that its threads are the same; each stays on its core.
export MKL_THREADING_LAYER=GNU OMP_PROC_BIND=${OMP_PROC_BIND:-close}
write_table "$output" "$(program bench/bench_cpu)" ${mkl:+--mkl "$mkl"} ${petsc:+--petsc "$petsc"} \
    --types "$types" --threads "$threads" --pairs "$pairs" "$columns"
exit "$status"
