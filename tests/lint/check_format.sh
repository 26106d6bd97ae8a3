#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# C, CUDA and header files are as clang-format leaves them.  The style is written for version 14;
# a later one may disagree about details, so only 14 decides.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
for formatter in clang-format-14 clang-format; do
    ! command -v $formatter >/dev/null || break
done
skip_without "$formatter"
case "$($formatter --version)" in
    *"version 14."*) ;;
    *)
        echo "skipped: $($formatter --version), the style is fixed by version 14"
        exit 77 ;;
esac
files '\.(c|h|cu|cuh)$' | xargs -r -d '\n' "$formatter" --style=file --dry-run -Werror || exit 1
