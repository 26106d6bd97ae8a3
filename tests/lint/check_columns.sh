#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines have at most 100 columns.  In documents tables, headings, code blocks and lines with a link
# or a reference to one may be longer; elsewhere a line that is one address.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
export LC_ALL=C.UTF-8 # columns are characters
found=$(
    files '\.(c|h|cu|cuh|cpp|f90|cmake|in|py|sh|sbatch)$|(^|/)CMakeLists\.txt$|^\.ci/run$' |
        xargs -r -d '\n' awk 'length > 100 && !/^[ #*\/]*https?:[^ ]*$/ {
            print FILENAME ":" FNR ": " length " columns"}'
    files '\.md$' | grep -v '^bench/results/' | xargs -r -d '\n' awk '
        FNR == 1 {code = 0}
        /^ *```/ {code = !code}
        length > 100 && !code && !/^ *\|/ && !/^    / && !/^#/ && !/\]\(|https?:|^\[[^]]*\]:/ {
            print FILENAME ":" FNR ": " length " columns"}'
)
[ -z "$found" ] || { echo "$found"; exit 1; }
