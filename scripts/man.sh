#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# man.sh PROGRAM OUT: the manual page spmm_dist(1), by help2man, from `PROGRAM --help` and the table
# of environment variables in docs/reference/spmm_dist.md.  The build runs it where help2man is.
set -eu -o pipefail
program=$1 out=$2
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    echo "[NAME]"
    echo "spmm_dist \\- multiply a distributed sparse matrix by a dense block"
    echo "[ENVIRONMENT]"
    # shellcheck disable=SC2016
    awk -F ' [|] ' '/^## Environment/ { on = 1 } on && /^[|] `/ {
        sub(/^[|] `/, "", $1); sub(/`$/, "", $1)
        sub(/ [|]$/, "", $2)
        print ".TP\n.B " $1 "\n" $2 }' "$source/docs/reference/spmm_dist.md" |
        sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/`([^`]*)`/\\fB\1\\fR/g'
    cat <<'END'
[EXAMPLES]
.TP
mpirun \-n 4 spmm_dist \-\-generate stencil7:nx=60,ny=60,nz=60 \-\-verify
multiply a generated matrix on four ranks and check every element
.TP
srun spmm_dist \-\-matrix A.mtx \-\-columns 128 \-\-type 32f \-\-explain
multiply a matrix from a file; print all candidates and why each choice was made
.TP
mpirun \-n 8 spmm_dist \-\-doctor
check GPUs, MPI, libraries and transports
[SEE ALSO]
.BR mpirun (1)
END
} >"$work/include"
help2man --no-info --section=1 --include="$work/include" --output="$work/page" "$program"
# The kinds of generators keep their lines.
sed -E '/^[a-z0-9|]+:[a-z]+=[^.]*,/i .br' "$work/page" >"$work/lines"
mv "$work/lines" "$out"
