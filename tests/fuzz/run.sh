#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh TARGET SECONDS [OPTION...]: fuzz from the committed corpus of the target; what libFuzzer
# finds new goes to SPMM_FUZZ_CORPUS (default: thrown away), what fails to SPMM_FUZZ_FINDINGS
# (default beside the target).  Prints the number of executions last.
set -eu -o pipefail
target=$1 seconds=$2
shift 2
name=$(basename "$target")
name=${name#fuzz_}
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${SPMM_FUZZ_CORPUS:-}" ]; then
    new=$SPMM_FUZZ_CORPUS/$name
    mkdir -p "$new"
else
    new=$(mktemp -d)
    trap 'rm -rf "$new"' EXIT
fi
findings=${SPMM_FUZZ_FINDINGS:-$(dirname "$target")/findings}
mkdir -p "$findings"
# Leaks are counted by fuzz.c after each input.
export ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=0:fast_unwind_on_malloc=1:handle_abort=1
export UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=1
dictionary=()
[ ! -f "$here/$name.dict" ] || dictionary=("-dict=$here/$name.dict")
"$target" "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=2048 \
    -print_final_stats=1 "-artifact_prefix=$findings/$name-" "${dictionary[@]}" "$@" \
    "$new" "$here/corpus/$name" >"$new.log" 2>&1 || {
    tail -n 60 "$new.log"
    exit 1
}
grep -E '^stat::number_of_executed_units|^Done' "$new.log"
rm -f "$new.log"
