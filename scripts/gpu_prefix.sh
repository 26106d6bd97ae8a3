#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Collect what a build needs beyond compiler, CMake, MPI and CUDA in one directory that can be
# carried to a machine without root and without network:
#
#     scripts/gpu_prefix.sh PREFIX [OPENMPI]
#     there:  cmake --preset cuda -DCMAKE_PREFIX_PATH=PREFIX
#
# METIS, PT-Scotch, zlib, cJSON and cmocka come from the installed Debian or Ubuntu packages, which
# apt installs first where they are missing.  OPENMPI, the prefix of scripts/build_openmpi_cuda.sh
# (built there first where it is missing), goes to PREFIX/openmpi-cuda, off the search paths: a
# second MPI is used only by those who name it.  The target needs the same architecture, a C library
# as new as here and, for PT-Scotch, an MPI of the same libmpi.so.N.
set -euo pipefail

prefix=${1:?usage: $0 PREFIX [OPENMPI]}
openmpi=${2:-}
here=$(cd "$(dirname "$0")" && pwd)

missing=()
for package in libmetis-dev libscotch-dev libptscotch-dev zlib1g-dev libcjson-dev libcmocka-dev; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    apt-get -qq update
    apt-get -qq install --no-install-recommends "${missing[@]}"
fi

# copy_headers PACKAGE FOLDER NAME...: from where the package has them, to PREFIX/include/FOLDER.
copy_headers() {
    local package=$1 to=$prefix/include/$2 name
    mkdir -p "$to"
    for name in "${@:3}"; do
        cp "$(dpkg-query -L "$package" | grep "/$name\$")" "$to/"
    done
}

# copy_library PACKAGE NAME: the file behind NAME.so, with the links by which linker and loader know
# it, made relative.  Of several builds the one outside folders of their own.
copy_library() {
    local link real soname
    link=$(dpkg-query -L "$1" | grep "/$2\.so\$" |
        awk 'NR == 1 || length < length(least) { least = $0 } END { print least }')
    real=$(readlink -f "$link")
    soname=$(objdump -p "$real" | awk '$1 == "SONAME" { print $2 }')
    cp "$real" "$prefix/lib/"
    ln -sf "$(basename "$real")" "$prefix/lib/$soname"
    ln -sf "$soname" "$prefix/lib/$2.so"
}

mkdir -p "$prefix/lib/cmake/cmocka"
prefix=$(cd "$prefix" && pwd)
copy_headers libmetis-dev . metis.h
copy_headers libscotch-dev . scotch/scotch.h
copy_headers libptscotch-dev . scotch/ptscotch.h
copy_headers zlib1g-dev . zlib.h zconf.h
copy_headers libcjson-dev cjson cJSON.h
copy_headers libcmocka-dev . cmocka.h
copy_library libmetis-dev libmetis
copy_library libscotch-dev libscotch
copy_library libscotch-dev libscotcherr
copy_library libptscotch-dev libptscotch
copy_library libptscotch-dev libptscotcherr
copy_library zlib1g-dev libz
copy_library libcjson-dev libcjson
copy_library libcmocka-dev libcmocka

# The packaged file has absolute paths and no target, so that -lcmocka would be looked for in the
# system alone.
cat >"$prefix/lib/cmake/cmocka/cmocka-config.cmake" <<'CMAKE'
get_filename_component(cmocka_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET cmocka)
  add_library(cmocka SHARED IMPORTED)
  set_target_properties(cmocka PROPERTIES
    IMPORTED_LOCATION "${cmocka_prefix}/lib/libcmocka.so"
    INTERFACE_INCLUDE_DIRECTORIES "${cmocka_prefix}/include")
endif()
CMAKE

if [ -n "$openmpi" ]; then
    "$here/build_openmpi_cuda.sh" "$openmpi"
    rm -rf "$prefix/openmpi-cuda"
    cp -a "$openmpi" "$prefix/openmpi-cuda"
fi

# Whatever is here must need nothing but the C library and its neighbours.
for file in "$prefix"/lib/*.so; do
    if LD_LIBRARY_PATH="$prefix/lib" ldd "$file" | grep -q 'not found'; then
        echo "$0: $file needs a library that is not here" >&2
        exit 1
    fi
done
du -sh "$prefix"
