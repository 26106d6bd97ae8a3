#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What covers add to the time of making a plan, beside what the halo takes, on CPUs:

    bench/dist/cover_time.py OUT.tsv [RUNS]      default 7 runs of each

Four ranks, two of which make a node; METIS, 32 columns, FP64.  Times of the slowest rank, the least
of all runs, since ranks wait for each other wherever one waits for a core:
halo_ms     entries sent to the owners of their rows, blocks, the halo and its exchange
compared_ms covers of pairs of ranks and of nodes, of which one is taken
moved_ms    entries of the cover sent to the owners of their columns
plan_ms     the plan of these
to_halo     the last three to the first
median      the same of the medians of all runs

    SPMM_MATRIX_DIR  the matrices of the .mtx.gz names
    SPMM_DRIVER      default build/cpu/tools/spmm_dist"""
import datetime
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "driver"))

import harness  # noqa: E402

RANKS, ON_NODE = 4, 2
MATRICES = ("rmat:scale=13,degree=16", "rmat:scale=16,degree=8", "musae_git.mtx.gz",
            "soc-Epinions1.mtx.gz", "mult_dcop_01.mtx.gz", "ckt11752_dc_1.mtx.gz",
            "pubmed.mtx.gz", "delaunay_n16.mtx.gz", "bcsstk29.mtx.gz")
TITLES = "matrix", "halo_ms", "compared_ms", "moved_ms", "plan_ms", "to_halo", "median"
LINES = {  # of a rank; the first of each is the plan's own, before that of the entries moved
    "all": re.compile(r"blocks, halo and exchange made in (\S+) s"),
    "compared": re.compile(r"covers compared in (\S+) s"),
    "moved": re.compile(r"entries of the cover moved in (\S+) s"),
    "plan": re.compile(r"plan of the entries moved made in (\S+) s"),
}
ENVIRONMENT = {"SPMM_DEBUG": "1", "SPMM_CALIBRATE": "0", "OMP_NUM_THREADS": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_mtl": "^ofi,psm,psm2"}


def times(matrix):
    """Milliseconds of halo, compared, moved and plan in one run."""
    where = ("--generate", matrix) if ":" in matrix else (
        "--matrix", pathlib.Path(os.environ.get("SPMM_MATRIX_DIR", "."), matrix))
    done = subprocess.run(
        [harness.MPIEXEC, "--oversubscribe", harness.NUMPROC_FLAG, str(RANKS), harness.DRIVER,
         *map(str, where), "--seed", "1", "--columns", "32", "--type", "64f", "--partition",
         "metis", "--ranks-per-node", str(ON_NODE), "--cover", "both",
         "--device", "cpu", "--iterations", "1", "--warmup", "0"],
        env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode()
    found = {}
    for rank in range(RANKS):
        said = "\n".join(re.findall(rf"(?m)^spmm_dist\[{rank}\]: (.*)$", text))
        for name, line in LINES.items():
            took = line.search(said)
            if done.returncode != 0 or took is None:
                sys.exit(f"{matrix}: rank {rank} does not say {name}\n{text}")
            found.setdefault(name, []).append(1000 * float(took[1]))
    halo = [a - c - m for a, c, m in zip(found["all"], found["compared"], found["moved"])]
    return [max(halo), *(max(found[name]) for name in ("compared", "moved", "plan"))]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    commit = subprocess.run(f"git -C '{ROOT}' rev-parse --short HEAD || echo no git", shell=True,
                            check=True, stdout=subprocess.PIPE).stdout.decode().strip()
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        print(f"# made by bench/dist/cover_time.py, {RANKS} ranks, {ON_NODE} a node, on "
              f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f}, least and median "
              f"of {runs}, {datetime.date.today()} UTC; {commit}", file=out)
        print(*TITLES, sep="\t", file=out)
        for matrix in MATRICES:
            runs_of = list(zip(*(times(matrix) for _ in range(runs))))
            least, middle = ([of(t) for t in runs_of] for of in (min, statistics.median))
            ratios = (f"{sum(t[1:]) / t[0]:.3f}" for t in (least, middle))
            print(matrix, *(f"{t:.2f}" for t in least), *ratios, sep="\t", file=out, flush=True)


if __name__ == "__main__":
    main()
