#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# package_debian.sh [BUILD]: Debian packages of packaging/debian from the source tarball of a
# configured build tree (default build/cpu), and what lintian says of them, in BUILD/debian; a
# product by the Python package as they unpack.  It takes debhelper, dh-python, dpkg-dev and
# lintian, and what Build-Depends names.
set -eu -o pipefail
cd "$(dirname "$0")/.."
source=$PWD
build=$(cd "${1:-build/cpu}" && pwd)
for tool in dpkg-buildpackage dh lintian; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
version=$(sed -nE 's/.*SPMM_VERSION_STRING "([^"]*)".*/\1/p' include/spmm_dist/version.h)
work=$build/debian
rm -rf "$work"
mkdir "$work"
cpack --config "$build/CPackSourceConfig.cmake" -B "$work/pack" >"$work/cpack.log"
mv "$work/pack/spmm_dist-$version.tar.gz" "$work/spmm-dist_$version.orig.tar.gz"
cd "$work"
tar xzf "spmm-dist_$version.orig.tar.gz"
cp -r "$source/packaging/debian" "spmm_dist-$version/debian"
cd "spmm_dist-$version"
if ! dpkg-buildpackage -us -uc >"$work/dpkg-buildpackage.log" 2>&1; then
    tail -n 40 "$work/dpkg-buildpackage.log" | cut -c 1-300
    exit 1
fi
cd "$work"
# No bug of Debian's asks for the package.
lintian --info --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs \
    ./*.changes | tee lintian.log
for package in libspmm-dist0.1 python3-spmm-dist; do
    dpkg-deb -x "$package"_*.deb root
done
LD_LIBRARY_PATH=$(echo "$work"/root/usr/lib/*-linux-gnu*) \
    PYTHONPATH=$work/root/usr/lib/python3/dist-packages /usr/bin/python3 - <<'PRODUCT'
import numpy
import spmm_dist

with spmm_dist.Context() as ctx:
    A = spmm_dist.Matrix.generate(ctx, "stencil5:nx=30,ny=20")
    C = A.plan(3) @ numpy.ones((A.info.local_cols, 3))
    assert abs(C.sum() - 18.502233406) < 1e-6, C.sum()  # the values follow from the seed
    print(f"{spmm_dist.__file__}: sum of a product {C.sum():g}")
PRODUCT
ls -- *.deb
