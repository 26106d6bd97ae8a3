#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products and solvers of PETSc and SLEPc with matrix type aij and with spmmdist, in turn, by
bench_petsc_real and _complex, and by the example program of SLEPc that the tests compile.

    bench/engine/petsc.py [--ranks 1,2,4] [--repeat 41] [--build build/cpu] [OUTPUT.tsv]

One thread for each rank.  Times are the least and the median CPU times of the repetitions, of
products and KSPMatSolve() of the rank with most, of the example programs whole and of all ranks;
ratios, medians of those of pairs run one after the other, are ours above 1."""
import argparse
import datetime
import os
import pathlib
import re
import resource
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TITLES = "scalars matrix ranks what N aij_ms spmmdist_ms ratio aij_median_ms spmmdist_median_ms"
TITLES += " difference aij_iterations spmmdist_iterations"
CUBES = {"stencil7 40^3": ["-nx", "40"], "stencil27 28^3": ["-nx", "28", "-box"]}
COLUMNS = "1,2,4,8,16,32"
EPS = ["-n", "100", "-eps_nev", "8", "-eps_ncv", "32"]


def run(ranks, *command):
    done = subprocess.run(["mpirun", "-n", str(ranks), *map(str, command)], check=True, text=True,
                          capture_output=True, env=dict(os.environ, OMP_NUM_THREADS="1"))
    return done.stdout


def eigen(program, load, ranks, solver, matrix):
    """CPU seconds of all ranks, iterations and eigenvalues of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = run(ranks, program, *load, *EPS, "-eps_type", solver, "-mat_type", matrix,
               "-eps_error_relative", "::ascii_info_detail", "-eps_view_values", "::ascii_matlab")
    values = re.search(r"Lambda_\w* = \[\n(.*?)\];", text, re.S)[1].split()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime,
            int(re.search(r"iterations (\d+)", text)[1]),
            [float(re.match(r"[-+.\de]+", v)[0]) for v in values])


def eigen_row(program, load, ranks, solver, repeat):
    runs = [[eigen(program, load, ranks, solver, m) for m in ("aij", "spmmdist")]
            for _ in range(repeat)]
    times = [sorted(1e3 * pair[side][0] for pair in runs) for side in (0, 1)]
    (_, steps, want), (_, own_steps, got) = runs[0]
    apart = max(abs(a - b) / abs(a) for a, b in zip(want, got))
    ratio = sorted(pair[0][0] / pair[1][0] for pair in runs)[repeat // 2]
    return [solver.upper(), "8", *(f"{t[0]:.1f}" for t in times), f"{ratio:.3f}",
            *(f"{t[repeat // 2]:.1f}" for t in times), f"{apart:.1e}", str(steps), str(own_steps)]


def rows(build, scalars, ranks, repeat):
    load = ["-dll_append", build / f"interfaces/petsc/libspmm_dist_petsc_{scalars}.so"]
    for name, options in CUBES.items():
        program = build / f"bench/bench_petsc_{scalars}"
        for line in run(ranks, program, *load, *options, "-solve", "-columns", COLUMNS, "-repeat",
                        repeat).splitlines():
            yield [scalars, name, str(ranks), *line.split("\t")]
    for solver in ("lobpcg", "krylovschur"):
        yield [scalars, "stencil5 100^2", str(ranks),
               *eigen_row(build / f"tests/slepc_{scalars}_ex2", load, ranks, solver, 3)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--repeat", type=int, default=41)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/cpu")
    parser.add_argument("output", nargs="?", default=ROOT / "bench/results/petsc.tsv")
    given = parser.parse_args()
    build = given.build.resolve()
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False).stdout.strip()
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    date = datetime.datetime.now(datetime.timezone.utc)
    head = f"# made by bench/engine/petsc.py --ranks {given.ranks} --repeat {given.repeat},"
    head += f" {model}, {os.cpu_count()} cores, {date:%F %H:%M} UTC; {commit}"
    with open(given.output, "w", encoding="utf-8") as table:
        print(head, "\t".join(TITLES.split()), sep="\n", file=table)
        for ranks in map(int, given.ranks.split(",")):
            for scalars in ("real", "complex"):
                for row in rows(build, scalars, ranks, given.repeat):
                    print("\t".join(row), file=table, flush=True)


if __name__ == "__main__":
    main()
