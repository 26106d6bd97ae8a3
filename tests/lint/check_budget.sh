#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The lines of text of a folder do not exceed what budget.tsv allows; each folder at the top has a
# row, `.` stands for the whole tree.  Pictures, archives and fuzzing inputs do not count.  What a
# change removes is taken off the budget: `check_budget.sh . --write` sets it to what is there.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
if [ "$(git rev-parse --show-cdup 2>/dev/null || echo none)" != "" ]; then
    echo "skipped: no git checkout"
    exit 77
fi
budget=tests/lint/budget.tsv
bad=0

lines() { # FOLDER
    git ls-files -z "$1" | grep -zvE '\.(gz|svg|png)$|/corpus/' | xargs -0 -r cat | wc -l
}

table=$(while IFS=$'\t' read -r folder most; do
    [ "$folder" = folder ] || most=$(lines "$folder")
    printf '%s\t%s\n' "$folder" "$most"
done <"$budget")
if [ "${2:-}" = --write ]; then
    printf '%s\n' "$table" >"$budget"
    exit
fi
while IFS=$'\t' read -r folder most there; do
    if [ "$folder" != folder ] && [ "$there" -gt "$most" ]; then
        echo "$folder: $there lines, and its budget in $budget is $most"
        bad=1
    fi
done < <(paste "$budget" <(cut -f 2 <<<"$table"))
for folder in $(git ls-files | sed -n 's|/.*||p' | sort -u); do
    grep -q "^$folder"$'\t' "$budget" || { echo "$folder: no row in $budget"; bad=1; }
done
exit $bad
