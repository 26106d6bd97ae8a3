#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""device.py SPMM_DIST OUT.tsv MATRIX...: what plans hold on a GPU, for each engine, in bytes of an
entry, as spmm_dist --explain counts them: the engine's format on the device, which is the matrix
once, and all that the plan holds, on the device and on the host.  Neither part of a plan are the
matrix itself, on the host, of which spmm_matrix_drop_entries() frees the entries, and the list of
rows that spmm_dist asks for.  One rank, 64 columns.  As many runs at a time as SPMM_JOBS says, 1 by
default: bytes are the same beside other runs."""
import concurrent.futures
import datetime
import os
import pathlib
import re
import subprocess
import sys

# Type, compute and engines.
CASES = [("64f", "64f", ["cusparse", "csr-gpu", "dmma"]),
         ("32f", "32f", ["cusparse", "csr-gpu"]),
         ("32f", "32f-fast-tf32", ["bittcf", "hrpb"]),
         ("16f", "32f", ["cusparse", "csr-gpu", "cvse", "bcsr", "bcsr-sp24", "cusparse-bell",
                         "dense"])]
COLUMNS = ("matrix entries type engine csr format plan_device plan_host plan_over_format "
           "plan_over_csr").split()
FORMAT = re.compile(r"format of (\S+): (\d+) bytes on the host, (\d+) on the device; "
                    r"CSR takes (\d+)")
MEMORY = re.compile(r"memory: (\d+) bytes on the host, (\d+) on the device"
                    r"(?:; (\d+) on the host are lists)?")
ENTRIES = re.compile(r"local block: .*?, (\d+) entries")


def row(program, matrix, storage, compute, engine):
    """A line of the table, or None where the engine does not take the matrix."""
    done = subprocess.run([program, "--device", "cuda", "--matrix", matrix, "--type", storage,
                           "--compute", compute, "--engine", engine, "--columns", "64",
                           "--reorder", "none", "--iterations", "1", "--explain"],
                          capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        print(f"{matrix.name} {storage} {engine}: {done.stderr.strip()[:200]}", file=sys.stderr)
        return None
    nnz = int(ENTRIES.search(done.stdout)[1])
    _, _, device, csr = FORMAT.search(done.stdout).groups()
    device, csr = int(device), int(csr)
    host, held, lists = (int(number or 0) for number in MEMORY.search(done.stdout).groups())
    host -= lists
    whole = host + held
    each = [f"{number / nnz:.2f}" for number in (csr, device, held, host)]
    return [matrix.stem, str(nnz), storage if storage == compute or storage == "16f" else "tf32",
            engine, *each, f"{whole / device:.3f}", f"{whole / csr:.3f}"]


def main():
    program, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    card = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], text=True,
                          capture_output=True, check=True).stdout.splitlines()[0]
    now = datetime.datetime.now(datetime.timezone.utc)
    cases = [(program, matrix, storage, compute, engine)
             for matrix in map(pathlib.Path, sys.argv[3:])
             for storage, compute, engines in CASES for engine in engines]
    workers = concurrent.futures.ThreadPoolExecutor(int(os.environ.get("SPMM_JOBS", "1")))
    with out.open("w", encoding="utf-8") as table, workers:
        print(f"# made by bench/files/device.py on {card}, {now:%Y-%m-%d %H:%M} UTC; bytes for "
              "each entry", file=table)
        print("\t".join(COLUMNS), file=table)
        for line in workers.map(lambda case: row(*case), cases):
            if line is not None:
                print("\t".join(line), file=table, flush=True)


if __name__ == "__main__":
    main()
