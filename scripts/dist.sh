#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dist.sh configure|test [BUILD]: makes the source tarball with a configured build tree (default
# build/cpu), compares its content with what git tracks, and configures it where it is unpacked, or
# builds it there and runs the unit and lint tests (nightly).
set -eu -o pipefail
what=${1:-test}
cd "$(dirname "$0")/.."
source=$PWD
build=$(cd "${2:-build/cpu}" && pwd)
[ -f "$build/CPackSourceConfig.cmake" ] || { echo "skipped: not configured as top level"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quietly() {
    "$@" >"$work/log" 2>&1 </dev/null || { echo "failed: $*"; cat "$work/log"; exit 1; }
}

cd "$work"
quietly cpack --config "$build/CPackSourceConfig.cmake" -B "$work/pack"
archive=$(ls "$work"/pack/spmm_dist-*.tar.gz)
tar xzf "$archive"
folder=$work/$(basename "$archive" .tar.gz)

if git -C "$source" rev-parse --show-toplevel 2>/dev/null | grep -qxF "$source"; then
    git -C "$source" ls-files --cached --others --exclude-standard | sort -u |
        while read -r file; do [ ! -f "$source/$file" ] || echo "$file"; done >"$work/tracked"
    (cd "$folder" && find . -type f -printf '%P\n' | sort) >"$work/packed"
    if ! diff "$work/tracked" "$work/packed"; then
        echo "< tracked and not in the tarball; > in the tarball and not tracked"
        exit 1
    fi
fi

quietly cmake --preset cpu -S "$folder" -B "$work/build"
if [ "$what" = test ]; then
    quietly cmake --build "$work/build"
    quietly ctest --test-dir "$work/build" -L 'unit|lint' --output-on-failure
fi
echo "$(basename "$archive"): $(find "$folder" -type f | wc -l) files: good"
