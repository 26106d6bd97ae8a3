#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scaling and speed-ups from the rows of bench_dist.

    bench/dist/scaling.py [--figure OUT.svg] OUT.tsv RESULT.tsv...

Writes one row for each set, matrix, width, mode and number of ranks, and prints it.  Set `strong`
divides T1 by ranks times TP, sets `weak:...` T1 by TP; T1 is the least time of any row on one rank,
TP the least of the plans.  Rows that failed their check are left out and reported."""
import argparse
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "common"), str(BENCH)]
import table  # noqa: E402
from plot import scaling as figure  # noqa: E402

BASELINES = ("allgather", "needed", "needed-in-place")
TITLES = ("set", "matrix", "columns", "compute", "ranks", "variant", "engine", "transport",
          "schedule", "partition", "T1_ms", "TP_ms", "speedup", "efficiency", "exchange_ms",
          "local_ms", "halo_ms", "overlap", "to_allgather", "to_needed", "to_in_place")


def load(paths):
    """The rows that passed, and sentences on those that did not."""
    rows, bad = [], []
    for path in paths:
        for row in table.read(path, ("set", "matrix", "ranks", "variant", "total_ms", "passed"))[2]:
            if row["passed"] == "yes":
                rows.append(row)
            else:
                bad.append(f"{path}: {row['matrix']} on {row['ranks']} ranks, {row['variant']}: "
                           f"error {row['max_error']}")
    return rows, bad


def key_of(row):
    """What rows that are compared over ranks have in common: in weak scaling the matrix grows."""
    matrix = row["set"] if row["set"].startswith("weak") else row["matrix"]
    return row["set"], matrix, row["columns"], row["compute"]


def scale(rows):
    """Rows of the table of scaling, as dicts."""
    single = {}
    for row in rows:
        if row["ranks"] == 1:
            key = key_of(row)
            single[key] = min(single.get(key, row["total_ms"]), row["total_ms"])
    best = {}
    for row in rows:
        key = key_of(row) + (row["ranks"],)
        if row["variant"] not in BASELINES and (
                key not in best or row["total_ms"] < best[key]["total_ms"]):
            best[key] = row
    out = []
    for key, row in best.items():
        alone = single.get(key[:4])
        speedup = alone / row["total_ms"] if alone else None
        weak = row["set"].startswith("weak")
        efficiency = speedup if weak or speedup is None else speedup / row["ranks"]
        if weak and speedup is not None:
            speedup *= row["ranks"]
        out.append(dict(row, T1_ms=alone, TP_ms=row["total_ms"], speedup=speedup,
                        efficiency=efficiency))
    return sorted(out, key=lambda row: (row["set"], row["compute"], row["columns"]))


def shown(value):
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--figure", help="also draw efficiency over ranks, as SVG")
    parser.add_argument("out")
    parser.add_argument("result", nargs="+", help="tables of bench_dist")
    options = parser.parse_args()
    rows, bad = load(options.result)
    scaled = scale(rows)
    lines = ["\t".join(TITLES)]
    lines += ["\t".join(shown(row[name]) for name in TITLES) for row in scaled]
    pathlib.Path(options.out).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if options.figure and any(row["ranks"] > 1 and row["efficiency"] for row in scaled):
        pathlib.Path(options.figure).write_text(figure.draw(scaled), encoding="utf-8")
    print("\n".join(lines))
    for line in bad:
        print(f"{parser.prog}: {line}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    table.run(main)
