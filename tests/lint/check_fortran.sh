#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Fortran module is what python/make_fortran.py makes of the public headers.
# shellcheck source=tests/lint/lint.sh
. "$(dirname "$0")/lint.sh"
python3 -B python/make_fortran.py | diff include/spmm_dist/spmm_dist.f90 - && exit 0
echo "include/spmm_dist/spmm_dist.f90 is stale: run python/make_fortran.py --write"
exit 1
