#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rows of B to receive, and seconds to partition, by each partitioner: no GPU.
#
#     bench/dist/partition.sh OUT.tsv [RANKS]    default 4
#
#   SPMM_STANDIN_DIR  with syn-shipsec1.csr and syn-roadNet-CA.csr
#   SPMM_BUILD_DIR    default build/cpu
set -euo pipefail
# shellcheck source=bench/common/common.sh
. "$(dirname "$0")/../common/common.sh"
options '' 2 "$@"
[ ${#operands[@]} -ge 1 ] || die "usage: $0 OUT.tsv [RANKS]"
need SPMM_STANDIN_DIR
out=${operands[0]} ranks=${operands[1]:-4}
driver=$root/${SPMM_BUILD_DIR:-build/cpu}/tools/spmm_dist
report=$(mktemp)
trap 'rm -f "$report"' EXIT
{
    echo "# made by bench/dist/partition.sh, $ranks ranks on $(nproc) cores," \
        "$(date -u '+%F') UTC; $(commit); seconds of the slowest rank"
    printf 'matrix\tranks\tpartition\tobjective\trows_received\tseconds\n'
    for matrix in '--generate stencil9:nx=400,ny=400,shuffle=1' \
        '--generate rmat:scale=15,degree=16' "--matrix $SPMM_STANDIN_DIR/syn-shipsec1.csr" \
        "--matrix $SPMM_STANDIN_DIR/syn-roadNet-CA.csr"; do
        for how in "block -" "metis vol" "metis cut" "ptscotch -"; do
            read -r partition objective <<<"$how"
            goal=()
            [ "$objective" = - ] || goal=(--objective "$objective")
            # shellcheck disable=SC2086
            mpirun -n "$ranks" "$driver" $matrix --seed 1 --columns 1 --iterations 1 --warmup 0 \
                --partition "$partition" "${goal[@]}" --json "$report" >/dev/null
            python3 - "$report" "${matrix#* }" "$ranks" "$partition" "$objective" <<'EOF'
import json, os, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
print(os.path.basename(sys.argv[2]), *sys.argv[3:], report["halo"]["rows_total"],
      f"{report['time']['partition_s']:.2f}", sep="\t")
EOF
        done
    done
} >"$out"
