#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""slepc.py PROGRAM PLUGIN RANKS: an example program of SLEPc, as Debian has it, solves by LOBPCG
and by Krylov-Schur with -mat_type aij and with -mat_type spmmdist: as many iterations, the same
eigenvalues, and products that really are spmm_dist's."""
import os
import re
import subprocess
import sys

program, plugin, ranks = sys.argv[1:]
mpirun = [os.environ["MPIEXEC"], os.environ["MPIEXEC_NUMPROC_FLAG"], ranks]
problem = ["-n", "24", "-eps_nev", "6", "-eps_ncv", "24", "-dll_append", plugin]
views = ["-eps_error_relative", "::ascii_info_detail", "-eps_view_values", "::ascii_matlab"]
views += ["-eps_view_mat0", "::ascii_info"]


def solve(solver, matrix):
    command = [*mpirun, program, *problem, "-eps_type", solver, "-mat_type", matrix, *views]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    text = run.stdout + run.stderr
    if run.returncode:
        sys.exit(f"{' '.join(command)} exited with {run.returncode}\n{text}")
    iterations = int(re.search(r"iterations (\d+)", text)[1])
    values = re.search(r"Lambda_\w* = \[\n(.*?)\];", text, re.S)[1].split("\n")
    return iterations, [float(re.match(r"\s*[-+.\de]+", v)[0]) for v in values if v.strip()], text


for eps, columns in (("lobpcg", 2), ("krylovschur", 1)):
    steps, want, _ = solve(eps, "aij")
    own_steps, got, text = solve(eps, "spmmdist")
    plan = re.search(r"spmm_dist: products with A: up to (\d+) columns.*", text)
    if plan is None or int(plan[1]) < columns:
        sys.exit(f"{eps}: no plan for {columns} columns or more was used\n{text}")
    if steps != own_steps or len(want) < 6 or len(want) != len(got):
        sys.exit(f"{eps}: {steps} iterations, {len(want)} eigenvalues with aij; {own_steps}, "
                 f"{len(got)} with spmmdist")
    worst = max(abs(a - b) / abs(a) for a, b in zip(want, got))
    if not worst < 1e-9:
        sys.exit(f"{eps}: eigenvalues differ by {worst}")
    print(f"{eps}: {steps} iterations, eigenvalues differ by {worst:.1e} at most")
    print(plan[0])
