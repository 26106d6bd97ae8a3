#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exchanges in one level and in two, without and with covers, between four nodes of two ranks with
adapters of given rates.

    bench/dist/levels.py OUT.tsv [RATE...]      default 5mbit 10mbit 20mbit

The nodes are those of tests/nodes: namespaces on one machine, TCP between them, tc tbf on what they
send and get.  As root.  Rates are low, so that the network and not the cores limit.
exchange_ms is the slowest rank's, with schedule halo-first: beside no product; predicted_ms what
the plan said of it, by rates that its context measured (with covers: of the way between nodes);
auto is what levels and cover auto take.  Each way has the partition that its plan makes, METIS
nodes first, for covers without hubs.

Messages of up to 4 MiB travel unasked (EAGER).  By Open MPI's defaults over TCP those beyond 64 KiB
ask the receiver, whose answer waits behind what its node sends: SPMM_EAGER=0 leaves it at that.

    SPMM_MATRIX_DIR  the matrices of the .mtx.gz names, or of the same with .csr
    SPMM_DRIVER      default build/cpu/tools/spmm_dist"""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "driver"), str(ROOT / "tests" / "nodes")]

import nodes  # noqa: E402

MATRICES = (
    ("power law", "rmat:scale=13,degree=16", 8),
    ("power law", "musae_git.mtx.gz", 8),
    ("hubs", "mult_dcop_01.mtx.gz", 8),
    ("citations", "pubmed.mtx.gz", 32),
    ("mesh", "delaunay_n16.mtx.gz", 256),
    ("road", "luxembourg_osm.mtx.gz", 1024),
)
TITLES = ("rate", "kind", "matrix", "columns", "cover", "levels", "rows_between",
          "rows_between_max", "exchange_ms", "predicted_ms", "to_flat", "auto")
PREDICTED = re.compile(r"levels (\w+): an exchange is predicted to take (\S+) us flat, "
                       r"(\S+) us in two levels")
COVERED = re.compile(r"cover (\w+).*: between nodes rows of B alone are predicted to take \S+ us, "
                     r"with partial rows of C (\S+) us")
EAGER = {f"OMPI_MCA_btl_tcp_{limit}": str(1 << 22)
         for limit in ("eager_limit", "rndv_eager_limit", "max_send_size")
         if os.environ.get("SPMM_EAGER") != "0"}
ENVIRONMENT = {name: value for name, value in (nodes.MPI | EAGER).items()
               if name != "SPMM_CALIBRATE"}


def source(matrix):
    """The matrix and how it is parted, as options."""
    path = pathlib.Path(os.environ.get("SPMM_MATRIX_DIR", "."), matrix)
    if not path.exists():
        path = path.with_name(matrix.replace(".mtx.gz", ".csr"))
    where = ("--generate", matrix) if ":" in matrix else ("--matrix", path.resolve())
    return *where, "--seed", "1", "--device", "cpu", "--partition", "metis"


def run(bed, *args):
    """Output of the driver and its report."""
    with tempfile.NamedTemporaryFile(suffix=".json", dir=ROOT / "build") as report:
        done = subprocess.run(nodes.command(bed.nodes[0], *args, "--json", report.name),
                              env={**os.environ, **ENVIRONMENT},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode()
        if done.returncode != 0:
            sys.exit(text)
        return text, json.loads(pathlib.Path(report.name).read_text(encoding="utf-8"))


def measure(bed, rate, kind, matrix, columns):
    """Four rows: flat and node, without a cover and with one."""
    args = (*source(matrix), "--columns", columns, "--type", "64f", "--explain", "--iterations")
    auto = run(bed, *args, "1", "--warmup", "0")[1]
    chosen = f"{auto['cover']} {auto['levels']}"
    args = (*args, "7", "--warmup", "1", "--schedule", "halo-first")
    first, times = None, None
    for cover in "rows", "both":
        done = {}
        if cover == "rows":  # one of the two, and what both are predicted to take
            text, report = run(bed, *args, "--cover", cover)
            times = dict(zip(("flat", "node"), PREDICTED.search(text).groups()[1:]))
            done[report["levels"]] = text, report
        for way in "flat", "node":
            text, report = done.get(way) or run(bed, *args, "--cover", cover, "--levels", way)
            found = COVERED.search(text)
            if cover == "both" and found is None:
                continue  # a cover saves no row
            predicted = times[way] if cover == "rows" else found.group(2)
            took, between = report["time"]["exchange_ms"], report["between_nodes"]
            first = first or took
            yield (rate, kind, matrix, columns, cover, way, between["rows_total"],
                   between["rows_max"], f"{took:.2f}", f"{float(predicted) / 1000:.2f}",
                   f"{took / first:.3f}", chosen)


def measured(bed, rate):
    """The file of rates that the first context has kept, in a line."""
    kept = subprocess.run(bed.nodes[0].within("sh", "-c", f"cat {nodes.FOLDER}/network*"),
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    return f"# {rate}: " + ", ".join(kept.splitlines()[1:])


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    hindered = nodes.enter()
    if hindered:
        sys.exit("levels.py: " + hindered)
    commit = subprocess.run(f"git -C '{ROOT}' rev-parse --short HEAD || echo no git", shell=True,
                            check=True, stdout=subprocess.PIPE).stdout.decode().strip()
    rates = sys.argv[2:] or ["5mbit", "10mbit", "20mbit"]
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        print(f"# made by bench/dist/levels.py, 4 nodes of 2 ranks on {os.cpu_count()} cores "
              f"shared with other jobs, 64f, messages of up to {'4 MiB' if EAGER else '64 KiB'} "
              f"unasked, {datetime.date.today()} UTC; {commit}", file=out)
        print(*TITLES, sep="\t", file=out)
        for rate in rates:
            bed = nodes.Nodes()
            for node in bed.nodes:
                node.limit(rate)
            for kind, matrix, columns in MATRICES:
                for row in measure(bed, rate, kind, matrix, columns):
                    print(*row, sep="\t", file=out, flush=True)
            print(measured(bed, rate), file=out, flush=True)
            bed.end()


if __name__ == "__main__":
    main()
