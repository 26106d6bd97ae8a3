#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# package_debian.sh [BUILD]: Debian packages of packaging/debian from the source tarball of a
# configured build tree (default build/cpu), and what lintian says of them, in BUILD/debian.  It
# takes debhelper, dpkg-dev and lintian, and what Build-Depends names.
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
ls -- *.deb
