# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by every lint script: moves to the tree to check (first argument, else this repository).
# Exit status of a lint: 0 clean, 1 offenders (printed), 77 its tool is missing.
set -u -o pipefail
export LC_ALL=C
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" || exit 2

# The project's files whose path matches an extended regular expression: tracked and new ones in a
# checkout, all but build trees in an unpacked archive.
files() {
    if [ "$(git rev-parse --show-cdup 2>/dev/null || echo none)" = "" ]; then
        git ls-files --cached --others --exclude-standard
    else
        find . -type f -not -path './build/*' -printf '%P\n'
    fi | grep -E "$1" | sort -u | while read -r file; do
        [ ! -f "$file" ] || printf '%s\n' "$file"
    done
}

# skip_without TOOL: report the test as skipped.
skip_without() {
    if ! command -v "$1" >/dev/null; then
        echo "skipped: $1 is not installed"
        exit 77
    fi
}
