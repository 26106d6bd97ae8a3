#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows that cross the network by each way to exchange them, relative to every rank getting the rows
that it needs on a METIS partition: counted by spmm_dist --scale, without a GPU and on one core.

    SPMM_MATRIX_DIR=FOLDER bench/dist/scale.py OUT.tsv [RANKS,...]     default 64,256; 8 a node
    bench/dist/scale.py --summary TABLE.tsv
    bench/dist/scale.py --times OUT.tsv [RANKS,...]                    default 64; 8 a node

The summary has the geometric means over the matrices of a class; ways without rows are 0.  The
times are CPU times of METIS, of all ranks in one cut, and of nodes and then the ranks of each:
medians of three."""
import collections
import csv
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = ROOT / os.environ.get("SPMM_BUILD_DIR", "build/cpu") / "tools" / "spmm_dist"
MATRICES = {
    "mesh": ["delaunay_n16", "bcsstk29", "finan512", "stencil9:nx=500,ny=500,shuffle=1",
             "stencil27:nx=40,ny=40,nz=40,shuffle=1"],
    "road": ["luxembourg_osm"],
    "citation": ["pubmed"],
    "power law": ["soc-Epinions1", "musae_git", "rmat:scale=16,degree=8", "rmat:scale=17,degree=4"],
    "hub rows": ["mult_dcop_01", "ckt11752_dc_1"],
}
FIELDS = ["class", "matrix", "ranks", "partition", "groups", "exchange", "rows", "bytes_to_flat",
          "rows_max", "bytes_max_to_flat", "messages_max"]


def source(name):
    if ":" in name:
        return ["--generate", name]
    return ["--matrix", os.path.join(os.environ["SPMM_MATRIX_DIR"], name + ".mtx.gz")]


def count(name, ranks):
    """The cases of the driver's report."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        subprocess.run([DRIVER, *source(name), "--scale", ranks, "--ranks-per-node", "8",
                        "--seed", "1", "--columns", "128", "--type", "32f", "--json", path],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["cases"]


def lines(kind, name, ranks):
    for case in count(name, ranks):
        flat = case["rows"][0]["between_nodes"]
        for row in case["rows"]:
            flow = row["between_nodes"]
            yield [kind, name, case["ranks"], "nodes first" if row["nodes_first"] else "metis",
                   row["column_groups"], row["exchange"], flow["rows_total"],
                   f"{flow['bytes_total'] / flat['bytes_total']:.4f}", flow["rows_max"],
                   f"{flow['bytes_max'] / flat['bytes_max']:.4f}", flow["messages_max"]]


def write(out, ranks):
    with open(out, "w", encoding="utf-8") as file:
        print(f"# SPMM_MATRIX_DIR=FOLDER bench/dist/scale.py {os.path.basename(out)} {ranks}; "
              "counted on one rank", file=file)
        print(*FIELDS, sep="\t", file=file, flush=True)
        for kind, names in MATRICES.items():
            for name in names:
                for line in lines(kind, name, ranks):
                    print(*line, sep="\t", file=file, flush=True)


def time(name, ranks):
    """CPU seconds of one cut and of nodes first, by number of ranks."""
    said = subprocess.run([DRIVER, *source(name), "--scale", ranks, "--ranks-per-node", "8",
                           "--seed", "1", "--columns", "1"], check=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE,
                          env={**os.environ, "SPMM_DEBUG": "1"}).stderr.decode()
    found = re.findall(r"rows parted for (\d+) ranks(, nodes first,)? in (\S+) s of", said)
    times = {}
    for count, nodes, seconds in found:  # the first of nodes first is with the edges of hubs
        times.setdefault((int(count), bool(nodes)), float(seconds))
    return times


def write_times(out, ranks):
    with open(out, "w", encoding="utf-8") as file:
        print(f"# SPMM_MATRIX_DIR=FOLDER bench/dist/scale.py --times {os.path.basename(out)} "
              f"{ranks}; on one of {os.cpu_count()} cores with a load of "
              f"{os.getloadavg()[0]:.1f}", file=file)
        print("class", "matrix", "ranks", "flat_s", "nodes_first_s", "to_flat", sep="\t", file=file)
        for kind, names in MATRICES.items():
            for name in names:
                runs = [time(name, ranks) for _ in range(3)]
                for count in map(int, ranks.split(",")):
                    flat, first = ([run[count, way] for run in runs] for way in (False, True))
                    print(kind, name, count, f"{statistics.median(flat):.3f}",
                          f"{statistics.median(first):.3f}",
                          f"{statistics.median(b / a for a, b in zip(flat, first)):.3f}",
                          sep="\t", file=file, flush=True)


def mean(values):
    return 0.0 if min(values) == 0.0 else math.exp(sum(map(math.log, values)) / len(values))


def summarise(path):
    """{(partition, groups, exchange): {class: (bytes, bytes of the busiest)}} of a table."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader((line for line in file if line[0] != "#"), delimiter="\t"):
            way = row["partition"], int(row["groups"]), row["exchange"]
            found[way][row["class"]].append((float(row["bytes_to_flat"]),
                                             float(row["bytes_max_to_flat"])))
    return {way: {kind: tuple(mean(v) for v in zip(*pairs)) for kind, pairs in of.items()}
            for way, of in found.items()}


def main():
    if sys.argv[1:2] == ["--times"]:
        write_times(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "64")
        return
    if sys.argv[1:2] != ["--summary"]:
        write(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "64,256")
        path = sys.argv[1]
    else:
        path = sys.argv[2]
    kinds = list(MATRICES)
    print("| partition | groups | exchange |", " | ".join(kinds), "|")
    print("|---|---:|---|" + "---:|" * len(kinds))
    for (partition, groups, exchange), means in summarise(path).items():
        print(f"| {partition} | {groups} | {exchange} |",
              " | ".join("{:.2f} / {:.2f}".format(*means[kind]) for kind in kinds), "|")


if __name__ == "__main__":
    main()
