#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""read.py BENCH_READ OUT.tsv [ENTRIES [RUNS]]: time and memory of reading Matrix Market files of
about ENTRIES entries (default 10 million) and of plans made of them, against fast_matrix_market and
SciPy (both from PyPI; a virtual environment does).  Files are written to a temporary folder.  Each
run is a process of its own, readers take turns, and the least CPU time, user's and system's, of
RUNS (default 3, of SciPy and PT-Scotch 1) counts, which other work on the machine moves little;
bytes are those above what the process had before, for each entry."""
import datetime
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

PYTHON = """
import resource, sys
import fast_matrix_market, numpy, scipy.sparse
from scipy.io._mmio import MMFile
def status(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return 1024 * int(line.split()[1])
path, reader, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
base = status("VmRSS:")
open("/proc/self/clear_refs", "w").write("5")
before = resource.getrusage(resource.RUSAGE_SELF)
if reader == "scipy":
    A = MMFile().read(path)
else:
    A = fast_matrix_market.mmread(path, parallelism=threads)
if reader != "fmm-coo":
    A = A.tocsr()
after = resource.getrusage(resource.RUSAGE_SELF)
print(A.nnz, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime,
      status("VmHWM:") - base, status("VmRSS:") - base)
"""
COLUMNS = ("file", "reader", "ranks", "threads", "step", "user_s", "system_s", "peak", "held")
RUNS = int(sys.argv[4]) if len(sys.argv) > 4 else 3


def write_files(folder, entries):
    import fast_matrix_market
    import numpy
    import scipy.sparse
    rng = numpy.random.default_rng(1)
    n = entries // 10
    band = numpy.arange(-5, 5) * 37

    def put(name, rows, cols, order, **options):
        key = numpy.unique(rows * n + cols if order == "rows" else cols * n + rows)
        low, high = key % n, key // n
        rows, cols = (high, low) if order == "rows" else (low, high)
        matrix = scipy.sparse.coo_matrix((rng.standard_normal(len(key)), (rows, cols)), (n, n))
        fast_matrix_market.mmwrite(folder / name, matrix, **options)

    rows = numpy.repeat(numpy.arange(n), 10)
    put("band.mtx", rows, numpy.clip(rows + numpy.tile(band, n), 0, n - 1), "rows")
    rows, cols = rng.integers(0, n, entries), rng.integers(0, n, entries)
    put("random-columns.mtx", rows, cols, "columns")
    put("random-rows-6-digits.mtx", rows, cols, "rows", precision=6)
    put("random-rows-pattern.mtx", rows, cols, "rows", field="pattern")


def python_run(path, reader, threads):
    words = subprocess.run([sys.executable, "-c", PYTHON, path, reader, str(threads)],
                           check=True, capture_output=True, text=True).stdout.split()
    nnz, user, system, peak, held = [float(word) for word in words]
    return {"read": (user, system, peak / nnz, held / nnz)}


def library_run(program, path, ranks, threads, partition):
    """CPU times of all ranks together, bytes of the rank with most for an entry."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    text = subprocess.run(["mpirun", "-n", str(ranks), program, path, partition], check=True,
                          capture_output=True, text=True, env=environment).stdout
    lines = [line.split() for line in text.splitlines()]
    found = {}
    for step, name in (("read", "read"), ("plan", f"plan, partition {partition}")):
        of_step = [[float(word) for word in line[2:]] for line in lines if line[0] == step]
        assert len(of_step) == ranks, text
        found[name] = (sum(line[2] for line in of_step), sum(line[3] for line in of_step),
                       max(line[4] / line[0] for line in of_step),
                       max(line[5] / line[0] for line in of_step))
    return found


def file_rows(program, path, with_scipy):
    """All readers in turn, RUNS times, so that other work on the machine meets all alike."""
    jobs = {}
    for threads in (1, 2):
        for reader in ("fmm-coo", "fmm-csr"):
            jobs[reader, 1, threads] = (python_run, path, reader, threads)
        jobs["spmm_dist", 1, threads] = (library_run, program, path, 1, threads, "block")
    for partition in ("block", "keep", "ptscotch") if "pattern" not in path.name else ():
        jobs["spmm_dist", 2, 1, partition] = (library_run, program, path, 2, 1, partition)
    if with_scipy:
        jobs["scipy", 1, 1] = (python_run, path, "scipy", 1)
    least = {}
    for turn in range(RUNS):
        for key, (run, *args) in jobs.items():
            if turn > 0 and ("scipy" in key or "ptscotch" in key):
                continue
            for step, now in run(*args).items():
                row = (*key[:3], step)
                if row not in least or now[0] + now[1] < least[row][0] + least[row][1]:
                    least[row] = now
    return least


def main():
    program, out = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    entries = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000_000
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    with tempfile.TemporaryDirectory() as name, out.open("w", encoding="utf-8") as table:
        folder = pathlib.Path(name)
        write_files(folder, entries)
        now = datetime.datetime.now(datetime.timezone.utc)
        print(f"# made by bench/files/read.py, {entries} entries, least of {RUNS}, {cpu}, "
              f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, {now:%Y-%m-%d %H:%M} UTC; "
              "bytes for each entry", file=table)
        print("\t".join(COLUMNS), file=table)
        for path in sorted(folder.glob("*.mtx")):
            for key, (user, system, peak, held) in file_rows(program, path,
                                                             entries <= 10_000_000).items():
                reader, ranks, threads, step = key
                print(f"{path.name}\t{reader}\t{ranks}\t{threads}\t{step}\t{user:.3f}\t"
                      f"{system:.3f}\t{peak:.1f}\t{held:.1f}", file=table)
            table.flush()


if __name__ == "__main__":
    main()
