#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Python files parse, name what exists and nothing that is not used, and are formatted.  How
# continuation lines are indented is left to the author.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
skip_without flake8
files '\.py$' | xargs -r -d '\n' flake8 --isolated --max-line-length=100 \
    --per-file-ignores='packaging/spack/*:F403,F405' \
    --ignore=E121,E122,E123,E126,E127,E128,E131,E203,W503,W504 || exit 1
