#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lines have at most 100 columns.  In documents tables, headings, code blocks and lines with a link
# or a reference to one may be longer; in sources a line that is one address.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
export LC_ALL=C.UTF-8 # columns are characters
bad=0
# over FILE PROGRAM: awk's lines, named.
over() {
    awk "$2" "$1" | sed "s|^|$1:|" | grep . && bad=1
}
while read -r file; do
    over "$file" 'length > 100 && !/^[ #*\/]*https?:[^ ]*$/ {print FNR ": " length " columns"}'
done < <(files '\.(c|h|cu|cuh|cpp|f90|py|sh|sbatch|cmake|in)$|(^|/)CMakeLists\.txt$|^\.ci/run$')
while read -r file; do
    over "$file" '/^ *```/ {code = !code}
        length > 100 && !code && !/^ *\|/ && !/^    / && !/^#/ && !/\]\(|https?:|^\[[^]]*\]:/ {
            print FNR ": " length " columns"}'
done < <(files '\.md$' | grep -v '^bench/results/')
exit $bad
