#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# types.sh SOURCES BUILD PYTHON: mypy --strict finds nothing in the package and its examples, and
# finds what is wrong in a program that uses it.  77: there is no mypy, or no torch to be known.
set -eu -o pipefail
sources=$1 build=$2 python=$3
if ! "$python" -c 'import mypy, torch' 2>/dev/null; then
    echo "skipped: $python has no mypy or torch (SPMM_SETUP_PYTHON=1 scripts/setup.sh)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MYPYPATH=$build/python
mypy=("$python" -m mypy --config-file "$sources/python/pyproject.toml"
    --cache-dir "$build/mypy_cache")
"${mypy[@]}" "$build/python/spmm_dist" "$sources"/examples/python/*.py
cat >"$work/wrong.py" <<'PROGRAM'
import numpy as np
from spmm_dist import Context, Matrix
from spmm_dist.torch import Graph

with Context() as ctx:
    A = Matrix.generate(ctx, "stencil5:nx=4,ny=4")
    good: np.ndarray = A.plan(2) @ np.ones((16, 2))  # type: ignore[type-arg]
    A.plan("2")
    A.plan(2, executs=5)
    A.sddmm(2, kernel=3)
    A.attention(2)
    Graph(A, 2, layout="col")
    Matrix.from_csr(None, A.csr())
    text: str = A.plan(2) @ np.ones((16, 2))
PROGRAM
"${mypy[@]}" "$work/wrong.py" >"$work/found" || true
found=$(sed -n 's/^[^:]*wrong.py:\([0-9]*\): error.*/\1/p' "$work/found" | sort -nu | tr '\n' ' ')
if [ "$found" != "8 9 10 11 12 13 14 " ]; then
    cat "$work/found"
    exit 1
fi
