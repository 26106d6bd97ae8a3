#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# consume.sh shared|static SOURCE BUILD: installs the library into a fresh prefix and builds the
# first example (by find_package and by pkg-config), the examples and a C++ program against it, and
# where BUILD has the example in Fortran, that one by pkg-config, too; all of them run, the parallel
# ones on 2 ranks.
set -eu -o pipefail
kind=$1 source=$2 build=$3
work=$build/consumer/$kind
prefix=$work/prefix
mkdir -p "$work"
rm -rf "$prefix" "$work/outside"
mkdir "$work/outside"

run() { # what is run is shown, with its output, only when it fails
    if ! "$@" >"$work/log" 2>&1; then
        echo "failed: $*"
        cat "$work/log"
        exit 1
    fi
}

# The MPI of the build, which need not be the one on the path.
cached() { # VARIABLE
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}
mpirun=$(cached MPIEXEC_EXECUTABLE)
mpi=("-DMPI_C_COMPILER=$(cached MPI_C_COMPILER)")
mpifort=$(cached MPI_Fortran_COMPILER)
if command -v "$mpifort" >/dev/null; then
    mpi+=("-DMPI_Fortran_COMPILER=$mpifort")
fi

if [ "$kind" = static ]; then
    run cmake -S "$source" -B "$work/library" -G Ninja -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_BUILD_TYPE=Debug -DSPMM_BUILD_TESTS=OFF -DSPMM_BUILD_TOOLS=OFF \
        -DSPMM_BUILD_EXAMPLES=OFF "${mpi[@]}"
    run cmake --build "$work/library"
    run cmake --install "$work/library" --prefix "$prefix"
    pkg_config=(pkg-config --static)
else
    if ! ls "$build"/libspmm_dist.so >/dev/null 2>&1; then
        echo "skipped: this build made no shared library"
        exit 77
    fi
    run cmake --install "$build" --prefix "$prefix"
    pkg_config=(pkg-config)
fi
# The prefix moves after installing: nothing in it may remember where it was.
mv "$prefix" "$work/outside/prefix"
prefix=$work/outside/prefix

# The first C block of the README is a part of the first example.
program=$work/outside/program.c
cp "$source/examples/00_first_product.c" "$program"
shown=$(awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' "$source/README.md")
if [ "${#shown}" -lt 500 ] || [[ "$(<"$program")" != *"$shown"* ]]; then
    echo "the C block of README.md is no part of examples/00_first_product.c"
    exit 1
fi

# The entries sum to 15.5; with B all ones the program prints that sum.
matrix=$work/outside/small.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1\n2 4 2\n3 2 4.5\n3 3 8\n' \
    >"$matrix"
multiply() { # PROGRAM: right on 2 ranks
    run "$mpirun" -n 2 "$@" "$matrix"
    if [ "$(grep -cxF 'sum of A * ones: 15.5' "$work/log")" != 1 ]; then
        echo "$1 printed the wrong sum, or not once:"
        cat "$work/log"
        exit 1
    fi
}

run cmake -S "$source/tests/consumer" -B "$work/outside/find_package" -G Ninja \
    -DPROGRAM="$program" -DCMAKE_PREFIX_PATH="$prefix" "${mpi[@]}"
run cmake --build "$work/outside/find_package"
multiply "$work/outside/find_package/consumer"

examples=$prefix/share/doc/spmm_dist/examples
run cmake -S "$examples" -B "$work/outside/examples" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    "${mpi[@]}"
run cmake --build "$work/outside/examples"
run "$mpirun" -n 2 "$work/outside/examples/01_own_csr_rows"
# All that the build found is found from outside, too.
for example in petsc_shell hypre_blocks; do
    if [ -x "$build/examples/$example" ]; then
        run "$mpirun" -n 2 "$work/outside/examples/$example"
    fi
done
languages="C, C++"
if [ -x "$build/examples/06_fortran" ]; then
    run "$mpirun" -n 2 "$work/outside/examples/06_fortran"
    languages="C, C++, Fortran"
fi

# The plugin for PETSc, built apart.
if compgen -G "$build/interfaces/petsc/libspmm_dist_petsc*.so" >/dev/null; then
    run cmake -S "$source/interfaces/petsc" -B "$work/outside/petsc" -G Ninja \
        -DCMAKE_PREFIX_PATH="$prefix" "${mpi[@]}"
    run cmake --build "$work/outside/petsc"
    for plugin in "$work"/outside/petsc/libspmm_dist_petsc*.so; do
        test=${plugin##*/libspmm_dist_}
        run "$mpirun" -n 2 "$build/tests/${test%.so}_type" -dll_append "$plugin"
    done
    languages+=", PETSc"
fi

# The package says which language a project lacks.
refuses() { # LANGUAGES COMPONENTS SENTENCE
    local folder=$work/outside/refused
    rm -rf "$folder" && mkdir "$folder"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.24)' "project(refused LANGUAGES $1)" \
        "find_package(spmm_dist 0.1 REQUIRED $2)" >"$folder/CMakeLists.txt"
    if cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" "${mpi[@]}" \
        >"$work/log" 2>&1 || ! grep -q "$3" "$work/log"; then
        echo "find_package did not ask for the language:"
        cat "$work/log"
        exit 1
    fi
}
refuses C "COMPONENTS Fortran" 'call enable_language(Fortran)'
refuses CXX "" 'call enable_language(C) '

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name spmm_dist.pc)")
export PKG_CONFIG_PATH
version=$(sed -nE 's/.*SPMM_VERSION_STRING "([^"]*)".*/\1/p' "$source/include/spmm_dist/version.h")
run pkg-config --exact-version="$version" spmm_dist
read -ra flags <<<"$("${pkg_config[@]}" --cflags --libs spmm_dist)"
rpath=-Wl,-rpath,$(pkg-config --variable=libdir spmm_dist)
run "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$program" -o "$work/outside/program" \
    "${flags[@]}" "$rpath"
multiply "$work/outside/program"
run "${CXX:-c++}" -std=c++11 -Wall -Wextra -Werror "$source/tests/consumer/version.cpp" \
    -o "$work/outside/version" "${flags[@]}" "$rpath"
run "$work/outside/version"
grep -qxF "$version" "$work/log"

# The module is compiled with the program; that folder keeps its .mod file.
if [ -x "$build/examples/06_fortran" ]; then
    module=$(pkg-config --variable=fortran_module spmm_dist)
    cd "$work/outside"
    run "$mpifort" "$module" "$examples/06_fortran.f90" -o 06_fortran "${flags[@]}" "$rpath"
    run "$mpirun" -n 2 ./06_fortran
fi
echo "$kind library: find_package, pkg-config, $languages and the examples: good"
