#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Build a CUDA-aware Open MPI from the distribution's source package:
#
#     scripts/build_openmpi_cuda.sh PREFIX
#
# Needs a C and a C++ compiler, make, xz, the CUDA toolkit (CUDA_HOME, default /usr/local/cuda) and
# a Debian or Ubuntu mirror (MIRROR, default the distribution's own); no GPU and no root.  Writes to
# PREFIX and to a directory under TMPDIR that is removed at the end.  Does nothing when PREFIX holds
# such a build already.  The result may be moved: set OPAL_PREFIX to where it then lies.
set -euo pipefail

prefix=${1:?usage: $0 PREFIX}
cuda=${CUDA_HOME:-/usr/local/cuda}

is_cuda_aware() {
    [ -x "$prefix/bin/ompi_info" ] &&
        OPAL_PREFIX=$prefix "$prefix/bin/ompi_info" --parsable --all 2>/dev/null |
            grep -q '^mca:mpi:base:param:mpi_built_with_cuda_support:value:true$'
}

mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
if is_cuda_aware; then
    echo "$prefix: a CUDA-aware Open MPI is there already"
    exit 0
fi
if [ ! -f "$cuda/include/cuda.h" ]; then
    echo "$0: no include/cuda.h under $cuda: set CUDA_HOME to the CUDA toolkit" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# An apt of our own: its deb-src line, lists and cache live in the work directory, so that the
# machine's package sources stay as they are.
# shellcheck disable=SC1091
. /etc/os-release
case $ID in
debian)
    line="deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
${MIRROR:-http://deb.debian.org/debian} $VERSION_CODENAME main"
    ;;
ubuntu)
    line="deb-src [signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg] \
${MIRROR:-http://archive.ubuntu.com/ubuntu} $VERSION_CODENAME main universe"
    ;;
*)
    echo "$0: the source package is fetched on Debian and Ubuntu only, this is $ID" >&2
    exit 1
    ;;
esac
mkdir -p apt/lists/partial apt/cache/archives/partial
echo "$line" >apt/sources.list
apt=(apt-get -q -o "Dir::Etc::SourceList=$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache" -o APT::Sandbox::User=)
"${apt[@]}" update
"${apt[@]}" source --download-only openmpi

mkdir source
tar -xf openmpi_*.orig.tar.* -C source --strip-components=1
cd source
# No Fortran and no network fabrics: one node, shared memory and CUDA IPC (btl smcuda).  Internal
# hwloc, libevent and PMIx, so that the prefix runs where those packages are missing.
./configure --prefix="$prefix" --with-cuda="$cuda" --disable-mpi-fortran --disable-oshmem \
    --disable-static --without-verbs --without-ucx --without-ofi --without-libnl \
    --with-hwloc=internal --with-libevent=internal --with-pmix=internal \
    CFLAGS="-O2" CXXFLAGS="-O2" >"$work/configure.log" 2>&1 ||
    { tail -n 40 "$work/configure.log" >&2; exit 1; }
make -j"$(nproc)" >"$work/make.log" 2>&1 || { tail -n 40 "$work/make.log" >&2; exit 1; }
make install >"$work/install.log" 2>&1 || { tail -n 40 "$work/install.log" >&2; exit 1; }

rm -rf "$prefix/share/man" "$prefix/share/doc"
find "$prefix" -name '*.la' -delete
find "$prefix/bin" "$prefix/lib" -type f \( -perm -u+x -o -name '*.so*' \) -print0 |
    while IFS= read -r -d '' file; do
        if [ "$(head -c 4 "$file" | tail -c 3)" = ELF ]; then
            strip --strip-unneeded "$file"
        fi
    done
if ! is_cuda_aware; then
    echo "$0: built, but ompi_info reports no CUDA support" >&2
    exit 1
fi
du -sh "$prefix"
