#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh SOURCES BUILD PYTHON: a source distribution has the library, which CMake takes; one of a
# copy of python/ alone has not, and pip makes a wheel of it against an installed library, which,
# unpacked elsewhere, runs an example on two ranks; so does what CMake installed.  77: there is no
# scikit-build-core, which makes the wheel.
set -eu -o pipefail
sources=$1 build=$2 python=$3
if ! "$python" -c 'import pip, scikit_build_core, scipy' 2>/dev/null; then
    echo "skipped: $python has no pip, SciPy or scikit-build-core (SPMM_SETUP_PYTHON=1" \
        "scripts/setup.sh)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cp -r "$sources/python" "$work/alone"
if cmake -S "$work/alone" -B "$work/without" -DCMAKE_DISABLE_FIND_PACKAGE_spmm_dist=ON \
    >"$work/said" 2>&1 || ! grep -q "neither an installed library" "$work/said"; then
    cat "$work/said"
    exit 1
fi
mkdir "$work/tree" "$work/whole" # a copy: it puts the library into the folder for a while
(cd "$sources" && cp -r CMakeLists.txt LICENSE NOTICE cmake include kernels partition src python \
    "$work/tree")
make_sdist() { # FOLDER TO
    (cd "$1" && "$python" -c "import backend; backend.build_sdist('$2')")
}
make_sdist "$work/tree/python" "$work/whole"
[ ! -e "$work/tree/python/library" ]
tar xzf "$work"/whole/spmm_dist-*.tar.gz -C "$work/whole"
rm -r "$work/tree"
cmake -S "$work"/whole/spmm_dist-*/ -B "$work/whole/build" \
    -DCMAKE_DISABLE_FIND_PACKAGE_spmm_dist=ON >"$work/said"
make_sdist "$work/alone" "$work"
rm -r "$work/alone"
CMAKE_PREFIX_PATH=$work/prefix "$python" -m pip wheel -q --no-deps --no-build-isolation \
    -w "$work" "$work"/spmm_dist-*.tar.gz
"$python" -m pip install -q --no-deps --target "$work/unpacked" "$work"/spmm_dist-*.whl
for program in "$work/unpacked/bin/spmm_dist_plot" "$work/prefix/bin/spmm_dist_plot"; do
    printf '{"picture": {"traffic": [[0]], "spans": [[]]}}' >"$work/report.json"
    "$program" "$work/report.json" - | grep -q '</svg>'
done
for package in "$work/unpacked" "$work"/prefix/lib*/python*/site-packages; do
    cd "$work" # where no sources are
    PYTHONPATH=$package "$MPIEXEC" "$MPIEXEC_NUMPROC_FLAG" 2 "$python" -c '
import sys, spmm_dist
from spmm_dist import _library
assert spmm_dist.__file__.startswith(sys.argv[1]), spmm_dist.__file__
assert _library.path.startswith(sys.argv[2]), _library.path' "$package" "$work/prefix"
    PYTHONPATH=$package "$MPIEXEC" "$MPIEXEC_NUMPROC_FLAG" 2 "$python" \
        "$sources/examples/python/lobpcg.py" 31 20
done
