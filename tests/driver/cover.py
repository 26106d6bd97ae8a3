# SPDX-License-Identifier: Apache-2.0
"""Verify products of the driver: every pair of values of any two factors (matrix, ranks, partition,
layout, op, type and, on CPUs, schedule; on GPUs columns, transport, timeout) occurs in some run.

cover.py           on CPUs, for CI
cover.py --full    every combination; prints a count and every failure
cover.py --share 2/8   the second of eight shares, each a mixture of all values, always the same
cover.py --list    print the runs instead of making them
cover.py --device cuda   on the visible GPUs, for ci/gpu_check.sh

Matrices: tests/data, and those of the folder SPMM_MATRIX_DIR with other names, where it is set; on
GPUs two generated ones, too."""
import argparse
import collections
import itertools
import os
import random
import re
import subprocess
import sys
import threading
import time

import harness

GENERATED = ["rmat:scale=20,degree=16", "stencil27:nx=100,ny=100,nz=100"]
SCHEDULES = {"overlap": ("--tuning", "schedule=overlap,chunks=1"),
             "chunks": ("--tuning", "chunks=4"), "merged": ("--tuning", "schedule=merged")}


def pairwise(levels):
    """Rows that cover all pairs of levels of any two factors; `levels` holds one sequence for each.
    Greedy (after AETG, Cohen et al. 1997): each row starts from an uncovered pair and gives every
    other factor the level that covers most pairs with what is fixed already.  No randomness: the
    same rows every time."""
    n = len(levels)
    missing = {((i, a), (j, b)): None for i, j in itertools.combinations(range(n), 2)
               for a in range(len(levels[i])) for b in range(len(levels[j]))}
    used, rows = collections.Counter(), []
    while missing:
        row = dict(next(iter(missing)))
        for k in sorted(set(range(n)) - set(row), key=lambda k: -len(levels[k])):
            row[k] = max(range(len(levels[k])), key=lambda a: (
                sum(tuple(sorted([(k, a), f])) in missing for f in row.items()), -used[k, a], -a))
        for pair in itertools.combinations(sorted(row.items()), 2):
            missing.pop(pair, None)
        used.update(row.items())
        rows.append([levels[k][row[k]] for k in range(n)])
    return rows


class Gpus:
    """Places on the GPUs, some on each; a run takes one on as many as it has ranks."""

    def __init__(self, beside):
        ids = os.environ.get("CUDA_VISIBLE_DEVICES")
        if ids is None:
            listed = subprocess.check_output(["nvidia-smi", "-L"], text=True)
            ids = ",".join(re.findall(r"^GPU (\d+):", listed, re.M))
        self.free = {gpu: beside for gpu in ids.split(",") if gpu}
        self.count, self.changed = len(self.free), threading.Condition()

    def take(self, count):
        with self.changed:
            self.changed.wait_for(lambda: sum(n > 0 for n in self.free.values()) >= count)
            taken = sorted(sorted(self.free, key=lambda gpu: -self.free[gpu])[:count])
            self.free.update({gpu: self.free[gpu] - 1 for gpu in taken})
            return taken

    def give_back(self, ids):
        with self.changed:
            self.free.update({gpu: self.free[gpu] + 1 for gpu in ids})
            self.changed.notify_all()


def factors(args, gpus):
    common = {
        "matrix": harness.matrices(), "ranks": [1, 2, 3, 4, 8],
        "partition": [p for p in ("keep", "block", "metis", "ptscotch", "auto")
                      if p == "keep" or harness.is_built("partitioners", p)],
        "layout": ["row", "col"], "op": ["n", "t"], "type": ["64f", "32f"]}
    if not gpus:
        return {**common, "schedule": list(SCHEDULES)}
    transports = [t for t in ("mpi-host", "nccl", "nccl-push") if harness.is_built("transports", t)]
    return {**common, "matrix": common["matrix"] + GENERATED,
            "ranks": [p for p in (1, 2, 4, 8) if p <= gpus.count],
            "type": ["64f", "32f", "16f", "16bf"], "columns": [1, 7, 32, 128, 512],
            "transport": transports + ["mpi-device"] * bool(args.mpi_cuda), "timeout": [0, 60]}


def launch(case, args, gpus):
    """What mpirun, or that of a CUDA-aware MPI, made of a case."""
    case, env, mpirun = {"columns": 40, **case}, {}, harness.MPIEXEC
    # 40: a whole tile of the kernels for CPUs, and a part of one.
    source = "--generate" if case["matrix"] in GENERATED else "--matrix"
    options = [source, case["matrix"], "--device", args.device, "--verify", "--iterations", "1",
               "--warmup", "0", "--pad", "3" if case["layout"] == "col" else "0",
               "--alpha", "0.5", "--beta", "2", *SCHEDULES.get(case.get("schedule"), ())]
    for name in ("columns", "partition", "layout", "op", "type", "transport", "timeout"):
        if case.get(name):
            options += ["--" + name, case[name]]
    if case.get("transport") == "mpi-device":
        mpirun = os.path.join(args.mpi_cuda, "bin", "mpirun")
        libraries = [os.path.join(args.mpi_cuda, "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        env = {"OPAL_PREFIX": args.mpi_cuda, "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
    taken = gpus.take(case["ranks"]) if gpus else []
    if gpus:
        threads = len(os.sched_getaffinity(0)) // (gpus.count * args.beside)
        env.update(CUDA_VISIBLE_DEVICES=",".join(taken), OMP_NUM_THREADS=str(max(1, threads)))
    try:
        limit = ["timeout", "--kill-after=10", str(args.timeout), mpirun]
        return harness.run(*options, ranks=case["ranks"], timeout=None, env=env, launcher=limit)
    finally:
        if gpus:
            gpus.give_back(taken)


def verify(case, args, gpus):
    """None when good, "range" when the values do not fit the type, "refused" when the schedule is
    not for such a product, else what went wrong."""
    result = launch(case, args, gpus)
    if (result.code == 0 and not result.errors and ": passed" in result.out and
            re.search(rf"^transport +{case.get('transport', '')}", result.out, re.M)):
        return None
    if result.code == 3 and len(result.errors) == 1 and "range" in result.errors[0]:
        return "range"
    plain = case["op"] == "n" and case["layout"] == "row"
    if result.code == 4 and not plain and f"schedule {case.get('schedule')} is" in result.errors[0]:
        return "refused"
    return str(result)


def share_of(rows, text):
    """Rows of share K of N, which `text` gives as K/N."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    k, n = map(int, found.groups()) if found else (0, 0)
    if not 1 <= k <= n:
        sys.exit(f"cover.py: --share takes K/N with 1 <= K <= N, not '{text}'")
    mixed = list(rows)
    random.Random(0).shuffle(mixed)  # in order, a share of every fifth would have one schedule only
    return mixed[k - 1::n]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every combination")
    parser.add_argument("--share", metavar="K/N", default="1/1", help="share K of N of the runs")
    parser.add_argument("--list", action="store_true", help="print the runs only")
    parser.add_argument("--timeout", type=float, default=300, help="seconds of one run")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--beside", type=int, default=1, help="runs at a time on the same GPU")
    parser.add_argument("--mpi-cuda", help="prefix of a CUDA-aware Open MPI: adds mpi-device")
    args = parser.parse_args()
    gpus = Gpus(args.beside) if args.device == "cuda" else None
    levels = factors(args, gpus)
    values = list(levels.values())
    if not all(values):
        sys.exit("cover.py: no matrix in tests/data or SPMM_MATRIX_DIR, or no GPU")
    rows = share_of(itertools.product(*values) if args.full else pairwise(values), args.share)
    cases = [dict(zip(levels, row)) for row in rows]
    for case in cases:  # PT-Scotch takes minutes for a power-law graph of this size
        if case["partition"] == "ptscotch" and case["matrix"] == GENERATED[0]:
            case["partition"] = "block"
    if gpus:  # runs of all GPUs first: the small ones then fill the gaps
        cases.sort(key=lambda case: -case["ranks"])
    names = [" ".join(os.path.basename(str(v)) for v in case.values()) for case in cases]
    if args.list:
        print("\n".join(names))
        return 0
    count, start = collections.Counter(), time.monotonic()
    jobs = gpus.count * args.beside if gpus else harness.JOBS
    answers = harness.side_by_side(lambda case: verify(case, args, gpus), cases, jobs)
    for name, answer in zip(names, answers):
        count[answer if answer in (None, "range", "refused") else "failed"] += 1
        if answer not in (None, "range", "refused"):
            print(f"FAILED: {name}\n{answer}", flush=True)
    print(f"{len(cases)} runs in {time.monotonic() - start:.0f} s: {count['failed']} failed, "
          f"{count['range']} reported values out of the type's range, "
          f"{count['refused']} refused by the schedule")
    return count["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
