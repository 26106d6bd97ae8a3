#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_man.sh ROOT PAGE: the manual page that the build made shows without a warning, and has every
# option and every variable of docs/reference/spmm_dist.md.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
skip_without man
skip_without help2man
page=$2
[ -f "$page" ] || { echo "skipped: this build made no $page"; exit 77; }
failed=0
warnings=$(man -l --warnings "$page" 2>&1 >/dev/null)
[ -z "$warnings" ] || { echo "$warnings"; failed=1; }
shown=$(MANWIDTH=200 man -l "$page" 2>/dev/null | col -bx | tr '\n' ' ')
while read -r word; do
    [[ "$shown" == *"$word"* ]] || { echo "$page has no $word"; failed=1; }
done < <(grep -oE '`(--[a-z-]+|[A-Z]+_[A-Z_]+)' docs/reference/spmm_dist.md | tr -d '`' | sort -u)
exit "$failed"
