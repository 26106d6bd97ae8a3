#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the build lacks on Debian or Ubuntu; installs nothing where nothing is missing.
# demo.sh and test.sh source it and get, beside the packages:
#   preset      cuda where a CUDA toolkit and a GPU are found, else cpu
#   configure   options for that preset
#   gpus        number of GPUs seen
#   jobs        number of cores, or CMAKE_BUILD_PARALLEL_LEVEL
# With SPMM_SETUP_SLURM=1 (CI) also Slurm for the test of jobs/, about 10 s; where systemd runs, the
# packages enable its daemons.  With SPMM_SETUP_CLANG=1 (CI, nightly.sh) also clang with libFuzzer,
# with SPMM_SETUP_PETSC=1 (CI, nightly.sh) PETSc, SLEPc and hypre, some 100 MB and 20 s, with
# SPMM_SETUP_DOCS=1 (CI) Doxygen for scripts/docs.sh, and with SPMM_SETUP_FORTRAN=1 (CI) gfortran
# for the tests of the Fortran module.  With SPMM_SETUP_MPICH=1 (nightly.sh) also MPICH, beside Open
# MPI, which mpicc and mpirun go on to mean, with SPMM_SETUP_DEBIAN=1 what builds packages, and with
# SPMM_SETUP_CONTAINER=1 what builds images.
# With SPMM_SETUP_PYTHON=1 (CI) also what the Python package and its tests import, 170 MB with torch
# and about a minute, and build/venv, a virtual environment that sees Debian's packages.
# shellcheck disable=SC2034
set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What a feature or a test needs, what is built with the distribution's Open MPI and left out
# without it, and what only the lint tests and tests/nodes need.
packages=(build-essential cmake ninja-build pkg-config openmpi-bin libopenmpi-dev libmetis-dev
    zlib1g-dev libcmocka-dev libcjson-dev python3)
optional_packages=(libptscotch-dev)
lint_packages=(clang-format cppcheck shellcheck flake8 iproute2 help2man man-db bsdextrautils)
slurm_packages=(slurm-wlm munge)
clang_packages=(clang libclang-rt-dev libomp-dev)
petsc_packages=(libpetsc-real-dev libpetsc-complex-dev libslepc-real-dev libslepc-complex-dev
    libhypre-dev)
docs_packages=(doxygen)
fortran_packages=(gfortran)
mpich_packages=(mpich libmpich-dev)
debian_packages=(debhelper dh-python dpkg-dev fakeroot lintian)
container_packages=(buildah mmdebstrap)
python_packages=(python3-numpy python3-scipy python3-mpi4py python3-cffi python3-pytest
    python3-torch python3-venv)

installed() {
    [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ]
}

# A tool or header that came another way (environment module, prefix, pip) counts as well.
present() {
    local header
    case "$1" in
        slurm-wlm) command -v slurmctld >/dev/null && command -v slurmd >/dev/null && return ;;
        munge) command -v munged >/dev/null && return ;;
        build-essential) command -v cc >/dev/null && command -v c++ >/dev/null && return ;;
        cmake) command -v cmake >/dev/null && return ;;
        ninja-build) command -v ninja >/dev/null && return ;;
        pkg-config) command -v pkg-config >/dev/null && return ;;
        openmpi-bin) command -v mpirun >/dev/null && return ;;
        libopenmpi-dev) command -v mpicc >/dev/null && return ;;
        libmetis-dev) header=metis.h ;;
        zlib1g-dev) header=zlib.h ;;
        libcmocka-dev) header=cmocka.h ;;
        libcjson-dev) header=cjson/cJSON.h ;;
        libptscotch-dev) header=ptscotch.h ;;
        libclang-rt-dev) # libFuzzer, wherever this clang keeps it
            compgen -G "$(clang -print-resource-dir 2>/dev/null)/lib/*/libclang_rt.fuzzer*.a" \
                >/dev/null && return ;;
        libomp-dev)
            compgen -G "$(clang -print-resource-dir 2>/dev/null)/include/omp.h" >/dev/null &&
                return ;;
        iproute2) command -v ip >/dev/null && return ;;
        man-db) command -v man >/dev/null && return ;;
        bsdextrautils) command -v col >/dev/null && return ;;
        *) command -v "$1" >/dev/null && return ;;
    esac
    installed "$1" && return
    [ -n "${header:-}" ] || return
    for prefix in /usr/local ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]/ }}; do
        [ ! -f "$prefix/include/$header" ] || return 0
    done
    return 1
}

# Quiet unless it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || status=$?
    [ "$status" = 0 ] || cat "$log" >&2
    rm -f "$log"
    return "$status"
}

install_packages() {
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null && ! { [ -t 0 ] && command -v sudo >/dev/null; }; then
            return 1
        fi
        as_root=(sudo)
    fi
    command -v apt-get >/dev/null || return 1
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    echo "setup: installing $*"
    # Package lists are fetched only where they are missing or out of date.
    "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null 2>&1 </dev/null && return
    quietly "${apt[@]}" update &&
        quietly "${apt[@]}" install -y --no-install-recommends "$@"
}

missing=()
missing_lint=()
for package in "${packages[@]}"; do
    present "$package" || missing+=("$package")
done
for package in "${lint_packages[@]}"; do
    present "$package" || missing_lint+=("$package")
done
missing_extra=()
extra=()
[ "${SPMM_SETUP_SLURM:-0}" != 1 ] || extra+=("${slurm_packages[@]}")
[ "${SPMM_SETUP_CLANG:-0}" != 1 ] || extra+=("${clang_packages[@]}")
[ "${SPMM_SETUP_PETSC:-0}" != 1 ] || extra+=("${petsc_packages[@]}")
# Of Debian 12; elsewhere their names have another version, and tests are left out.
[ "${SPMM_SETUP_PETSC:-0}" != 1 ] ||
    optional_packages+=(libslepc3.18-dev-examples libpetsc3.18-dev-examples)
[ "${SPMM_SETUP_DOCS:-0}" != 1 ] || extra+=("${docs_packages[@]}")
[ "${SPMM_SETUP_FORTRAN:-0}" != 1 ] || extra+=("${fortran_packages[@]}")
[ "${SPMM_SETUP_MPICH:-0}" != 1 ] || extra+=("${mpich_packages[@]}")
[ "${SPMM_SETUP_DEBIAN:-0}" != 1 ] || extra+=("${debian_packages[@]}")
[ "${SPMM_SETUP_CONTAINER:-0}" != 1 ] || extra+=("${container_packages[@]}")
[ "${SPMM_SETUP_PYTHON:-0}" != 1 ] || extra+=("${python_packages[@]}")
for package in "${extra[@]}"; do
    present "$package" || missing_extra+=("$package")
done
if [ $((${#missing[@]} + ${#missing_lint[@]} + ${#missing_extra[@]})) -gt 0 ] &&
    ! install_packages "${missing[@]}" "${missing_lint[@]}" "${missing_extra[@]}"; then
    if [ ${#missing[@]} -gt 0 ]; then
        echo "setup: these packages are missing and could not be installed (it takes apt, a" \
            "network, and root or sudo): ${missing[*]}" >&2
        exit 1
    fi
    echo "setup: without ${missing_lint[*]} ${missing_extra[*]} some tests will be skipped" >&2
fi
for package in "${optional_packages[@]}"; do
    if ! present "$package" && installed libopenmpi-dev && ! install_packages "$package"; then
        echo "setup: building without $package" >&2
    fi
done

# Ubuntu 22.04 packages CMake 3.22: take a newer one from PyPI into the build tree.
cmake_is_new() {
    [ "$(printf '%s\n' 3.24 "$("$1" --version | awk 'NR == 1 { print $3 }')" | sort -V |
        head -n 1)" = 3.24 ]
}
if ! cmake_is_new cmake; then
    tools=$PWD/build/tools
    if [ ! -x "$tools/bin/cmake" ]; then
        installed python3-venv || install_packages python3-venv
        echo "setup: installing CMake from PyPI into $tools"
        quietly /usr/bin/python3 -m venv "$tools"
        quietly "$tools/bin/pip" install 'cmake>=3.24,<4'
    fi
    PATH=$tools/bin:$PATH
fi

# The Python on the path may not see Debian's packages: the one that does, in an environment of its
# own, into which pip can install more.
if [ "${SPMM_SETUP_PYTHON:-0}" = 1 ] && [ ! -x build/venv/bin/python ] &&
    installed python3-venv; then
    quietly /usr/bin/python3 -m venv --system-site-packages build/venv
    quietly build/venv/bin/pip install 'scikit-build-core>=0.10' mypy==2.4.1 ||
        echo "setup: without scikit-build-core and mypy tests of Python will be skipped" >&2
fi

# CUDA is used where both the toolkit and a GPU are there.
if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
    PATH=/usr/local/cuda/bin:$PATH
fi
preset=cpu
configure=()
gpus=$( (nvidia-smi -L 2>/dev/null || true) | grep -c '^GPU ' || true)
if [ "$gpus" -gt 0 ] && command -v nvcc >/dev/null; then
    preset=cuda
    arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d '. ')
    configure=("-DCMAKE_CUDA_ARCHITECTURES=$arch")
fi

# Open MPI 4 and 5: more ranks than cores, and root, which containers and CI run as.
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export PATH CMAKE_BUILD_PARALLEL_LEVEL=$jobs
