#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The long rest of .ci/run, for a night on 2 cores or an hour on 16; no GPU.  Prints a table last:
#
#   clang      everything by clang with warnings as errors; unit and dist tests
#   mpich      everything with Debian's MPICH; unit, dist, driver, example and consumer tests
#   coverage   lines of the host sources that tests run: at least SPMM_COVERAGE_LEAST (90) percent
#   tsan       threads under ThreadSanitizer
#   asan       unit and dist tests on all numbers of ranks (CI: 1 and 3, without the slowest), and
#              the sweeps of failing allocations and calls, all of them, under AddressSanitizer
#   faults     calls of MPI that fail on one rank alone: all of the list
#   limits     rows of 10^7 entries by all engines; a message of more than INT_MAX bytes (9 GiB);
#              2,000 plans that leave nothing open; 1,000 walks on 2 and on 3 ranks of which one
#              passes other arguments; the bits of 500 reproducible plans on 1 to 5 ranks
#   site       the documents and the reference as one site, build/site, without a warning
#   readers    2,000 Matrix Market files, read as fast_matrix_market and SciPy (by pip) read them
#   product    every combination of matrix, ranks, partition, layout, op, type, schedule: 3,000
#              runs, which take 34 minutes of CPU time, and 1,000 more for each matrix in
#              SPMM_MATRIX_DIR; SPMM_PRODUCT_SHARE=K/N makes share K of N of them
#   petsc      PETSc's own tests of matrices and solvers with its type aij and with the plugin's:
#              list of verdicts in build/nightly/own_tests_real.tsv and own_tests_complex.tsv
#   nodes      1 to 4 nodes of 1 to 4 ranks, in network namespaces: products of all kinds, SDDMM
#              and new values verified
#   cuda       all but tests compiled for each of 8.0, 8.9, 9.0, 10.0 and 12.0 without a warning, as
#              far as the toolkit has them; nothing of it runs
#   debian     packages of packaging/debian, and what lintian says of them
#   wheel      the Python package's source distribution and wheel, from PyPI's tools, in fresh
#              environments
#   container  the image of packaging/Containerfile, and what runs in it; needs root
#   fuzz       each target for SPMM_FUZZ_SECONDS (1800), two at a time, at low priority
#
#     scripts/nightly.sh [STEP...]
set -eu -o pipefail
export SPMM_SETUP_CLANG=1 SPMM_SETUP_MPICH=1 SPMM_SETUP_DEBIAN=1
export SPMM_SETUP_CONTAINER=1 SPMM_SETUP_PETSC=1 SPMM_SETUP_DOCS=1 SPMM_WERROR=1
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"
# Else each start of MPI looks for fabrics (tests/CMakeLists.txt).
export OMPI_MCA_mtl=^ofi,psm,psm2
steps=("$@")
[ ${#steps[@]} -gt 0 ] ||
    steps=(clang mpich coverage tsan asan faults limits site readers product petsc nodes cuda debian
        wheel container fuzz)
logs=$PWD/build/nightly
mkdir -p "$logs"

build() { # PRESET [TARGET...]
    cmake --preset "$1" && cmake --build --preset "$1" "${@:2}"
}

step_clang() {
    build clang && ctest --preset clang -L 'unit|dist' -j "$jobs"
}

step_mpich() {
    command -v mpicc.mpich || { echo "no mpicc.mpich: install mpich"; return 77; }
    build mpich && ctest --preset mpich -L 'unit|dist|driver|example|consumer' -j "$jobs"
}

step_coverage() {
    build coverage && find build/coverage -name '*.gcda' -delete &&
        ctest --preset coverage -j "$jobs" && scripts/coverage.py build/coverage \
        --least "${SPMM_COVERAGE_LEAST:-90}"
}

# libarcher tells ThreadSanitizer of OpenMP's barriers; Open MPI, not compiled for it, is left out.
step_tsan() {
    local tests=(test_concurrent test_plan_threads test_stress test_assemble test_reorder
        test_partition_metis) archer
    archer=$(find /usr/lib -name libarcher.so 2>/dev/null | head -n 1)
    [ -n "$archer" ] || { echo "no libarcher.so: install libomp-dev"; return 1; }
    build tsan --target "${tests[@]}" || return
    export OMP_TOOL_LIBRARIES=$archer OMP_NUM_THREADS=4
    export TSAN_OPTIONS=ignore_noninstrumented_modules=1:exitcode=66
    for test in "${tests[@]}"; do
        for ranks in 1 2; do
            echo "$test on $ranks"
            mpirun -x OMP_TOOL_LIBRARIES -x TSAN_OPTIONS -n "$ranks" "build/tsan/tests/$test" ||
                return
        done
    done
}

step_asan() {
    build asan && ctest --test-dir build/asan -L 'unit|dist' -j "$jobs" || return
    export LSAN_OPTIONS=suppressions=$PWD/tests/lint/lsan.supp:print_suppressions=0
    for test in test_sweep test_mpi_faults; do
        for ranks in 1 3; do
            mpirun -x LSAN_OPTIONS -n "$ranks" "build/asan/tests/$test" || return
        done
    done
}

step_faults() {
    build cpu && SPMM_FAULT_ALL=1 SPMM_FAULT_LIST=1 python3 tests/driver/test_fault_calls.py
}

step_limits() {
    build cpu --target test_limits test_leaks test_unlike test_mixed test_reproducible || return
    for ranks in 1 2; do
        SPMM_TEST_LARGE=1 mpirun -n "$ranks" build/cpu/tests/test_limits || return
    done
    mpirun -n 3 -x SPMM_TEST_PLANS=2000 build/cpu/tests/test_leaks || return
    SPMM_TEST_CASES=500 mpirun -n 5 build/cpu/tests/test_reproducible || return
    for ranks in 2 3; do
        SPMM_TEST_CASES=1000 mpirun -n "$ranks" build/cpu/tests/test_unlike || return
        SPMM_TEST_CASES=3000 mpirun -n "$ranks" build/cpu/tests/test_mixed || return
    done
}

step_site() {
    scripts/docs.sh
}

step_readers() {
    build cpu --target read_entries && python3 -m venv build/readers &&
        build/readers/bin/pip install --quiet fast_matrix_market scipy &&
        build/readers/bin/python tests/readers/compare.py build/cpu/tests/read_entries 2000
}

step_product() {
    build cpu && python3 tests/driver/cover.py --full --share "${SPMM_PRODUCT_SHARE:-1/1}"
}

step_petsc() {
    local kind top=$PWD
    build cpu || return
    for kind in real complex; do
        (cd "$logs" && python3 "$top/tests/petsc/own_tests.py" \
            "$top/build/cpu/interfaces/petsc/libspmm_dist_petsc_$kind.so") || return
    done
}

step_nodes() {
    build cpu && SPMM_NODES_ALL=1 python3 tests/nodes/test_nodes.py Good.test_all_shapes \
        Good.test_programs_on_all_shapes
}

step_cuda() {
    command -v nvcc >/dev/null || { echo "no nvcc: install the CUDA toolkit"; return 77; }
    local of log
    for of in 80 89 90 100 120; do
        log=$logs/cuda_$of.log
        [[ $(nvcc --list-gpu-code) == *"sm_$of"* ]] || { echo "$of: not in this nvcc"; continue; }
        if ! { cmake --preset cuda -B build/cuda_architectures "-DCMAKE_CUDA_ARCHITECTURES=$of" \
            -DSPMM_BUILD_TESTS=OFF -DSPMM_BUILD_EXAMPLES=OFF &&
            cmake --build build/cuda_architectures -j "$jobs"; } >"$log" 2>&1 ||
            grep -i -A 3 'warning' "$log"; then
            tail -n 30 "$log"
            return 1
        fi
        echo "$of: compiled without a warning"
    done
}

step_debian() {
    cmake --preset cpu && scripts/package_debian.sh
}

step_wheel() {
    scripts/package_wheel.sh
}

step_container() {
    [ "$(id -u)" = 0 ] || { echo "needs root"; return 77; }
    scripts/package_container.sh
}

# What is found new is kept from night to night.
step_fuzz() {
    build fuzz || return
    export SPMM_FUZZ_CORPUS=${SPMM_FUZZ_CORPUS:-$PWD/build/fuzz_corpus}
    # shellcheck disable=SC2016
    printf '%s\n' matrix_market csr petsc smtx partition spec create |
        nice -n 19 xargs -n 1 -P 2 sh -c 'echo "$1: $(tests/fuzz/run.sh build/fuzz/tests/fuzz_$1 \
            "$0" 2>&1 || echo FAILED)"' "${SPMM_FUZZ_SECONDS:-1800}" | tee "$logs/fuzz.out"
    awk '/number_of_executed_units/ { n += $NF } END { print n, "executions" }' "$logs/fuzz.out"
    ! grep -q FAILED "$logs/fuzz.out"
}

run_step() {
    case "$1" in
        clang) step_clang ;;
        mpich) step_mpich ;;
        coverage) step_coverage ;;
        tsan) step_tsan ;;
        asan) step_asan ;;
        faults) step_faults ;;
        limits) step_limits ;;
        site) step_site ;;
        readers) step_readers ;;
        product) step_product ;;
        petsc) step_petsc ;;
        nodes) step_nodes ;;
        cuda) step_cuda ;;
        debian) step_debian ;;
        wheel) step_wheel ;;
        container) step_container ;;
        fuzz) step_fuzz ;;
        *) echo "no step $1" && return 2 ;;
    esac
}

failed=0
rows=()
for step in "${steps[@]}"; do
    start=$SECONDS
    code=0
    run_step "$step" >"$logs/$step.log" 2>&1 </dev/null || code=$?
    case $code in
        0) result=passed ;;
        77) result=skipped ;;
        *) result=FAILED failed=1 ;;
    esac
    rows+=("$(printf '%-9s %-7s %6d s  %s' "$step" "$result" $((SECONDS - start)) \
        "$(tail -n 1 "$logs/$step.log")")")
    echo "nightly: ${rows[-1]}"
done
echo
commit=$(git rev-parse --short HEAD 2>/dev/null || echo '?')
printf '%s\n' "nightly of $(date -u +%F) at $commit:" \
    "${rows[@]}"
exit "$failed"
