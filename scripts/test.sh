#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything and runs all tests; options go to ctest, for example
# `scripts/test.sh -L unit`.
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"

quietly cmake --preset "$preset" "${configure[@]}"
quietly cmake --build --preset "$preset"
# Ranks that start, end or wait leave cores idle.
ctest --preset "$preset" -j $((2 * jobs)) "$@" </dev/null
