#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What overlap saves, from the rows of bench_dist with schedules halo-first and overlap.

    bench/dist/overlap.py OUT.tsv RESULT.tsv...

One row for each matrix and transport: comm_us, local_us and halo_us are phases by halo-first, with
marks around them that take some us; halo_first_us and overlap_us the whole product without marks,
saved_us their difference; overlap is the hidden share of the shorter of exchange and local block,
each timed on its own without marks.  loop_us is wall time with the host in the loop, graph_us and
graph_loop_us the same of overlap in a CUDA graph."""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

TITLES = ("matrix", "ranks", "transport", "comm_us", "local_us", "halo_us", "halo_first_us",
          "overlap_us", "saved_us", "overlap", "loop_us", "graph_us", "graph_loop_us", "to_needed")


def variant_of(row):
    """The settings of a variant, by name."""
    return dict(part.split("=") for part in row["variant"].split(",") if "=" in part)


def collect(paths):
    """Rows by matrix, ranks and transport, then by way."""
    found = {}
    for row in table.read_rows(paths, ("matrix", "ranks", "variant", "total_ms", "passed")):
        how = variant_of(row)
        if row["passed"] != "yes" or "schedule" not in how:
            continue
        way = "graph" if how.get("graph") == "1" else how["schedule"]
        key = (row["matrix"], row["ranks"], how.get("transport", row["transport"]))
        found.setdefault(key, {})[way] = row
    return found


def line_of(key, ways):
    """One row of the table; None where a way is missing."""
    if not {"halo-first", "overlap"} <= ways.keys():
        return None
    turn, both, graph = ways["halo-first"], ways["overlap"], ways.get("graph")
    comm, local = turn["pack_ms"] + turn["exchange_ms"], turn["local_ms"]
    times = (comm, local, turn["halo_ms"], turn["total_ms"], both["total_ms"],
             turn["total_ms"] - both["total_ms"])
    return (*key, *(f"{1e3 * t:.1f}" for t in times),
            f"{both['overlap']:.2f}" if both["overlap"] is not None else "-",
            f"{1e3 * both['loop_ms']:.1f}",
            f"{1e3 * graph['total_ms']:.1f}" if graph else "-",
            f"{1e3 * graph['loop_ms']:.1f}" if graph else "-",
            f"{both['to_needed']:.2f}" if both["to_needed"] else "-")


def main():
    """Write and print the table."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("results", nargs="+")
    arguments = parser.parse_args()
    lines = [line_of(key, ways) for key, ways in collect(arguments.results).items()]
    lines = [line for line in lines if line is not None]
    with open(arguments.results[0], encoding="utf-8") as rows:
        head = rows.readline()
    text = "".join("\t".join(str(cell) for cell in line) + "\n" for line in [TITLES] + lines)
    with open(arguments.out, "w", encoding="utf-8") as out:
        out.write((head if head.startswith("#") else "") + text)
    sys.stdout.write(text)
    return 0 if lines else 1


if __name__ == "__main__":
    table.run(main)
