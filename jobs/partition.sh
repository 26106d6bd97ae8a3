#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Partition matrices with METIS on CPUs, once, for runs that are to measure products alone.
#
#     jobs/partition.sh OUT_DIR [MATRIX.csr|MATRIX.mtx.gz|SPEC]...
#
# Writes OUT_DIR/NAME.RANKS.part.gz, which bench_dist --partition-dir takes.  Default matrices: the
# stand-ins of bench/engine/standins.sh with at least 3 million entries in SPMM_STANDIN_DIR, and
# rmat:scale=22,degree=16 (half an hour).  Files that are there already are kept.
#
#   RANKS             default "2 4"
#   SPMM_STANDIN_DIR  folder that bench/engine/standins.sh made
#   SPMM_BUILD_DIR    default build/cpu
#   OBJECTIVE         vol (default) or cut
set -euo pipefail

if [ $# -lt 1 ]; then
    echo "usage: $0 OUT_DIR [MATRIX|SPEC]..." >&2
    exit 2
fi
out=$1
shift
driver=$(dirname "$0")/../${SPMM_BUILD_DIR:-build/cpu}/tools/spmm_dist
[[ ${SPMM_BUILD_DIR:-} != /* ]] || driver=$SPMM_BUILD_DIR/tools/spmm_dist
if [ ! -x "$driver" ]; then
    echo "$0: no program $driver" >&2
    exit 2
fi
mkdir -p "$out"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMP_WAIT_POLICY=passive

if [ $# -eq 0 ]; then
    if [ -z "${SPMM_STANDIN_DIR:-}" ]; then
        echo "$0: set SPMM_STANDIN_DIR or name matrices" >&2
        exit 2
    fi
    for name in roadNet-CA shipsec1 Emilia_923 ASIC_680k FraudYelp-RSR YeastH amazon0601 cant \
        in-2004 lap3d mip1 protein reddit rmat20 soc-BlogCatalog web-BerkStan web-Google; do
        set -- "$@" "$SPMM_STANDIN_DIR/syn-$name.csr"
    done
    set -- "$@" rmat:scale=22,degree=16
fi
status=0
for matrix in "$@"; do
    if [ -f "$matrix" ]; then
        name=$(basename "$matrix" | sed 's/\.gz$//; s/\.mtx$//; s/\.csr$//')
        input=(--matrix "$matrix")
    else
        name=$(tr ':,' '--' <<<"$matrix")
        input=(--generate "$matrix")
    fi
    for ranks in ${RANKS:-2 4}; do
        part=$out/$name.$ranks.part
        [ ! -f "$part.gz" ] || continue
        start=$SECONDS
        if mpirun --bind-to none -n "$ranks" "$driver" --device cpu "${input[@]}" --type 32f \
            --columns 1 --engine csr-cpu --partition metis --tuning "objective=${OBJECTIVE:-vol}" \
            --write-partition "$part" --warmup 0 --iterations 1 >"$part.log" &&
            gzip -9 -n "$part"; then
            echo "$name, $ranks parts, $((SECONDS - start)) s:" \
                "$(sed -n 's/^halo  *//p' "$part.log" | head -n 1)"
            rm -f "$part.log"
        else
            echo "$0: $name could not be partitioned into $ranks: $(tail -n 1 "$part.log")" >&2
            status=1
        fi
    done
done
exit $status
