#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each paper says of itself, its system on one H200, and the engine that took its place here.

    bench/papers/headlines.py [PAPER...]

PAPER: acc-spmm, cutespmm, sspmm, vectorsparse, thesis.

Speed-ups over cuSPARSE of the same run in FP32 (16-bit systems, too): geometric mean and most, of
all matrices and by class of TCU-Synergy.  The system is the fastest of its variants on each matrix,
timed on one H200 (peers_times.tsv); ours are the engine by name, and plans, on the same
matrices in a run of their own on an H200 (tf32.tsv, 16f.tsv)."""
import argparse
import sys

import published
from published import ROOT, table

CLASSES = ("all", "low", "medium", "high")
# Paper: what it says, and on which machine; our table, its baseline and engines.
PAPERS = {
    "acc-spmm": ("over cuSPARSE in FP32, ten matrices, N = 128 to 512: 2.52, most 5.11 (RTX 4090); "
                 "1.91, most 4.68 (A800); 1.58, most 3.60 (H100)", "tf32", "cusparse",
                 ("bittcf", "auto")),
    "cutespmm": ("by class over the fastest on CUDA cores, some 1000 matrices, N = 32 to 512: in "
                 "figures alone (A100, RTX 4090)", "tf32", "cusparse", ("hrpb", "auto")),
    "sspmm": ("over Sputnik: 2.04 (Volta), 2.81 (Turing), 2.07 (Ampere), 1.87 (Ada) on DLMC; "
              "2.30, 2.06, 2.66, 1.98 on SuiteSparse", "16f", "cusparse-32f", ("cvse",)),
    "vectorsparse": ("over Blocked-ELL of cuSPARSE 1.71 to 7.19, on pruned masks with vectors of 2 "
                     "to 8 rows (V100)", "16f", "cusparse-32f", ("cvse",)),
    "thesis": ("up to 1.83 over its mmaBT, and 13.4 over mmaT, on XdYs; 1.5 over BCSR on dense "
               "tiles possible from 30 % of tiles in 2:4 on (A100)",
               "16f", "cusparse-32f", ("bcsr", "bcsr-sp24")),
}


def ours(name, baseline, engines):
    """engine -> (matrix, N) -> speed-up."""
    path = ROOT / f"bench/results/{name}.tsv"
    rows = table.read(path, ("matrix", "N", baseline, *engines))[2]
    return {engine: {(row["matrix"], row["N"]): float(row[baseline]) / float(row[engine])
                     for row in rows if row[engine]} for engine in engines}


def classes():
    path = ROOT / "bench/results/facts.tsv"
    return {table.stem(row["matrix"]): row["class"]
            for row in table.read(path, ("matrix", "class"))[2]}


def summary(values):
    if not values:
        return "-"
    return f"{table.geomean(values):.2f}, {max(values):.2f}"


def rows_of(paper, peers):
    """Lines of (N, class, matrices, theirs, ours by engine, their ratio), each a list of speed-ups;
    of cuTeSpMM over Best-SC."""
    _, name, baseline, engines = PAPERS[paper]
    theirs, mine, kind = peers.of_paper(paper), ours(name, baseline, engines), classes()
    base = peers.best_scalar() if paper == "cutespmm" else {}
    lines = []
    for n in (32, 128, 512):
        for group in CLASSES:
            keys = [key for key in theirs if key[1] == n and group in ("all", kind.get(key[0]))
                    and all(key in mine[e] for e in engines)]
            if keys:
                over = {key: base.get(key, 1.0) for key in keys}
                lines.append((n, group, len(keys), [theirs[k] / over[k] for k in keys],
                              {e: [mine[e][k] / over[k] for k in keys] for e in engines}))
    return lines


def report(paper, peers):
    said, _, _, engines = PAPERS[paper]
    over = "the fastest on CUDA cores" if paper == "cutespmm" else "cuSPARSE in FP32"
    print(f"{paper}: {said}\n")
    print(f"On H200, over {over}, geometric mean and most:\n")
    print("| N | TCU-Synergy | matrices | the paper's system | "
          + " | ".join(f"`{e}`" if e != "auto" else "plans" for e in engines) + " | ratio |")
    print("|---:|---|---:|---|" + "---|" * len(engines) + "---:|")
    for n, group, count, theirs, mine in rows_of(paper, peers):
        best = table.geomean(mine[engines[-1]]) / table.geomean(theirs)
        print(f"| {n} | {group} | {count} | {summary(theirs)} | "
              + " | ".join(summary(mine[e]) for e in engines) + f" | {best:.2f} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("paper", nargs="*")
    options = parser.parse_args()
    papers = options.paper or list(PAPERS)
    unknown = [p for p in papers if p not in PAPERS]
    if unknown:
        print(f"headlines.py: no paper {unknown[0]}; {', '.join(PAPERS)}", file=sys.stderr)
        return 2
    peers = published.Published()
    for paper in papers:
        report(paper, peers)
    return 0


if __name__ == "__main__":
    table.run(main)
