#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shell scripts and Slurm jobs parse and pass shellcheck.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
mapfile -t scripts < <(files '\.(sh|sbatch)$|^\.ci/run$')
for script in "${scripts[@]}"; do
    bash -n "$script" || exit 1
done
skip_without shellcheck
shellcheck --external-sources --severity=style "${scripts[@]}" || exit 1
