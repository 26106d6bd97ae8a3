#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines of sources and documents have at most 100 columns, those of scripts 120.  In documents
# tables, headings, code blocks and lines with a link or a reference to one may be longer; in sources
# a line that is one address.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
export LC_ALL=C.UTF-8 # columns are characters
found=$(
    within() { # COLUMNS FILES
        files "$2" | xargs -r -d '\n' awk -v most="$1" \
            'length > most && !/^[ #*\/]*https?:[^ ]*$/ {
                print FILENAME ":" FNR ": " length " columns"}'
    }
    within 100 '\.(c|h|cu|cuh|cpp|f90|cmake|in)$|(^|/)CMakeLists\.txt$'
    within 120 '\.(py|sh|sbatch)$|^\.ci/run$'
    files '\.md$' | grep -v '^bench/results/' | xargs -r -d '\n' awk '
        FNR == 1 {code = 0}
        /^ *```/ {code = !code}
        length > 100 && !code && !/^ *\|/ && !/^    / && !/^#/ && !/\]\(|https?:|^\[[^]]*\]:/ {
            print FILENAME ":" FNR ": " length " columns"}'
)
[ -z "$found" ] || { echo "$found"; exit 1; }
