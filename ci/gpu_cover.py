# SPDX-License-Identifier: Apache-2.0
"""Verified products of spmm_dist on GPUs: every pair of levels of any two factors occurs in some
run (ranks, columns, type, layout, op, transport, partition, timeout, matrix).

Runs go side by side; what failed is said at once on the standard error stream, how many at the end.
Python 3 standard library only; ci/gpu_check.sh is the way to call it."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
from pairwise import pairwise  # noqa: E402

GENERATED = ["rmat:scale=20,degree=16", "stencil27:nx=100,ny=100,nz=100"]


class Gpus:
    """Places on the GPUs, `beside` on each; a run takes one on as many as it has ranks."""

    def __init__(self, ids, beside):
        self.free = {gpu: beside for gpu in ids}
        self.changed = threading.Condition()

    def take(self, count):
        with self.changed:
            self.changed.wait_for(lambda: sum(n > 0 for n in self.free.values()) >= count)
            taken = sorted(sorted(self.free, key=lambda gpu: -self.free[gpu])[:count])
            for gpu in taken:
                self.free[gpu] -= 1
            return taken

    def give_back(self, ids):
        with self.changed:
            for gpu in ids:
                self.free[gpu] += 1
            self.changed.notify_all()


def visible_gpus():
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [g for g in chosen.split(",") if g]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [str(i) for i in range(len(re.findall(r"^GPU \d+:", listed.stdout, re.M)))]


def built(driver, what):
    """Names that `spmm_dist --list-...` gives, without those this build lacks."""
    listed = subprocess.run([driver, "--list-" + what], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in listed.stdout.splitlines()
            if line.strip() and "(not in this build)" not in line]


def factors(args, n_gpus):
    found = []
    if args.matrices:
        for pattern in ("*.mtx", "*.mtx.gz", "*.csr"):
            found += sorted(str(p) for p in pathlib.Path(args.matrices).glob(pattern))
    transports = [t for t in built(args.driver, "transports")
                  if (not t.startswith("nccl") or args.device == "cuda")
                  and (t != "mpi-device" or args.mpi_cuda)]
    partitioners = built(args.driver, "partitioners")
    partitions = [p for p in ("auto", "block", "metis", "ptscotch") if p in partitioners]
    return {
        "matrix": found + args.generate,
        "N": [1, 7, 32, 128, 512],
        "P": [p for p in (1, 2, 4, 8) if p <= n_gpus],
        "type": ["64f", "32f", "16f", "16bf"],
        "transport": transports,
        "partition": partitions,
        "layout": ["row", "col"],
        "op": ["n", "t"],
        "timeout": [0, 60],
    }


def command_and_environment(args, case, gpus, report):
    """Open MPI 4 and 5: root, more ranks than cores, no binding since several jobs run at once."""
    threads = len(os.sched_getaffinity(0)) // args.places
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                       OMPI_MCA_rmaps_base_oversubscribe="1",
                       PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
                       OMP_NUM_THREADS=str(max(1, threads)),
                       OMP_WAIT_POLICY="passive")
    if args.device == "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    launcher = "mpirun"
    if case["transport"] == "mpi-device":
        launcher = os.path.join(args.mpi_cuda, "bin", "mpirun")
        environment["OPAL_PREFIX"] = args.mpi_cuda
        libraries = [os.path.join(args.mpi_cuda, "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, libraries))
    source = "--generate" if case["matrix"] in args.generate else "--matrix"
    command = ["timeout", "--kill-after=10", str(args.limit), launcher, "--bind-to", "none",
               "-n", str(case["P"]), args.driver, source, case["matrix"], "--device", args.device,
               "--columns", str(case["N"]), "--type", case["type"], "--layout", case["layout"],
               "--op", case["op"], "--transport", case["transport"],
               "--partition", case["partition"], "--alpha", "0.5", "--beta", "2", "--verify",
               "--warmup", "1", "--iterations", "3", "--json", report]
    if case["timeout"]:
        command += ["--timeout", str(case["timeout"])]
    return command, environment


def judge(code, errors, report, case):
    """yes; range: the driver refused values that do not fit the type; else no."""
    if code == 3 and report is None and "range" in errors:
        return "range"
    good = (code == 0 and report is not None and report["verify"]["passed"] is True
            and report["transport"] == case["transport"] and report["ranks"] == case["P"])
    return "yes" if good else "no"


def run(args, case, gpus):
    """The verdict; what a run wrote that failed is printed."""
    taken = gpus.take(case["P"])
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            command, environment = command_and_environment(args, case, taken, path)
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace")
            report = None
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    report = json.load(file)
    finally:
        gpus.give_back(taken)
    wall = time.monotonic() - start
    passed = judge(done.returncode, done.stderr, report, case)
    if passed == "no":
        why = {124: "timed out", 137: "killed"}.get(done.returncode, f"exit {done.returncode}")
        log = f"{' '.join(command)}\n{why} after {wall:.1f} s\n{done.stdout}{done.stderr}"
        print(f"FAILED: {log}", file=sys.stderr, flush=True)
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True, help="spmm_dist")
    parser.add_argument("--matrices", help="folder of .mtx, .mtx.gz and .csr files")
    parser.add_argument("--generate", action="append", help="instead of the two of the check")
    parser.add_argument("--mpi-cuda", help="prefix of a CUDA-aware Open MPI: adds mpi-device")
    parser.add_argument("--beside", type=int, default=1, help="runs at a time on the same GPU")
    parser.add_argument("--limit", type=int, default=120, help="seconds of one run")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda",
                        help="cpu: to try this script, two runs of one rank at a time")
    args = parser.parse_args()
    args.generate = args.generate or GENERATED
    ids = visible_gpus() if args.device == "cuda" else ["0", "1"]
    if not ids:
        sys.exit("gpu_cover.py: no GPU is visible")
    levels = factors(args, len(ids))
    cases = [dict(zip(levels, row)) for row in pairwise(list(levels.values()))]
    for case in cases:  # PT-Scotch takes minutes for a power-law graph of this size
        if case["partition"] == "ptscotch" and case["matrix"].startswith("rmat:"):
            case["partition"] = "block"
    # Runs of all GPUs first: the small ones then fill the gaps.
    cases.sort(key=lambda case: -case["P"])
    args.places = len(ids) * args.beside
    gpus, start = Gpus(ids, args.beside), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=args.places) as pool:
        verdict = list(pool.map(lambda case: run(args, case, gpus), cases))
    print(f"{len(verdict)} runs on {len(ids)} {args.device} in {time.monotonic() - start:.0f} s: "
          f"{verdict.count('yes')} passed, {verdict.count('range')} refused values out of the "
          f"type's range, {verdict.count('no')} failed")
    return verdict.count("no") != 0


if __name__ == "__main__":
    sys.exit(main())
