#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every source, script and build file names its licence; source files keep one reader's length, call
# themselves by their name, leave nothing open and start no more threads than fall to the rank;
# folders hold what one look takes in.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
bad=0
while read -r file; do
    if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0'; then
        echo "$file: no SPDX line at the top"
        bad=1
    fi
done < <(files \
    '\.(c|h|cu|cuh|cpp|f90|sh|sbatch|cmake|in|supp|py)$|(^|/)CMakeLists\.txt$|^\.ci/run$')
sources='^(include|src|partition|kernels|interfaces|tools|examples|bench|tests)'
sources+='/.*\.(c|h|cu|cuh|cpp)$'
while read -r file; do
    lines=$(wc -l <"$file")
    case "$file" in tests/*) most=450 ;; *) most=900 ;; esac
    if [ "$lines" -gt "$most" ]; then
        echo "$file: $lines lines; split it ($most are the most)"
        bad=1
    fi
    if grep -nE '\<(TODO|FIXME|XXX)\>' "$file" | sed "s|^|$file:|" | grep .; then
        bad=1
    fi
done < <(files "$sources")
# Ranks of a node share its cores: parallel regions of the library name the threads of their rank.
while read -r file; do
    if sed -e ':a' -e '/\\$/N; s/ *\\\n */ /; ta' "$file" | grep -E '#pragma omp parallel' |
        grep -v num_threads | sed "s|^|$file: no num_threads: |" | grep .; then
        bad=1
    fi
done < <(files '^(src|partition|kernels/cpu)/.*\.[ch]$')
while IFS=: read -r file named; do
    named=${named##* }
    if [ "$named" != "${file##*/}" ]; then
        echo "$file: calls itself $named"
        bad=1
    fi
done < <(files "$sources" | xargs -r -d '\n' grep -m 1 -HoE '@file +[^ ]+')
while read -r count folder; do
    if [ "$count" -gt 25 ]; then
        echo "$folder: $count files; divide it (25 are the most)"
        bad=1
    fi
done < <(files '^(src|kernels|partition|tools|bench|tests)/' | grep -v '^bench/results/' |
    sed 's|/[^/]*$||' | sort | uniq -c)
exit $bad
